"""Two programs beside each other as a page is given them: small with one of everything, large, and hostile."""

from __future__ import annotations

from typing import Any

from pages import HOSTILE


def node(key: str, op: str, *operands: str, **more: Any) -> dict[str, Any]:
    plain = {"id": key, "name": f"{op}.{key}", "op": op, "shape": "f32[4]", "operands": list(operands)}
    texts = dict.fromkeys(("attributes", "literal", "op_name", "source", "hints", "kernel"), "")
    lists: dict[str, list[Any]] = {name: [] for name in ("frames", "place", "regions", "rules")}
    return plain | texts | lists | {"class": "unchanged", "numerics": False} | more


def side(label: str, *nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"label": label, "nodes": list(nodes), "results": [nodes[-1]["id"]], "parameters": [], "kernels": {}} | more


def match(left: str, right: str, **more: Any) -> dict[str, Any]:
    return {"left": left, "right": right, "matcher": "value number", "ulp": None, "note": ""} | more


def view(left: dict[str, Any], right: dict[str, Any], *matches: dict[str, Any], **more: Any) -> dict[str, Any]:
    counts = {"matched": len(matches), "left": len(left["nodes"]), "right": len(right["nodes"]), "equal": False}
    plain = {"labels": [left["label"], right["label"]], "level": "structural", "levels": {"structural": counts}}
    empty: dict[str, list[Any]] = {name: [] for name in ("alike", "frontier", "reasons", "changes", "results", "notes")}
    return plain | {"headline": ""} | {"left": left, "right": right, "matches": list(matches)} | empty | more


def small() -> dict[str, Any]:
    """A program and its port with one of everything."""
    body = {"name": "body", "results": ["5.0.1"], "nodes": [node("5.0.0", "parameter"), node("5.0.1", "tanh", "5.0.0")]}
    other = {
        "name": "body",
        "results": ["5.0.1"],
        "nodes": [node("5.0.0", "parameter"), node("5.0.1", "sine", "5.0.0")],
    }
    for region in (body, other):
        region["nodes"][1]["class"] = "only here"
    frames = ["/home/u/model.py:3", "/home/u/train.py:8"]
    left = side(
        "tf",
        node("0", "parameter"),
        node("1", "constant", literal="0.001", **{"class": "changed"}),
        node("2", "multiply", "0", "1", source="/home/u/model.py:3", frames=frames, kernel="fusion.1"),
        node("3", "power", "0", source="/home/u/model.py:4", **{"class": "only here"}),
        node("4", "add", "2", "3", rules=["operands sorted"], kernel="fusion.1", **{"class": "rewritten"}),
        node("5", "while", "4", regions=[body]),
        kernels={"fusion.1": 2.5e-6},
    )
    right = side(
        "jax",
        node("0", "parameter"),
        node("1", "constant", literal="0.00101", **{"class": "changed"}),
        node("2", "multiply", "0", "1", source="/home/u/port.py:7"),
        node("3", "multiply", "0", "0", shape="f32[4,1]", numerics=True, rules=["powers"], **{"class": "only here"}),
        node("4", "add", "2", "3"),
        node("5", "while", "4", regions=[other]),
        node("6", "copy", "2", name="late"),
    )
    square = {"kind": "rule", "name": "square", "meaning": "x ** 2 is x * x"}
    reasons = [square | {"places": 1, "sides": {"tf": 1}, "sources": ["/home/u/model.py:4"]}]
    headline = "the result is not equal; the programs differ in 1 place for 1 reason"
    frontier = [{"side": "tf", "op": "power", "name": "power.3", "source": "/home/u/model.py:4", "node": "3",
                 "reason": "no power of these operands in jax", "explanation": square, "counterpart": "2",
                 "counterpart_source": "/home/u/port.py:7"}]  # fmt: skip
    changes = [{"rule": "powers", "side": "jax", "count": 2, "numerics": True, "meaning": "x ** 2 is x * x",
                "examples": [{"name": "p", "before": "power", "after": "multiply", "source": ""}]}]  # fmt: skip
    matches = [match("0", "0", matcher="slot"), match("2", "2", matcher="value", ulp=3.0, note="transposed"),
               match("4", "4"), match("5", "5"), match("5.0.0", "5.0.0", matcher="region"),
               match("2", "6", matcher="value")]  # fmt: skip
    alike = [match("1", "1", matcher="neighbourhood", differs=["literal"])]
    results = [{"name": "loss", "left": 5, "right": None, "equal": False, "matcher": "", "ulp": None}]
    told = {"headline": headline, "reasons": reasons, "frontier": frontier, "results": results, "notes": ["not run"]}
    return view(left, right, *matches, alike=alike, changes=changes, **told)


def large(count: int) -> dict[str, Any]:
    """Two chains, every fiftieth value only on its own side."""
    sides = []
    for label in ("tf", "jax"):
        nodes = [node("0", "parameter")]
        nodes += [
            node(str(at), "add" if at % 3 else "dot", str(at - 1), source=f"model.py:{at // 10}", name=f"layer{at}")
            | ({"class": "only here"} if at % 50 == 7 else {})
            for at in range(1, count)
        ]
        sides.append(side(label, *nodes))
    return view(*sides, *(match(str(at), str(at)) for at in range(count) if at % 50 != 7))


def hostile(value: Any) -> Any:
    """Every string that a program may name made hostile; what the page looks for stays."""
    if isinstance(value, dict):
        kept = ("id", "operands", "left", "right", "class", "level", "node", "counterpart", "labels", "side", "label")
        return {
            key: item if key in kept and not isinstance(item, dict) else hostile(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [hostile(item) for item in value]
    return f"{value}{HOSTILE}</script><script>window.hacked=1</script><!--" if isinstance(value, str) else value
