"""`f.inspect`: the text of a stage, and what stands behind one pass."""

import pytest

import numpy as np
import weft

PASSES = [
    "canonicalise", "raise", "place", "fuse", "rows", "products", "blocks", "panels", "comprehend", "sides",
    "together", "store-products", "loops",
]  # fmt: skip


@weft.njit
def chain(x):
    y = x * 2.0
    return y + 1.0, y.sum()


# spec: N5
def test_stages_and_passes_are_shown():
    chain(np.arange(4.0))
    after = {name: chain.inspect(f"after:{name}") for name in PASSES}
    # What ends a stage leaves the module of that stage.
    assert after["place"] == chain.inspect("placed")
    assert after["store-products"] == chain.inspect("fused")
    assert after["loops"] == chain.inspect("loops")
    # Product and sum are two loops before `fuse`, and one pass over the elements behind it.
    assert after["place"].count("nt.elementwise") == 2
    assert after["fuse"] != after["place"]


# spec: N5
def test_passes_run_for_the_place_of_the_specialisation(accelerator):
    @weft.njit
    def f(x):
        return x + 1.0

    with weft.device_context(accelerator):
        f(np.arange(4.0))
    assert "env.region" in f.inspect("after:place")
    assert "simt.launch" in f.inspect("after:loops")


# spec: N5, G2
def test_a_wrong_name_lists_what_there_is():
    chain(np.arange(4.0))
    with pytest.raises(
        ValueError, match=r"there is no pass 'fused': it is one of canonicalise, .*; did you mean 'fuse'"
    ):
        chain.inspect("after:fused")
    with pytest.raises(ValueError, match=r"there is no stage 'fuzed': it is one of py, .* spirv; did you mean 'fused'"):
        chain.inspect("fuzed")
