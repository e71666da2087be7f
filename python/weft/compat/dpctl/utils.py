"""`dpctl.utils`: the module `weft.utils` itself."""

import sys

from weft import utils
from weft.utils import *  # noqa: F403 (for type checkers)

sys.modules[__name__] = utils
