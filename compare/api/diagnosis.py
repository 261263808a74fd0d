"""`jaxport.doctor`: the contents of a model, and what will be hard to port."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import msgspec

from compare.api.named_model import NamedModel
from compare.doctor import diagnosing
from compare.doctor.predicted_port import PredictedPort
from compare.errors import RequestError
from compare.inputs.functions import model_inputs
from compare.plain_json import to_json
from compare.porting import writing_ports
from compare.porting.functions import function_ports
from compare.record.diagnosis_part import BLOCKER, NOTE, Diagnosis, Finding
from compare.report import doctor_words as words
from compare.report import table_page, terminal
from compare.report.doctor_page import console_page
from compare.report.page_console import print_page
from compare.report.pages import Table, columns
from compare.report.showable import on_lines
from compare.report.table_page import Display
from compare.sides.model_worker import ModelWorker
from compare.sides.weight_workers import KerasModel
from workloads.protocol.inspection import Inspection


@dataclass(frozen=True, repr=False)
class DoctorReport(Display):
    """The result of `jaxport.doctor`. A notebook shows it as HTML; its text is the output of the command line.

    Attributes:
      blockers: what does not compile under XLA, or has no counterpart.
      findings: all that was found, blockers first: each has `severity`, `subject`, `what`, `advice` and `gotcha`.
      places: what `jaxport.write_port` would leave to be written; None where it does not read the model.
      record: the same and the rest, as `jaxport doctor --json` has it.
    """

    blockers: Sequence[Finding]
    findings: Sequence[Finding]
    places: Sequence[str] | None
    record: Mapping[str, object]
    _text: str
    _html: str


def report(diagnosis: Diagnosis) -> DoctorReport:
    """A diagnosis as a caller reads it."""
    return DoctorReport(
        blockers=tuple(finding for finding in diagnosis.findings if finding.severity == BLOCKER),
        findings=diagnosis.findings,
        places=diagnosis.places,
        record=to_json(diagnosis),
        _text=terminal.text_of(lambda console: print_page(console_page(diagnosis), console)),
        _html=_page(on_lines(diagnosis)),
    )


def _page(diagnosis: Diagnosis) -> str:
    """Each finding with what to do about it, then the layers and what is left to write."""
    findings = [
        (
            words.title(finding),
            finding.severity,
            finding.what,
            finding.advice,
            words.list_places(finding.places, finding.count),
        )
        for finding in diagnosis.findings
        if finding.severity != NOTE
    ]
    lines = [words.headline(diagnosis), words.summary(diagnosis), *words.effort(diagnosis)]
    lines += [words.of_init(diagnosis), *(diagnosis.places or ())]
    table = Table(columns("finding", "severity", "what", "advice", "where"), findings)
    return table_page.render(diagnosis.target, "", table, [line for line in lines if line])


def diagnose(model: NamedModel) -> Diagnosis:
    """Read a model by a worker and judge what is in it.

    Raises:
      RequestError: there is no such model, or it cannot be read.
    """
    with ExitStack() as stack:
        worker = ModelWorker(model.python, model.timeout_s, stack)
        inspection = worker.inspect(model.target, model_inputs(model.inputs), model.custom)
        port, no_port = _predict(worker, model, inspection)
    title = model.shown or model.target
    command = "" if model.shown else command_of_init(model)
    diagnosis = diagnosing.diagnose(title, inspection, port=port, no_port=no_port, command=command)
    # For a model in memory, a worker read a file that the caller does not know.
    return msgspec.structs.replace(diagnosis, kind="keras model") if model.shown else diagnosis


def _predict(worker: ModelWorker, model: NamedModel, inspection: Inspection) -> tuple[PredictedPort | None, str]:
    """The places that `jaxport init` would leave; None, and the reason, if it does not read the model."""
    try:
        if inspection.kind.startswith("keras"):
            return writing_ports.predict_port(worker.architecture(KerasModel(model.target, custom=model.custom))), ""
        if model.inputs:
            return function_ports.predict_port(model.target, model.inputs, worker), ""
    except RequestError as error:
        return None, str(error)
    return None, ""


def command_of_init(model: NamedModel) -> str:
    """The command that writes a port of what was read, ready for a shell."""
    words = ["jaxport", "init", model.target]
    words += [word for spec in model.inputs for word in ("--input", spec)]
    words += [word for reference in model.custom for word in ("--custom", reference)]
    return shlex.join([*words, "-o", "port"])
