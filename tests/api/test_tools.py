"""What an agent may name, and what it is told: paths within one folder, short replies, one sentence of a refusal."""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import jaxport
from compare.api import lookups, tool_replies
from compare.api.check_report import CheckReport, Failure, Gate
from compare.api.confined import Root
from compare.api.tools import Tools
from compare.errors import RequestError
from compare.record.rung_part import RUNGS, Ladder, Layers, LocatedOperation, Rung
from compare.sides.pool import Pool


@pytest.fixture
def root(tmp_path: Path) -> Root:
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "secret.py").write_text("")
    (folder / "mine.py").write_text("")
    (folder / "link.py").symlink_to(tmp_path / "secret.py")
    (folder / "up").symlink_to(tmp_path)
    (folder / "linked").mkdir()
    (folder / "linked/port.py").symlink_to(tmp_path / "secret.py")
    return Root(folder)


class NoWorkers(Pool):
    """What is refused asks for none."""

    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("name", ["mine.py", "./mine.py", "new/folder", "up/root/mine.py", "a/../mine.py"])
def test_a_path_within_the_root_is_taken(root: Root, name: str) -> None:
    assert root.path(name).is_relative_to(root.folder)
    assert root.path(str(root.folder / name)) == root.path(name)


@pytest.mark.parametrize(
    "name", ["../secret.py", "/etc/passwd", "link.py", "up/secret.py", "a/../../secret.py", "", "mine.py\0", "~/../.."]
)
def test_a_path_that_leads_out_of_the_root_is_refused(root: Root, name: str) -> None:
    with pytest.raises(RequestError, match="expected a path within"):
        root.path(name)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("check", {"tf_fn": "../secret.py"}, "expected a path within"),
        ("check", {"tf_fn": "link.py"}, "expected a path within"),
        ("check", {"tf_fn": "mnist_mlp"}, "expected a port file"),
        ("check", {"tf_fn": "mine.py:f"}, "expected a port file"),
        ("check", {"tf_fn": "mine.py:f", "inputs": {"x": "f32[2]"}}, "expected tf_fn, jax_fn and inputs together"),
        ("check", {"tf_fn": "os:getcwd", "jax_fn": "mine.py:f", "inputs": {"x": "f32[2]"}}, "expected FILE.py:NAME"),
        ("check", {"tf_fn": "mine.py:f", "jax_fn": "up/secret.py:f", "inputs": {"x": "f32[2]"}}, "a path within"),
        ("check", {"tf_fn": "mine.py:f", "jax_fn": "mine.py:f", "inputs": {"x": "f3[2]"}}, "expected a dtype of"),
        ("locate", {"tf_fn": "../secret.py"}, "expected a path within"),
        ("doctor", {"model": "/etc"}, "expected a path within"),
        ("doctor", {"model": "m.keras", "custom": ["../secret.py:C"]}, "expected a path within"),
        ("write_port", {"model": "mine.py:f", "folder": "../port"}, "expected a path within"),
        ("write_port", {"model": "mine.py:f", "folder": "up"}, "expected a path within"),
        ("write_port", {"model": "mine.py:f", "folder": "port", "style": "haiku"}, "expected the style nnx or linen"),
        ("write_port", {"model": "mine.py:f", "folder": "."}, "found files in it: name another, or force"),
        ("next", {"port": "../secret.py"}, "expected a path within"),
        ("next", {"port": "link.py"}, "expected a path within"),
        ("next", {"port": "up"}, "expected a path within"),
        ("next", {"port": "linked"}, "expected a path within"),
        ("next", {"port": "."}, "expected port.py in"),
        ("next", {"port": "mnist_mlp"}, "expected a port file or the folder of one, found 'mnist_mlp'"),
        ("next", {"port": "mine.py:f"}, "expected a port file or the folder of one"),
        ("next", {"port": ""}, "expected a path within"),
        ("gotchas", {"words": ["no such thing at all"]}, "expected an entry about"),
        ("ops", {"words": ["NoSuchOperation"]}, "expected"),
    ],
)
def test_what_an_agent_cannot_ask_for_is_refused_in_one_sentence(
    root: Root, tool: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError, match=message) as refused:
        getattr(Tools(root, NoWorkers(), 60), tool)(**arguments)
    assert "\n" not in str(refused.value)


def test_a_reply_tells_the_first_failures_with_both_values_and_counts_the_others(root: Root) -> None:
    path = f"{root.folder}/mine.py:3"
    failures = [Failure("semantics", f"forward output[{at}]", f"at {path}", 1.0, 2.0) for at in range(7)]
    gates = {"semantics": Gate("fail", "it fails"), "gradients": Gate("not_judged", f"no gradient at {path}")}
    report = CheckReport("fail", gates, failures, (), None, {}, "", (), "")
    reply = asdict(tool_replies.check_reply(report, root.shorten_paths))
    assert [(failure["expected"], failure["found"]) for failure in reply["failures"]] == [(1.0, 2.0)] * 5
    assert reply["failures"][0]["message"] == "at mine.py:3" and reply["further_failures"] == 2
    assert reply["not_judged"] == ["gradients: no gradient at mine.py:3"]
    assert len(json.dumps(reply)) < 1500


def ladder(**verdicts: str) -> Ladder:
    """A port whose other rungs hold."""
    rungs = [Rung(name, verdicts.get(name, "pass"), next=(f"look at {name}",)) for name in RUNGS]
    return Ladder("port", next((rung.name for rung in rungs if rung.verdict == "fail"), ""), tuple(rungs))


def test_a_reply_tells_which_rung_and_layer_fail_and_what_to_look_at(root: Root) -> None:
    line = f"{root.folder}/mine.py:3"
    located = LocatedOperation("add", f"{line}  return x  (f)", line, cause="epsilon", remedy="write 1e-3")
    of_port = ladder(forward="fail", gradients="not_reached")
    failing = replace(of_port.rungs[2], told=(f"off at {line}",), layers=Layers(first="norm"), located=(located,))
    reply = tool_replies.ladder_reply(replace(of_port, rungs=(*of_port.rungs[:2], failing)), root.shorten_paths)
    assert (reply.verdict, reply.fails, reply.layer) == ("fail", "forward", "norm")
    assert reply.messages == ["off at mine.py:3"] and reply.look_at[-1] == "look at forward"
    assert asdict(reply.operations[0])["jax_line"] == "mine.py:3" and reply.rungs["forward"] == "fail"


@pytest.mark.parametrize(
    ("of_port", "verdict", "hint"),
    [
        (ladder(speed="not_applicable"), "pass", "call check"),
        (ladder(weights="not_judged"), "not_judged", "nothing is proved: port: weights: evidence is missing"),
        (ladder(gradients="fail"), "fail", "edit what look_at names"),
    ],
)
def test_a_ladder_with_evidence_missing_is_not_proved(root: Root, of_port: Ladder, verdict: str, hint: str) -> None:
    reply = tool_replies.ladder_reply(of_port, root.shorten_paths)
    assert reply.verdict == verdict and reply.hint.startswith(hint)


@pytest.mark.parametrize(
    ("verdict", "hint"),
    [("pass", "proved"), ("fail", "locate"), ("not_judged", "nothing is proved"), ("incomplete", "nothing is proved")],
)
def test_only_a_port_that_passed_is_called_proved(root: Root, verdict: str, hint: str) -> None:
    report = CheckReport(verdict, {}, (), (), None, {}, "", (), "")
    reply = tool_replies.check_reply(report, root.shorten_paths)
    assert hint in reply.hint and (verdict == "pass") == reply.hint.startswith("the port is proved")


def test_few_entries_and_operations_are_told_in_full_and_of_many_the_names() -> None:
    entries = lookups.gotchas(["layer_norm_epsilon"]).entries
    assert entries and all(entry.why and entry.jax for entry in entries)
    many = lookups.gotchas([])
    assert many.entries == [] and len(many.further) == 80
    (operation,) = lookups.operations(["MatMul"]).operations
    assert operation.xla == "compiled" and "CPU" in operation.devices and operation.counterparts


def test_the_tools_are_public_functions_under_the_names_that_these_have() -> None:
    for name in ("check", "locate", "doctor", "write_port"):
        offered = set(inspect.signature(getattr(Tools, name)).parameters) - {"self"}
        assert offered <= set(inspect.signature(getattr(jaxport, name)).parameters)
