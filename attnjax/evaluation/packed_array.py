"""Arrays as text in JSON: deflated, in base64. The text may be somebody else's."""

import base64
import math
import zlib

import numpy as np

from attnjax.errors import UserError

MOST = 1 << 28
"""The most bytes that a text unpacks to; a tenth of it is enough for a million sentences."""


def packed(numbers: np.ndarray) -> str:
    """Return an array as text, without its shape and its kind."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(numbers).tobytes(), 9)).decode()


def unpacked(text: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array of a text; no more is unpacked than the shape holds.

    Raises:
        UserError: the text does not unpack to numbers of this shape, or they are too many.
    """
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size > MOST:
        raise UserError(f"an array of the shape {[*shape]} has more than {MOST:,} bytes")
    try:
        program = zlib.decompressobj()
        # one byte more, to notice a text that is too long; 0 would mean any number
        content = program.decompress(base64.b64decode(text, validate=True), size + 1)
    except (ValueError, zlib.error) as error:
        raise UserError(f"an array does not unpack: {error}") from error
    if len(content) != size or not program.eof:
        raise UserError(f"an array does not unpack to numbers of the shape {[*shape]}")
    return np.frombuffer(content, np.dtype(kind)).reshape(shape)
