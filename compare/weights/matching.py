"""Matches layers of Keras with modules of Flax: by name, by position, or as the user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.weights.all_rules import rules_of
from compare.weights.rule import ANY_MODULE, Counterpart, Module, Rule
from workloads.protocol.transfer import SourceLayer, Target, TargetModule

_HOLDERS = frozenset({"nnx.List", "nnx.Dict", "nnx.Sequential"})
"""Modules of Flax that only hold others."""


@dataclass(frozen=True)
class Finding:
    """Why weights are not carried: one line.

    Attributes:
      kind: "rule", "module", "attribute", "leaf", "variable" or "array".
      line: what was expected and found, with the layer, the module and the rule.
      layer: the path of the layer that it is about; None where it is about none.
    """

    kind: str
    line: str
    layer: str | None = None


@dataclass(frozen=True)
class Match:
    """One layer and what it is in the target.

    Attributes:
      layer: of the source.
      target: the path of its module, or where that would stand.
      module: that is there; None where there is none.
      rule: that it was matched by; None of a container, or where no rule applies.
      counterpart: by that rule; None likewise.
      places: by the name of a module in its module, "" for itself, the path that it has.
    """

    layer: SourceLayer
    target: str
    module: TargetModule | None = None
    rule: Rule | None = None
    counterpart: Counterpart | None = None
    places: Mapping[str, str] | None = None


class Matching:
    """Layers matched one after the other, what is around a layer before the layer.

    Args:
      names: the path of a layer -> that of its module, as the user says; of a container, for all in it.

    Attributes:
      matches: by the path of the layer.
      findings: what does not match.
    """

    def __init__(self, target: Target, names: Mapping[str, str]) -> None:
        self.matches: dict[str, Match] = {}
        self.findings: list[Finding] = []
        self._target, self._names = target, names
        self._modules = {module.path: module for module in target.modules}

    def add(self, layer: SourceLayer) -> None:
        """Match a layer."""
        self.matches[layer.path] = self._match(layer)

    def canonical(self, path: str) -> str:
        """The path that a module or variable stands under first; itself where it is not shared."""
        for alias in sorted(self._target.shared, key=len, reverse=True):
            if path == alias or path.startswith(f"{alias}."):
                return f"{self._target.shared[alias]}{path[len(alias) :]}"
        return path

    def named_path(self, key: str, path: str) -> str:
        """The path of a variable that the user names for a leaf of a class of their own, by its key; else `path`."""
        return self._names.get(key, path)

    def _match(self, layer: SourceLayer) -> Match:
        place = self.canonical(self._place(layer))
        module = self._modules.get(place)
        if layer.container:
            return Match(layer, place, module)
        if self.names_every_weight(layer):
            # No module stands for the layer.
            return Match(layer, place, None)
        layer = self._in_its_parent(layer)
        rules, reason = rules_of(layer)
        if not rules:
            if layer.leaves:
                self.findings.append(
                    Finding("rule", f"{layer.subject}: expected a rule, found that {reason}", layer.path)
                )
            return Match(layer, place, module)
        of_module = [rule for rule in rules if rule.counterpart(layer).module]
        if not of_module:
            return Match(layer, place, module, rules[0], rules[0].counterpart(layer))
        return self._by_module(layer, place, module, of_module)

    def _place(self, layer: SourceLayer) -> str:
        if layer.path in self._names:
            return self._names[layer.path]
        if layer.parent is None:
            return ""
        parent = self.matches[layer.parent]
        step = layer.step.replace("/", ".")
        if parent.counterpart is not None:
            step = parent.counterpart.steps.get(layer.step, step)
        place = join_path(parent.target, step)
        # A layer in a list of the user's is an attribute of its own where `jaxport init` wrote the module.
        by_step = join_path(parent.target, re.sub(r"\W", "_", layer.step))
        return by_step if place not in self._modules and by_step in self._modules else place

    def names_every_weight(self, layer: SourceLayer) -> bool:
        """Whether each weight of a layer has a variable that is named for itself."""
        return bool(layer.leaves) and all(leaf.key in self._names for leaf in layer.leaves)

    def _in_its_parent(self, layer: SourceLayer) -> SourceLayer:
        """The layer with the attributes that it has otherwise in the layer around it."""
        parent = self.matches.get(layer.parent) if layer.parent is not None else None
        counterpart = parent.counterpart if parent else None
        other = counterpart.within.get(layer.step) if counterpart else None
        if not other:
            return layer
        return SourceLayer(
            *(layer.path, layer.parent, layer.step, layer.module, layer.class_name, {**layer.config, **other}),
            *(layer.compute_dtype, layer.variable_dtype, layer.leaves, layer.shape, layer.container),
        )

    def _by_module(self, layer: SourceLayer, place: str, module: TargetModule | None, rules: Sequence[Rule]) -> Match:
        for rule in rules:
            counterpart = rule.counterpart(layer)
            assert counterpart.module is not None
            places = self._places(layer, place, counterpart.module)
            if module is not None and self._fits(counterpart.module, places):
                return Match(layer, place, module, rule, counterpart, places)
        first = rules[0].counterpart(layer)
        apart = module is None and any(key.startswith(f"{layer.path}/") for key in self._names)
        own = module is not None and bool(first.function) and "." not in module.class_name
        # Of a class of the user's own nothing is known where it holds no weights.
        if (module is not None and not own) or layer.leaves or (first.steps and not apart):
            classes = _list_texts([_class_of(rule.counterpart(layer).module) for rule in rules])
            description = "none" if module is None else self._describe(module)
            self.findings.append(
                Finding(
                    "module",
                    f"{layer.subject}: expected {classes} at {place or 'the whole module'}, found {description}",
                    layer.path,
                )
            )
        return Match(layer, place, module, rules[0], first)

    def _places(self, layer: SourceLayer, place: str, module: Module, within: str = "") -> dict[str, str]:
        """Where each module of a counterpart stands."""
        places = {within: place}
        for name, inner in module.inner.items():
            path = join_path(within, name)
            user_path = self._names.get(f"{layer.path}/{path.replace('.', '/')}")
            places |= self._places(layer, self.canonical(user_path or join_path(place, name)), inner, path)
        return places

    def _fits(self, module: Module, places: Mapping[str, str], within: str = "") -> bool:
        there = self._modules.get(places[within])
        if there is None or module.class_name not in (ANY_MODULE, there.class_name):
            return False
        return all(self._fits(inner, places, join_path(within, name)) for name, inner in module.inner.items())

    def _describe(self, module: TargetModule) -> str:
        inner = [
            f"{submodule.path.removeprefix(module.path).lstrip('.')}: {submodule.class_name}"
            for submodule in self._modules.values()
            if submodule.path.rpartition(".")[0] == module.path and submodule.path != module.path
        ]
        return f"{module.class_name}{f' of {_list_texts(inner[:4])}' if inner and module.path else ''}"

    def find_unmatched(self, layers: Sequence[SourceLayer]) -> list[str]:
        """Modules with variables of their own that no layer was matched with, as PATH (CLASS)."""
        matched_paths = {path for match in self.matches.values() for path in (match.places or {}).values()}
        matched_paths |= {
            self.matches[layer.path].target for layer in layers if layer.leaves and self.matches[layer.path].module
        }
        holding = dict.fromkeys(
            self._outermost_module(variable.path.rpartition(".")[0]) for variable in self._target.variables
        )
        return [
            f"{path} ({self._modules[path].class_name})"
            for path in holding
            if path in self._modules
            and not any(path == place or path.startswith(f"{place}.") for place in matched_paths)
        ]

    def _outermost_module(self, path: str) -> str:
        """The outermost module around a path that a rule could be for; itself where there is none."""
        steps = path.split(".")
        for count in range(1, len(steps)):
            around = self._modules.get(".".join(steps[:count]))
            if around and around.class_name.startswith(("nnx.", "jaxport.")) and around.class_name not in _HOLDERS:
                return around.path
        return path


def join_path(path: str, step: str) -> str:
    """A path and a step below it."""
    return f"{path}.{step}" if path and step else path or step


def _class_of(module: Module | None) -> str:
    if module is None:
        return "a plain function"
    if module.class_name != ANY_MODULE:
        inner = [submodule.class_name for submodule in module.inner.values()]
        return f"{module.class_name} of {_list_texts(inner)}" if inner else module.class_name
    return f"a module of {_list_texts([f'{name}: {submodule.class_name}' for name, submodule in module.inner.items()])}"


def _list_texts(texts: Sequence[str]) -> str:
    unique = list(dict.fromkeys(texts))
    return " or ".join(unique) if len(unique) < 3 else f"{', '.join(unique[:-1])} or {unique[-1]}"
