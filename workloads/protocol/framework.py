"""The data that crosses between processes, and what both sides make of it: see `_protocol`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np

from workloads.core.spec import Arrays, Dimensions, is_differentiable

WEIGHTS = "weights/"

KINKS = "kinks"
"""The case of ties, zeros and ends, where only the choice of a subgradient decides; small inputs have several."""


def is_kinks(case: str) -> bool:
    """Whether a case is one of kinks."""
    return case.startswith(KINKS)


FORWARD = "forward"
GRADIENTS = "gradients"
STEP = "step"
PASSES = (FORWARD, GRADIENTS, STEP)
UNROLLED = "unrolled"
"""Several training steps as a loop in one program: judged against single steps, and timed where it is asked for."""


def default_pass(passes: Collection[str]) -> str:
    """The main pass of a twin unless another is asked for: the training step where there is one."""
    return STEP if STEP in passes else FORWARD


COTANGENT_PERIOD = 17
COTANGENT_CENTRE = 8.5
COTANGENT_SCALE = 8
"""The gradient of a function that has no loss is taken of sum(output * cotangent), where element i
of the flat cotangent is (i mod 17 - 8.5) / 8: never zero, exact in every float type, and cheap to
build inside either program."""


Platform = Literal["cpu", "gpu", "tpu"]
"""The platform that a program is lowered for: frontends may write another program for each."""


ParameterKind = Literal["input", "batches", "weight", "state"]
Size = Annotated[int, msgspec.Meta(ge=0)]
Scalar = str | int | float | bool | None

CompilerOptions = Mapping[str, Scalar]
"""Debug options of XLA, by name."""

NO_OPTIONS: CompilerOptions = MappingProxyType({})
"""The compiler's own."""


class Unsupported(Exception):
    """The side cannot do this with this workload; the message says why."""


NO_GRADIENT_OF = "TensorFlow has no gradient of"
NO_FLOAT_OUTPUT = "no output is a float: there is no gradient to take"
NO_FLOAT_INPUT = "no input or weight is a float that TensorFlow differentiates"


def has_no_gradient(reason: str) -> bool:
    """Whether a reason of the original's says that it has no gradient, and not that it cannot compute one here."""
    return any(sentence in reason for sentence in (NO_GRADIENT_OF, NO_FLOAT_OUTPUT, NO_FLOAT_INPUT))


@dataclass(frozen=True)
class Twin:
    """Where one side's half of a workload lives, and what it is called with.

    `cases` holds, per case name, the inputs of one call, and under "weights/PATH" the weights that
    the case changes. `batches` holds the inputs of a training run, steps along the first axis.
    `main_pass` is what is compiled, profiled and timed; empty takes `default_pass`.
    """

    target: str
    builds: bool
    dimensions: Dimensions
    cases: Mapping[str, Arrays]
    weights: Arrays
    batches: Arrays = field(default_factory=dict)
    main_pass: str = ""
    unrolled: int = 0
    """The steps of the unrolled pass; 0 for none."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of one call, in the order in which the twin takes them."""
        first = next(iter(self.cases.values()))
        return tuple(name for name in first if not name.startswith(WEIGHTS))

    @property
    def first_case(self) -> str:
        """The case that is compiled and timed, and that a training run starts from."""
        return next(iter(self.cases))

    @property
    def float_inputs(self) -> list[int]:
        """Positions of the inputs that gradients are taken with respect to."""
        arrays = self.cases[self.first_case]
        return [index for index, name in enumerate(self.inputs) if is_differentiable(arrays[name].dtype)]

    @property
    def is_differentiable(self) -> bool:
        """Whether there is anything to take a gradient with respect to."""
        return bool(self.weights) or bool(self.float_inputs)

    def weights_of(self, case: str, replacements: Arrays | None = None) -> dict[str, np.ndarray]:
        """The canonical weights of this case, some of them replaced."""
        values = {**self.cases[case], **(replacements or {})}
        return {path: values.get(WEIGHTS + path, array) for path, array in self.weights.items()}

    @property
    def first_batches(self) -> dict[str, np.ndarray]:
        """The batches of the unrolled pass, [steps, ...] by input."""
        return {name: self.batches[name][: self.unrolled] for name in self.inputs}

    def argument(self, parameter: Parameter, case: str, states: Arrays) -> np.ndarray:
        """The value of a program's parameter, in the parameter's own dtype.

        Args:
          parameter: what fills it, and its dtype.
          states: the program's own, by name.
        """
        if parameter.kind == "batches":
            return self.batches[parameter.name][: parameter.shape[0]].astype(parameter.dtype, copy=False)
        sources = {"input": self.cases[case], "weight": self.weights_of(case), "state": states}
        return np.asarray(sources[parameter.kind][parameter.name]).astype(parameter.dtype, copy=False)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a program, by what fills it: kind is "input", "batches", "weight" or "state".

    An input or weight is taken from the twin's arrays under `name`, batches are the first of a training run, one a step
    along the first axis; a state carries its own value
    in `Program.states`. Of a state that belongs to a weight, `owner` is the weight and `part` what the optimizer
    calls the state of every weight, such as "momentum".
    """

    kind: ParameterKind
    name: str
    shape: tuple[Size, ...]
    dtype: str
    owner: str = ""
    part: str = ""


@dataclass(frozen=True)
class Result:
    """One result of a program, under the leaf name that `outputs` uses."""

    name: str
    shape: tuple[Size, ...]
    dtype: str


@dataclass(frozen=True)
class Program:
    """The program that a frontend gives to XLA: a portable StableHLO artifact and its calling convention."""

    artifact: bytes
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    states: Arrays = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """"file:line" of the user's code by the op_name in the program's metadata; empty where the program says it."""

    def name_results(self, values: Iterable[Any]) -> dict[str, np.ndarray]:
        """Name the results; `values` are as many arrays of a framework, in order."""
        return {result.name: np.array(value) for result, value in zip(self.results, values, strict=True)}


@dataclass(frozen=True)
class Compiled:
    """A program compiled by one side's XLA."""

    handle: int
    compile_s: float


@dataclass(frozen=True)
class Optimized:
    """The optimized form of a compiled program."""

    module: bytes
    """Serialized HloModuleProto."""
    temp_bytes: int | None
    executable_bytes: Size | None = None
    """The size of the serialized executable, with machine code; None if the framework gives none."""


@dataclass(frozen=True)
class MemoryAnalysis:
    """The memory that the compiler reserves for one call, in bytes. None: it does not say.

    `alias_bytes` are those of `output_bytes` that overwrite an argument. What a library called by the
    program allocates for itself is in none of them.
    """

    argument_bytes: int | None = None
    output_bytes: int | None = None
    temp_bytes: int | None = None
    alias_bytes: int | None = None


@dataclass(frozen=True)
class Analysis:
    """Facts about a target that need a second request: `lower_s` is a second lowering, timed apart."""

    lower_s: float | None = None
    memory: MemoryAnalysis | None = None


@dataclass(frozen=True)
class Prepared:
    """One callable step with its barrier inside, and what it cost to get there, in seconds.

    A call takes `steps` steps; times are those of one step.
    `around` is entered once around any number of calls and never timed: a mode that is a setting
    of the whole runtime is switched there. `analyse` may compile once more: it is called last, when
    times and memory have been taken, or not at all.
    """

    call: Callable[[], object]
    trace_s: float | None = None
    compile_s: float | None = None
    around: Callable[[], AbstractContextManager[object]] = nullcontext
    lower_s: float | None = None
    analyse: Callable[[], Analysis] = Analysis
    steps: int = 1


class KernelRun(NamedTuple):
    """One kernel as a profiler saw it run: seconds since the first event, and its own, those of its callees included.

    Without times, `seconds` is None. Every kernel of a GPU has a thread of its own: those that overlap run side by
    side, and none within another.
    """

    name: str
    thread: int = 0
    start_s: float = 0.0
    seconds: float | None = None


@dataclass(frozen=True)
class Donation:
    """The training step compiled as users run it, with what it was given to overwrite.

    `donated` are positions of parameters: in JAX those of donated arguments, in TensorFlow the variables
    that the step updates. `optimized` is a serialized HloModuleProto.
    """

    optimized: bytes
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    donated: tuple[Size, ...]


@dataclass(frozen=True)
class Clustered:
    """A pass that ran with autoclustering, for what the framework logged and dumped meanwhile to be read with.

    `function` is the name of its graph, `calls` are the nodes that each of some warm calls ran, "NAME:OP", and
    `sources` is "file:line" of the user's code by the name of a node.
    """

    function: str
    calls: Sequence[Sequence[KernelRun]]
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Attempted:
    """The outputs of a function by position; with autoclustering, the nodes that each of some warm calls ran."""

    outputs: Arrays
    calls: Sequence[Sequence[KernelRun]] = ()


PROFILED_CALLS = 5
"""How many calls are profiled, each alone: the times of one call vary."""

DISPATCH_ELEMENTS = 8
"""So few elements that a call of x + 1 is all dispatch."""


@dataclass(frozen=True)
class Entry:
    """Two ways to call one function, barrier inside.

    `public` is what users call, which looks up the compiled code by its arguments; `concrete` is that
    code itself, None where the mode has none.
    """

    public: Callable[[], object]
    concrete: Callable[[], object] | None = None
