"""`dpctl.backend_type` and `dpctl.device_type`. Members are strings, and so filter strings too."""

from enum import StrEnum, auto


class backend_type(StrEnum):
    """Families of drivers."""

    all = auto()
    cuda = auto()
    level_zero = auto()
    native = auto()
    opencl = auto()


class device_type(StrEnum):
    """Kinds of processors."""

    accelerator = auto()
    all = auto()
    cpu = auto()
    gpu = auto()
