"""Good files whose bytes are flipped, cut, repeated, swapped and replaced, as a strategy of hypothesis."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

HOSTILE = (
    b"\xff\xfe", b"\x00" * 9, b"\x80" * 12, b"\xff" * 16, b"[" * 70, b"{" * 200, b'{"a":' * 80, b"1e999", b"-1", b"NaN",
    b"Infinity", b"9" * 5000, b"18446744073709551616", b"null", b'"\\ud800"', b"../../etc/passwd", b"PK\x03\x04",
    b"PK\x05\x06" + b"\x00" * 18, b"\n" * 50, b'"schema": 1, "schema": 2', b"'", b'"""', b"\x1b[2J",
)  # fmt: skip
"""What is put into a file: no UTF-8, depth, numbers out of range, heads of zips, keys twice, terminal codes."""


MOST_S = 10.0
"""Of a processor, for one file."""


@st.composite
def damaged(draw: DrawFn, good: bytes) -> bytes:
    """A good file after some damages."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 64))
        match draw(st.sampled_from(["flip", "cut", "drop", "repeat", "swap", "put", "noise"])):
            case "flip" if at < len(data):
                data[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[at:]
            case "drop":
                del data[at : at + length]
            case "repeat":
                data[at:at] = data[at : at + length] * draw(st.integers(1, 30))
            case "swap":
                data[at : at + 2 * length] = data[at + length : at + 2 * length] + data[at : at + length]
            case "put":
                data[at : at + draw(st.integers(0, 8))] = draw(st.sampled_from(HOSTILE))
            case "noise":
                data[at:at] = draw(st.binary(max_size=40))
    return bytes(data)


def said_of_damaged(
    good: bytes, read: Callable[[bytes], object], refused: type[Exception] | tuple[type[Exception], ...], many: int = 50
) -> list[str]:
    """What is said of each damaged file, in order; "" of one that was read.

    Args:
      good: the file before.
      read: reads one.
      refused: what it raises where it refuses one; anything else fails.
      many: files.
    """
    said: list[str] = []

    @settings(max_examples=many, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # fmt: skip
    @given(damaged(good))
    def tried(data: bytes) -> None:
        said.append("")
        try:
            read(data)
        except refused as error:
            said[-1] = str(error)

    tried()
    assert len(said) >= many
    return said
