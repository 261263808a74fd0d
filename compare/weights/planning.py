"""The plan: where every leaf goes, and every reason against that. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compare.weights.hyperparameters import agrees
from compare.weights.matching import Finding, Match, Matching, join_path
from compare.weights.rule import Carried, Counterpart, Module
from compare.weights.transforms import IDENTITY, NARROWED, Transform, TransformError
from workloads.protocol.transfer import Leaf, Source, SourceLayer, Target, TargetVariable

OWN = "own_weights"
"""The rule of weights that a class of the user's adds: variables of the same names in the module of its name; and of
those of a layer of which each is named for itself."""


@dataclass(frozen=True)
class Move:
    """One leaf on its way.

    Attributes:
      layer: that it belongs to.
      leaf: itself.
      rule: by which it goes.
      transform: what becomes of it.
      variables: that it becomes, by their paths in the target.
    """

    layer: SourceLayer
    leaf: Leaf
    rule: str
    transform: Transform
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Told:
    """A layer in the receipt: what was checked of it and what could not be.

    Attributes:
      layer: of the source.
      target: the path of its module; "" where a plain function stands in, or for the whole module.
      module: the class of its module; "" likewise.
      rule: its name.
      function: the expression that stands in.
      checked: attributes that agree, as NAME=VALUE.
      unchecked: attributes that the caller of the module applies.
      advice: attributes that differ, and what they should be.
    """

    layer: SourceLayer
    target: str = ""
    module: str = ""
    rule: str = ""
    function: str = ""
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The moves of weights, and the findings that prevent them.

    Attributes:
      moves: one for every leaf.
      arrays: by the path of the variable.
      told: all layers with a rule.
      left: key of a leaf -> why it is not carried.
      findings: what does not fit; with any, nothing is written.
    """

    moves: tuple[Move, ...]
    arrays: Mapping[str, np.ndarray]
    told: tuple[Told, ...]
    left: Mapping[str, str]
    findings: tuple[Finding, ...]


def plan(
    source: Source,
    arrays: Mapping[str, np.ndarray],
    target: Target,
    names: Mapping[str, str],
    allowances: Mapping[str, str],
    unused_layers: Mapping[str, str] | None = None,
) -> Plan:
    """Plan the move of every leaf.

    Args:
      arrays: of their leaves, by key.
      names: path of a layer -> path of its module, where names differ.
      allowances: path of a variable that keeps what it has -> why.
      unused_layers: path of a layer that nothing calls, and that has no module -> why its weights are left out.
    """
    unused_layers = unused_layers or {}
    matching = Matching(target, names)
    for layer in source.layers:
        matching.add(layer)
    planning = _Planning(target, matching, arrays)
    for path, match in matching.matches.items():
        if path in unused_layers:
            planning.left |= {leaf.key: unused_layers[path] for leaf in match.layer.leaves}
        else:
            planning.add(match)
    match_findings = [finding for finding in matching.findings if finding.layer not in unused_layers]
    findings = [*match_findings, *planning.findings, *planning.find_unwritten(allowances)]
    return Plan(
        moves=tuple(planning.moves),
        arrays=planning.arrays,
        told=tuple(planning.told),
        left=planning.left,
        findings=tuple([*findings, *_both_sides(matching, source.layers)] if findings else ()),
    )


def without_misfits(whole_plan: Plan) -> Plan:
    """The part of a plan that fits: the moves of layers without a finding."""
    misfits = {finding.layer for finding in whole_plan.findings}
    moves = tuple(
        move
        for move in whole_plan.moves
        if move.layer.path not in misfits and whole_plan.arrays.keys() >= set(move.variables)
    )
    variables = {path for move in moves for path in move.variables}
    arrays = {path: array for path, array in whole_plan.arrays.items() if path in variables}
    return replace(whole_plan, moves=moves, arrays=arrays, findings=())


def _both_sides(matching: Matching, layers: Sequence[SourceLayer]) -> Iterator[Finding]:
    """Where layers found no module: those that are left on both sides, which the user may join."""
    modules = matching.find_unmatched(layers)
    if modules and any(finding.kind == "module" for finding in matching.findings):
        yield Finding("module", f"no layer was matched with {', '.join(modules)}: name pairs with --map")


class _Planning:
    """Moves and findings, layer by layer."""

    def __init__(self, target: Target, matching: Matching, arrays: Mapping[str, np.ndarray]) -> None:
        self.moves: list[Move] = []
        self.findings: list[Finding] = []
        self.told: list[Told] = []
        self.left: dict[str, str] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self._variables = {variable.path: variable for variable in target.variables}
        self._modules = {module.path: module for module in target.modules}
        self._sources, self._matching = arrays, matching
        self._writers: dict[str, str] = {}

    def add(self, match: Match) -> None:
        counterpart = match.counterpart
        if match.layer.leaves and (match.layer.container or self._matching.names_every_weight(match.layer)):
            class_name = match.module.class_name if match.module else ""
            no_rule = "it is no class of Keras" if match.layer.container else "its weights are variables of their own"
            attributes = (f"all attributes: {no_rule}",)
            self.told.append(Told(match.layer, match.target, class_name, OWN, unchecked=attributes))
            for leaf in match.layer.leaves:
                own = self._matching.named_path(leaf.key, join_path(match.target, leaf.name.replace("/", ".")))
                self._move(match, leaf, Carried(leaf.name, (own,), self._kept_as(leaf, own)), OWN)
            return
        # Of a layer with weights that found no module it was said already.
        stands_in = counterpart is not None and (counterpart.module is None or bool(counterpart.function))
        if counterpart is not None and match.rule is not None and (stands_in or match.places is not None):
            self._tell(match, counterpart)
            self._leaves(match, counterpart, match.rule.name)

    def _kept_as(self, leaf: Leaf, path: str) -> Transform:
        there = self._variables[path].dtype if path in self._variables else ""
        return next((way for way in NARROWED if (way.before, way.after) == (leaf.dtype, there)), IDENTITY)

    def _tell(self, match: Match, counterpart: Counterpart) -> None:
        module = counterpart.module if match.places is not None else None
        target_module = match.module if module is not None else None
        agreeing, advice = self._check(match, module) if module is not None else ([], [])
        self.told.append(
            Told(
                layer=match.layer,
                target=match.target if target_module else "",
                module=target_module.class_name if target_module else "",
                rule=match.rule.name if match.rule else "",
                function="" if target_module else counterpart.function,
                checked=tuple(agreeing),
                unchecked=counterpart.unchecked,
                advice=tuple(advice),
            )
        )

    def _check(self, match: Match, module: Module, within: str = "") -> tuple[list[str], list[str]]:
        """The attributes of a module that agree, and those that should better be others; the rest are findings."""
        there = self._modules[(match.places or {})[within]]
        agreeing: list[str] = []
        rank, param_dtype = len(match.layer.shape), module.arguments.get("param_dtype")
        param_dtype = None if isinstance(param_dtype, Module) else param_dtype
        for name, expected_value in module.settings.items():
            if name in there.attributes and agrees(name, expected_value, there.attributes[name], rank, param_dtype):
                agreeing.append(f"{join_path(within, name)}={expected_value!r}")
                continue
            actual = f"{name}={there.attributes[name]!r}" if name in there.attributes else f"no attribute {name}"
            self.findings.append(
                Finding(
                    "attribute",
                    f"{match.layer.subject} -> {there.path or 'the whole module'} ({there.class_name}): expected "
                    f"{name}={expected_value!r}, found {actual} (rule {match.rule.name if match.rule else ''})",
                    match.layer.path,
                )
            )
        advice = [
            f"{join_path(within, name)}={expected_value!r}, found {there.attributes.get(name)!r}"
            for name, expected_value in module.advised.items()
            if not agrees(name, expected_value, there.attributes.get(name), rank, param_dtype)
        ]
        for name, inner in module.inner.items():
            more = self._check(match, inner, join_path(within, name))
            agreeing, advice = agreeing + more[0], advice + more[1]
        return agreeing, advice

    def _leaves(self, match: Match, counterpart: Counterpart, rule: str) -> None:
        ways = {way.leaf: way for way in counterpart.carried}
        for leaf in match.layer.leaves:
            if leaf.name in counterpart.left:
                self.left[leaf.key] = counterpart.left[leaf.name]
            elif leaf.name in ways:
                way = ways.pop(leaf.name)
                paths = tuple(self._path(match, variable) for variable in way.variables)
                self._move(match, leaf, Carried(leaf.name, paths, way.transform), rule)
            else:
                self._refuse(
                    match.layer,
                    "leaf",
                    f"{match.layer.subject}: expected no leaf {leaf.name}, which the rule {rule} lacks",
                )
        for name in ways:
            self._refuse(
                match.layer, "leaf", f"{match.layer.subject}: expected a leaf {name}, found none (rule {rule})"
            )

    def _path(self, match: Match, variable: str) -> str:
        places = match.places or {"": match.target}
        holder = max((within for within in places if not within or variable.startswith(f"{within}.")), key=len)
        return join_path(places[holder], variable[len(holder) :].lstrip("."))

    def _move(self, match: Match, leaf: Leaf, way: Carried, rule: str) -> None:
        paths = tuple(self._matching.canonical(path) for path in way.variables)
        where = f"{match.layer.subject}: {leaf.name}"
        if leaf.tied:
            tie = next((move for move in self.moves if move.leaf.key == leaf.tied), None)
            if tie is None or tie.variables != paths:
                difference = f"expected the variable of {leaf.tied}, which it is tied to, found {', '.join(paths)}"
                self._refuse(match.layer, "leaf", f"{where}: {difference}")
            return
        try:
            arrays = way.transform.forward(self._sources[leaf.key])
        except TransformError as error:
            self._refuse(match.layer, "array", f"{where}: {error} (rule {rule})")
            return
        self.moves.append(Move(match.layer, leaf, rule, way.transform, paths))
        for path, array in zip(paths, arrays, strict=True):
            self._write(path, array, match.layer, where, rule)

    def _write(self, path: str, array: np.ndarray, layer: SourceLayer, where: str, rule: str) -> None:
        variable = self._variables.get(path)
        if variable is None:
            self._refuse(layer, "variable", f"{where}: expected a variable {path}, found none (rule {rule})")
        elif path in self._writers:
            self._refuse(
                layer, "variable", f"{where}: expected {path} for it alone, found {self._writers[path]} there too"
            )
        elif (array.shape, array.dtype.name) != (variable.shape, variable.dtype):
            expected_type, actual = (
                _type_text(variable.dtype, variable.shape),
                _type_text(array.dtype.name, array.shape),
            )
            self._refuse(layer, "array", f"{where}: expected {expected_type} for {path}, found {actual} (rule {rule})")
        else:
            self._writers[path], self.arrays[path] = where, array

    def find_unwritten(self, allowances: Mapping[str, str]) -> Iterator[Finding]:
        """Variables that no leaf becomes, and those that are allowed to stay but are written."""
        counts = Counter(path for move in self.moves for path in move.variables)
        for variable in self._variables.values():
            if variable.path in allowances and counts[variable.path]:
                yield Finding(
                    "variable", f"{variable.path}: expected no leaf for what --allow leaves as it is, found one"
                )
            elif not counts[variable.path] and variable.path not in allowances:
                yield Finding("variable", f"{_variable(variable)}: expected a leaf of the source, found none")

    def _refuse(self, layer: SourceLayer, kind: str, line: str) -> None:
        self.findings.append(Finding(kind, line, layer.path))


def _variable(variable: TargetVariable) -> str:
    return f"{variable.path} ({variable.kind}, {_type_text(variable.dtype, variable.shape)})"


def _type_text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"
