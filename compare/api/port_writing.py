"""`jaxport init`: a port that is written and judged, as a caller reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from compare.api.check_report import CheckReport, report_of
from compare.api.named_model import NamedModel
from compare.errors import RequestError
from compare.inputs import port_files
from compare.inputs.functions import check_reference
from compare.inputs.keras_files import KERAS_FILES
from compare.inputs.request import Request
from compare.porting import writing_ports
from compare.porting.functions import function_ports
from compare.porting.functions.function_ports import FunctionPort
from compare.porting.functions.function_source import MODULE
from compare.porting.port_folders import README, check_folder
from compare.porting.port_source import Sizes
from compare.porting.styles import NNX, STYLES, Style
from compare.porting.writing_ports import Port
from compare.progress import Reporter
from compare.record.envelope import Record
from compare.report import table_page, verdicts
from compare.report.port_readme import readme
from compare.report.showable import one_line
from compare.run import whole_run
from compare.run.whole_run import RunResult
from compare.sides._side import SIDES
from compare.sides.model_worker import ModelWorker
from compare.sides.pool import Source
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.writing import write_atomically
from workloads.core.modes import Mode
from workloads.protocol.saved_graph import SavedGraph

MODES = (Mode("tf", "jit"), Mode("jax", "jit"))


@dataclass(frozen=True, repr=False)
class WrittenPort:
    """The result of `jaxport.write_port`. A notebook shows it as HTML.

    Attributes:
      folder: of the port.
      file: that `jaxport.check` and `jaxport run` take.
      unwritten: places that are left to write, a line each: methods and functions that raise NotImplementedError.
      unwritten_in: the names of the files that they are in.
      report: of the gates; with places left, of the rest, with drawn values in their place. None where nothing was
        judged.
    """

    folder: Path
    file: Path
    unwritten: Sequence[str]
    unwritten_in: Sequence[str]
    report: CheckReport | None

    @property
    def passed(self) -> bool:
        """Whether all of it is written, and every gate holds."""
        return not self.unwritten and self.report is not None and self.report.passed

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), *([repr(self.report)] if self.report else [])])

    def _repr_html_(self) -> str:
        verdict = verdicts.LEFT if self.unwritten else ""
        page = table_page.render(one_line(str(self.folder)), verdict, None, self._lines())
        return page + (self.report._repr_html_() if self.report else "")

    def _lines(self) -> list[str]:
        """Lines on what was written and what is left to write."""
        places = [f"to be written in {', '.join(self.unwritten_in)}:", *self.unwritten] if self.unwritten else []
        return [one_line(line) for line in (f"jaxport.check takes {self.file}", *places)]


@dataclass(frozen=True)
class Writing:
    """How a port is written.

    Attributes:
      sizes: that it is judged at.
      force: whether a port that is there may be written anew.
      run: whether it is judged.
      style: of the modules of a Keras model, "nnx" or "linen".
    """

    sizes: Sizes
    force: bool
    run: bool
    style: Style = NNX


def write_port(model: NamedModel, folder: Path, writing: Writing, progress: Reporter) -> WrittenPort:
    """See `jaxport.write_port`.

    Raises:
      RequestError: the model cannot be read, or the folder is not to be written to.
    """
    check_readable(model, writing.sizes)
    check_style(model, writing.style)
    check_folder(folder, writing.force)
    port = write(model, folder, writing.sizes, None, writing.style)
    unwritten_places, files = find_unwritten(port)
    file = judged_file(port) if writing.run else None
    pythons: dict[str, str | None] = dict.fromkeys(SIDES)
    report = None if file is None else report_of(judge(port, file, pythons, model.timeout_s, progress).record)
    return WrittenPort(folder, port.file, unwritten_places, files, report)


def is_saved_graph(target: str) -> bool:
    """Whether a target names a SavedModel, by its folder or file, or a frozen graph."""
    return Path(target).is_dir() or Path(target).suffix.lower() == ".pb"


def check_readable(model: NamedModel, sizes: Sizes) -> None:
    """Raise RequestError for what is no file of Keras, saved graph or function that is there, or has other options."""
    if is_saved_graph(model.target):
        _check_options(model, sizes)
        return
    if model.signature or model.outputs:
        option = "--signature" if model.signature else "--output"
        raise RequestError(f"expected {option} with a SavedModel or a .pb file, found {model.target}: drop it")
    if model.inputs or Path(model.target).suffix.lower() not in KERAS_FILES:
        if ":" not in model.target:
            raise RequestError(
                "expected a .keras or .h5 file, the folder of a SavedModel, a .pb file or FILE.py:NAME, found "
                f"{model.target}: check the path"
            )
        check_reference("", model.target)


def check_style(model: NamedModel, style: Style) -> None:
    """Raise RequestError for an unknown style, and for one of modules where a port has none: of a function or graph."""
    if style not in STYLES:
        raise RequestError(f"expected the style {' or '.join(STYLES)}, found {style!r}: name one of these")
    if style != NNX and (model.inputs or is_saved_graph(model.target)):
        raise RequestError(f"expected --style {style} with a Keras model, found {model.target}: drop it")


def _check_options(model: NamedModel, sizes: Sizes) -> None:
    """Raise RequestError for what says nothing of a saved graph."""
    if model.signature and model.outputs:
        raise RequestError("expected --signature or --output, found both: drop one")
    options = {"custom": bool(model.custom), "batch": sizes.batch is not None, "steps": sizes.steps != Sizes.steps}
    if any(options.values()):
        raise RequestError(
            f"expected no {' or '.join(options)} for a SavedModel or .pb file, found "
            f"{' and '.join(name for name, is_there in options.items() if is_there)}: drop it; --input gives sizes"
        )


def write(
    model: NamedModel, folder: Path, sizes: Sizes, jax_python: str | None, style: Style = NNX
) -> Port | FunctionPort:
    """Write a port of a Keras model, or with inputs of a function, and its README.

    Args:
      model: that is ported.
      folder: of the port.
      sizes: that it is judged at.
      jax_python: interpreter with JAX and Flax; None is this one.
      style: of the modules of a Keras model.

    Raises:
      RequestError: the model cannot be read, or has no counterpart in that style.
    """
    port = _write(model, folder, sizes, jax_python, style)
    _write_readme(port, judged_file(port), None)
    return port


def _write(model: NamedModel, folder: Path, sizes: Sizes, jax_python: str | None, style: Style) -> Port | FunctionPort:
    with ExitStack() as stack:
        if is_saved_graph(model.target):
            path = Path(model.target)
            path = path.parent if path.name == "saved_model.pb" else path
            selection = SavedGraph(str(path), model.signature, model.outputs)
            worker = ModelWorker(model.python, model.timeout_s, stack)
            return function_ports.write_saved(selection, model.inputs, folder, worker)
        if model.inputs:
            worker = ModelWorker(model.python, model.timeout_s, stack)
            return function_ports.write(model.target, model.inputs, folder, worker)
        workers = WeightWorkers(model.python, jax_python, model.timeout_s, stack)
        return writing_ports.write(KerasModel(model.target, custom=model.custom), folder, sizes, workers, style)


def _write_readme(port: Port | FunctionPort, file: Path | None, record: Record | None) -> None:
    """Write README.md, unless there is one of the user's own."""
    if README not in port.files_of_user:
        text = readme(port, find_unwritten(port)[0], file.name if file else "", record)
        write_atomically(port.folder / README, text)


def find_unwritten(port: Port | FunctionPort) -> tuple[Sequence[str], Sequence[str]]:
    """The places that are left to write, and the files that they are in."""
    if isinstance(port, FunctionPort):
        places = [place.description for place in port.written.unwritten]
        return places, [MODULE] if places else []
    places = [*port.unwritten, *port.findings]
    return places, list(port.unwritten_files) if places else []


def judged_file(port: Port | FunctionPort) -> Path | None:
    """The file of a port that `jaxport run` judges: with places left, the rest; None if there is nothing to judge."""
    if not find_unwritten(port)[0]:
        return port.file
    if isinstance(port, FunctionPort):
        return None
    return port.rest if port.rest is not None else port.file if port.computes else None


def judge(
    port: Port | FunctionPort,
    file: Path,
    pythons: Mapping[str, str | None],
    timeout_s: float,
    progress: Reporter,
) -> RunResult:
    """Judge a written port by the gates, and say in its README what they say.

    Args:
      port: that was written.
      file: of it that `jaxport run` takes.
      pythons: by side, its interpreter; None is this one.
      timeout_s: how long a worker may take for one request.
      progress: shows each step.
    """
    request = Request(
        workloads=port_files.get_each([str(file)]),
        sources={side: Source(python=python) for side, python in pythons.items()},
        timeout_s=timeout_s,
        plans=(),
        modes=MODES,
        parity_only=True,
    )
    result = whole_run.run(request, progress)
    _write_readme(port, file, result.record)
    return result
