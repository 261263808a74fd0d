"""Which weight a state belongs to."""

from __future__ import annotations

from workloads.core.state_names import Own, owner_and_part

KERNEL, BIAS = (8, 4), (4,)
WEIGHTS = {
    "layer0/kernel": Own("blocks/0/dense/kernel", KERNEL),
    "layer1/kernel": Own("blocks/1/dense/kernel", KERNEL),
    "head/kernel": Own("dense/kernel", KERNEL),
    "layer0/bias": Own("blocks/0/dense/bias", BIAS),
}


def test_a_state_belongs_to_the_weight_whose_own_name_stands_in_its_name() -> None:
    assert owner_and_part("optimizer/blocks_1_dense_kernel_momentum", KERNEL, WEIGHTS) == (
        "layer1/kernel",
        "optimizer momentum",
    )
    assert owner_and_part("0/mu/blocks/0/dense/bias", BIAS, WEIGHTS) == ("layer0/bias", "0/mu")


def test_an_optimizer_may_be_given_a_part_of_the_parameters() -> None:
    weights = {"a": Own("0/blocks/0/kernel", KERNEL), "b": Own("0/blocks/1/kernel", KERNEL)}
    assert owner_and_part("1/trace/blocks/1/kernel", KERNEL, weights) == ("b", "1/trace")
    assert owner_and_part("1/trace/kernel", KERNEL, weights) == ("", ""), "a single word of several decides nothing"


def test_a_longer_end_decides_over_a_shorter_whole_name() -> None:
    weights = {"encoder": Own("encoder/blocks/0/dense/kernel", KERNEL), "head": Own("dense/kernel", KERNEL)}
    assert owner_and_part("1/trace/blocks/0/dense/kernel", KERNEL, weights)[0] == "encoder"
    assert owner_and_part("1/trace/dense/kernel", KERNEL, weights)[0] == "head"


def test_of_names_within_one_another_the_longest_decides() -> None:
    assert owner_and_part("momentum/blocks/0/dense/kernel", KERNEL, WEIGHTS)[0] == "layer0/kernel"
    assert owner_and_part("momentum/dense/kernel", KERNEL, WEIGHTS)[0] == "head/kernel"


def test_a_state_of_another_shape_belongs_to_no_weight() -> None:
    assert owner_and_part("momentum/blocks/0/dense/kernel", BIAS, WEIGHTS) == ("", "")


def test_where_two_weights_have_one_name_none_is_guessed() -> None:
    twice = WEIGHTS | {"other": Own("dense/kernel", KERNEL)}
    assert owner_and_part("momentum/dense/kernel", KERNEL, twice) == ("", "")


def test_a_part_of_a_word_is_no_name() -> None:
    assert owner_and_part("momentum/condense/kernel", KERNEL, {"a": Own("dense/kernel", KERNEL)}) == ("", "")
