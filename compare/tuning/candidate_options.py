"""Lists the candidates of a search: each value of each compiler option alone, then good ones together."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compare.errors import RequestError

Value = bool | int | str
Options = Mapping[str, Value]

_COMMENT = 100
"""Columns of a comment that is to be pasted into indented code."""

PARTNERS = 3
"""How many other options the fastest one is combined with."""

_LIBRARY = "LIBRARY_FUSION_TYPE_"


@dataclass(frozen=True)
class Option:
    """One option of XLA, and the values that are tried; docs/tune.md says what it does.

    `changes_numbers` says that it allows other results than the program asks for, beyond another order of operations.
    """

    name: str
    values: tuple[Value, ...]
    changes_numbers: bool = False


def _libraries(*kinds: str) -> str:
    return ",".join(_LIBRARY + kind for kind in kinds)


SPACE: Mapping[str, tuple[Option, ...]] = {
    "cpu": (
        Option(
            "xla_cpu_experimental_ynn_fusion_type",
            (
                "",
                *(_libraries(kind) for kind in ("REDUCE", "ELTWISE", "INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION")),
                _libraries("REDUCE", "INDIVIDUAL_DOT"),
                _libraries("REDUCE", "INDIVIDUAL_CONVOLUTION"),
            ),
        ),
        Option("xla_cpu_prefer_vector_width", (128, 512)),
        Option("xla_cpu_scheduler_type", ("CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",)),
        Option("xla_cpu_use_fusion_emitters", (False,)),
        Option("xla_cpu_copy_insertion_use_region_analysis", (True,)),
        Option("xla_cpu_enable_fast_math", (True,), changes_numbers=True),
        Option("xla_cpu_enable_fast_min_max", (True,), changes_numbers=True),
    ),
    "gpu": (
        Option("xla_gpu_enable_triton_gemm", (False,)),
        Option("xla_gpu_triton_gemm_any", (False,)),
        Option("xla_gpu_experimental_enable_triton_heroless_priority_fusion", (True,)),
        Option("xla_gpu_experimental_enable_fusion_block_level_rewriter", (True,)),
        Option("xla_gpu_enable_while_loop_double_buffering", (True,)),
    ),
}
"""By platform, as `jax.default_backend()` names it: what changes some program in jaxlib 0.10.2, see docs/tune.md."""


def parse(texts: Sequence[str]) -> tuple[Option, ...]:
    """Options as the command line names them: "name=value,value"; a "+" inside a value joins a list of XLA's.

    Raises:
      RequestError: no name or no value.
    """
    options = []
    for text in texts:
        name, equals, values = text.partition("=")
        if not name.strip() or not equals:
            raise RequestError(f"expected --option NAME=VALUE,VALUE, found {text!r}: write xla_some_option=true,false")
        options.append(Option(name.strip(), tuple(dict.fromkeys(_value(value.strip()) for value in values.split(",")))))
    names = [option.name for option in options]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RequestError(f"expected each --option once, found {twice[0]} twice: put its values behind one name")
    return tuple(options)


def singles(options: Iterable[Option]) -> dict[str, Options]:
    """Every value of every option alone, by name."""
    alone = [{option.name: value} for option in options for value in option.values]
    return {flags_text(options): options for options in alone}


def together(best: Sequence[Options]) -> dict[str, Options]:
    """The fastest with each of the next PARTNERS that set something else, and all of them that fit together.

    Args:
      best: each alone faster than the default, the fastest first.
    """
    if not best:
        return {}
    pairs = [{**best[0], **other} for other in best[1:] if not best[0].keys() & other.keys()][:PARTNERS]
    whole: dict[str, Value] = {}
    for options in best:
        whole |= {} if whole.keys() & options.keys() else options
    combinations = [*pairs, whole] if len(whole) > 2 else pairs
    return {flags_text(options): options for options in combinations}


def flags_text(options: Options) -> str:
    """The options as in XLA_FLAGS, without dashes; "default" without options."""
    return " ".join(f"{name}={_value_text(value)}" for name, value in options.items())


def loose(options: Options, candidates: Iterable[Option]) -> bool:
    """Whether one of these allows other results than the program asks for."""
    return any(option.changes_numbers and option.name in options for option in candidates)


def snippet(options: Options, platform: str, remark: str) -> str:
    """The argument for `jaxport.Model(...)`, with the measurement that chose it as a comment.

    Args:
      remark: the ratio, its interval and its circumstances in one line.
    """
    lines = [f"        {name!r}: {value!r}," for name, value in options.items()]
    text = "\n".join(["compiler_options={", f"    {platform!r}: {{", *lines, "    }", "},"]).replace("'", '"')
    comment = textwrap.wrap(remark, _COMMENT, initial_indent="# ", subsequent_indent="# ")
    return "\n".join([*comment, text])


def _value(text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and digits.isascii() else text.replace("+", ",")


def _value_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
