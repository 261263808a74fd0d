"""Tasks on nodes: one at a time, lost ones elsewhere, and an end however many nodes are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from compare.machines.scheduling import REST_S, Finished, Node, Schedule

A, B, C = (Node(name, name.lower(), f"machine of {name}") for name in "ABC")


class Scripted:
    """A cluster that ends the oldest task first; what is lost is told by the numbers of task and node."""

    def __init__(self, losses: Mapping[tuple[int, str], bool] = {}) -> None:
        self.losses, self.running, self.begun = dict(losses), [], []
        self.most_at_once: dict[str, int] = {}
        self.clock, self.at = 0.0, []

    def submit(self, task: int, node: Node) -> None:
        self.running.append((task, node))
        self.begun.append((task, node.name))
        self.at.append(self.clock)
        machines = [each.machine for _, each in self.running]
        self.most_at_once[node.machine] = max(self.most_at_once.get(node.machine, 0), machines.count(node.machine))

    def wait_for_ends(self) -> Sequence[Finished]:
        task, node = self.running.pop(0)
        if (task, node.name) in self.losses:
            return [Finished(task, "it died", self.losses.pop((task, node.name)))]
        return [Finished(task)]

    def now(self) -> float:
        return self.clock

    def wait(self, seconds: float) -> None:
        self.clock += seconds


def run(cluster: Scripted, nodes: Sequence[Node], count: int, most: int = 3, alone: bool = True) -> Schedule:
    schedule = Schedule(count, nodes, most, alone, lambda _: None)
    schedule.run(cluster, [f"task {number}" for number in range(count)])
    return schedule


def test_every_task_runs_once_on_a_node_that_is_free() -> None:
    cluster = Scripted()
    schedule = run(cluster, [A, B], 5)
    assert sorted(task for task, _ in cluster.begun) == list(range(5))
    assert {each.node for each in schedule.results.values()} == {"A", "B"}
    assert set(cluster.most_at_once.values()) == {1}


def test_nodes_of_one_machine_take_turns_where_times_are_taken() -> None:
    same = [Node("A#1", "1", "one"), Node("A#2", "2", "one")]
    for alone, at_once in ((True, 1), (False, 2)):
        cluster = Scripted()
        run(cluster, same, 4, alone=alone)
        assert cluster.most_at_once == {"one": at_once}


def test_a_lost_node_costs_its_task_alone_which_is_run_elsewhere() -> None:
    cluster = Scripted({(1, "B"): True})
    schedule = run(cluster, [A, B], 4)
    assert [each.reason for each in schedule.results.values()] == [""] * 4
    assert schedule.results[1].node == "A" and schedule.results[1].lost_on == ("B",)
    assert all(not schedule.results[task].lost_on for task in (0, 2, 3))
    assert [node for _, node in cluster.begun].count("B") == 1 and schedule.gone == {"B": "it died"}


def test_a_task_whose_process_died_tries_another_node_first() -> None:
    cluster = Scripted({(0, "A"): False})
    schedule = run(cluster, [A, B], 1)
    assert cluster.begun == [(0, "A"), (0, "B")] and schedule.gone == {}
    alone = Scripted({(0, "A"): False})
    assert run(alone, [A], 1).results[0].node == "A" and alone.begun == [(0, "A"), (0, "A")]


def test_a_node_rests_after_a_task_was_killed_there() -> None:
    alone = Scripted({(0, "A"): False})
    run(alone, [A], 2)
    assert alone.begun == [(0, "A"), (0, "A"), (1, "A")] and alone.at == [0, REST_S, REST_S]
    # Others go on meanwhile, and a node that is gone is not waited for.
    other = Scripted({(0, "A"): False})
    run(other, [A, B], 3)
    assert other.begun == [(0, "A"), (1, "B"), (0, "B"), (2, "B")] and set(other.at) == {0}
    gone = Scripted({(0, "A"): True})
    assert run(gone, [A], 1).results[0].node == "" and gone.clock == 0


def test_a_task_that_is_lost_waits_for_another_node_that_is_busy() -> None:
    cluster = Scripted({(0, "A"): False})
    run(cluster, [A, B], 2)
    assert cluster.begun == [(0, "A"), (1, "B"), (0, "B")]


def test_a_task_is_given_up_after_so_many_nodes_with_a_line() -> None:
    cluster = Scripted({(0, "A"): False, (0, "B"): False})
    schedule = run(cluster, [A, B], 2, most=2)
    lost = schedule.results[0]
    assert (lost.node, lost.lost_on) == ("", ("A", "B"))
    assert lost.reason == (
        "expected a result from a node, found that it was lost on A and then on B (it died), and it is tried 2 times: "
        "look at those nodes, and run it again"
    )
    assert schedule.results[1].reason == ""


def test_without_a_node_all_that_waits_is_told() -> None:
    cluster = Scripted({(0, "A"): True})
    schedule = run(cluster, [A], 3)
    assert [each.node for each in schedule.results.values()] == ["", "", ""]
    assert "it was lost on A (it died), and no node is left" in schedule.results[0].reason
    assert all("it was not begun, and no node is left" in schedule.results[task].reason for task in (1, 2))


@pytest.mark.parametrize("most", [1, 2, 5])
def test_it_ends_where_every_node_loses_everything(most: int) -> None:
    losses = {(task, node.name): False for task in range(4) for node in (A, B)}
    assert len(run(Scripted(losses), [A, B], 4, most).results) == 4
