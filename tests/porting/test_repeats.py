"""The search for blocks in a sequence of steps: copies have the same code and wiring, and some have more steps."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from compare.porting.block_search import find_block
from compare.porting.patterns import Pattern, wire
from compare.porting.repeats import Copy, Step, chained_input, find_repeats, last_reads_of, own_prefix, runs_of

LINES = 3


def chain(shapes: str, names: str = "") -> list[Step]:
    """Steps of one letter each; each reads the result of the step before it."""
    return [
        Step(shape, (index,), (index + 1,), lines=LINES, name=names and f"{names}{index}")
        for index, shape in enumerate(shapes)
    ]


def block_in(shapes: str) -> Pattern | None:
    """The block in a chain."""
    steps = chain(shapes)
    return find_block(steps, [len(steps)])


def copies_in(shapes: str) -> list[str]:
    """The letters of each copy of the block in a chain."""
    pattern = block_in(shapes)
    return [shapes[occurrence.copy.start : occurrence.copy.stop] for occurrence in pattern.copies] if pattern else []


def residual(steps: list[Step], number: int, projects: bool = False) -> int:
    """Add the steps of a residual block, and return the number of its result."""
    free = count(steps[-1].writes[0] + 1)
    shortcut, x = number, number
    if projects:
        shortcut = next(free)
        steps.append(Step("project", (number,), (shortcut,), lines=LINES))
    for shape in ("conv", "norm", "relu", "conv", "norm"):
        y = next(free)
        steps.append(Step(shape, (x,), (y,), lines=LINES))
        x = y
    y = next(free)
    steps.append(Step("add", (shortcut, x), (y,), lines=LINES))
    return y


def test_copies_that_follow_one_another_are_found() -> None:
    assert copies_in("sabcdabcdabcdt") == ["abcd"] * 3


def test_copies_need_not_follow_one_another() -> None:
    assert copies_in("abcdexabcdeyabcdez") == ["abcde"] * 3


def test_what_saves_too_little_is_no_block() -> None:
    assert copies_in("abxab") == []


def test_nothing_repeats_where_all_differs() -> None:
    assert block_in("abcdefgh") is None


def test_a_segment_with_two_results_is_none() -> None:
    steps = chain("abcdabcd" * 2)
    copies = [copy for repeat in find_repeats(steps, [len(steps), 2, 3]) for copy in repeat.copies]
    assert copies != []
    # Steps 1 and 2 write the tensors 2 and 3: only a segment that ends there has them as its one result.
    assert all(not copy.start <= index < copy.stop - 1 for copy in copies for index in (1, 2))
    # A later step reads the second tensor of the first segment, so this segment has two results.
    pattern = find_block(steps, [len(steps), 2])
    assert pattern is not None and all(occurrence.copy.start >= 2 for occurrence in pattern.copies)


def test_a_step_that_stands_alone_is_in_no_block() -> None:
    steps = [step if index != 5 else Step("", step.reads, step.writes) for index, step in enumerate(chain("abcd" * 4))]
    pattern = find_block(steps, [len(steps)])
    assert pattern is not None
    assert all(5 not in range(occurrence.copy.start, occurrence.copy.stop) for occurrence in pattern.copies)


def test_a_shortcut_that_projects_is_a_piece() -> None:
    steps, x = [Step("stem", (0,), (1,))], 1
    for projects in (True, False, False, True, False):
        x = residual(steps, x, projects)
    pattern = find_block(steps, [x])
    assert pattern is not None
    assert [column.shape for column in pattern.columns if column.piece is not None] == ["project"]
    assert [occurrence.steps[0] is not None for occurrence in pattern.copies] == [True, False, False, True, False]
    copies = [occurrence.copy for occurrence in pattern.copies]
    assert [len(run) for run in runs_of(copies, last_reads_of(steps, [x]))] == [5]


def test_a_run_ends_where_its_result_is_read_elsewhere() -> None:
    copies = [Copy(0, 2, (0,), 2), Copy(2, 2, (2,), 4), Copy(4, 2, (4,), 6)]
    assert [len(run) for run in runs_of(copies, {2: 3, 4: 5, 6: 9})] == [3]
    assert [len(run) for run in runs_of(copies, {2: 3, 4: 8, 6: 9})] == [2, 1]


def test_all_copies_of_a_run_take_the_same_beside_the_result() -> None:
    assert chained_input([Copy(0, 2, (0, 7), 2), Copy(2, 2, (2, 7), 4)]) == 0
    assert chained_input([Copy(0, 2, (0, 7), 2), Copy(2, 2, (2, 8), 4)]) is None


def test_a_prefix_is_that_of_no_other_step() -> None:
    names = ["stem", "block_1_conv", "block_1_norm", "block_10_conv", "block_10_norm"]
    assert own_prefix(names, range(1, 3)) == "block_1_"
    assert own_prefix([*names, "block_1_late"], range(1, 3)) == ""


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Step], list[int]]:
    """Steps of few shapes; each reads one or two of the last tensors."""
    steps: list[Step] = []
    for index in range(draw(st.integers(4, 28))):
        reads = draw(st.lists(st.integers(max(0, index - 3), index), min_size=1, max_size=2))
        steps.append(Step(draw(st.sampled_from("ab")) + str(len(reads)), tuple(reads), (index + 1,), lines=LINES))
    return steps, [len(steps)]


@given(sequences())
def test_the_copies_of_a_block_are_the_steps_that_were_there(sequence: tuple[list[Step], list[int]]) -> None:
    steps, outputs = sequence
    pattern = find_block(steps, outputs)
    if pattern is None:
        return
    last_reads, before = last_reads_of(steps, outputs), 0
    for occurrence in pattern.copies:
        copy, inside = occurrence.copy, {index for index in occurrence.steps if index is not None}
        # Copies do not overlap, each is a whole segment, and its code and its wiring are those of the block.
        assert copy.start >= before and inside == {*range(copy.start, copy.stop)}
        assert all(
            index is None or steps[index].shape == column.shape
            for column, index in zip(pattern.columns, occurrence.steps, strict=True)
        )
        assert wire(steps, pattern, occurrence) == copy
        results = {number for index in inside for number in steps[index].writes}
        assert [number for number in results if last_reads.get(number, -1) >= copy.stop] == [copy.result]
        assert {number for index in inside for number in steps[index].reads} - results <= {*copy.inputs}
        before = copy.stop
