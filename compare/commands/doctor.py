"""`jaxport doctor`: what is in a model of TensorFlow, and what will hurt when it is ported."""

from __future__ import annotations

import argparse
from pathlib import Path

from compare.api.diagnosis import diagnose
from compare.api.named_model import NamedModel
from compare.commands import _arguments
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.plain_json import to_json
from compare.record.diagnosis_part import BLOCKER, Diagnosis
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import terminal
from compare.report.doctor_page import console_page, write_page
from compare.report.page_console import print_page
from compare.sides.sources import check_interpreter

DEFAULT_OUT = Path("jaxport-doctor")

HELP = Help(
    description="""\
List what is in a TensorFlow model, and what will be hard to port. Blockers do not compile under XLA or have no
counterpart; each is shown with its source line. Further: the counterpart of every layer and operation, the gotchas that
apply to the model's own attributes, dynamic shapes, randomness, state, side effects and 64-bit types. Writes a page.

TARGET is the folder of a SavedModel, a .keras or .h5 file, or FILE.py:NAME, which names a Keras model, a class or
function that makes one without arguments, a tf.function or a function. Of a SavedModel nothing is loaded or run. The
model of a .keras or .h5 file, of Keras 2 too, is built as Keras does in its safe mode, with new weights and the classes
that --custom names. FILE.py is run, by a process of its own.
""",
    operands="TARGET",
    examples="""\
  jaxport doctor my_saved_model
  jaxport doctor model.keras --strict
  jaxport doctor my_model.py:build
  jaxport doctor my_tf.py:f --input 'x=f32[B,128]' --input 'n=i32[B]'
  jaxport doctor model.keras --json | jq '.findings[] | select(.severity == "blocker")'
""",
    holds="the model was read; with --strict, and there is no blocker",
    fails="with --strict: there is a blocker, or the graph was not traced",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("target", metavar="TARGET", help="SavedModel folder, .keras or .h5 file, or FILE.py:NAME")
    command.add_argument(
        "--input", action="append", default=[], metavar="SPEC",
        help="an argument of FILE.py:NAME, as NAME=DTYPE[SHAPE]; a size that is a name is not fixed; repeat for each",
    )  # fmt: skip
    _arguments.add_custom(command)
    command.add_argument("--strict", action="store_true", help="exit with 1 where there is a blocker")
    command.add_argument("--tf-python", metavar="PYTHON", help="interpreter with TensorFlow (default: this one)")
    _arguments.add_timeout(command)
    _arguments.add_output(command, DEFAULT_OUT, "the diagnosis")


def main(options: argparse.Namespace) -> Conclusion | None:
    """Read the model, judge it, write the page, print; the verdict that --strict asks for.

    Raises:
      RequestError: there is no such model, or it cannot be read.
    """
    if options.input and ".py:" not in options.target:
        raise RequestError(f"expected --input with FILE.py:NAME, found it with {options.target}: drop it")
    model = NamedModel(
        options.target,
        tuple(options.input),
        _arguments.custom(options, options.target),
        options.tf_python,
        options.timeout,
    )
    check_interpreter(options.tf_python, "--tf-python")
    out = writable_folder(options.out)
    diagnosis = diagnose(model)
    page = write_page(diagnosis, out)
    plain, short_page = {"schema": SCHEMA} | to_json(diagnosis), console_page(diagnosis)
    terminal.print_answer(plain, options.json, lambda console: print_page(short_page, console), page)
    return conclude(diagnosis) if options.strict else None


def conclude(diagnosis: Diagnosis) -> Conclusion:
    """The verdict on blockers: of a model whose graph was not traced, nothing is known of its operations."""
    blockers = [finding.subject for finding in diagnosis.findings if finding.severity == BLOCKER]
    if blockers:
        return Conclusion(FAIL, f"blockers in {diagnosis.target}: {list_names(blockers)}")
    if diagnosis.not_traced:
        return Conclusion(NOT_JUDGED, f"the graph of {diagnosis.target} was not traced: {diagnosis.not_traced}")
    return Conclusion(PASS, f"no blocker in {diagnosis.target}")
