"""Rules for fake quantization: the functions of jaxport.quantization."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compare.porting.functions.rule_calls import Call, Rule


def _levels(call: Call) -> str:
    """The arguments of a rule that say how many levels there are, where they are not the defaults."""
    bits, narrow = int(call.attribute("num_bits", 8)), bool(call.attribute("narrow_range"))
    return f", num_bits={bits}" * (bits != 8) + ", narrow_range=True" * narrow


def _ends(call: Call, first: int) -> str:
    """The range: numbers of the operation itself, or inputs."""
    if "Args" not in call.node.type:
        return f"{call.array(first)}, {call.array(first + 1)}"
    ends = (call.attribute("min", -6.0), call.attribute("max", 6.0))
    return ", ".join(f"jnp.float32({float(str(np.float32(end)))!r})" for end in ends)


def _quantize(call: Call) -> str:
    return f"jaxport.quantization.fake_quantize({call.array(0)}, {_ends(call, 1)}{_levels(call)})"


def _gradients(call: Call) -> list[str] | str:
    arguments = f"{call.array(0)}, {call.array(1)}, {_ends(call, 2)}{_levels(call)}"
    text = f"jaxport.quantization.fake_quantize_gradient({arguments})"
    return f"{text}[0]" if "Args" in call.node.type else ["*", text]


_KINDS = ("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_KINDS, _quantize),
    **{f"{kind}Gradient": _gradients for kind in _KINDS},
}
