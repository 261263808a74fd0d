"""Error messages of the command line for functions, in which options are arguments."""

from __future__ import annotations

import keyword
import re

_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")


def in_python(text: str) -> str:
    """The line with arguments in place of options; text between backticks is a command and stays.

    Args:
      text: of an error: "expected a dimension that an --input names".
    """
    parts = " ".join(text.split()).split("`")
    parts[::2] = [_OPTION.sub(_argument, part) for part in parts[::2]]
    return "`".join(parts)


def _argument(option: re.Match[str]) -> str:
    name = option[1].replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name
