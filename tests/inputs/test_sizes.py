"""Which size is run by default, which are refused, and where parity of a large one is judged."""

import pytest

from compare.errors import RequestError
from compare.inputs import sizes
from workloads import ArraySpec, Workload
from workloads.core import registry

EXAMPLE = registry.get("running_example")


def test_the_tour_takes_functions_at_default_and_models_at_smoke() -> None:
    assert sizes.choose_size(EXAMPLE, None) == "default"
    assert sizes.choose_size(registry.get("mnist_mlp"), None) == "smoke"


def test_an_unknown_size_is_refused_and_a_workload_of_one_size_has_only_that() -> None:
    with pytest.raises(RequestError, match=r"expected a size of running_example \(smoke, default, paper\)"):
        sizes.choose_size(EXAMPLE, "huge")
    single = Workload(name="mine", tf="t:f", jax="j:f", inputs={"x": ArraySpec((2,))})
    assert sizes.choose_size(single, "smoke") == "default"
    with pytest.raises(RequestError, match=r"expected a size of mine \(default\), found 'huge'"):
        sizes.choose_size(single, "huge")


def test_parity_of_a_size_that_is_too_large_is_judged_on_the_largest_that_fits() -> None:
    assert sizes.parity_size(EXAMPLE, "paper", None) == "default"
    assert sizes.parity_size(EXAMPLE, "smoke", None) == "smoke"


def test_a_size_of_another_kind_stands_for_none_that_is_too_large() -> None:
    lengths = {"default": {"length": 4}, "paper": {"length": 1 << 30}, "mixed_bfloat16": {"length": 4}}
    mixed = Workload("mixed", "t:f", "j:f", lambda at: {"x": ArraySpec((at["length"],))}, sizes=lengths)
    assert sizes.parity_size(mixed, "paper", None) == "default"


def test_a_workload_that_is_too_large_at_every_size_is_judged_as_asked() -> None:
    huge = Workload(name="huge", tf="t:f", jax="j:f", inputs={"x": ArraySpec((1 << 30,))})
    assert sizes.parity_size(huge, "default", None) == "default"
