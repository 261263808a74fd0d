"""Records of several nodes as one: who ran what, what they have in common, and what is not put together."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from compare.history.likeness import differences
from compare.machines.merging import Given, in_common, merge, part_without_result
from compare.plain_json import to_json
from compare.record import results_file
from compare.record.cost_parts import Entry, Limits
from compare.record.envelope import Environment, Node, Record
from compare.record.workload_part import Workload
from compare.report import console, html, node_rows, results_page, terminal
from workloads.core.registry import get

SMALL = Environment(jaxport="1", python="3.11.7", platform="Linux", cpu="small", cores=2, sides={"tf": {"threads": 2}})
LARGE = replace(SMALL, cpu="large", cores=64, sides={"tf": {"threads": 64}})
FAST, SLOW = Entry(public_s=1e-6), Entry(public_s=9e-6)


def given(name: str, node: str, environment: Environment, entry: Entry, lost_on: tuple[str, ...] = ()) -> Given:
    record = Record(
        schema=1,
        workloads={"add": Workload(size="smoke", sha256="ab", summary=name)},
        environment=environment,
        machine={"2": Limits()},
        dispatch={"jax/jit": entry},
    )
    return Given(name, node, 0.5, lost_on, record)


def record(*each: Given, lost: str = "") -> Record:
    known = {name: Node(host=name, environment=SMALL) for name in ("a", "b", "c")}
    known |= {lost: Node(host=lost, environment=SMALL, lost="it died")} if lost else {}
    return merge(each, {}, [one.name for one in each], known, "smoke")


def test_each_workload_names_its_node_and_unlike_machines_share_no_figure() -> None:
    found = record(given("one", "a", SMALL, SLOW), given("two", "b", LARGE, FAST, ("c",)), lost="c")
    assert {name: (part.node, part.lost_on) for name, part in found.workloads.items()} == {
        "one": ("a", ()),
        "two": ("b", ("c",)),
    }
    assert list(found.nodes) == ["a", "b", "c"] and found.nodes["c"].lost == "it died"
    assert found.machine == {} and found.dispatch == {}
    assert found.nodes["a"].dispatch == {"jax/jit": SLOW} and found.nodes["b"].dispatch == {"jax/jit": FAST}
    assert found.nodes["b"].loads == {"two": 0.5}
    assert found.environment and found.environment.cpu == "" and found.environment.cores is None
    assert found.environment.platform == "Linux" and found.environment.sides == {"tf": {}}


def test_tasks_that_gave_way_to_others_are_told() -> None:
    one, two = given("one", "a", SMALL, SLOW), dataclasses.replace(given("two", "b", SMALL, SLOW), niceness=15)
    found = record(one, two)
    assert (found.nodes["a"].niceness, found.nodes["b"].niceness) == (0, 15)
    (said,) = [line for line in node_rows.sentences(found) if "niceness" in line]
    assert said.startswith("b: its tasks gave way") and "RAY_worker_niceness=0" in said


def test_of_a_single_node_it_is_an_ordinary_record() -> None:
    found = record(given("one", "a", SMALL, SLOW), given("two", "a", SMALL, SLOW))
    assert found.environment == SMALL and found.dispatch == {"jax/jit": SLOW} and list(found.nodes) == ["a"]


def test_what_no_node_gave_says_why() -> None:
    part = part_without_result(get("add"), "smoke", "expected a result, found none", ("a", "b"))
    found = merge([], {"add": part}, ["add"], {"a": Node(host="a"), "b": Node(host="b")}, "smoke")
    (failure,) = found.workloads["add"].failures
    assert failure.reason == "expected a result, found none" and list(found.nodes) == ["a", "b"]


def test_in_common_of_none_is_nothing() -> None:
    assert in_common([]) == Environment() and in_common([SMALL, SMALL]) == SMALL


def test_a_workload_is_compared_with_itself_on_a_machine_like_that_alone() -> None:
    before = record(given("one", "a", SMALL, SLOW), given("two", "b", LARGE, FAST))
    assert differences(before, before) == ()
    moved = record(given("one", "b", LARGE, FAST), given("two", "b", LARGE, FAST))
    assert {(each.key, each.workloads) for each in differences(before, moved)} == {
        ("cpu", ("one",)),
        ("cores", ("one",)),
        ("tf.threads", ("one",)),
    }
    # Against a run on one machine, without a cluster.
    alone = replace(record(given("one", "a", SMALL, SLOW)), nodes={}, environment=SMALL)
    alone = replace(alone, workloads={"one": replace(alone.workloads["one"], node="")})
    assert differences(alone, before, ["one"]) == ()
    assert [each.key for each in differences(alone, moved, ["one"])] == ["cpu", "cores", "tf.threads"]


def test_pages_say_which_node_and_that_machines_are_unlike() -> None:
    found = record(given("one", "a", SMALL, SLOW), given("two", "b", LARGE, FAST, ("c",)), lost="c")
    said = list(node_rows.sentences(found))
    assert said == [
        "a: one, small, 2 cores, load 0.5",
        "b: two, large, 64 cores, load 0.5",
        "c: no result, small, 2 cores; lost: it died",
        "two: lost on c, run again on b",
        node_rows.UNLIKE,
    ]
    page = html.render(found)
    assert all(text in page for text in ("jax/jit on a", "jax/jit on b", "b, after it was lost on c", node_rows.UNLIKE))
    assert node_rows.UNLIKE in results_page.page(found)
    shown = terminal.console()
    with shown.capture() as captured:
        console.print_overview(found, shown)
    assert "node two: lost on c, run again on b" in captured.get()
    alike = record(given("one", "a", SMALL, SLOW), given("two", "b", SMALL, SLOW))
    assert not node_rows.unlike(alike) and node_rows.UNLIKE not in html.render(alike)


def test_it_is_read_back_as_it_was_written() -> None:
    found = record(given("one", "a", SMALL, SLOW), given("two", "b", LARGE, FAST))
    assert results_file.decode(to_json(found), results_file.Path("results.json")) == found
