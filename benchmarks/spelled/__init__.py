"""Kernels in several spellings each, for `spellings.py` and for looking at what they are compiled to."""

from spelled import elements, products, rows, stencils
from spelled.kernel import KERNELS, Kernel, Rule, Spelling

__all__ = ["KERNELS", "Kernel", "Rule", "Spelling", "elements", "products", "rows", "stencils"]
