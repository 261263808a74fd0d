"""The names of the commands: by question, in groups where several answer one, and as they were before."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.errors import RequestError


@dataclass(frozen=True)
class Command:
    """The facts about a command that need no import of it.

    Attributes:
      summary: what it does, as a verb phrase.
      foreign_code: whether it may run port files or programs: these have workers then.
      module: of compare.commands; "" where it has the command's own name.
    """

    summary: str
    foreign_code: bool = True
    module: str = ""


@dataclass(frozen=True)
class Group:
    """Several commands that answer one question: `jaxport GROUP SUBCOMMAND`.

    Attributes:
      summary: what they do together, as a verb phrase.
      members: by the name behind the group's.
      default: the member that runs where the word behind the group's name is that of none; "" where there is none.
    """

    summary: str
    members: Mapping[str, Command]
    default: str = ""


QUESTIONS: Mapping[str, Mapping[str, Command | Group]] = {
    "prove that a port computes the same": {
        "run": Command("prove ports: parity, programs and times, with a report"),
        "watch": Command("judge a port again whenever you save one of its files"),
        "next": Command("find the first rung at which a port fails, and what to look at"),
        "locate": Command("find the operation at which a port starts to differ"),
        "distribute": Command("check a training step on several devices, with strategies of both frameworks"),
    },
    "write a port": {
        "doctor": Command("list the parts of a TensorFlow model and what will be hard to port", foreign_code=False),
        "init": Command("write a Flax port of a Keras model, with its weights, and judge it"),
        "weights": Command("carry the weights of a Keras model into a Flax module, and back", foreign_code=False),
    },
    "compare programs": {
        "hlo": Command("align two XLA programs and show where they differ"),
        "dump": Command("show an XLA dump directory as pages: programs, passes, buffers"),
        "compilation": Group(
            "show what TensorFlow and JAX compile, when and why",
            {
                "clusters": Command("show which parts of a function autoclustering compiled, and why not the rest"),
                "grappler": Command("show what each pass of TensorFlow's graph optimizer changed"),
                "recompiles": Command("count the traces and compilations of a stream of calls, with reasons"),
                "launch": Command("run a TensorFlow program and show what it compiled"),
            },
        ),
    },
    "measure time and memory": {
        "bench": Group(
            "time ports in depth, on a GPU too, and check whether times can be told apart",
            {
                "ports": Command("time ports in depth: threads, phases, memory, limits, peers", module="bench"),
                "calibrate": Command("check whether this machine can tell times apart"),
                "gpu-suite": Command("run what a GPU can show, most useful first", module="gpu_suite"),
            },
            default="ports",
        ),
        "crossing": Group(
            "find how large a computation must be for compiled code to win",
            {
                "sizes": Command("find the size above which compiled code is faster", module="crossing"),
                "blocks": Command("find how many layers to compile in one function"),
            },
            default="sizes",
        ),
        "tune": Group(
            "find what makes XLA's code faster",
            {
                "options": Command("search XLA options that make a port faster", module="tune"),
                "ablate": Command("show what each pass and feature of XLA gains, by turning one off at a time"),
            },
            default="options",
        ),
        "plan": Command("bound the time and memory of a training step on clusters that are absent"),
    },
    "explain the time": {
        "explain": Group(
            "name the causes of a missing speed-up, and show where time goes",
            {
                "ports": Command(
                    "name the causes of a missing speed-up in at most ten sentences, with measurements",
                    module="explain",
                ),
                "profile": Command(
                    "show where the time of a recorded profile went, by kernel, phase and line", foreign_code=False
                ),
            },
            default="ports",
        ),
    },
    "share and keep results": {
        "report": Group(
            "make a page of a record, without measuring",
            {
                "html": Command("render a report again from its record", module="report"),
                "markdown": Command("write records as a Markdown page", module="results"),
            },
            default="html",
        ),
        "history": Group(
            "follow saved runs over time",
            {
                "show": Command("plot the saved runs and check the last two for regressions", module="history"),
                "compare": Command("compare saved runs with a baseline"),
            },
            default="show",
        ),
        "record": Command("record one side to a file, to be replayed elsewhere"),
        "replay": Command("run a module or a bug report again and compare compilers"),
        "bugreport": Command("bundle a workload's programs, modules, inputs and results"),
        "export": Command("write a port as StableHLO with a runner, jax.export's form and a SavedModel"),
    },
    "look up": {
        "lookup": Group(
            "look up how TensorFlow, JAX and XLA behave",
            {
                "gotchas": Command("look up what TensorFlow and JAX do differently, and how to port it"),
                "ops": Command(
                    "list TensorFlow's operations: kernels, what compiles, counterparts in JAX", foreign_code=False
                ),
                "limits": Command("list what XLA's documents say about limits of compilation, and test it"),
                "figures": Command("compare published figures on XLA with measurements on this machine"),
                "datatypes": Command("show which data types each mode accepts, and the results"),
                "docs": Command("open the guide and the reference, offline", foreign_code=False),
            },
        ),
        "list": Group(
            "list what there is to use, and what is installed",
            {
                "workloads": Command("list the workloads", foreign_code=False, module="list"),
                "targets": Command("list the devices that programs can be compiled for", foreign_code=False),
                "environment": Command("print versions, devices and machine, for a problem report", foreign_code=False),
                "requirements": Command("list the packages that one side alone needs, for pip", foreign_code=False),
            },
            default="workloads",
        ),
        "mcp": Command("serve jaxport's functions to a coding agent through the Model Context Protocol"),
    },
}
"""Commands and groups by the question that they answer, in the order of the help."""

TOP = {name: entry for entries in QUESTIONS.values() for name, entry in entries.items()}
"""The entries at the top level, by name."""

COMMANDS = {
    f"{name} {member}".rstrip(): command
    for name, entry in TOP.items()
    for member, command in (entry.members if isinstance(entry, Group) else {"": entry}).items()
}
"""Every command by its full name, such as "run" or "lookup gotchas"."""

OLD_NAMES = {
    "ablate": "tune ablate",
    "blocks": "crossing blocks",
    "calibrate": "bench calibrate",
    "clusters": "compilation clusters",
    "compare": "history compare",
    "datatypes": "lookup datatypes",
    "docs": "lookup docs",
    "environment": "list environment",
    "figures": "lookup figures",
    "gotchas": "lookup gotchas",
    "grappler": "compilation grappler",
    "launch": "compilation launch",
    "limits": "lookup limits",
    "ops": "lookup ops",
    "profile": "explain profile",
    "recompiles": "compilation recompiles",
    "requirements": "list requirements",
    "results": "report markdown",
    "targets": "list targets",
}
"""Names of release 0.1, which run as the full name does until the next release."""

_NEAR = 0.8
"""How alike a word and a name are, by difflib's ratio, for the name to be offered."""


def module_of(command: str) -> str:
    """The module that has a command, by the command's full name."""
    return f"compare.commands.{COMMANDS[command].module or command.rpartition(' ')[2]}"


def spell(command: str) -> str:
    """How a command is called, by its full name: a default member needs the name of its group alone."""
    group, _, member = command.partition(" ")
    entry = TOP[group]
    return f"jaxport {group if isinstance(entry, Group) and member == entry.default else command}"


def name_change(words: Sequence[str]) -> str:
    """The line for who called a command by an old name; "" where it is none."""
    if not words or words[0] not in OLD_NAMES:
        return ""
    old, new = words[0], OLD_NAMES[words[0]]
    return f'"jaxport {old}" is now "jaxport {new}"; the old name goes in the next release'


def full_words(words: Sequence[str]) -> list[str]:
    """A command line with the full name of its command: in place of an old one, or with the default member.

    Raises:
      RequestError: the word behind the name of a group without a default is that of no member.
    """
    words = [*(OLD_NAMES[words[0]].split() if words[0] in OLD_NAMES else words[:1]), *words[1:]] if words else []
    entry = TOP.get(words[0]) if words else None
    if not isinstance(entry, Group) or (words[1:] and words[1] in entry.members):
        return words
    if entry.default:
        return [words[0], entry.default, *words[1:]]
    if words[1:] and words[1].startswith("-"):
        return words
    word = repr(words[1]) if words[1:] else "none"
    call = f"jaxport {words[0]}"
    raise RequestError(
        f"expected a subcommand of `{call}` ({', '.join(entry.members)}), found {word}: see `{call} --help`"
    )


def nearest(words: Sequence[str]) -> str:
    """The command that a refused command line probably meant; "" if no name is similar.

    A member is near without its group too, and in the place of an operand of the default member.
    """
    if not words or words[0] in OLD_NAMES:
        return ""
    group = TOP.get(words[0])
    if group is None:
        word, names = words[0], {name.rpartition(" ")[2]: name for name in (*COMMANDS, *TOP)}
    elif isinstance(group, Group) and words[1:] and words[1] not in group.members:
        word, names = words[1], {member: f"{words[0]} {member}" for member in group.members}
    else:
        return ""
    # A word that is no identifier names a file.
    near = difflib.get_close_matches(word, names, 1, _NEAR) if word.isidentifier() else []
    return f"jaxport {names[near[0]]}" if near else ""
