"""Parts of a training that cannot be written: each raises, and says what to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from compare.porting.identifiers import comment_text
from compare.porting.safe_expressions import UnwritableError
from compare.porting.traced_functions import function_lines
from workloads.protocol.architecture import Compiled, Described, Inner


@dataclass
class Parts:
    """The unwritten parts of a training, and remarks for its reader."""

    unwritten: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def raising(self, what: str, error: UnwritableError) -> list[str]:
        """The line that raises in place of what cannot be written."""
        self.unwritten.append(f"{what}: {comment_text(str(error))}")
        return [f"    raise NotImplementedError({f'{what}: {comment_text(str(error))}: write it here'!r})"]


def check_own(value: Described | Inner | None) -> None:
    """Raise where a loss or schedule of the user's own becomes no function."""
    if value is not None and not value.own:
        function_lines(value)


def check_part(compiled: Compiled, part: str) -> None:
    """Raise where a part of the training does what is not said here.

    Raises:
      UnwritableError: the reasons.
    """
    if reasons := compiled.left.get(part, ()):
        raise UnwritableError(f"it has {' and '.join(map(comment_text, reasons))}")
