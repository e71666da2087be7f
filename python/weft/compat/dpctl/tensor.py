"""`dpctl.tensor`: the module `weft.tensor` itself."""

import sys

from weft import tensor
from weft.tensor import *  # noqa: F403 (for type checkers)

sys.modules[__name__] = tensor
