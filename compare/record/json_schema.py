"""The JSON Schema of results.json, made from the structs: `make schema`."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from compare.record.base import Part
from compare.record.envelope import SCHEMA, Record

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema of a reader: all fields but `schema` and `workloads` may be missing or null; others may exist.

    A field is described by the text below its declaration.
    """
    result = msgspec.json.schema(Record)
    for part in _parts(Part):
        if part.__name__ in result["$defs"]:
            properties = result["$defs"][part.__name__]["properties"]
            for name, text in _descriptions(part).items():
                properties[name]["description"] = text
    return {"$schema": DIALECT, "title": f"results.json of jaxport, schema {SCHEMA}", **result}


def _parts(kind: type[Part]) -> Iterator[type[Part]]:
    for part in kind.__subclasses__():
        yield part
        yield from _parts(part)


def _descriptions(part: type[Part]) -> dict[str, str]:
    """By name in the file, the text that follows the field's declaration."""
    (definition,) = ast.parse(inspect.getsource(part)).body
    assert isinstance(definition, ast.ClassDef)
    encoded_names = dict(zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True))
    following = zip(definition.body, definition.body[1:], strict=False)
    return {
        encoded_names[field.target.id]: inspect.cleandoc(text.value.value)
        for field, text in following
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
