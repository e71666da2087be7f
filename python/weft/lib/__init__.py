"""The standard library, in Weft's own compiled Python.

These modules are read by the compiler, not imported: each function stands for the one its
``@overload`` names, and is typed and inlined like user code. ``prim`` is what they are written in.
"""
