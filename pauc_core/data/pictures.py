"""Pictures: compressed bytes to uint8 arrays of one size, a few at a time."""

from __future__ import annotations

import io
import warnings

import numpy as np
from PIL import Image, UnidentifiedImageError

from pauc_core.data.errors import DataError


def decode(
    data: bytes,
    place: str,
    size: int,
    channels: int,
    resampling: Image.Resampling = Image.Resampling.BOX,
) -> np.ndarray:
    """One picture as uint8 (channels, size, size), grey or colour, resized where needed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            picture = Image.open(io.BytesIO(data)).convert("L" if channels == 1 else "RGB")
    except (
        OSError,
        SyntaxError,
        ValueError,
        UnidentifiedImageError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise DataError(f"{place} is no readable picture ({error}); fetch it again.") from error
    if picture.size != (size, size):
        picture = picture.resize((size, size), resampling)
    array = np.asarray(picture, dtype=np.uint8)
    return array[None] if channels == 1 else array.transpose(2, 0, 1)
