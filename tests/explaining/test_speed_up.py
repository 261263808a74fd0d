"""Why there is no speed-up: each rule says what was measured, with its place, and is silent where nothing is known."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pages
import pytest
from hostile_records import planted_record
from pages import decodable, holes
from places import DATA

from compare.explaining import rules_of_compiling
from compare.explaining.sentences import Case, Commands, Sentence
from compare.explaining.speed_up import MOST, RULES, Explanation, explain
from compare.record.results_file import decode

GOLDENS = sorted(DATA.glob("record_*.json"))
FULL, ADD, MEASURED = (DATA / f"record_{name}.json" for name in ("full", "add", "measured"))
SHOWN = Commands("my_port.py", "results.json")

Change = Callable[[Any, Any], object]
"""Of a record as JSON, and of the workload's part in it."""


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def explained(plain: Any, name: str) -> Explanation:
    return explain(decode(copy.deepcopy(plain), Path("results.json")), name, SHOWN)


def said(plain: Any, name: str, rule: str) -> list[Sentence]:
    return [sentence for sentence in explained(plain, name).sentences if sentence.rule == rule]


def text(path: Path, name: str, rule: str) -> str:
    """The one sentence of a rule on an unchanged record."""
    (sentence,) = said(read(path), name, rule)
    return sentence.text


def changed(path: Path, name: str, change: Change) -> Any:
    plain = read(path)
    change(plain, plain["workloads"][name])
    return plain


def at(plain: Any, pointer: str) -> Any:
    """What a JSON pointer leads to."""
    for key in pointer.split("/")[1:]:
        key = key.replace("~1", "/").replace("~0", "~")
        plain = plain[int(key) if isinstance(plain, list) else key]
    return plain


def setting(path: str, value: Any) -> Change:
    """Sets what stands at a pointer into the workload's part."""
    parent, _, key = path.rpartition("/")
    return lambda _, part: at(part, parent).__setitem__(key.replace("~1", "/"), value)


def ratio(name: str, **fields: Any) -> Change:
    return lambda _, part: part["timing"]["ratios"][name].update(fields)


def calls(number: int, **fields: Any) -> Change:
    """Sets fields of a call of the stream, on both sides."""
    return lambda _, part: [side["calls"][number].update(fields) for side in part["recompilation"]["sides"].values()]


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_no_sentence_is_without_a_number_and_every_number_stands_at_its_place(path: Path) -> None:
    plain = read(path)
    for name in plain["workloads"]:
        for sentence in explained(plain, name).sentences:
            assert sentence.figures and re.search(r"\d", sentence.text), sentence
            assert sentence.command.startswith("jaxport ")
            for figure in sentence.figures:
                assert at(plain, figure.place) == figure.value, figure


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_there_are_ten_sentences_at_most_those_on_the_most_seconds_first(path: Path) -> None:
    plain = read(path)
    for name in plain["workloads"]:
        seconds = [sentence.seconds for sentence in explained(plain, name).sentences]
        assert len(seconds) <= MOST and seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize("part", ["timing", "roofline", "profile", "attribution", "compiled", "inputs", "clustering"])
def test_a_record_with_any_hole_is_explained(part: str) -> None:
    plain = read(ADD)
    workload = plain["workloads"]["add"]
    record = decode(plain, Path("results.json"))
    for damaged in decodable({**workload, part: hole} for hole in holes(pages.shortened(workload[part]))):
        holed = msgspec.structs.replace(record, workloads={"add": damaged})
        assert all(sentence.figures for sentence in explain(holed, "add", SHOWN).sentences)


@pytest.mark.parametrize("part", ["clustering", "recompilation"])
def test_what_was_compiled_with_any_hole_is_explained(part: str) -> None:
    plain = read(FULL)
    workload = plain["workloads"]["mnist_mlp"]
    record = decode(plain, Path("results.json"))
    for damaged in decodable({**workload, part: hole} for hole in holes(pages.shortened(workload[part]))):
        holed = msgspec.structs.replace(record, workloads={"mnist_mlp": damaged})
        assert all(sentence.figures for sentence in explain(holed, "mnist_mlp", SHOWN).sentences)


@pytest.mark.parametrize("part", ["handover", "dispatch"])
def test_a_machine_with_any_hole_is_explained(part: str) -> None:
    plain = read(ADD)
    for hole in holes(pages.shortened(plain[part])):
        assert explained({**plain, part: hole}, "add").sentences


def test_a_record_whose_every_text_is_hostile_is_explained() -> None:
    plain = planted_record(pages.HOSTILE)
    assert explained(plain, pages.HOSTILE).name == pages.HOSTILE


def test_more_than_ten_are_cut_to_ten_and_the_ratio_stays() -> None:
    plain = read(ADD)
    every = [sentence for rule in RULES for sentence in rule(_case(plain, "add"))]
    assert len(every) > MOST
    sentences = explained(plain, "add").sentences
    assert len(sentences) == MOST and sentences[0].rule == "against_the_fastest"


def _case(plain: Any, name: str) -> Case:
    return Case(decode(copy.deepcopy(plain), Path("results.json")), name, SHOWN)


def rule_alone(plain: Any, name: str, rule: str) -> list[Sentence]:
    """What one rule says, however much there is to say before it."""
    (function,) = [each for each in RULES if each.__name__ == rule]
    return list(function(_case(plain, name)))


SAYING: list[tuple[Path, str, str, str, dict[str, Change]]] = [
    (
        FULL, "behind", "against_the_fastest",
        "jax/jit takes 1.12x of the time of tf/autocluster, the fastest TensorFlow mode, 95 % interval [1.09, 1.16]: "
        "it is slower (202 µs and 180 µs a call)",
        {
            "withheld": ratio("jax/jit vs tf/autocluster", ratio=None, ci95=None, withheld="A/A check failed"),
            "not timed": lambda _, part: part.update(timing=None),
        },
    ),
    (
        FULL, "behind", "against_the_others", "tf/graph 0.962x [0.943, 0.981], equivalent",
        {"alone": lambda _, part: part["timing"].update(
            ratios={name: of for name, of in part["timing"]["ratios"].items() if name == "jax/jit vs tf/autocluster"})},
    ),
    (
        FULL, "withheld", "withheld",
        "after 8 pairs of processes no ratio of jax/jit to tf/graph, tf/jit, tf/eager is given",
        {"given": lambda _, part: [of.update(withheld="") for of in part["timing"]["ratios"].values()]},
    ),
    (
        ADD, "add", "compiling", "compiled, tf/jit takes 7.48x of the time of tf/eager",
        {
            "faster": lambda _, part: [part["timing"]["ratios"][name].update(verdict="faster")
                                       for name in ("tf/jit vs tf/eager", "jax/jit vs jax/eager")],
            "a wide interval": lambda _, part: [part["timing"]["ratios"][name].update(verdict="inconclusive")
                                                for name in ("tf/jit vs tf/eager", "jax/jit vs jax/eager")],
        },
    ),
    (
        FULL, "mnist_mlp", "split", "frontend 0.950x, compiler 0.710x, runtime 1.02x; the compiler moves it most",
        {
            "a wide interval": ratio("jax/jit vs tf/jit", ci95=[0.4, 1.4], verdict="inconclusive"),
            "withheld": ratio("jax/jit vs tf/jit", ratio=None, withheld="A/A check failed"),
            "a factor is missing": setting("/attribution/runtime", None),
        },
    ),
    (
        FULL, "mnist_mlp", "limit",
        "is about 790 µs, from arithmetic; of that speed jax/jit 60 %, tf/jit 42 % is reached",
        {
            "no roofline": lambda _, part: part.update(roofline=None),
            "no share": setting("/roofline/modes/jax~1jit/share", None),
            "withheld": ratio("jax/jit vs tf/jit", ratio=None, withheld="A/A check failed"),
        },
    ),
    (
        ADD, "add", "dispatch", "takes 6.39 µs in jax/jit, where add takes 48.5 µs, and 29.2 µs in tf/eager",
        {
            "not measured": lambda plain, _: plain.update(dispatch={}),
            "long calls": lambda _, part: [mode.update(median_s=1.0) for mode in part["timing"]["modes"].values()],
        },
    ),
    (
        FULL, "mnist_mlp", "page_faults", "page faults in a call: jax/jit 12,400, tf/jit 2",
        {
            "few": setting("/timing/modes/jax~1jit/page_faults", 10.0),
            "not counted": setting("/timing/modes/jax~1jit/page_faults", None),
        },
    ),
    (
        ADD, "add", "other_threads", "JAX's XLA computed a sum of 896 elements on one thread, in 8.54 µs, and handed "
        "one of 1,024 to another thread, which took 46.7 µs; add has inputs of up to 10,000 elements",
        {
            "not measured": lambda plain, _: plain.update(handover={}),
            "no size parts them": lambda plain, _: plain["handover"]["jax"].update(below=None, above=None),
            "smaller inputs": lambda _, part: part.update(inputs={"x": "f32[10,10]"}),
            "not slower": ratio("jax/jit vs tf/eager", verdict="inconclusive"),
            "withheld": ratio("jax/jit vs tf/eager", ratio=None, withheld="A/A check failed"),
            "memory takes the time": setting("/roofline/bounds/memory_s", 4e-5),
            "no roofline": lambda _, part: part.update(roofline=None),
            "a long call": setting("/timing/modes/jax~1jit/median_s", 5e-3),
        },
    ),
    (
        MEASURED, "mnist_mlp", "longest_kernels", "dot.1 31.8 µs (27 %), ynn_fusion.2 17.5 µs (15 %)",
        {"no times": lambda _, part: [cell.update(times=[]) for cell in part["compiled"].values()]},
    ),
    (
        MEASURED, "mnist_mlp", "small_kernels", "tf/graph, which asks for no compilation, runs 100 kernels in a call",
        {
            "none in a row": lambda _, part: [of.update(small_runs=[]) for of in part["profile"].values()],
            "withheld": lambda _, part: [of.update(withheld="no") for of in part["timing"]["ratios"].values()],
        },
    ),
    (
        MEASURED, "mnist_mlp", "libraries", "library calls differ: YNNPACK 3 in jax@jax, 0 in tf@tf",
        {
            "the same": lambda _, part: part["compiled"]["jax@jax"].update(custom_calls=[]),
            "not compiled": lambda _, part: part["compiled"]["tf@tf"].update(reason="refused"),
        },
    ),
    (
        FULL, "mnist_mlp", "clusters", "autoclustering put 160 of 166 nodes into 2 clusters, which take 62 % of a "
        "call's time in nodes and leave 21 % outside; outside: 2 _FusedMatMul (XLA has no kernel for it); 4 Read",
        {
            "not asked": lambda _, part: part.update(clustering=None),
            "nothing outside": setting("/clustering/outside", []),
            "not known": lambda _, part: part.update(clustering={"reason": "not built"}),
        },
    ),
    (
        FULL, "mnist_mlp", "new_sizes", "after x=f32[8,128], jax.jit() compiled 1 program anew for x=f32[7,128]: that "
        "call took 244 ms, 229 ms of it in XLA; the next call of those sizes took 135 µs",
        {
            "not called": lambda _, part: part.update(recompilation=None),
            "nothing compiled": calls(1, compilations=0),
            "a reason that was not found again": calls(1, established=False),
            "it gave no result": calls(1, error="failed"),
            "no repetition": calls(3, call="x=f32[6,128]"),
            "compiled once more": calls(3, compilations=1),
            "no time": calls(1, seconds=None),
        },
    ),
    (
        MEASURED, "mnist_mlp", "kernel_counts", "tf/eager 118, tf/graph 100",
        {"not profiled": lambda _, part: part.update(profile={})},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "name", "rule", "words", "_"), SAYING, ids=lambda value: str(value)[:24])
def test_a_rule_says_what_was_measured(path: Path, name: str, rule: str, words: str, _: Any) -> None:
    assert any(words in sentence.text for sentence in rule_alone(read(path), name, rule))


@pytest.mark.parametrize(
    ("path", "name", "rule", "change"),
    [
        pytest.param(path, name, rule, change, id=f"{rule}: {what}")
        for path, name, rule, _, changes in SAYING
        for what, change in changes.items()
    ],
)
def test_a_rule_is_silent_where_nothing_is_known(path: Path, name: str, rule: str, change: Change) -> None:
    assert rule_alone(changed(path, name, change), name, rule) == []


def test_every_rule_is_tried() -> None:
    elsewhere = {"starting", "modes_alike", "programs"}
    assert {rule.__name__ for rule in RULES} - elsewhere == {rule for _, _, rule, _, _ in SAYING}


def test_an_interval_that_does_not_decide_is_no_verdict() -> None:
    (sentence,) = said(read(MEASURED), "mnist_mlp", "against_the_fastest")
    assert "which of them is faster is not decided" in sentence.text and "run more pairs" in sentence.text
    assert "neither shown to be faster nor slower" in explained(read(MEASURED), "mnist_mlp").headline


def test_a_factor_that_its_two_ways_disagree_on_moves_nothing_alone() -> None:
    plain = read(FULL)
    cells = {"tf@tf": 26.8, "jax@jax": 25.7, "tf@jax": 50.8, "jax@tf": 25.9}
    part = plain["workloads"]["mnist_mlp"]
    part["timing"]["cells"] = {name: {"median_s": time} for name, time in cells.items()}
    part["attribution"] = {"frontend": 0.699, "compiler": 1.371, "runtime": 1.0}
    (sentence,) = said(plain, "mnist_mlp", "split")
    frontend = "the frontend is 0.506x under JAX's XLA and 0.966x under TF's"
    compiler = "the compiler is 0.992x on the port's program and 1.90x on TF's"
    assert sentence.text.endswith(f"; no factor moves it alone: {frontend}, {compiler} (medians, no interval)")
    assert "/workloads/mnist_mlp/timing/cells/tf@jax/median_s" in {figure.place for figure in sentence.figures}


def test_what_keeps_a_call_in_its_thread_is_told_with_what_it_saves_or_how_that_is_measured() -> None:
    told = "`jaxport bench --dispatch synchronous` measures it without, by `jax_cpu_enable_async_dispatch=False`"
    assert text(ADD, "add", "other_threads").endswith(told)
    plain = read(ADD)
    ratios = plain["workloads"]["add"]["timing"]["ratios"]
    kept = ratios["jax/jit vs tf/eager"] | {"ratio": 0.2, "ci95": [0.19, 0.21], "verdict": "faster"}
    ratios["jax/synchronous vs jax/jit"] = kept
    (sentence,) = said(plain, "add", "other_threads")
    assert sentence.text.endswith("it takes 0.200x [0.190, 0.210], faster, of that")
    assert "/workloads/add/timing/ratios/jax~1synchronous vs jax~1jit/ratio" in {
        place.place for place in sentence.figures
    }
    kept["withheld"] = "a second process of itself is missing"
    assert said(plain, "add", "other_threads")[0].text.endswith(told)


def starting(first: float, ratio_of: dict[str, Any]) -> Change:
    def change(_: Any, part: Any) -> None:
        part["phases"] = {"jax/jit": {"cold": {"first_call_s": first}}, "tf/jit": {"cold": {"first_call_s": 0.1}}}
        part["timing"]["ratios"]["jax/jit vs tf/jit"].update(ratio_of)

    return change


def test_a_longer_start_is_made_up_for_after_some_calls() -> None:
    (sentence,) = rule_alone(changed(FULL, "mnist_mlp", starting(0.69, {})), "mnist_mlp", "starting")
    assert "made up for after 1,000 calls" in sentence.text  # 590 ms over 1900 - 1310 µs


def test_a_longer_start_of_what_is_slower_too_is_not_made_up_for() -> None:
    def slower(plain: Any, part: Any) -> None:
        starting(0.69, {"verdict": "slower", "ratio": 1.5})(plain, part)
        part["timing"]["modes"]["jax/jit"]["median_s"] = 0.003
        others = ("tf/graph", "tf/autocluster")
        part["timing"]["modes"].update({mode: part["timing"]["modes"]["tf/eager"] for mode in others})

    (sentence,) = rule_alone(changed(FULL, "mnist_mlp", slower), "mnist_mlp", "starting")
    assert "not made up for: each call takes longer too" in sentence.text


@pytest.mark.parametrize(
    "change",
    [
        starting(0.05, {}),
        starting(0.69, {"verdict": "inconclusive"}),
        starting(0.69, {"verdict": "slower"}),  # against the medians
        starting(0.69, {"ratio": None, "withheld": "A/A check failed"}),
    ],
)
def test_nothing_is_said_of_a_start_that_is_shorter_or_not_decided(change: Change) -> None:
    assert rule_alone(changed(FULL, "mnist_mlp", change), "mnist_mlp", "starting") == []


def test_a_mode_that_compiled_nothing_is_told_with_its_kernels() -> None:
    plain = changed(FULL, "mnist_mlp", setting("/profile/tf~1autocluster/same_as", "tf/graph"))
    (sentence,) = rule_alone(plain, "mnist_mlp", "modes_alike")
    assert sentence.text == "tf/autocluster compiled nothing: it runs the same 2 kernels as tf/graph"
    assert sentence.command == "jaxport compilation clusters my_port.py"
    assert rule_alone(read(FULL), "mnist_mlp", "modes_alike") == []


def test_clusters_name_their_command_and_the_lines_of_what_stayed_outside() -> None:
    (sentence,) = rule_alone(read(FULL), "mnist_mlp", "clusters")
    assert sentence.sources == ("/jaxport/tf_reference/mnist_mlp.py:23",)
    assert sentence.command == "jaxport compilation clusters my_port.py"
    functions = Case(decode(read(FULL), Path("r.json")), "mnist_mlp", Commands("--tf a.py:f", "r.json", "a.py:f"))
    assert next(rules_of_compiling.clusters(functions)).command == "jaxport compilation clusters a.py:f"


def test_without_a_cluster_autoclustering_is_graph_mode() -> None:
    (sentence,) = rule_alone(read(ADD), "add", "clusters")
    assert "compiled none of 1 node: tf/autocluster is tf/graph here; outside: AddV2 (it could be" in sentence.text


def test_new_sizes_are_shown_by_the_stream_that_was_called() -> None:
    first, _ = rule_alone(read(FULL), "mnist_mlp", "new_sizes")
    assert first.text.startswith("after x=f32[8,128], tf.function(jit_compile=True) compiled 1 program anew")
    assert first.command == (
        "jaxport compilation recompiles --tf /home/me/my_tf.py:f --jax /home/me/my_jax.py:g --call 'x=f32[8,128]' "
        "--call 'x=f32[7,128]' --call 'x=f32[8,128]' --call 'x=f32[7,128]' --no-cures"
    )


def program_ratio(**fields: Any) -> Change:
    row = {"ratio": 1.21, "ci95": [1.1, 1.3], "verdict": "slower", "pairs": 8, **fields}
    return setting("/timing/program_ratios", {"jax@jax vs tf@jax": row})


def test_programs_are_told_apart_by_an_interval_only() -> None:
    (sentence,) = rule_alone(changed(MEASURED, "mnist_mlp", program_ratio()), "mnist_mlp", "programs")
    assert "1.21x [1.10, 1.30], slower" in sentence.text and sentence.sources
    for silent in ({"verdict": "inconclusive"}, {"withheld": "A/A check failed"}, {"ratio": None}):
        assert rule_alone(changed(MEASURED, "mnist_mlp", program_ratio(**silent)), "mnist_mlp", "programs") == []


def test_commands_name_the_pass_that_was_timed() -> None:
    shown = Commands("my_port.py", "results.json", chosen="--pass forward")
    assert [shown.by(name) for name in ("bench", "explain")] == [
        "jaxport bench my_port.py --pass forward", "jaxport explain my_port.py"
    ]  # fmt: skip


def test_where_nothing_was_timed_the_headline_says_why() -> None:
    small = read(DATA / "record_small.json")
    assert explained(small, "lstm").headline == "not timed: parity fails"
    assert explained(small, "lstm").sentences == ()


def test_a_withheld_ratio_leaves_nothing_to_conclude_from_times() -> None:
    explanation = explained(read(FULL), "withheld")
    assert "withheld: nothing may be concluded" in explanation.headline
    assert {sentence.rule for sentence in explanation.sentences} <= {"withheld", "kernel_counts"}


def test_what_cannot_be_named_on_a_command_line_is_shown_from_its_record() -> None:
    record = decode(read(FULL), Path("results.json"))
    shown = explain(record, "behind", Commands("", "my runs/results.json")).sentences
    assert {sentence.command for sentence in shown} == {"jaxport report 'my runs/results.json'"}
