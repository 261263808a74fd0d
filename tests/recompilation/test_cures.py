"""Which cures a stream has, and what they make of it."""

import numpy as np

from compare.inputs.call_streams import stream
from compare.recompilation.cures import Refused, Trial, cures
from compare.record.ledger_part import LedgerCall, SideLedger
from workloads.core.spec import ArraySpec
from workloads.protocol.recompiling import Staging


def found(
    texts: list[str], sizes: list[str], side: str = "tf", traces: int = 3, failed: int = 0
) -> dict[str, Trial | Refused]:
    calls = stream(texts, sizes)
    lines = tuple(LedgerCall(call.text, error="no" if n < failed else "") for n, call in enumerate(calls))
    ledger = SideLedger(calls=lines, traces=traces, compilations=3)
    return {cure.name: cure for cure in cures(side, Staging("m:f", ("axis",)), calls, ledger)}


def trial(cure: Trial | Refused) -> Trial:
    assert isinstance(cure, Trial)
    return cure


def test_sizes_that_vary_are_padded_with_zeros() -> None:
    made = found(["x=f32[N,4], y=f32[3]"], ["N=3,5,9"])
    assert [call.text for call in trial(made["buckets"]).calls] == [
        f"x=f32[{n},4], y=f32[3]" for n in (4, 8, 16)
    ]  # fmt: skip
    largest = trial(made["largest"])
    assert {call.text for call in largest.calls} == {"x=f32[9,4], y=f32[3]"} and largest.comparison == "within"
    padded = largest.calls[0].arguments["x"]
    assert np.any(padded[:3]) and not np.any(padded[3:])


def test_a_last_batch_that_is_smaller_is_dropped() -> None:
    made = found(["x=f32[B,4]"], ["B=8,8,8,5"])
    assert trial(made["drop_last"]).numbers == [0, 1, 2]
    assert made["largest"] == Refused(
        "largest", "sizes that vary are padded to the largest", "the same calls as with buckets"
    )
    assert "drop_last" not in found(["x=f32[B,4]"], ["B=8,8,3,8"])
    assert "drop_last" not in found(["x=f32[B,4]"], ["B=8,8,9"])


def test_a_signature_names_what_varies_and_what_varies_alike_has_one_name() -> None:
    made = found(["x=f32[N,4], y=f32[N,M]"], ["N=3,5", "M=7,9"], side="jax")
    signature = trial(made["symbolic_shapes"]).staging.signature
    assert signature == {"x": ArraySpec(("size0", 4)), "y": ArraySpec(("size0", "size1"))}


def test_calls_of_unlike_forms_share_no_signature_and_are_padded_all_the_same() -> None:
    made = found(["x=f32[N]", "x=f32[7], training=True"], ["N=3,5"])
    assert isinstance(made["input_signature"], Refused) and "structure" in made["input_signature"].reason
    assert [call.text for call in trial(made["largest"]).calls] == ["x=f32[7]", "x=f32[7]", "x=f32[7], training=True"]
    made = found(["x=f32[3]", "x=f64[4]"], [])
    assert isinstance(made["input_signature"], Refused) and "buckets" not in made


def test_numbers_that_vary_become_arrays_and_are_static_no_longer() -> None:
    cure = trial(found(["x=f32[3], axis=0, k=2", "x=f32[3], axis=1, k=2"], [], side="jax")["arrays"])
    assert [call.text for call in cure.calls] == ["x=f32[3], axis=i32(0), k=2", "x=f32[3], axis=i32(1), k=2"]
    assert cure.staging.dynamic == ("axis",)
    assert "arrays" not in found(["x=f32[3], t='a'", "x=f32[3], t='b'"], [])


def test_what_is_traced_once_needs_no_other_staging() -> None:
    assert not {"reduce_retracing", "input_signature"} & found(["x=f32[N]"], ["N=3,5"], traces=1).keys()


def test_calls_that_failed_are_left_out() -> None:
    assert trial(found(["x=f32[N]"], ["N=3,5,9"], failed=1)["largest"]).numbers == [1, 2]
    assert found(["x=f32[N]"], ["N=3,5,9"], failed=3) == {}
