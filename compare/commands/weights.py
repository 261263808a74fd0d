"""`jaxport weights`: carries the weights of a Keras model into a Flax module, strictly, and back."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from compare import files
from compare.commands import _arguments
from compare.commands._conclusion import Conclusion
from compare.commands._interpreters import interpreters
from compare.commands._output import writable_file
from compare.commands._parser import Help
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.inputs.functions import check_reference
from compare.inputs.keras_files import KERAS_FILES
from compare.plain_json import to_json
from compare.record.vocabulary import FAIL, PASS
from compare.report import numbers, terminal
from compare.report.weight_tables import print_carriage, print_findings, print_returned
from compare.sides.weight_workers import KerasModel, WeightWorkers
from compare.weights import carrying, receipt, returning
from compare.weights.returning import Returned

DEFAULT_OUT, DEFAULT_BACK = Path("weights.safetensors"), Path("back.weights.h5")
DEFAULT_CHECKPOINT = Path("weights.orbax")
SAVED_MODEL = "saved_model.pb"
WEIGHTS_SUFFIX = ".weights.h5"

HELP = Help(
    description="""\
Carry the weights of a Keras model into a Flax module, of NNX or of Linen, or back. Layers and modules of one name are a
pair; a rule for the layer's class says which class of module it takes, which attributes have to agree (epsilon,
padding, strides), and which variable each weight becomes, through which transform. Every weight is used once and every
variable is written once, in its exact shape and dtype; otherwise nothing is written, and a line for each says what does
not fit. A receipt beside the weights has the rules and the SHA-256 of both sides.

SRC is a .keras or .h5 file, of Keras 2 too, which Keras builds in its safe mode, with the classes that --custom names;
or FILE.py:NAME, a Keras model or a function that makes one; or the folder of a SavedModel, of which variables alone are
read, by their names. DST is FILE.py:NAME, a Flax module or what makes one, of no arguments or of rngs; a Linen module
is initialized on inputs of the model's shapes. Such files are run, each by a process of its own.
`jaxport.weights.load(module, FILE)` reads the weights without TensorFlow.
""",
    operands="SRC [DST]",
    examples="""\
  jaxport weights model.keras my_port.py:Model
  jaxport weights my_tf.py:build my_port.py:Model --weights trained.weights.h5 -o trained.safetensors
  jaxport weights my_tf.py:build my_port.py:Model --checkpoint logs/ckpt-7 --map names.toml
  jaxport weights model.keras my_port.py:Model --allow head.scale="new in the port"
  jaxport weights model.keras my_port.py:Model --optimizer my_port.py:optimizer
  jaxport weights model.keras my_port.py:Model --orbax -o weights.orbax
  jaxport weights model.keras --back weights.safetensors -o back.weights.h5
""",
    holds="every weight was carried; with --back, and all of them are bit-equal to what was carried",
    fails="weights or attributes do not fit, and nothing was written; with --back: a weight is not bit-equal",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("source", metavar="SRC", help="the model: a .keras or .h5 file, FILE.py:NAME, or a SavedModel")
    command.add_argument("target", metavar="DST", nargs="?", help="the Flax module: FILE.py:NAME")
    command.add_argument(
        "--weights", type=Path, metavar="FILE", help="a .weights.h5 file that is loaded into SRC first"
    )
    command.add_argument(
        "--checkpoint", default="", metavar="PREFIX",
        help="a checkpoint that is restored into SRC first: its prefix, the folder of the latest, or a SavedModel",
    )  # fmt: skip
    command.add_argument(
        "--optimizer", default="", metavar="FILE.py:NAME",
        help="carry the variables of SRC's optimizer too, to the state of the optax optimizer that this function makes",
    )  # fmt: skip
    command.add_argument(
        "--map", type=Path, metavar="FILE",
        help="TOML with lines like \"encoder/dense\" = \"enc.linear\": the path of a layer, and of its module; or a "
        "weights.receipt.json, as `jaxport init` leaves it in a port",
    )  # fmt: skip
    command.add_argument(
        "--allow", action="append", default=[], metavar="VARIABLE=REASON",
        help="a variable of DST that keeps its own value, and why; repeatable",
    )  # fmt: skip
    command.add_argument(
        "--leave", action="append", default=[], metavar="PATH=REASON",
        help="a variable of a checkpoint or SavedModel, or an object in it, that is not carried, and why; repeatable",
    )  # fmt: skip
    command.add_argument(
        "--back", type=Path, metavar="FILE",
        help="in place of DST, the file or checkpoint whose weights are carried back, with its receipt beside it",
    )  # fmt: skip
    _arguments.add_custom(command)
    workers = command.add_argument_group("workers")
    workers.add_argument("--tf-python", metavar="PYTHON", help="interpreter with TensorFlow (default: this one)")
    workers.add_argument("--jax-python", metavar="PYTHON", help="interpreter with JAX and Flax (default: this one)")
    _arguments.add_timeout(workers)
    output = command.add_argument_group("output")
    output.add_argument(
        "-o", "--out", type=Path, metavar="FILE",
        help=f"file that is written (default: {DEFAULT_OUT}; with --back: {DEFAULT_BACK})",
    )  # fmt: skip
    output.add_argument(
        "--orbax", action="store_true",
        help=f"write a checkpoint of Orbax, a new folder, in place of a file (default: {DEFAULT_CHECKPOINT})",
    )  # fmt: skip
    _arguments.add_json(output, "the receipt, or what does not fit")


def main(options: argparse.Namespace) -> Conclusion:
    """Carry the weights, or carry them back; the verdict.

    Raises:
      RequestError: a model, module or file cannot be read.
    """
    model = _model(options)
    pythons = interpreters(options)
    with ExitStack() as stack:
        workers = WeightWorkers(pythons["tf"], pythons["jax"], options.timeout, stack)
        return _back(options, model, workers) if options.back else _there(options, model, workers)


def _model(options: argparse.Namespace) -> KerasModel:
    if options.weights and options.checkpoint:
        raise RequestError("expected --weights or --checkpoint, found both: drop one")
    if options.weights and not options.weights.name.endswith(WEIGHTS_SUFFIX):
        raise RequestError(f"expected a file that ends with {WEIGHTS_SUFFIX} for --weights, found {options.weights}")
    is_saved_model = Path(options.source).is_dir()
    if is_saved_model and not (Path(options.source) / SAVED_MODEL).exists():
        raise RequestError(
            f"expected a SavedModel, a folder with {SAVED_MODEL}, found none in {options.source}: name one"
        )
    if not is_saved_model and Path(options.source).suffix.lower() not in KERAS_FILES:
        check_reference("", options.source)
    if options.optimizer:
        check_reference("", options.optimizer)
    if options.leave and not (options.checkpoint or is_saved_model):
        raise RequestError("expected --leave with --checkpoint or a SavedModel, found neither: drop --leave")
    if is_saved_model and (options.weights or options.checkpoint):
        raise RequestError("expected a SavedModel alone, found a file of weights too: name the code in its place")
    return KerasModel(
        options.source,
        options.weights,
        options.checkpoint,
        bool(options.optimizer),
        _parse_allowances(options.leave, "--leave"),
        _arguments.custom(options, options.source),
    )


def _there(options: argparse.Namespace, model: KerasModel, workers: WeightWorkers) -> Conclusion:
    if not options.target:
        raise RequestError("expected the Flax module behind SRC, found none: add FILE.py:NAME, or --back FILE")
    check_reference("", options.target)
    out = _new_folder(options.out or DEFAULT_CHECKPOINT) if options.orbax else _file(options.out or DEFAULT_OUT)
    writable_file(receipt.beside(out))
    request = carrying.Request(
        model, options.target, _names(options.map), _parse_allowances(options.allow, "--allow"), options.optimizer
    )
    carriage = carrying.plan_carriage(request, workers)
    if carriage.findings:
        if options.json:
            terminal.print_json({"format": receipt.FORMAT, "findings": to_json(carriage.findings)})
        else:
            print_findings([finding.line for finding in carriage.findings])
        return conclude(len(carriage.findings), out)
    if options.orbax:
        return _tell(carrying.write_checkpoint(carriage, out, workers), out, options.json)
    with hold_signals():
        return _tell(carrying.write(carriage, out), out, options.json)


def _tell(carriage: receipt.Receipt, out: Path, as_json: bool) -> Conclusion:
    plain, paths = receipt.plain(carriage), (out, receipt.beside(out))
    terminal.print_answer(plain, as_json, lambda console: print_carriage(carriage, console), *paths)
    return conclude(0, out)


def _back(options: argparse.Namespace, model: KerasModel, workers: WeightWorkers) -> Conclusion:
    values = {"DST": options.target, "--map": options.map, "--allow": options.allow,
             "--optimizer": options.optimizer, "--orbax": options.orbax}  # fmt: skip
    extra_options = [name for name, value in values.items() if value]
    if extra_options:
        raise RequestError(f"expected SRC and --back alone, found {extra_options[0]} too: drop it")
    out = options.out or DEFAULT_BACK
    _require_suffix(out, WEIGHTS_SUFFIX)
    writable_file(out)
    result = returning.write_back(options.back, model, out, workers)
    if options.json:
        terminal.print_json({"format": receipt.FORMAT, "equal": result.equal, **to_json(result)})
    else:
        print_returned(result)
        terminal.say(out)
    return concluded_back(result)


def conclude(findings: int, out: Path) -> Conclusion:
    """The verdict on weights that were to be carried."""
    if findings:
        return Conclusion(FAIL, f"nothing was written: {numbers.count_of(findings, 'finding')}, listed above")
    return Conclusion(PASS, f"every weight was carried to {out}")


def concluded_back(result: Returned) -> Conclusion:
    """The verdict on weights that were carried back."""
    sentence = f"{result.equal} of {numbers.count_of(result.leaves, 'weight')} bit-equal to what was carried"
    return Conclusion(PASS if result.equal == result.leaves > 0 else FAIL, sentence)


def _file(out: Path) -> Path:
    _require_suffix(out, DEFAULT_OUT.suffix)
    writable_file(out)
    return out


def _new_folder(out: Path) -> Path:
    if os.path.lexists(out):
        raise RequestError(f"expected a new folder for --orbax, found that {out} is there: name another with -o")
    # A file that can be written beside it can be written there.
    writable_file(out)
    return out


def _require_suffix(path: Path, suffix: str) -> None:
    if not path.name.endswith(suffix):
        raise RequestError(f"expected a file that ends with {suffix} for --out, found {path}: name it so")


def _names(path: Path | None) -> Mapping[str, str]:
    """The pairs of a map, or of the receipt of an earlier run with this module."""
    if path is None:
        return {}
    if path.name.endswith(receipt.SUFFIX):
        return receipt.names_of(receipt.read(path))
    expected = files.Expected('TOML with lines like "encoder/dense" = "enc.linear"', "write one a pair", RequestError)
    try:
        pairs: dict[str, Any] = tomllib.loads(files.read(path, expected, files.MOST_JSON_BYTES).decode())
    except (ValueError, RecursionError) as error:  # an integer of too many digits is no TOMLDecodeError
        expected.refuse(path, error)
    return files.convert(pairs, dict[str, str], path, expected)


def _parse_allowances(texts: list[str], option: str) -> Mapping[str, str]:
    """The names of an option, each with its reason."""
    what = "VARIABLE=REASON" if option == "--allow" else "PATH=REASON"
    reasons: dict[str, str] = {}
    for text in texts:
        path, _, reason = text.partition("=")
        if not path.strip() or not reason.strip():
            raise RequestError(f"expected {what} for {option}, found {text!r}: say why it may stay as it is")
        if path.strip() in reasons:
            raise RequestError(f"expected every {option} once, found {path.strip()!r} twice: drop one")
        reasons[path.strip()] = reason.strip()
    return reasons
