"""Sizes of launches: which dimensions a kernel names, how many items there can be, and what is no size."""

import pytest

import numpy as np
import weft
from support import same
from weft.compat import numba_dppy
from weft.compat.numba_mlir import kernel as mlir


@weft.kernel
def line(a):
    i = weft.get_global_id(0)
    a[i] = i + 1


@weft.kernel
def grid(a):
    i = weft.get_global_id(0)
    j = weft.get_global_id(1)
    a[i, j] = i * 100 + j


@weft.kernel
def cube(a):
    a[weft.get_global_id(0), weft.get_global_id(1), weft.get_global_id(2)] = 1


@weft.kernel
def nothing(a):
    a[0] = 7


# spec: K1
def test_a_launch_over_more_dimensions_than_the_kernel_names(in_context):
    a, before = np.zeros(8, np.int64), len(line.specializations)
    both = (
        "line[8, 4] is a launch of 2 dimensions, and the kernel `line` names only dimension 0: 8 work-items in groups "
        "of 4 are line[(8,), (4,)]; for 2 dimensions, name weft.get_global_id(1) in the kernel"
    )
    launches = [lambda: line[8, 4](a), lambda: weft.call_kernel(line, weft.Range(8, 4), a)]
    for launch in launches * 2:
        with pytest.raises(ValueError) as caught:
            launch()
        assert str(caught.value) == both
    with pytest.raises(ValueError, match=r"line\[2, 2, 2\] is a launch of 3 dimensions.* 2 work-items are line\[2\]"):
        line[2, 2, 2](a)
    with pytest.raises(ValueError, match=r"line\[\(8, 4\), \(4, 2\)\] is .* one dimension is line\[\(8,\), \(4,\)\]"):
        line[(8, 4), (4, 2)](a)
    with pytest.raises(ValueError, match=r"names only dimension 0"):
        weft.call_kernel(line, weft.NdRange((8, 4), (4, 2)), a)
    with pytest.raises(ValueError, match=r"names only dimension 0"):
        weft.call_kernel_async(line, (8, 4), None, a)
    with pytest.raises(ValueError, match=r"names no dimension: 8 work-items .* name weft\.get_global_id\(1\) "):
        nothing[8, 4](a)
    with pytest.raises(ValueError, match=r"names only dimensions 0 and 1: two dimensions are grid\[2, 2\].*_id\(2\)"):
        grid[2, 2, 1](np.zeros((2, 2)))
    assert not a.any() and len(line.specializations) == before
    line[(8,), (4,)](a)
    same(a, np.arange(1, 9))
    nothing[3](a)
    assert a[0] == 7


# spec: K1
def test_what_a_kernel_names(in_context):
    """Also what it does not use, what a function that it calls names, and what stands where it never comes."""

    def row():
        return weft.get_global_id(0)

    @weft.njit
    def column():
        return weft.get_global_size(1)

    @weft.kernel
    def unused(a):
        weft.get_global_id(1)
        a[weft.get_global_id(0)] = 1

    @weft.kernel
    def called(a):
        a[row()] = column()

    tiled = False

    @weft.kernel
    def sometimes(a):
        if tiled:
            a[weft.get_global_id(0)] = weft.get_global_id(1)
        a[weft.get_global_id(0)] = 2

    for kernel, value in ((unused, 1), (called, 3), (sometimes, 2)):
        a = np.zeros(8, np.int64)
        kernel[8, 3](a)
        same(a, np.full(8, value))
        with pytest.raises(ValueError, match="names only dimensions 0 and 1"):
            kernel[8, 3, 2](a)


# spec: K1, K2
def test_a_dimension_that_is_not_a_constant_is_any(in_context):
    @weft.kernel
    def along(a, d):
        a[weft.get_global_id(d)] = weft.get_global_size(d)

    @weft.kernel
    def turns(a):
        total = 0
        for d in range(2):
            total = total * 10 + weft.get_global_id(d)
        a[weft.get_global_id(0), weft.get_global_id(1)] = total

    for d, expected in ((0, [3, 3, 3, 0]), (1, [4, 4, 4, 4])):
        a = np.zeros(4, np.int64)
        along[3, 4](a, d)
        same(a, np.array(expected))
    for d in (2, -1):
        with pytest.raises(ValueError, match=f"dimension {d} is outside the launch, which has 2"):
            along[3, 4](np.zeros(4), d)
    a = np.zeros((3, 4), np.int64)
    turns[a.shape](a)
    same(a, np.arange(3)[:, None] * 10 + np.arange(4))


# spec: K1
def test_kernels_under_other_names_take_a_global_and_a_local_size(in_context):
    for kernel in (numba_dppy.kernel, mlir.kernel):

        @kernel
        def count(a):
            i = weft.get_global_id(0)
            a[i] = i + 1

        @kernel()
        def table(a):
            a[weft.get_global_id(0), weft.get_global_id(1)] = weft.get_global_id(1)

        for launch in (count[8, 4], count[8], count[(8,)], count[(8,), (4,)], count[8, ()], count[[8], [4]]):
            a = np.zeros(8, np.int64)
            launch(a)
            same(a, np.arange(1, 9))
        a = np.zeros((4, 6), np.int64)
        for launch in (table[(4, 6), (2, 3)], table[((4, 6),)]):
            a[:] = 0
            launch(a)
            same(a, np.tile(np.arange(6), (4, 1)))
        a[:] = 0
        weft.call_kernel(table, weft.Range(4, 6), a)
        weft.call_kernel(table, weft.NdRange((4, 6), (2, 2)), a)
        same(a, np.tile(np.arange(6), (4, 1)))
        with pytest.raises(ValueError, match="the local size has 1 dimensions and the global size 2"):
            table[(4, 6), 2]
        with pytest.raises(ValueError, match="3 were given"):
            count[8, 4, 2]


# spec: K1
@pytest.mark.parametrize(
    "index",
    [
        2**62,
        2**63,
        2**48 + 1,
        (2**31, 2**31, 4),
        (2**63 - 1, 2**63 - 1),
        ((2**48,), (2**48 - 1,)),
        ((1,), (2**63 - 1,)),
        ((2**40, 2), (2**40 - 1, 2**10)),
        ((4,), (2**70,)),
    ],
)
def test_more_items_than_an_index_can_hold(in_context, index):
    with pytest.raises(ValueError, match=r"too large.* at most 281474976710656 \(2\*\*48\) work-items"):
        cube[index](np.zeros((1, 1, 1)))
    assert not cube.specializations


# spec: K1
def test_launches_of_nothing_whatever_the_other_sizes(in_context):
    a = np.zeros((0, 3))
    grid[0, 2**40](a)
    grid[(2**62, 0), (3, 1)](a)


# spec: K1, D6
def test_programs_have_the_same_limit():
    if not weft.devices("opencl"):
        pytest.skip("no opencl device")
    source = "kernel void one(global int *x) { x[0] = 1; }"
    one = weft.program.create_program_from_source("opencl", source).get_kernel("one")
    x = weft.tensor.zeros(1, dtype="int32", device="opencl")
    for size in (2**62, (2**31, 2**31, 4), weft.Range(2**49)):
        with pytest.raises(ValueError, match=r"too large: .*2\*\*48"):
            one.launch(size, [x])
    one.launch(1, [x])
    assert weft.tensor.asnumpy(x)[0] == 1


# spec: K1
@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (1.5, TypeError, "a global size is an int or a tuple of up to three, not float"),
        ("a", TypeError, "a global size is an int or a tuple of up to three, not str"),
        (True, TypeError, "a global size is an int or a tuple of up to three, not bool"),
        (None, TypeError, "a global size is an int or a tuple of up to three, not NoneType"),
        ([8], TypeError, "a global size is an int or a tuple of up to three, not list"),
        ((8, True), TypeError, "a global size is an int or a tuple of up to three, not bool"),
        ((8, (True,)), TypeError, "a local size is an int or a tuple of up to three, not bool"),
        ((), ValueError, "a global size has one to three dimensions, not none"),
        (((), ()), ValueError, "a global size has one to three dimensions, not none"),
        ((1, 2, 3, 4), ValueError, "a global size has one to three dimensions, not 4"),
        (((1, 2, 3, 4), (1, 1, 1, 1)), ValueError, "a global size has one to three dimensions, not 4"),
        (-1, ValueError, "a size is not negative, and -1 is"),
        (-(2**70), ValueError, f"a size is not negative, and {-(2**70)} is"),
        ((8, (-4,)), ValueError, "a size is not negative, and -4 is"),
        ((8, (0,)), ValueError, "a local size has no zeros"),
        (((8, 8), (4, 0)), ValueError, "a local size has no zeros"),
        (((8, 8), (4,)), ValueError, "the local size has 1 dimensions and the global size 2"),
        (((8,), 4), TypeError, "a launch is kernel[global_size] or kernel[global_size, local_size], with a tuple"),
        ((8, [4]), TypeError, "a launch is kernel[global_size] or kernel[global_size, local_size], with a tuple"),
        (((8,), (4,), (2,)), TypeError, "a launch is kernel[global_size] or kernel[global_size, local_size], with"),
    ],
)
def test_what_is_no_size(index, error, message):
    with pytest.raises(error) as caught:
        line[index]
    assert str(caught.value).startswith(message)


# spec: K1
def test_sizes_are_any_integers(in_context):
    a = np.zeros(8, np.int64)
    line[np.int32(8), (np.uint8(3),)](a)
    same(a, np.arange(1, 9))
    line[0](a)
