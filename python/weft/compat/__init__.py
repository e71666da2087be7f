"""Other packages' names over Weft: change an import, keep the program.

    import weft.compat.dpctl as dpctl           # instead of `import dpctl`
    from weft.compat.dpctl import tensor as dpt

Each module here is a list of aliases: `dpctl.SyclQueue` is `weft.Queue`, `dppl.get_context` is `weft.current_queue`.
Nothing is computed here. The names are those of `dpctl`, `dppl`, `numba_dppy` and `numba_mlir`.
"""
