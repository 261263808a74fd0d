"""A request is written once, as a method of a typed class: its signature is the request, its result type the reply.

A parameter has its name on the wire. One that has its default value does not travel: a recorded side knows the request
from before there was such a parameter. A positional-only parameter is a record whose fields stand among the parameters.
Arrays travel beside the JSON, and so do the bytes and arrays in a record. The first line of the docstring says in
docs/protocol.md what the method does.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from compare import files
from compare.sides._side import Parameters, Reply, Side, SideError
from compare.sides.records import is_arrays, is_record, record_of, to_plain
from compare.sides.wire import DTYPES
from workloads.core.spec import Arrays

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class ProtocolError(Exception):
    """A request or a reply that is not as its method declares it, in one line."""


@dataclasses.dataclass(frozen=True)
class Method:
    """One method of a host.

    Attributes:
      name: what a request names.
      summary: what the method does, in one line.
      signature: without the object that has the method.
      types: by parameter; the type of the result under "return".
      parameters: the plain data of a request.
    """

    name: str
    summary: str
    signature: inspect.Signature
    types: Mapping[str, Any]
    parameters: type[msgspec.Struct]

    def pack(self, *positional: Any, **keywords: Any) -> tuple[dict[str, Any], Arrays | None]:
        """The plain data and the arrays of a request."""
        parameters: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        for name, value in self.signature.bind(*positional, **keywords).arguments.items():
            parameter = self.signature.parameters[name]
            if is_arrays(self.types[name]):
                arrays.update(value or {})
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                record = record_of(self.types[name]).pack(value)
                parameters |= record.value
                arrays |= record.arrays
            elif value != parameter.default:
                parameters[name] = to_plain(value)
        return parameters, arrays or None

    def unpack(self, parameters: Parameters, arrays: Arrays) -> inspect.BoundArguments:
        """The arguments that were packed.

        Raises:
          ProtocolError: a parameter is missing, is not of its type, or has no such name.
        """
        try:
            plain = files.convert_plain(parameters, self.parameters)
        except msgspec.ValidationError as error:
            raise ProtocolError(f"expected the parameters of {self.name} as declared, found: {error}") from error
        arguments = {name: self._argument(name, plain, arrays) for name in self.signature.parameters}
        return inspect.BoundArguments(self.signature, arguments)  # pyright: ignore[reportArgumentType]

    def pack_result(self, result: Any) -> Reply:
        """The result of the method as a reply."""
        value: Any = None
        arrays: dict[str, np.ndarray] = {}
        for type_, part in zip(self.results, result if self.in_parts else [result], strict=True):
            if is_arrays(type_):
                arrays.update(part)
            elif _file_name(type_):
                arrays[_file_name(type_)] = np.frombuffer(part, np.uint8)
            elif is_record(type_):
                reply_part = record_of(type_).pack(part)
                value = reply_part.value
                arrays.update(reply_part.arrays)
            else:
                value = to_plain(part)
        return Reply(value, arrays)

    def unpack_result(self, reply: Reply) -> Any:
        """The result that was packed.

        Raises:
          msgspec.ValidationError: the reply's value is not of its type.
        """
        value = files.convert_plain(reply.value, self.value)
        parts = [self._part(type_, value, reply.arrays) for type_ in self.results]
        return tuple(parts) if self.in_parts else parts[0]

    @property
    def in_parts(self) -> bool:
        """Whether the result is a tuple of what travels apart."""
        return get_origin(self.types["return"]) is tuple and any(map(_travels_beside, get_args(self.types["return"])))

    @property
    def results(self) -> Sequence[Any]:
        """The types of what travels apart."""
        return get_args(self.types["return"]) if self.in_parts else [self.types["return"]]

    @property
    def value(self) -> Any:
        """The type of the reply's value; NoneType where it has none."""
        (value,) = [type_ for type_ in self.results if not _travels_beside(type_)] or [NoneType]
        return record_of(value).plain if is_record(value) else value

    @property
    def file_names(self) -> Sequence[str]:
        """The arrays of the reply that are files as bytes."""
        records = [record_of(type_) for type_ in self.results if is_record(type_)]
        return [*filter(None, map(_file_name, self.results)), *(name for record in records for name in record.files)]

    @property
    def sends(self) -> bool:
        """Whether arrays go with the request."""
        types = [self.types[name] for name in self.signature.parameters]
        return any(is_arrays(type_) or is_record(type_) for type_ in types)

    @property
    def returns(self) -> bool:
        """Whether arrays come with the reply."""
        return any(_travels_beside(type_) or is_record(type_) for type_ in self.results)

    def unfit(self, value: Any, arrays: Arrays) -> str:
        """Why a value of the declared type, and arrays, are no reply of the method; empty where they are."""
        if self.returns and not arrays:
            return "no arrays"
        for name in self.file_names:
            if name not in arrays:
                return f"no array {name!r}"
            if arrays[name].dtype != np.uint8 or arrays[name].ndim != 1:
                return f"{arrays[name].dtype} of {arrays[name].ndim} axes for {name!r}"
        return unfit_signature(value) if any(map(is_record, self.results)) else ""

    def _argument(self, name: str, plain: msgspec.Struct, arrays: Arrays) -> Any:
        if is_arrays(self.types[name]):
            return arrays or None if NoneType in get_args(self.types[name]) else arrays
        if self.signature.parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
            return record_of(self.types[name]).unpack(plain, arrays)
        return getattr(plain, name)

    def _part(self, type_: Any, value: Any, arrays: Arrays) -> Any:
        if is_arrays(type_):
            return {name: array for name, array in arrays.items() if name not in self.file_names}
        if _file_name(type_):
            return arrays[_file_name(type_)].tobytes()
        return record_of(type_).unpack(value, arrays) if is_record(type_) else value


@functools.cache
def method_of(function: Callable[..., Any]) -> Method:
    """The method that a function of a typed class declares."""
    whole = inspect.signature(function)
    signature = whole.replace(parameters=list(whole.parameters.values())[1:])
    types = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any, Any]] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            plain = record_of(types[name]).plain
            fields += [(field.name, field.type, _default(field)) for field in msgspec.structs.fields(plain)]
        elif not is_arrays(types[name]):
            is_required = parameter.default is parameter.empty
            fields.append((name, types[name], msgspec.field() if is_required else parameter.default))
    parameters = msgspec.defstruct(function.__name__, fields, frozen=True, forbid_unknown_fields=True, kw_only=True)
    summary = (inspect.getdoc(function) or "").partition("\n")[0].removesuffix(".")
    return Method(function.__name__, summary, signature, types, parameters)


def methods_of(*classes: type[Any]) -> dict[str, Method]:
    """The methods that typed classes declare, by name; of two of one name the later one."""
    functions = {name: value for class_ in classes for name, value in vars(class_).items() if name[0] != "_"}
    return {name: method_of(function) for name, function in functions.items() if inspect.isfunction(function)}


def request(method: Callable[Concatenate[Any, Arguments], Result]) -> Callable[Concatenate[Side, Arguments], Result]:
    """The client of a method: a function that takes a side in place of the object, and asks its worker."""

    def ask(side: Side, *positional: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        definition = method_of(method)
        reply = side.call(definition.name, *definition.pack(*positional, **keywords))
        try:
            return definition.unpack_result(reply)
        except msgspec.ValidationError as error:
            reason = f"expected a reply as declared, found: {error}"
            raise SideError(side.name, definition.name, reason) from error

    return ask


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return msgspec.field() if field.default is msgspec.NODEFAULT else field.default


def _file_name(type_: Any) -> str:
    """The name under which bytes travel; empty for other types."""
    return get_args(type_)[1] if get_origin(type_) is Annotated and get_args(type_)[0] is bytes else ""


def _travels_beside(type_: Any) -> bool:
    return is_arrays(type_) or bool(_file_name(type_))


def unfit_signature(value: Mapping[str, Any]) -> str:
    """Why the value of a reply is no program's signature: an unknown dtype, or a parameter that is not there."""
    leaves = [*value.get("parameters", ()), *value.get("results", ())]
    unknown = [leaf["dtype"] for leaf in leaves if leaf["dtype"] not in DTYPES]
    if unknown:
        return f"dtype {unknown[0][:80]!r}"
    last_donated = max(value.get("donated", ()), default=-1)
    return f"donated parameter {last_donated}" if last_donated >= len(value.get("parameters", ())) else ""
