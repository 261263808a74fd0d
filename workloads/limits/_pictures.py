"""A picture as a file: PNG, which holds it without loss, so that two decoders have to agree."""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB_OF_8_BITS = bytes((8, 2, 0, 0, 0))
_LENGTHS = 8
"""Bytes before the content of a chunk: its length and its name."""


def encode(pixels: np.ndarray) -> bytes:
    """Encode u8[height, width, 3] as a PNG file, no row of it filtered (W3C, Portable Network Graphics)."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">II", width, height) + _RGB_OF_8_BITS
    chunks = {b"IHDR": header, b"IDAT": zlib.compress(rows), b"IEND": b""}
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in chunks.items())


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def decode(file: bytes) -> np.ndarray:
    """Decode a file that `encode` made: u8[height, width, 3]."""
    width, height = struct.unpack(">II", file[16:24])
    start = file.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", file[start - _LENGTHS : start - 4])
    rows = np.frombuffer(zlib.decompress(file[start : start + length]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


@contextmanager
def picture_file(pixels: np.ndarray) -> Iterator[Path]:
    """The path of a file with the picture, while the block lasts; the same path each time, for it is in the trace."""
    path = Path(tempfile.gettempdir()) / f"picture-{os.getpid()}.png"
    path.write_bytes(encode(pixels))
    try:
        yield path
    finally:
        path.unlink()
