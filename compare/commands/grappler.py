"""`jaxport compilation grappler`: what TensorFlow's graph optimizer made of a function, and which of its passes did."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

from compare.commands import _arguments
from compare.commands._conclusion import Conclusion
from compare.commands._output import writable_folder
from compare.commands._parser import Help
from compare.commands._tensorflow_target import of_tensorflow
from compare.errors import RequestError
from compare.inputs import functions
from compare.inputs.port_files import prepare_one
from compare.inputs.sizes import choose_size
from compare.plain_json import to_json, write_json
from compare.progress import reporter
from compare.prove.clustering import Asked
from compare.prove.optimizing import optimize
from compare.record.grappler_part import Optimization
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import grappler_rows, terminal
from compare.report.grappler_pages import write_optimization
from compare.report.page_console import print_page
from compare.sides.sources import check_interpreter
from workloads.core.modes import TF

DEFAULT_OUT = Path("jaxport-grappler")

HELP = Help(
    description="""\
Run a TensorFlow function as a graph with Grappler, TensorFlow's graph optimizer, without it, and with each of its
passes switched off, and say what it changed: constants computed ahead, operations replaced and fused, copies merged,
nodes removed; each with your source line and the pass that an experiment shows. Both graphs are drawn side by side, and
the results are compared with and without it.

A TARGET is a workload, a port file, or FILE.py:FUNCTION of TensorFlow with an --input for each argument.
""",
    operands="TARGET",
    examples="""\
  jaxport compilation grappler running_example    x**2 becomes Square
  jaxport compilation grappler my_tf.py:f --input x=f32[8,128]
  jaxport compilation grappler mnist_mlp --pass forward
  jaxport compilation grappler my_tf.py:f --input x=f32[8,128] --expect-bit-equal  for CI: exit code 1 if results differ
""",
    holds="the graphs were read, and --expect-bit-equal holds if given",
    fails="--expect-bit-equal does not hold",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    command.add_argument("target", metavar="TARGET", help="the function")
    _arguments.add_size_and_data(command)
    inputs = command.add_argument_group("functions")
    _arguments.add_inputs(inputs)
    scope = command.add_argument_group("scope")
    _arguments.add_pass(scope, "what is run")
    scope.add_argument(
        "--expect-bit-equal", action="store_true",
        help="exit with 1 unless the results with and without Grappler are equal to the last bit",
    )  # fmt: skip
    _arguments.add_workers(command, with_recorded=False, device=False, sides=(TF,))
    _arguments.add_output(command, DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion | None:
    """Run, write, print; the verdict on what --expect-bit-equal expects.

    Raises:
      RequestError: there is no such target.
    """
    check_interpreter(options.tf_python, "--tf-python")
    if (options.input or options.dimension) and not functions.is_reference(options.target):
        raise RequestError(f"expected FILE.py:FUNCTION with --input, found {options.target}: drop --input")
    workload = of_tensorflow(options.target, options)
    out = writable_folder(options.out)
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
        instance = prepare_one(workload, choose_size(workload, options.size), options.data, scratch)
        pythons = {TF: options.tf_python}
        request = Asked(instance, options.target, options.main_pass, False, pythons, options.timeout)
        optimization = optimize(request, scratch, progress)
    page, paths = write_optimization(optimization, out)
    write_json(out / "grappler.json", to_json(optimization))
    terminal.print_answer(optimization, options.json, lambda console: print_page(page, console), *paths)
    return conclude(optimization) if options.expect_bit_equal else None


def conclude(optimization: Optimization) -> Conclusion:
    """The verdict on the results of the optimized graph; those that were not compared have none."""
    if optimization.results is not None and optimization.results.bit_equal:
        return Conclusion(PASS, f"results of {optimization.name} are equal to the last bit")
    difference = next(grappler_rows.result_lines(optimization), "results that were not compared")
    sentence = f"expected results of {optimization.name} equal to the last bit, found {difference}"
    terminal.complain(sentence)
    return Conclusion(NOT_JUDGED if optimization.results is None else FAIL, sentence)
