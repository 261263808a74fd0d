"""A train_step or compute_loss of the user's own, followed through its source: what it adds up, clips and applies.

Nothing of it is called. What is not followed is an obstacle with its line.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _keras_variables
from tf_reference._keras_described import describe
from tf_reference._method_source import MethodSource
from tf_reference._step_values import Examples, Gradients, Is, Loss
from workloads.protocol.architecture import Clip, LossTerm, OwnStep
from workloads.protocol.framework import Unsupported

_MEANS = (tf.reduce_mean, keras.ops.mean)
_SUMS = (sum, tf.add_n)
_UNPACK = (keras.utils.unpack_x_y_sample_weight,)
_CLIPS: Mapping[str, Any] = {"clip_by_norm": tf.clip_by_norm, "clip_by_value": tf.clip_by_value}
_OF_COMPUTE_LOSS = {"x": Is.INPUTS, "y": Is.TARGETS, "y_pred": Is.PREDICTIONS, "sample_weight": Is.WEIGHTS}
"""The meaning of each parameter of compute_loss, in their order."""
_OF_METRICS = frozenset({"update_state", "compute_metrics", "reset_state", "result", "items", "append", "add"})


def is_own(model: Any) -> bool:
    """Whether the class of a model has a train_step or a compute_loss of its own."""
    return has_step(model) or type(model).compute_loss is not keras.Model.compute_loss


def has_step(model: Any) -> bool:
    """Whether the class of a model has a train_step of its own."""
    return type(model).train_step is not keras.Model.train_step


def line_of(model: Any) -> str:
    """FILE:LINE of the train_step of a model, of its compute_loss where that is its own alone.

    Raises:
      Unsupported: its source is not there.
    """
    return MethodSource(model, _step_function(model) if has_step(model) else type(model).compute_loss).line


def step_of(model: Any) -> Callable[[Any], Any]:
    """The train_step of a model, also of one that tf.function wraps, as Python: what is in it can then be watched."""
    return partial(_step_function(model), model)


def _step_function(model: Any) -> Any:
    function: Any = type(model).train_step
    return getattr(function, "python_function", function)


def read(model: Any) -> OwnStep:
    """Read the train_step of a model.

    Raises:
      Unsupported: it does what is not followed.
    """
    if not has_step(model):
        return OwnStep(MethodSource(model, type(model).compute_loss).line, _computed_loss(model).terms)
    function: Any = type(model).train_step
    following = _Following(MethodSource(model, function))
    names = following.source.parameters()
    if len(names) != 1:
        raise Unsupported(f"{following.source.line}, which takes {len(names)} arguments")
    following.names[names[0]] = Is.DATA
    following.body(following.source.tree.body)
    application = following.applied
    if application is None:
        raise Unsupported(f"{following.source.line}, whose train_step gives no gradients to self.optimizer")
    return OwnStep(following.source.line, application.loss.terms, application.clips)


def _computed_loss(model: Any) -> Loss:
    """The loss that a model's compute_loss returns: the compiled one, or that of the user's own method."""
    function: Any = type(model).compute_loss
    if function is keras.Model.compute_loss:
        return Loss((LossTerm(),))
    following = _Following(MethodSource(model, function))
    parameter_names = following.source.parameters()
    following.names |= {name: what for name, what in _OF_COMPUTE_LOSS.items() if name in parameter_names}
    following.body(following.source.tree.body)
    if not isinstance(following.returned, Loss):
        raise Unsupported(f"{following.source.line}, whose compute_loss returns what is not followed")
    return following.returned


@dataclass
class _Following:
    """One method on its way."""

    source: MethodSource
    names: dict[str, Any] = field(default_factory=dict)
    applied: Gradients | None = None
    returned: Any = None

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Follow statements, up to the first that returns."""
        for statement in statements:
            if self.returned is not None:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=ast.Call() as call):
                self._effect(call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.value(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=value):
                self._unpack(node, names, value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                self.names[name] = self._sum(node, self.names.get(name), self.value(value))
            case ast.With(
                items=[ast.withitem(context_expr=ast.Call(func=constructor), optional_vars=ast.Name(id=name))]
            ):
                if self.source.resolve_name(constructor) is not tf.GradientTape:
                    raise self.source.refusal(node)
                self.names[name] = Is.TAPE
                self.body(node.body)
            case ast.For() if self._is_of_metrics(node):
                return
            case ast.Return(value=value):
                self.returned = self._result(value)
            case _:
                raise self.source.refusal(node)

    def _result(self, value: ast.expr | None) -> Any:
        """The value of a return statement: the loss, if there is one; logs are ignored."""
        try:
            return self.value(value) if value is not None else Is.LOGS
        except Unsupported:
            if self.applied is None:
                raise
            return Is.LOGS

    def _is_of_metrics(self, node: ast.AST) -> bool:
        """Whether every call in it is one of a metric's, so that it changes nothing that is trained."""
        calls = [call for call in ast.walk(node) if isinstance(call, ast.Call)]
        return bool(calls) and all(
            isinstance(call.func, ast.Attribute) and call.func.attr in _OF_METRICS for call in calls
        )

    def _effect(self, call: ast.Call) -> None:
        if self._is_of_metrics(call):
            return
        match call.func:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr="optimizer"), attr=method):
                self._apply(call, method)
            case _:
                if self.value(call) is not Is.LOGS:
                    raise self.source.refusal(call)

    def _apply(self, call: ast.Call, method: str) -> None:
        arguments = call.args
        if method == "apply_gradients" and len(arguments) == 1 and isinstance(arguments[0], ast.Call):
            zip_call = arguments[0]
            arguments = zip_call.args if self.source.resolve_name(zip_call.func) is zip else []
        elif method != "apply":
            arguments = []
        gradients = self.value(arguments[0]) if arguments else None
        whole = len(arguments) < 2 or self.value(arguments[1]) is Is.VARIABLES
        if not isinstance(gradients, Gradients) or not whole or self.applied is not None:
            raise self.source.refusal(call)
        self.applied = gradients

    def _unpack(self, node: ast.stmt, targets: Sequence[ast.expr], value: ast.expr) -> None:
        names = [target.id if isinstance(target, ast.Name) else "" for target in targets]
        what = self.value(value)
        if what is Is.DATA and len(names) in (2, 3):
            parts: Sequence[Any] = (Is.INPUTS, Is.TARGETS, Is.WEIGHTS)
        elif isinstance(what, Gradients) and len(names) == 2:
            parts = (what, Is.LOGS)
        else:
            raise self.source.refusal(node)
        self.names |= dict(zip(names, parts, strict=False))

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression.

        Raises:
          Unsupported: that is not known.
        """
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Attribute(value=ast.Name(id="self"), attr="trainable_variables" | "trainable_weights"):
                return Is.VARIABLES
            case ast.Attribute(value=ast.Name(id="self"), attr="losses"):
                return Is.PENALTIES
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._sum(node, self.value(left), self.value(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(node, self.value(left), self.value(right))
            case ast.ListComp(generators=[generator], elt=element):
                return self._clipped_each(node, generator, element)
            case ast.Call():
                return self._call(node)
            case _:
                return self._number(node)

    def _number(self, node: ast.expr) -> float:
        value = self.source.resolve_name(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.source.refusal(node)
        return float(value)

    def _sum(self, node: ast.AST, left: Any, right: Any) -> Loss:
        if not isinstance(left, Loss) or not isinstance(right, Loss):
            raise self.source.refusal(node)
        return Loss((*left.terms, *right.terms))

    def _product(self, node: ast.AST, left: Any, right: Any) -> Any:
        if isinstance(left, Loss):
            left, right = right, left
        if not isinstance(left, float) or not isinstance(right, Loss):
            raise self.source.refusal(node)
        return Loss(tuple(replace(term, weight=term.weight * left) for term in right.terms))

    def _call(self, call: ast.Call) -> Any:
        match call.func:
            case ast.Name(id="self"):
                return self._predictions(call)
            case ast.Attribute(value=ast.Name(id=name), attr="gradient") if self.names.get(name) is Is.TAPE:
                return self._gradients(call)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=method):
                return self._find_inherited(call, method)
            case ast.Attribute(value=ast.Name(id="self"), attr="compute_loss"):
                return self._compute_loss(call)
        function = self.source.resolve_name(call.func)
        arguments = [self.value(argument) for argument in call.args]
        if function in _UNPACK:
            return Is.DATA
        if (
            function in _MEANS
            and len(arguments) == 1
            and isinstance(arguments[0], Examples | Loss)
            and not call.keywords
        ):
            return arguments[0] if isinstance(arguments[0], Loss) else Loss((LossTerm(loss=arguments[0].loss),))
        if function in _SUMS and arguments == [Is.PENALTIES] and not call.keywords:
            return Loss((LossTerm(regularizers=True),))
        if function is tf.clip_by_global_norm and len(arguments) == 2 and isinstance(arguments[0], Gradients):
            return replace(arguments[0], clips=(*arguments[0].clips, Clip("clip_by_global_norm", (arguments[1],))))
        return self._loss(call, function, arguments)

    def _predictions(self, call: ast.Call) -> Is:
        arguments = [self.value(argument) for argument in call.args]
        training = [keyword for keyword in call.keywords if keyword.arg == "training"]
        in_training = len(training) == 1 and self.source.resolve_name(training[0].value) is True
        if arguments != [Is.INPUTS] or len(call.keywords) != 1 or not in_training:
            raise self.source.refusal(call)
        return Is.PREDICTIONS

    def _gradients(self, call: ast.Call) -> Gradients:
        arguments = [self.value(argument) for argument in call.args]
        if (
            len(arguments) != 2
            or call.keywords
            or not isinstance(arguments[0], Loss)
            or arguments[1] is not Is.VARIABLES
        ):
            raise self.source.refusal(call)
        return Gradients(arguments[0])

    def _find_inherited(self, call: ast.Call, method: str) -> Any:
        """A method of the class that this one is made of, where that is Keras' own."""
        base = getattr(super(self._defining(), self.source.model), method, None)
        own = getattr(base, "__func__", None) is getattr(keras.Model, method, None)
        if own and method == "train_step" and self.applied is None:
            self.applied = Gradients(_computed_loss(self.source.model))
            return Is.LOGS
        if own and method == "compute_loss":
            return Loss((LossTerm(),))
        raise self.source.refusal(call)

    def _defining(self) -> type:
        name = self.source.function.__name__
        return next(kind for kind in type(self.source.model).__mro__ if vars(kind).get(name) is self.source.function)

    def _compute_loss(self, call: ast.Call) -> Loss:
        arguments = {
            **dict(zip(_OF_COMPUTE_LOSS, call.args, strict=False)),
            **{keyword.arg: keyword.value for keyword in call.keywords},
        }
        for name, argument in arguments.items():
            is_default = isinstance(argument, ast.Constant) and argument.value in (None, True)
            if not is_default and (name is None or self.value(argument) is not _OF_COMPUTE_LOSS.get(name)):
                raise self.source.refusal(call)
        if not {"y", "y_pred"} <= arguments.keys():
            raise self.source.refusal(call)
        return _computed_loss(self.source.model)

    def _loss(self, call: ast.Call, function: Any, arguments: Sequence[Any]) -> Loss | Examples:
        """A loss of Keras' own, of targets and predictions."""
        if list(arguments) != [Is.TARGETS, Is.PREDICTIONS] or call.keywords:
            raise self.source.refusal(call)
        if isinstance(function, keras.losses.Loss) and _keras_variables.is_keras(function):
            return Loss((LossTerm(loss=describe(function)),))
        if inspect.isfunction(function) and function.__module__.startswith("keras."):
            return Examples(describe(function))
        raise self.source.refusal(call)

    def _clipped_each(self, node: ast.ListComp, generator: ast.comprehension, element: ast.expr) -> Gradients:
        over = self.value(generator.iter)
        match element:
            case ast.Call(func=function, args=[ast.Name(id=name), *bounds], keywords=[]):
                clip = next(
                    (
                        clip_name
                        for clip_name, operation in _CLIPS.items()
                        if operation is self.source.resolve_name(function)
                    ),
                    "",
                )
                is_target = isinstance(generator.target, ast.Name) and generator.target.id == name
                if clip and is_target and isinstance(over, Gradients) and not generator.ifs:
                    numbers = tuple(self._number(bound) for bound in bounds)
                    return replace(over, clips=(*over.clips, Clip(clip, numbers)))
        raise self.source.refusal(node)
