"""The classes of a module of NNX as those of Linen: `@nn.compact`, with the modules made where they are called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from compare.errors import RequestError
from compare.porting.identifiers import Names
from compare.porting.safe_expressions import UnwritableError

TRAIN = "train"
"""The argument of a call that says whether it is in training."""

_MODES: Mapping[str, str] = {"nn.BatchNorm": "use_running_average", "nn.Dropout": "deterministic"}
"""Modules that do something else in training -> the argument of their call that says so."""

_RATE = "dropout_rate"
"""The argument of an attention that drops in training; without it, there is nothing to tell it."""

_POSITIONAL = ("features", "kernel_size")
"""The first arguments of modules that are written without their names."""

_OF_MODULE = ("attend", "penalized")
"""Methods that are called of a module in another one."""

_FUNCTIONS = frozenset({"avg_pool", "combine_masks", "make_causal_mask", "max_pool"})
"""Functions that both interfaces have."""


@dataclass(frozen=True)
class LinenCall:
    """How the whole of a Linen module is called.

    Attributes:
      takes_train: whether its call has the argument `train`.
      has_statistics: whether it has the collection "batch_stats".
      draws: whether it draws from the stream "dropout" in training.
    """

    takes_train: bool
    has_statistics: bool
    draws: bool


def linen_place(path: str) -> str:
    """The path of a module in Linen, where the modules of a list are numbered by their names: "blocks_0.conv"."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"_\1", path)


def check_linen_use(text: str) -> str:
    """A call in which each module is called itself.

    Args:
      text: of it, with modules as attributes of `self`.

    Raises:
      UnwritableError: a function takes a module, a module in a module is called, or one is always in training, for
        which callers of Linen hand over keys and take statistics.
    """
    tree = ast.parse(text, mode="eval")
    callees = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    methods = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in _OF_MODULE]
    callees |= {id(node.value) for node in methods if id(node) in callees}
    for node in ast.walk(tree):
        if _is_of_self(node) and id(node) not in callees:
            raise UnwritableError(f"{text.partition('(')[0]} takes a module of NNX")
        if isinstance(node, ast.keyword) and node.arg in _MODES.values() and ast.unparse(node.value) == "False":
            raise UnwritableError("its call is in training whatever the model does, and is not written in Linen")
        if _is_of_nnx(node) and node.attr not in _FUNCTIONS:
            raise UnwritableError(f"{ast.unparse(node)} is not written in Linen")
    return text


def linen_classes(classes: Sequence[str]) -> tuple[list[str], LinenCall]:
    """The classes and tables of a module, the whole last, and how that is called.

    Args:
      classes: of NNX, whose constructors make modules of Linen; each follows those that it calls.

    Raises:
      RequestError: two modules would have one name, or one has a name that Linen keeps.
    """
    taking, texts = set[str](), list[str]()
    for text in classes:
        is_class = text.startswith("class ")
        texts.append(_Class(text, taking).text() if is_class else text)
    whole = "\n".join(texts)
    draws = "nn.Dropout(" in whole or f"{_RATE}=" in whole
    name = classes[-1].removeprefix("class ").partition("(")[0]
    return texts, LinenCall(name in taking, "nn.BatchNorm(" in whole, draws)


def _is_of_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_of_nnx(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "nnx"


@dataclass
class _Edits:
    """Changes of a text, by the places of its nodes.

    Attributes:
      text: itself.
      edits: (where it begins, where it ends, what stands there then).
    """

    text: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Nodes count bytes.
        self._bytes = self.text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def place(self, line: int, column: int) -> int:
        """The place of a column, which counts from 0, in a line, which counts from 1."""
        return self._starts[line - 1] + column

    def begin(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Where a node begins."""
        return self.place(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        """Where a node ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.place(node.end_lineno, node.end_col_offset)

    def replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        """Put a text in the place of a node."""
        self.edits.append((self.begin(node), self.end(node), text))

    def insert(self, start: int, text: str) -> None:
        """Put a text before a place."""
        self.edits.append((start, start, text))

    def result(self) -> str:
        """The text with its changes."""
        parts, last = list[bytes](), 0
        for start, stop, text in sorted(self.edits):
            parts += [self._bytes[last:start], text.encode()]
            last = stop
        return b"".join([*parts, self._bytes[last:]]).decode()


class _Class:
    """One class on its way.

    Args:
      taking: the classes whose calls take `train`; this one is added if its own does.
    """

    def __init__(self, text: str, taking: set[str]) -> None:
        (tree,) = ast.parse(text).body
        assert isinstance(tree, ast.ClassDef)
        self._edits, self._tree, self._taking = _Edits(text), tree, taking
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        self._init = next(function for function in functions if function.name == "__init__")
        self._methods = [function for function in functions if function is not self._init]
        self._fields = {argument.arg: argument.annotation for argument in self._init.args.args[1:]}
        self._makers = dict(_assignments(self._init.body, frozenset(self._fields)))
        self._check_names()

    def text(self) -> str:
        edits, bases = self._edits, self._tree.bases
        edits.replace(bases[0], "nn.Module")
        fields = [f"{name}: {ast.unparse(kind)}" for name, kind in self._fields.items() if kind is not None]
        edits.replace(self._init, "\n    ".join(fields))
        for node in ast.walk(self._tree):
            if _is_of_nnx(node) and node.attr in _FUNCTIONS:
                edits.replace(node.value, "nn")
        takes_train = [self._write_modules(method) for method in self._methods]
        if any(takes_train):
            self._taking.add(self._tree.name)
            for method in self._methods:
                self._add_train(method)
        return edits.result()

    def _check_names(self) -> None:
        """Raise if a module of a list has the name of another module, or a module has a name that Linen keeps."""
        lists = [name for name, maker in self._makers.items() if _is_list(maker)]
        if "params" in self._makers:
            raise RequestError("expected no module under the name params, which Linen keeps: rename that layer")
        others = self._makers.keys() - {*lists}
        for name in lists:
            twice = next((other for other in sorted(others) if re.fullmatch(rf"{name}_\d+", other)), None)
            if twice:
                raise RequestError(f"expected modules under different names, found {twice} twice: rename that layer")

    def _write_modules(self, method: ast.FunctionDef) -> bool:
        """Make the modules that a method calls where it calls them; whether it takes `train` then."""
        uses = [node for node in ast.walk(method) if _is_of_self(node) and node.attr in self._makers]
        if not uses:
            return False
        self._edits.insert(self._edits.place(method.lineno, 0), "    @nn.compact\n")
        loops = {id(loop.iter): loop for loop in ast.walk(method) if isinstance(loop, ast.For)}
        callers, names = _callers(method), _FreeNames(method)
        takes_train = False
        for name in dict.fromkeys(use.attr for use in uses):
            of_module = [use for use in uses if use.attr == name]
            if id(of_module[0]) in loops:
                (loop,) = [loops[id(use)] for use in of_module]
                takes_train |= self._write_loop(loop, name, names, callers)
            else:
                takes_train |= self._write_calls(method, of_module, names, callers)
        return takes_train

    def _write_calls(
        self, method: ast.FunctionDef, uses: Sequence[ast.Attribute], names: _FreeNames, callers: Mapping[int, ast.Call]
    ) -> bool:
        """Write the calls of one module: one that is called more than once is a variable."""
        name = uses[0].attr
        maker = self._makers[name]
        assert isinstance(maker, ast.Call)
        calls = [callers[id(use)] for use in uses]
        text = _constructor(maker, repr(name), _mode(maker, calls))
        if len(uses) > 1:
            variable = names.of(name)
            self._edits.insert(self._edits.begin(_first_line(method)), f"{variable} = {text}\n        ")
            text = variable
        for use in uses:
            self._edits.replace(use, text)
        return any([self._add_mode(call, maker, calls) for call in calls])

    def _write_loop(self, loop: ast.For, name: str, names: _FreeNames, callers: Mapping[int, ast.Call]) -> bool:
        """Write a loop over a list of modules as one that makes them; whether they take `train`."""
        maker = self._makers[name]
        assert isinstance(maker, ast.Call) and isinstance(loop.target, ast.Name)
        (generator,) = maker.args
        assert isinstance(generator, ast.GeneratorExp) and isinstance(generator.elt, ast.Call)
        (comprehension,) = generator.generators
        assert isinstance(comprehension.target, ast.Name)
        row, over, index = comprehension.target.id, ast.unparse(comprehension.iter), names.of("index")
        head = f"{index} in {over}" if row == "_" else f"{index}, {names.of(row)} in enumerate({over})"
        self._edits.edits.append((self._edits.begin(loop.target), self._edits.end(loop.iter), head))
        one = loop.target.id
        (use,) = [node for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id == one and _is_read(node)]
        maker_of_one = _Renamed(row, names.of(row)).visit(generator.elt)
        self._edits.replace(use, _constructor(maker_of_one, f"f'{name}_{{{index}}}'"))
        return self._add_mode(callers[id(use)], generator.elt, [callers[id(use)]])

    def _add_mode(self, call: ast.Call, maker: ast.Call, calls: Sequence[ast.Call]) -> bool:
        """Tell the call of a module, one of several, whether it is in training; whether that is read from `train`."""
        kind = ast.unparse(maker.func)
        if kind in self._taking:
            self._add_argument(call, TRAIN)
            return True
        mode = _mode_of(maker)
        if not mode or _says(call, mode):
            return False
        if not _mode(maker, calls):
            self._add_argument(call, f"{mode}=not {TRAIN}")
        return True

    def _add_argument(self, call: ast.Call, text: str) -> None:
        comma = ", " if call.args or call.keywords else ""
        self._edits.insert(self._edits.end(call) - 1, f"{comma}{text}")

    def _add_train(self, method: ast.FunctionDef) -> None:
        """Make a method take `train`, and hand it on to other methods of the class."""
        self._edits.insert(self._edits.end(method.args.args[-1]), f", {TRAIN}: bool = False")
        names = {other.name for other in self._methods}
        for node in ast.walk(method):
            if isinstance(node, ast.Call) and _is_of_self(node.func) and node.func.attr in names:
                self._add_argument(node, TRAIN)


class _FreeNames:
    """Names that a method has for nothing else: the same for the same purpose."""

    def __init__(self, method: ast.FunctionDef) -> None:
        reads = {node.id for node in ast.walk(method) if isinstance(node, ast.Name)}
        self._names = Names({*reads, *(argument.arg for argument in method.args.args), TRAIN, "nn"})
        self._by_purpose: dict[str, str] = {}

    def of(self, purpose: str) -> str:
        """The name for a purpose, which is the purpose if that is free."""
        if purpose not in self._by_purpose:
            self._by_purpose[purpose] = self._names.of(purpose)
        return self._by_purpose[purpose]


class _Renamed(ast.NodeTransformer):
    """An expression with another name for a variable."""

    def __init__(self, name: str, other: str) -> None:
        self._name, self._other = name, other

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self._other, node.ctx) if node.id == self._name else node


def _first_line(method: ast.FunctionDef) -> ast.stmt:
    """The first statement of a method that is no docstring."""
    return method.body[1 if ast.get_docstring(method) else 0]


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_list(maker: ast.expr) -> bool:
    return isinstance(maker, ast.Call) and ast.unparse(maker.func) == "nnx.List"


def _assignments(body: Sequence[ast.stmt], fields: frozenset[str]) -> Iterator[tuple[str, ast.expr]]:
    """The modules that a constructor makes, by attribute; what it keeps of its arguments is no module."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _assignments(statement.body, fields)
        elif isinstance(statement, ast.Assign):
            (target,) = statement.targets
            assert isinstance(target, ast.Attribute)
            value = statement.value
            if not (isinstance(value, ast.Name) and value.id in fields):
                yield target.attr, _OfSelf(fields).visit(value)


class _OfSelf(ast.NodeTransformer):
    """Arguments of a constructor as the fields that they are in Linen."""

    def __init__(self, fields: frozenset[str]) -> None:
        self._fields = fields

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        (comprehension,) = node.generators
        own = {name.id for name in ast.walk(comprehension.target) if isinstance(name, ast.Name)}
        comprehension.iter = self.visit(comprehension.iter)
        node.elt = _OfSelf(self._fields - own).visit(node.elt)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(f"self.{node.id}", mode="eval").body if node.id in self._fields else node


def _mode(maker: ast.Call, calls: Sequence[ast.Call]) -> str:
    """The argument of a module's constructor that sets whether it is in training; "" if its calls set that."""
    mode = _mode_of(maker)
    return "" if any(_says(call, mode) for call in calls) else mode


def _mode_of(maker: ast.Call) -> str:
    """The argument that sets whether a module is in training; "" for a module that does the same in both."""
    drops = any(keyword.arg == _RATE for keyword in maker.keywords)
    return "deterministic" if drops else _MODES.get(ast.unparse(maker.func), "")


def _says(call: ast.Call, mode: str) -> bool:
    return any(keyword.arg == mode for keyword in call.keywords)


def _constructor(maker: ast.Call, name: str, mode: str = "") -> str:
    """The call that makes a module under a name; the argument `mode`, if any, sets whether it is in training."""
    keywords = [keyword for keyword in maker.keywords if keyword.arg != "rngs"]
    first = [ast.keyword(mode, ast.parse(f"not {TRAIN}", mode="eval").body)] if mode else []
    keywords = [*keywords, *first, ast.keyword("name", ast.parse(name, mode="eval").body)]
    arguments = list(maker.args)
    while keywords[0].arg in _POSITIONAL:
        arguments.append(keywords.pop(0).value)
    return ast.unparse(ast.Call(maker.func, arguments, keywords))


def _callers(method: ast.FunctionDef) -> dict[int, ast.Call]:
    """By the node of a module, the call of it or of its method."""
    callers: dict[int, ast.Call] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Call):
            callers[id(node.func)] = node
            if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_MODULE:
                callers[id(node.func.value)] = node
    return callers
