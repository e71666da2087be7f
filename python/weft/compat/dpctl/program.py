"""`dpctl.program`: kernels from OpenCL C and SPIR-V, by dpctl's names."""

from weft.compat._alias import lazy

__getattr__, __dir__ = lazy(
    __name__,
    {
        "SyclKernel": "weft.program:Kernel",
        "SyclProgram": "weft.program:Program",
        "SyclProgramCompilationError": "weft:DeviceError",
        "create_program_from_source": "weft.program:create_program_from_source",
        "create_program_from_spirv": "weft.program:create_program_from_spirv",
    },
)
