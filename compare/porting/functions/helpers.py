"""Pieces that repeat in the statements of a function, as helper functions that are called in their place.

A helper function is the text of its copies: what differs between them are its arguments, and nothing else may differ.
So calls of it compute what the copies computed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from compare.porting.functions.call_loops import LEAST_IN_LOOP, with_loops
from compare.porting.functions.helper_making import Code, Helper, make_helper
from compare.porting.functions.helper_names import called_name, piece_name
from compare.porting.functions.helper_parameters import Copy, Parameters, WantedNames
from compare.porting.functions.holes import BARRIER, Element, element, number_of, segment_key
from compare.porting.functions.line_folding import fold
from compare.porting.functions.statements import (
    TOKEN,
    Definition,
    Loop,
    Statement,
    defined_tokens,
    read,
    variables_of,
)
from compare.porting.functions.written_module import Inlined, Module
from compare.porting.identifiers import Names, snake
from compare.porting.repeats import Step, find_repeats

_LEAST_OPERATIONS, _LEAST_SAVED, _OVERHEAD = 3, 3, 3
"""For a helper function, the least operations, the least saved statements, and the lines besides its body."""

_FREE_PARAMETERS = 4
"""The parameters of a helper function without cost; each further one counts as a line of every call."""

_LONGEST, _MOST_SEARCHED = 256, 2_000_000
"""The largest piece, and how many pieces are looked at."""


@dataclass(frozen=True)
class _Place:
    """Where a copy stands: a body, its first statement, and the statement after its last one."""

    body: int
    start: int
    stop: int


def split(module: Module, main: Code, variables: Mapping[str, str], names: Names) -> list[Helper]:
    """Make helper functions of what repeats in statements; they are then called in its place.

    Args:
      main: the statements, one for each operation; they become lines, unless nothing repeats.
      variables: what variables that are there are called, by token.
    """
    splitting = _Splitting(module, main, variables, names)
    splitting.split()
    helper_names = {helper.name for helper in splitting.helpers}
    for code in [main, *(helper.code for helper in splitting.helpers)] if helper_names else []:
        statements = with_loops(code.statements, code.results, module, helper_names)
        code.statements, code.results = fold(statements, code.results, sorted(helper_names))
    return _callees_first(splitting.helpers)


def _callees_first(helpers: Sequence[Helper]) -> list[Helper]:
    by_name = {helper.name: helper for helper in helpers}
    in_order: dict[str, Helper] = {}

    def add(helper: Helper) -> None:
        for statement in helper.code.statements:
            call = statement.step if isinstance(statement, Loop) else getattr(statement, "text", "")
            for name in re.findall(r"\b\w+(?=\()", " ".join([call])):
                if name in by_name and name not in in_order:
                    add(by_name[name])
        in_order[helper.name] = helper

    for helper in helpers:
        if helper.name not in in_order:
            add(helper)
    return list(in_order.values())


@dataclass
class _Splitting:
    """Makes helper functions of the repeats of a function.

    Attributes:
      module: that it is in.
      main: its statements; calls of helper functions take the place of repeats.
      variables: what variables that are there are to be called, by token.
      names: identifiers that are free.
      helpers: functions that were made.
    """

    module: Module
    main: Code
    variables: Mapping[str, str]
    names: Names
    helpers: list[Helper] = field(default_factory=list)

    def split(self) -> None:
        """Make helper functions of functions that are called several times, then of what repeats."""
        defaults = {snake(node.type) for body in self.module.graph.bodies for node in body.nodes}
        self._names = WantedNames(self.module, dict(self.variables), defaults)
        self._names.note(self.main.statements)
        self._calls = [replace(one, name=called_name(one.name)) for one in self.module.inlined]
        self._elements = dict[tuple[Statement, bool], Element]()
        self._readers = dict[int, Counter[str]]()
        # What is around others is a helper function first: of what is in it there is then one copy less.
        for name in dict.fromkeys(one.name for one in reversed(self._calls)):
            for calls in self._find_calls(name):
                self._extract(self._places(calls), name)
        while (repeat := self._find_repeat()) is not None:
            self._extract(repeat, "")

    @property
    def _bodies(self) -> list[Code]:
        return [self.main, *(helper.code for helper in self.helpers)]

    def _find_calls(self, name: str) -> list[list[Inlined]]:
        """Calls of one function that are written alike, several of each kind."""
        for with_numbers in (False, True):
            groups: dict[object, list[Inlined]] = {}
            for one in self._calls:
                place = self._place_of(one.tokens) if one.name == name else None
                if place is not None and place.stop - place.start >= _LEAST_OPERATIONS:
                    copy = self._copy(place, with_numbers=with_numbers)
                    groups.setdefault(_key(copy), []).append(one)
            several = [group for group in groups.values() if len(group) > 1]
            if all(self._parameters(self._places(group)).are_few for group in several):
                return several
        return []

    def _places(self, calls: Iterable[Inlined]) -> list[_Place]:
        places = [self._place_of(one.tokens) for one in calls]
        return [place for place in places if place is not None]

    def _place_of(self, tokens: frozenset[str]) -> _Place | None:
        """Where the statements of a call stand; None where they are not together."""
        for body, code in enumerate(self._bodies):
            places = [k for k, statement in enumerate(code.statements) if defined_tokens(statement) & tokens]
            if places and all(after - before == 1 for before, after in pairwise(places)):
                return _Place(body, places[0], places[-1] + 1)
        return None

    def _copy(self, place: _Place, *, with_numbers: bool = False) -> Copy:
        code = self._bodies[place.body]
        inside = code.statements[place.start : place.stop]
        counts = self._count_readers(place.body)
        counts_inside = Counter(token for one in inside for token in read(one))
        variables = [variable.token for one in inside for variable in variables_of(one)]
        tokens = [token for token in variables if counts[token] > counts_inside[token]]
        return Copy(tuple(self._element(one, with_numbers=with_numbers) for one in inside), tuple(tokens))

    def _count_readers(self, body: int) -> Counter[str]:
        """How many statements of a body, and results, read or define each variable."""
        if body not in self._readers:
            code = self._bodies[body]
            of_results = Counter(match[0] for text in code.results for match in TOKEN.finditer(text))
            self._readers[body] = of_results + Counter(token for one in code.statements for token in read(one))
        return self._readers[body]

    def _element(self, statement: Statement, *, with_numbers: bool) -> Element:
        key = statement, with_numbers
        if key not in self._elements:
            self._elements[key] = element(statement, with_numbers=with_numbers)
        return self._elements[key]

    def _parameters(self, places: Sequence[_Place]) -> Parameters:
        copies = [self._copy(place) for place in places]
        return Parameters(self._names, copies, dict.fromkeys(copies[0].bound, ""))

    def _find_repeat(self) -> list[_Place] | None:
        """The piece that saves the most statements; None where none saves enough."""
        best, most = None, 0
        for with_numbers in (True, False):
            for places in self._repeats(with_numbers=with_numbers):
                savings = self._count_savings(places)
                if savings >= _LEAST_SAVED and savings > most:
                    best, most = places, savings
        return best

    def _repeats(self, *, with_numbers: bool) -> Iterable[list[_Place]]:
        steps, places = list[Step](), list[tuple[int, int]]()
        for body, code in enumerate(self._bodies):
            elements = [self._element(one, with_numbers=with_numbers) for one in code.statements]
            steps += [*(one.step for one in elements), BARRIER]
            places += [(body, k) for k in range(len(elements) + 1)]
        texts = [text for code in self._bodies for text in code.results]
        outputs = [number_of(match[0]) for text in texts for match in TOKEN.finditer(text)]
        longest = min(_LONGEST, max(_MOST_SEARCHED // len(steps), 8))
        for repeat in find_repeats(steps, outputs, longest, _OVERHEAD):
            yield [_Place(*places[copy.start], places[copy.start][1] + copy.length) for copy in repeat.copies]

    def _count_savings(self, places: Sequence[_Place]) -> int:
        """How many statements a helper function saves; 0 where it says no more than its copies."""
        count = places[0].stop - places[0].start
        parameters = self._parameters(places)
        if count < _LEAST_OPERATIONS or not parameters.are_few or self._hands_over_function(places[0]):
            return 0
        of_call = max(len(parameters.all) - _FREE_PARAMETERS, 1)
        calls = sum(1 if len(run) >= LEAST_IN_LOOP else len(run) for run in self._runs(places))
        return (len(places) - 1) * count - _OVERHEAD - calls * of_call

    def _hands_over_function(self, place: _Place) -> bool:
        """Whether a piece takes or returns a function that is defined in the body."""
        functions = {one.name.token for one in self._bodies[place.body].statements if isinstance(one, Definition)}
        copy = self._copy(place)
        return bool(functions & {*copy.inputs, *copy.results})

    def _runs(self, places: Sequence[_Place]) -> list[list[_Place]]:
        """Copies in lists, in which each follows the one before it and takes its result."""
        runs = [[places[0]]]
        for before, after in pairwise(places):
            follows = (before.body, before.stop) == (after.body, after.start)
            if follows and {*self._copy(before).results} & {*self._copy(after).inputs}:
                runs[-1].append(after)
            else:
                runs.append([after])
        return runs

    def _extract(self, places: Sequence[_Place], name: str) -> None:
        """Make a helper function, and call it in the place of each copy."""
        copies = [self._copy(place) for place in places]
        rename = {token: self.module.token() for token in copies[0].bound}
        parameters = Parameters(self._names, copies, rename)
        names_taken = {helper.name for helper in self.helpers} | {self.module.graph.name}
        name = self.names.of(name or piece_name([copy.elements for copy in copies], parameters.all, names_taken))
        helper, calls = make_helper(name, parameters)
        for place, call in sorted(zip(places, calls, strict=True), key=lambda pair: -pair[0].start):
            self._bodies[place.body].statements[place.start : place.stop] = [call]
        self.helpers.append(helper)
        self._readers.clear()
        self._move_calls([frozenset(copy.bound) for copy in copies], rename)

    def _move_calls(self, copies: Sequence[frozenset[str]], rename: Mapping[str, str]) -> None:
        """Calls in the first copy of a piece are now in its helper function, and those in others nowhere."""
        calls = [one for one in self._calls if not any(one.tokens <= tokens for tokens in copies[1:])]
        self._calls = [
            replace(one, tokens=frozenset(rename[token] for token in one.tokens)) if one.tokens <= copies[0] else one
            for one in calls
        ]


def _key(copy: Copy) -> tuple[object, ...]:
    """A key that is equal for two calls with the same text."""
    defined_numbers = [number for one in copy.elements for number in one.step.writes]
    return segment_key(copy.elements), tuple(defined_numbers.index(number_of(token)) for token in copy.results)
