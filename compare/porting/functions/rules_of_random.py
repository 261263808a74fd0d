"""Rules for random numbers: integers and bits are the same; for others, the reason why they are not written."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.safe_expressions import UnwritableError

_FROM_A_STATE = (
    "it draws from a state, and other numbers every time: give them as an input, or draw by tf.random.stateless_*"
)
_TWO_KINDS = "TensorFlow's kernels and XLA make other numbers of the same bits: jaxport.random has both"
STATEFUL = (
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "RandomShuffle", "Multinomial",
    "RandomGammaV3", "RandomGamma", "RandomPoissonV2", "ParameterizedTruncatedNormal", "StatefulUniform",
    "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniformInt", "StatefulUniformFullInt",
)  # fmt: skip
STATELESS = (
    "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2", "StatelessRandomUniform",
    "StatelessRandomNormal", "StatelessTruncatedNormal",
)  # fmt: skip
REASONS: Mapping[str, str] = {**dict.fromkeys(STATEFUL, _FROM_A_STATE), **dict.fromkeys(STATELESS, _TWO_KINDS)}
"""Why an operation is left whatever it takes."""
_PHILOX, _CHOSEN = 1, 3
"""Numbers of algorithms: TensorFlow's kernels choose Philox on every CPU and GPU."""


def _key_and_counter(call: Call) -> list[str]:
    """Both stand for the seed that they are made of: what draws from them is given that."""
    seed = call.values[0]
    if seed.is_known and not all(-(2**31) <= number < 2**31 for number in call.integers(0)):
        raise UnwritableError("its seed is of more than 32 bits")
    if not seed.is_known and call.dtype_of(0) == "int64":
        raise UnwritableError("its seed is computed, and of 64 bits: jaxport.random takes int32")
    return [call.variable(0), call.variable(0)]


def _seed(call: Call) -> str:
    algorithm = call.values[3]
    if algorithm.is_known and call.integers(3)[0] not in (_PHILOX, _CHOSEN):
        raise UnwritableError("its algorithm is not Philox")
    key, counter = call.array(1), call.array(2)
    if key != counter:
        raise UnwritableError("its key and counter are not those of a seed")
    return key


def _whole(call: Call) -> str:
    if call.node.results[0].dtype != "int32":
        raise UnwritableError(f"it draws {call.node.results[0].dtype}: jaxport.random has int32")
    ends = ", ".join(call.operand(index) for index in (4, 5))
    return f"jaxport.random.integers({_seed(call)}, {call.numbers(0)}, {ends})"


def _bits(call: Call) -> str:
    if call.node.results[0].dtype not in ("int32", "uint32"):
        raise UnwritableError(f"it draws {call.node.results[0].dtype}: jaxport.random has bits of 32")
    return f"jaxport.random.bits({_seed(call)}, {call.numbers(0)}).astype({call.dtype()})"


RULES: Mapping[str, Rule] = {
    "StatelessRandomGetKeyCounter": _key_and_counter,
    "StatelessRandomUniformIntV2": _whole, "StatelessRandomUniformFullIntV2": _bits,
}  # fmt: skip
