"""Programs: kernels from OpenCL C, SPIR-V and PTX, launched by name with checked arguments."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import numpy as np
import weft
from support import same
from weft import program, tensor

DATA = Path(__file__).parents[2] / "crates" / "weft-hal" / "tests" / "data"

SOURCE = """
kernel void scale(global float *out, const global float *x, float factor, int offset) {
    size_t i = get_global_id(0);
    out[i] = x[i] * factor + offset;
}
kernel void ids(global int *out) {
    size_t i = get_global_id(0), j = get_global_id(1);
    out[i * get_global_size(1) + j] = 100 * i + j;
}
kernel void groups(global int *out) { out[get_global_id(0)] = 100 * get_group_id(0) + get_local_id(0); }
kernel void all_types(global ulong *out, char c, uchar uc, short s, ushort us, uint ui, long l, ulong ul, double d) {
    out[0] = (ulong)(c + 1); out[1] = uc; out[2] = (ulong)(s + 1); out[3] = us; out[4] = ui;
    out[5] = (ulong)(l + 1); out[6] = ul; out[7] = (ulong)d;
}
kernel void vector(global float *out, float4 v) { vstore4(v, 0, out); }
kernel void is_null(global int *out, global float *x) { out[0] = x == 0; }
kernel void with_local(global int *out, local int *scratch) { out[0] = 1; }
kernel void add_one(global uchar *bytes) { bytes[get_global_id(0)] += 1; }
__attribute__((reqd_work_group_size(4, 1, 1))) kernel void by_four(global int *out) {
    out[get_global_id(0)] = get_local_size(0);
}
"""


@pytest.fixture(autouse=True)
def opencl_is_there(request):
    """Tests of OpenCL say so in their names."""
    if "_opencl" in request.node.name and not weft.devices("opencl"):
        pytest.skip("no opencl device on this machine")


@pytest.fixture
def kernels(opencl_is_there):
    """The kernels of `SOURCE`, by name."""
    made = program.create_program_from_source("opencl", SOURCE)
    return made.get_kernel


def array(values, dtype=np.float32):
    return tensor.asarray(np.asarray(values, dtype=dtype), device="opencl")


# spec: D6
def test_a_kernel_is_launched_by_name_opencl(kernels):
    scale = kernels("scale")
    x, out = array(np.arange(100)), array(np.zeros(100))
    event = scale.launch(100, [out, x, 2.0, 1])
    event.wait()
    assert isinstance(event, weft.Event) and event.is_complete
    same(tensor.asnumpy(out), np.arange(100, dtype=np.float32) * 2 + 1)


# spec: D6
def test_programs_know_their_kernels_opencl():
    made = program.create_program_from_source(weft.Queue("opencl"), SOURCE)
    assert made.has_kernel("scale") and not made.has_kernel("nope")
    assert made.has_sycl_kernel("ids") and made.get_sycl_kernel("ids").name == "ids"
    with pytest.raises(weft.DeviceError, match=r"no kernel `nope`.*scale"):
        made.get_kernel("nope")
    assert "OpenCL C on opencl:" in repr(made) and "scale on opencl:" in repr(made.get_kernel("scale"))


# spec: D6
def test_kernels_describe_themselves_opencl(kernels):
    scale = kernels("scale")
    assert scale.name == "scale" and scale.num_arguments == 4
    assert scale.parameters == [
        ("out", "pointer to float32"),
        ("x", "pointer to float32"),
        ("factor", "float32"),
        ("offset", "int32"),
    ]
    assert scale.max_work_group_size >= 1 and scale.preferred_work_group_size_multiple >= 1
    assert scale.local_mem_size >= 0 and scale.private_mem_size >= 0
    assert scale.required_work_group_size is None
    assert kernels("by_four").required_work_group_size == (4, 1, 1)


# spec: D6, K1
@pytest.mark.parametrize("size", [(3, 5), [3, 5], weft.Range(3, 5), weft.NdRange((3, 5), (1, 5))], ids=repr)
def test_dimension_zero_is_the_programs_opencl(kernels, size):
    out = array(np.zeros((3, 5)), np.int32)
    kernels("ids").launch(size, [out], sync=True)
    same(tensor.asnumpy(out), (100 * np.arange(3)[:, None] + np.arange(5)).astype(np.int32))


# spec: D6, K1
def test_work_groups_are_as_asked_opencl(kernels):
    out = array(np.zeros(12), np.int32)
    kernels("groups").launch(weft.NdRange(12, 4), [out], sync=True)
    same(tensor.asnumpy(out), (100 * (np.arange(12) // 4) + np.arange(12) % 4).astype(np.int32))
    queue = weft.Queue("opencl")
    queue.submit(kernels("groups"), [out], 12, 6).wait()
    same(tensor.asnumpy(out), (100 * (np.arange(12) // 6) + np.arange(12) % 6).astype(np.int32))
    kernels("by_four").launch(12, [out], sync=True)
    same(tensor.asnumpy(out), np.full(12, 4, np.int32))
    # No item more than asked for, whatever the size.
    for n in (1, 7, 257, 1000, 1009):
        out, x = array(np.full(n + 8, -1)), array(np.ones(n + 8))
        kernels("scale").launch(n, [out, x, 1.0, 0], sync=True)
        same(tensor.asnumpy(out), np.concatenate([np.ones(n), np.full(8, -1)]).astype(np.float32))


# spec: D6
@pytest.mark.parametrize(
    ("size", "error", "says"),
    [
        (-1, ValueError, "not negative"),
        ((), ValueError, "one to three"),
        ((1, 1, 1, 1), ValueError, "one to three"),
        ("many", TypeError, "size"),
        (weft.NdRange(10, 4), ValueError, "10 is not a multiple of the local size 4"),
        (weft.NdRange(1 << 24, 1 << 24), weft.DeviceError, "work-group"),
    ],
    ids=repr,
)
def test_sizes_that_cannot_be_opencl(kernels, size, error, says):
    with pytest.raises(error, match=says):
        kernels("ids").launch(size, [array([0], np.int32)])


# spec: D6
def test_an_empty_launch_does_nothing_opencl(kernels):
    out = array([5], np.int32)
    kernels("ids").launch((0, 3), [out]).wait()
    same(tensor.asnumpy(out), np.array([5], np.int32))


# spec: D6
def test_every_declared_type_takes_its_scalars_opencl(kernels):
    values = [-1, 255, -1, 65535, 2**32 - 1, -1, 2**64 - 1, 3.0]
    numpy = [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.int64, np.uint64, np.float64]
    c = [ctypes.c_byte, ctypes.c_ubyte, ctypes.c_short, ctypes.c_ushort, ctypes.c_uint]
    c += [ctypes.c_longlong, ctypes.c_ulonglong, ctypes.c_double]
    expected = np.array([0, 255, 0, 65535, 2**32 - 1, 0, -1, 3], dtype=np.int64)
    for given in (values, [t(v) for t, v in zip(numpy, values)], [t(v) for t, v in zip(c, values)]):
        out = array(np.zeros(8), np.int64)
        kernels("all_types").launch(1, [out, *given], sync=True)
        same(tensor.asnumpy(out), expected)


# spec: D6
def test_vectors_and_null_pointers_opencl(kernels):
    out = array(np.zeros(4))
    for value in (np.arange(4, dtype=np.float32).tobytes(), (ctypes.c_float * 4)(0, 1, 2, 3)):
        kernels("vector").launch(1, [out, value], sync=True)
        same(tensor.asnumpy(out), np.arange(4, dtype=np.float32))
    flag = array([7], np.int32)
    kernels("is_null").launch(1, [flag, None], sync=True)
    same(tensor.asnumpy(flag), np.array([1], np.int32))
    kernels("is_null").launch(1, [flag, out], sync=True)
    same(tensor.asnumpy(flag), np.array([0], np.int32))


# spec: D6
def test_wrong_arguments_are_type_errors_that_name_them_opencl(kernels):
    scale, out, x = kernels("scale"), array(np.zeros(4)), array(np.ones(4))
    for given, says in [
        ([], r"`scale` takes 4 arguments \(pointer to float32 out, .*int32 offset\), and 0 were given"),
        ([out, x, 1.0], "takes 4 arguments.*and 3 were given"),
        ([out, x, 1.0, 1, 1], "takes 4 arguments.*and 5 were given"),
        ([1.0, x, 1.0, 1], r"argument 0 \(`out`\) is declared pointer to float32, and float was given"),
        ([np.zeros(4, np.float32), x, 1.0, 1], r"argument 0 .*numpy.ndarray was given: pass weft.tensor.asarray"),
        ([array(np.zeros(4), np.int32), x, 1.0, 1], r"argument 0 .*with elements of int32"),
        ([out, x, np.float64(1.0), 1], r"argument 2 \(`factor`\).*numpy.float64 was given: pass numpy.float32"),
        ([out, x, out, 1], r"argument 2 \(`factor`\).*usm_ndarray was given"),
        ([out, x, "1", 1], r"argument 2 \(`factor`\).*str was given"),
        ([out, x, 1.0, 1.5], r"argument 3 \(`offset`\) is declared int32, and float was given"),
        ([out, x, 1.0, np.uint32(1)], r"argument 3 \(`offset`\).*uint32 was given: pass numpy.int32"),
        ([out, x, 1.0, ctypes.c_longlong(1)], r"argument 3 \(`offset`\).*c_long"),
    ]:
        with pytest.raises(TypeError, match=says):
            scale.launch(4, given)
    with pytest.raises(OverflowError, match=r"argument 3 \(`offset`\) is declared int32, and 2147483648 does not fit"):
        scale.launch(4, [out, x, 1.0, 2**31])
    with pytest.raises(TypeError, match=r"pass weft.program.WorkGroupMemory\(nbytes\)"):
        kernels("with_local").launch(1, [array([0], np.int32), 16])
    with pytest.raises(TypeError, match="bytes or a ctypes object"):
        kernels("vector").launch(1, [out, 1.0])


# spec: D6, D4
def test_memory_objects_are_arguments_opencl(kernels):
    memory = weft.memory.SharedMemory(16, queue=weft.Queue("opencl"))
    memory.copy_from_host(bytes(range(16)))
    event = kernels("add_one").launch(16, [memory])
    event.wait()
    assert memory.tobytes() == bytes(range(1, 17))


# spec: D6, D7
def test_launches_are_ordered_with_other_work_opencl(kernels):
    x = tensor.ones(1000, dtype=np.float32, device="opencl") * 2.0
    out = tensor.zeros(1000, dtype=np.float32, device="opencl")
    for _ in range(10):
        kernels("scale").launch(1000, [out, x, 1.0, 1])
        x = out + 1.0
    same(tensor.asnumpy(x), np.full(1000, 22.0, np.float32))


# spec: D6, T5
def test_pending_operations_do_not_see_a_launch_opencl(kernels):
    out, x = array(np.zeros(4)), array(np.ones(4))
    before = out + 1.0
    moved = out.to_device(weft.Queue("opencl", profiling=True))
    kernels("scale").launch(4, [out, x, 5.0, 0])
    same(tensor.asnumpy(before), np.ones(4, np.float32))
    same(tensor.asnumpy(moved), np.zeros(4, np.float32))
    same(tensor.asnumpy(out), np.full(4, 5, np.float32))
    # The same array as input and as output.
    after = out + 1.0
    kernels("scale").launch(4, [out, out, 2.0, 0])
    same(tensor.asnumpy(out), np.full(4, 10, np.float32))
    same(tensor.asnumpy(after), np.full(4, 6, np.float32))


# spec: D6, D3
def test_threads_launch_the_same_kernel_opencl(kernels):
    scale, x = kernels("scale"), array(np.ones(64))

    def work(k):
        out = array(np.zeros(64))
        for step in range(50):
            scale.launch(64, [out, x, float(k), step])
        return tensor.asnumpy(out)

    with ThreadPoolExecutor(4) as pool:
        for k, out in enumerate(pool.map(work, range(8))):
            same(out, np.full(64, k + 49, np.float32))


# spec: D6
def test_everything_may_be_dropped_while_a_launch_runs_opencl():
    for _ in range(3):
        made = program.create_program_from_source("opencl", SOURCE)
        for _ in range(20):
            out, x = array(np.zeros(4096)), array(np.ones(4096))
            made.get_kernel("scale").launch(4096, [out, x, 2.0, 0])
            del out, x
        del made
    weft.Queue("opencl").wait()


# spec: D6, D5
def test_events_of_launches_opencl(kernels):
    queue = weft.Queue("opencl", profiling=True)
    out, x = (tensor.ones(64, dtype=np.float32, queue=queue) for _ in range(2))
    first = kernels("scale").launch(64, [out, x, 2.0, 0])
    second = kernels("scale").launch(64, [x, out, 2.0, 0], wait_for=[first])
    second.wait()
    assert first.is_complete
    assert second.profiling_info_start <= second.profiling_info_end
    same(tensor.asnumpy(x), np.full(64, 4, np.float32))
    with pytest.raises(TypeError, match="Event"):
        kernels("scale").launch(64, [x, out, 2.0, 0], wait_for=[3])


# spec: D6, B3
def test_a_launch_runs_where_its_memory_lives_opencl(kernels):
    default, profiling = weft.Queue("opencl"), weft.Queue("opencl", profiling=True)
    out, x = array(np.zeros(4)), tensor.ones(4, dtype=np.float32, queue=profiling)
    with pytest.raises(weft.ExecutionPlacementError, match=r"argument 1 \(`x`\) lives on .*profiling"):
        kernels("scale").launch(4, [out, x, 1.0, 0])
    # A named queue may use all memory of its context.
    kernels("scale").launch(4, [out, x, 1.0, 0], queue=default, sync=True)
    same(tensor.asnumpy(out), np.ones(4, np.float32))
    with pytest.raises(weft.ExecutionPlacementError, match=r"argument 0.*native:cpu:0"):
        kernels("scale").launch(4, [tensor.zeros(4, dtype=np.float32, device="native"), x, 1.0, 0], queue=default)


# spec: D6
def test_a_program_that_does_not_compile_opencl():
    with pytest.raises(weft.DeviceError, match="undeclared identifier"):
        program.create_program_from_source("opencl", "kernel void f(global int *x) { x[0] = nothing_like_this; }")
    with pytest.raises(weft.DeviceError, match="magic number"):
        program.create_program_from_spirv("opencl", b"not a module")
    with pytest.raises(weft.DeviceError, match="takes SPIR-V and OpenCL C, not PTX"):
        program.create_program_from_ptx("opencl", ".version 8.0")
    with pytest.raises(TypeError, match="bytes"):
        program.create_program_from_spirv("opencl", "text")
    with pytest.raises(TypeError, match="int"):
        program.create_program_from_source("opencl", 3)


# spec: D6
def test_spirv_opencl():
    made = program.create_program_from_spirv("opencl", (DATA / "double.spv").read_bytes())
    double = made.get_kernel("double")
    assert double.num_arguments == 1 and double.parameters[0][1] == "pointer to int32"
    out = array(np.arange(10), np.int32)
    double.launch(10, [out], sync=True)
    same(tensor.asnumpy(out), np.arange(10, dtype=np.int32) * 2)
    with pytest.raises(TypeError, match="argument 0"):
        double.launch(10, [array(np.zeros(10))])
    with pytest.raises(TypeError, match="takes 1 arguments"):
        double.launch(10, [out, out])


# spec: D6
def test_devices_without_a_driver_take_no_programs():
    for make, code in [
        (program.create_program_from_source, SOURCE),
        (program.create_program_from_spirv, b""),
        (program.create_program_from_ptx, ""),
    ]:
        with pytest.raises(weft.DeviceError, match="native:cpu:0 takes no"):
            make("native", code)
        with pytest.raises(weft.DeviceError, match=r"null.*runs nothing"):
            make(weft._core._null_device(), code)


# spec: K1
def test_call_kernel(device):
    @weft.kernel
    def fill(a):
        i = weft.get_global_id(0)
        a[i] = a[i] + 1.0

    a = np.zeros(10)
    with weft.device_context(device):
        for size in (10, (10,), weft.Range(10), weft.NdRange(10, 5)):
            weft.call_kernel(fill, size, a)
    same(a, np.full(10, 4.0))
    with pytest.raises(TypeError, match="call_kernel"):
        weft.call_kernel(len, 10, a)


# spec: K1, D6
def test_call_kernel_with_a_program_opencl(kernels):
    out, x = array(np.zeros(4)), array(np.ones(4))
    weft.call_kernel(kernels("scale"), weft.Range(4), out, x, 3.0, 0)
    same(tensor.asnumpy(out), np.full(4, 3, np.float32))


# spec: K1
def test_ranges():
    assert weft.Range(2, 3) == weft.Range((2, 3)) == (2, 3)
    assert weft.Range(2, 3).size == 6 and weft.Range(2, 3).ndim == 2
    assert repr(weft.Range(2, 3)) == "weft.Range(2, 3)"
    nd = weft.NdRange(8, 2)
    assert nd == weft.NdRange((8,), (2,)) and hash(nd) == hash(weft.NdRange(8, 2)) and nd != weft.NdRange(8, 4)
    assert nd.global_range == (8,) and nd.local_range == (2,)
    for bad in (lambda: weft.Range(), lambda: weft.Range(1, 2, 3, 4), lambda: weft.Range(-1)):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(ValueError, match="dimensions"):
        weft.NdRange((8, 8), 2)
    with pytest.raises(ValueError, match="zeros"):
        weft.NdRange(8, 0)
    with pytest.raises(TypeError):
        weft.Range(1.5)


PTX = """
.version 7.0
.target sm_50
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 .ptr .global .align 4 x, .param .f32 factor, .param .u32 offset)
{
    .reg .b32 %r<8>;
    .reg .f32 %f<5>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [out];
    ld.param.u64 %d2, [x];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [offset];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    mul.wide.s32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d5];
    cvt.rn.f32.s32 %f3, %r1;
    fma.rn.f32 %f4, %f2, %f1, %f3;
    st.global.f32 [%d4], %f4;
    ret;
}
"""


# spec: D6
@pytest.mark.cuda
@pytest.mark.skipif(not weft.devices("cuda"), reason="no cuda device on this machine")
def test_ptx():
    made = program.create_program_from_ptx("cuda", PTX)
    assert made.has_kernel("scale") and not made.has_kernel("nope")
    scale = made.get_kernel("scale")
    assert scale.num_arguments == 4 and scale.preferred_work_group_size_multiple == 32
    out, x = (tensor.ones(1000, dtype=np.float32, device="cuda") for _ in range(2))
    scale.launch(weft.Range(1000), [out, x, 3.0, np.int32(1)], sync=True)
    same(tensor.asnumpy(out), np.full(1000, 4, np.float32))
    weft.Queue("cuda").submit(scale, [out, x, np.float32(2), 1], 1000, 250).wait()
    same(tensor.asnumpy(out), np.full(1000, 3, np.float32))
    for given in ([out, x, 3.0], [out, x, np.float64(3.0), 1], [out, 1, 3.0, 1], [np.int32(1), x, 3.0, 1]):
        with pytest.raises(TypeError):
            scale.launch(1000, given)
    for bad in ("nonsense", PTX.replace("ret;", "retreat;")):
        with pytest.raises(weft.DeviceError, match=r"(?s)refused the program:.*(?i:ptx|not recognized)"):
            program.create_program_from_ptx("cuda", bad)
    with pytest.raises(weft.DeviceError, match="takes PTX, not OpenCL C"):
        program.create_program_from_source("cuda", SOURCE)


LOCAL = """
kernel void reverse(global int *x, local int *scratch) {
    int i = get_local_id(0), n = get_local_size(0), at = get_group_id(0) * n;
    scratch[i] = x[at + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[at + i] = scratch[n - 1 - i];
}
"""

SHARED_PTX = """
.version 7.0
.target sm_52
.address_size 64
.extern .shared .align 4 .b8 scratch[];
.visible .entry reverse(.param .u64 x) {
    .reg .u32 %r<10>;
    .reg .u64 %d<6>;
    ld.param.u64 %d1, [x];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, %r2, %r1;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r5, [%d3];
    mov.u32 %r6, scratch;
    shl.b32 %r7, %r1, 2;
    add.u32 %r8, %r6, %r7;
    st.shared.u32 [%r8], %r5;
    bar.sync 0;
    sub.u32 %r7, %r2, %r1;
    sub.u32 %r7, %r7, 1;
    shl.b32 %r7, %r7, 2;
    add.u32 %r8, %r6, %r7;
    ld.shared.u32 %r5, [%r8];
    st.global.u32 [%d3], %r5;
    ret;
}
"""


# spec: D6
def test_local_memory_is_an_argument(accelerator):
    opencl = accelerator == "opencl"
    make = program.create_program_from_source if opencl else program.create_program_from_ptx
    reverse = make(accelerator, LOCAL if opencl else SHARED_PTX).get_kernel("reverse")
    numbers = np.arange(640, dtype=np.int32)
    for n in (64, 32):
        x = tensor.asarray(numbers, device=accelerator)
        reverse.launch(weft.NdRange(640, n), [x, program.WorkGroupMemory(4 * n)], sync=True)
        same(tensor.asnumpy(x), numbers.reshape(-1, n)[:, ::-1].ravel())
    with pytest.raises(weft.DeviceError, match=r"1073741824 bytes of local memory; a work-group on .* has \d+"):
        reverse.launch(weft.NdRange(64, 64), [x, program.WorkGroupMemory(1 << 30)])
    if opencl:
        with pytest.raises(TypeError, match=r"takes 2 arguments .* and 1 were given"):
            reverse.launch(64, [x])
    assert program.WorkGroupMemory(5).nbytes == 5
    for bad in (0, -1, 1.5, "4", None):
        with pytest.raises(ValueError, match="a number of bytes above zero"):
            program.WorkGroupMemory(bad)
