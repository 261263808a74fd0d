"""A port that was written, on the console: its files, its weights, and what is left to be written."""

from __future__ import annotations

from compare.porting.functions.function_ports import FunctionPort
from compare.porting.functions.function_source import MODULE
from compare.porting.identifiers import comment_text
from compare.porting.uncalled_layers import UNCALLED
from compare.porting.writing_ports import Port
from compare.report import terminal


def print_port(port: Port) -> None:
    """Print what was written, a line each."""
    for line in lines_of(port):
        terminal.say(line)


def lines_of(port: Port) -> list[str]:
    """Lines on what was written, and what was not."""
    count_text = f"{port.weights} weights carried" if port.weights else "no weights carried"
    lines = [f"{port.folder}: {port.written.class_name} in model_jax.py, {count_text}"]
    lines += [f"to be written: {place}" for place in port.unwritten]
    lines += [f"weights do not fit: {finding}" for finding in port.findings]
    lines += [f"weights left out: {layer}: {UNCALLED}" for layer in port.uncalled]
    lines += [f"note: {remark}" for remark in (*port.written.remarks, *port.training.remarks)]
    return lines + _lines_of_user(port)


def _lines_of_user(port: Port | FunctionPort) -> list[str]:
    """The files that were not written, since the user has his own."""
    return [
        f"note: {name} is your own and stays: it has no line with which jaxport says that it may write it anew"
        for name in port.files_of_user
    ]


def print_usage(port: Port) -> None:
    """Print how a port that is written whole is loaded and called, in Python."""
    if port.usage:
        terminal.say("load and call it in Python:")
        for line in port.usage:
            terminal.say(f"  {line}")


def print_function(port: FunctionPort) -> None:
    """Print what was written of a function, a line each."""
    terminal.say(f"{port.folder}: {port.written.name} in {MODULE}, {port.coverage}")
    for line in (*(f"note: {comment_text(remark)}" for remark in port.written.remarks), *_lines_of_user(port)):
        terminal.say(line)
    for place in port.written.unwritten:
        terminal.say(f"to be written: {place.description}")
