"""Kernels from OpenCL C, SPIR-V and PTX, launched by name with checked arguments.

    program = weft.program.create_program_from_source("opencl", '''
        kernel void scale(global float *x, float factor) { x[get_global_id(0)] *= factor; }
    ''')
    event = program.get_kernel("scale").launch(x.size, [x, 2.0])

Pointers take tensors, `weft.memory` objects and anything with `__sycl_usm_array_interface__`; None is the null pointer.
Numbers are Python's where the program declares their type, and NumPy or ctypes scalars of exactly that type everywhere.
`WorkGroupMemory(nbytes)` is local memory of each work-group: an argument for a pointer to local memory in OpenCL, and
the size of a kernel's `extern .shared` memory in CUDA, where it is given beside the parameters.
What does not fit the declaration is a TypeError. A launch runs where its memory lives, in order with other work on it.
"""

from __future__ import annotations

from typing import Any

from weft import _core
from weft._core import Program, WorkGroupMemory
from weft._core import ProgramKernel as Kernel

__all__ = [
    "Kernel",
    "Program",
    "WorkGroupMemory",
    "create_program_from_ptx",
    "create_program_from_source",
    "create_program_from_spirv",
]


def create_program_from_source(queue: Any, source: str) -> Program:
    """A program from OpenCL C text, for the device of a queue (or of any place). OpenCL only."""
    return _core.create_program(queue, "OpenCL C", source)


def create_program_from_spirv(queue: Any, module: bytes) -> Program:
    """A program from a SPIR-V module, for the device of a queue (or of any place). OpenCL only."""
    return _core.create_program(queue, "SPIR-V", module)


def create_program_from_ptx(queue: Any, text: str | bytes) -> Program:
    """A program from PTX, for the device of a queue (or of any place). CUDA only."""
    return _core.create_program(queue, "PTX", text)
