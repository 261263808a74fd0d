"""`jaxport init`: a port of a Keras model, function or saved graph, written, with its weights, and judged."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from compare.api import port_writing
from compare.api.named_model import NamedModel
from compare.api.port_writing import check_readable, check_style
from compare.commands import _arguments
from compare.commands._conclusion import LEFT, Conclusion
from compare.commands._interpreters import interpreters
from compare.commands._option_types import count
from compare.commands._output import deliver, writable_folder
from compare.commands._parser import Help
from compare.errors import RequestError
from compare.porting.functions.function_ports import FunctionPort
from compare.porting.port_folders import check_folder
from compare.porting.port_source import BATCH, Sizes
from compare.porting.styles import NNX, STYLES
from compare.porting.writing_ports import Port
from compare.progress import reporter
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import terminal
from compare.report.port_tables import print_function, print_port, print_usage

RECORDS = "jaxport-report"
_NOT_JUDGED = "the port was not judged: write what is left, then `jaxport run` it"

_OUTCOMES = {
    PASS: "the port is written whole, and every gate holds",
    FAIL: "the port is written whole, and a gate fails",
    NOT_JUDGED: "the port is written whole, and a gate could not be judged",
}
_INCOMPLETE = "the port is written whole, and results are missing"

HELP = Help(
    description="""\
Write a Flax NNX port of a Keras model: a module with the model's own names of layers, one line a layer; the training
that the model was compiled for, and a script for it; its weights; the port file that `jaxport run` takes; a test; and a
README. Then judge it by the gates. What cannot be written, such as a Lambda, is a method that raises
NotImplementedError, with the layer's name and line; all but these is judged then, with drawn values in their place, and
the port does not hold.

SRC is a .keras or .h5 file, of Keras 2 too, which Keras builds in its safe mode, with the classes that --custom names;
or FILE.py:NAME, a function that makes a model, compiled or not. A model with a call of its own is followed by that
call: NAME has to call it on an example first. A train_step of its own is followed through its source, or traced. The
same input gives the same text. With --style linen the module, loss and step are those of Flax Linen; a layer
without a counterpart there is refused, and nothing is written.

With --input, FILE.py:NAME is a function of tensors, and its port is source in jax.numpy, written from its graph under
the function's own names of variables. Operations that are not written are functions that raise. So is the port of the
folder of a SavedModel, or of a .pb file with a frozen graph: of one signature or function, with weights by their
scopes, and what the variables hold. It starts behind texts and lookup tables.
""",
    operands="SRC -o FOLDER",
    examples="""\
  jaxport init model.keras -o my_port
  jaxport init model.h5 --custom layers.py:Scale -o my_port
  jaxport init my_tf.py:build -o my_port --batch 8 --steps 50
  jaxport init my_tf.py:build -o my_port --style linen   modules of flax.linen, and a TrainState
  jaxport init my_tf.py:f --input 'x=f32[B,128]' -o my_port
  jaxport init my_saved_model --signature serving_default -o my_port
  jaxport init frozen.pb --output probabilities -o my_port
  jaxport run my_port/port.py                        programs and times too
""",
    holds="the port was written whole, and every gate holds",
    fails="a place is left to be written, weights do not fit, or a gate does not hold",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument(
        "source", metavar="SRC", help="a .keras or .h5 file, the folder of a SavedModel, a .pb file, or FILE.py:NAME"
    )
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=TYPE[SHAPE]",
        help="SRC is a function or saved graph: its argument, such as x=f32[B,128] (repeat, in the order of arguments)",
    )
    command.add_argument(
        "--signature", default="", metavar="NAME",
        help="of a SavedModel: a signature or function (default: serving_default, or the only one)",
    )  # fmt: skip
    command.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="TENSOR",
        help="of a frozen graph or SavedModel: what the port returns (repeat; default: what no other node takes)",
    )
    command.add_argument(
        "--batch",
        type=count,
        metavar="N",
        help=f"examples of a call that is judged (default: {BATCH}, or what states of stateful layers are made for)",
    )
    command.add_argument(
        "--steps",
        type=count,
        default=Sizes.steps,
        metavar="N",
        help="steps of training that are judged (default: %(default)s)",
    )
    command.add_argument(
        "--style", choices=STYLES, default=NNX,
        help="the interface of Flax that modules are written in; linen: all layers or nothing (default: %(default)s)",
    )  # fmt: skip
    command.add_argument("--no-run", action="store_true", help="write the port, and judge nothing")
    command.add_argument(
        "--force", action="store_true", help="write into a folder that holds files, over those of a port"
    )
    _arguments.add_custom(command)
    workers = command.add_argument_group("workers")
    workers.add_argument("--tf-python", metavar="PYTHON", help="interpreter with TensorFlow (default: this one)")
    workers.add_argument("--jax-python", metavar="PYTHON", help="interpreter with JAX and Flax (default: this one)")
    _arguments.add_timeout(workers)
    output = command.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FOLDER", required=True, help="the folder of the port")
    _arguments.add_json(output, "the record of the run")


def main(options: argparse.Namespace) -> Conclusion | None:
    """Write the port and judge it; the verdict.

    Raises:
      RequestError: the model cannot be read, or the folder is not to be written to.
    """
    pythons = interpreters(options)
    custom = _arguments.custom(options, options.source)
    model = NamedModel(
        options.source, tuple(options.input), custom, pythons["tf"], options.timeout,
        signature=options.signature, outputs=tuple(options.output),
    )  # fmt: skip
    sizes = Sizes(options.batch, options.steps)
    check_readable(model, sizes)
    check_style(model, options.style)
    check_folder(options.out, options.force)
    writable_folder(options.out)
    if options.json and options.no_run:
        raise RequestError("expected --json or --no-run, found both: nothing is recorded without a run")
    port = port_writing.write(model, options.out, sizes, pythons["jax"], options.style)
    if isinstance(port, FunctionPort):
        return _function(options, port)
    if not options.json:
        print_port(port)
    conclusion = _conclude(options, port)
    if not options.json:
        print_usage(port)
    return conclusion


def _conclude(options: argparse.Namespace, port: Port) -> Conclusion | None:
    """The verdict on a port; None where nothing is left and nothing was to be judged."""
    if port_writing.find_unwritten(port)[0]:
        return _conclude_unfinished(options, port)
    return None if options.no_run else _whole(_judge(options, port, port.file), port.folder)


def _function(options: argparse.Namespace, port: FunctionPort) -> Conclusion | None:
    """Print and judge a port of a function."""
    if not options.json:
        print_function(port)
    places, files = port_writing.find_unwritten(port)
    if places:
        terminal.complain(_NOT_JUDGED)
        return Conclusion(LEFT, describe_places(places, " and ".join(files)))
    return None if options.no_run else _whole(_judge(options, port, port.file), port.folder)


def _whole(conclusion: Conclusion, folder: Path) -> Conclusion:
    """The verdict on a port that is written whole, by what the gates say of it."""
    outcome = _OUTCOMES.get(conclusion.verdict, _INCOMPLETE)
    return Conclusion(conclusion.verdict, f"{outcome}: {folder / RECORDS / 'report.html'}")


def _conclude_unfinished(options: argparse.Namespace, port: Port) -> Conclusion:
    """Judge what is written of a port in which places are left: whatever comes of it, the whole does not hold."""
    file = None if options.no_run else port_writing.judged_file(port)
    if file is None:
        terminal.complain(_NOT_JUDGED)
    elif file == port.rest:
        rest = _judge(options, port, file)
        terminal.complain(f"{rest.line}; {file.name} was judged, and not the port: write what is left in it")
    else:
        rest = _judge(options, port, file)
        terminal.complain(
            f"{rest.line}; the training step was not judged: write it in a training_jax.py, as docs/your-own-model.md "
            "has it"
        )
    places, files = port_writing.find_unwritten(port)
    return Conclusion(LEFT, describe_places(places, " and ".join(files)))


def describe_places(places: Sequence[str], module: str) -> str:
    """A sentence on what is left to write."""
    number = "1 place is" if len(places) == 1 else f"{len(places)} places are"
    places_text = "; ".join([*places[:3], *(["..."] if len(places) > 3 else [])])
    return f"{number} left to write in {module}: {places_text}"


def _judge(options: argparse.Namespace, port: Port | FunctionPort, file: Path) -> Conclusion:
    try:
        with reporter(terminal.console(stderr=True), quiet=options.json) as progress:
            result = port_writing.judge(port, file, interpreters(options), options.timeout, progress)
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"{port.folder} was written, and not judged") from interrupt
    return deliver(result, port.folder / RECORDS, options.json)
