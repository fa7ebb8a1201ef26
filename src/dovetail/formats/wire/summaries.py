"""Summaries: numbers, histograms, pictures, sounds and texts as TensorBoard reads them.

TensorFlow 1 has a field for each kind; TensorFlow 2 writes tensors, and the name of the plugin that shows them.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from typing import Any

import numpy as np

from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.tensors import tensor_proto

BUCKETS = 30  # of a histogram
SCALAR, TENSOR, BLOBS = 1, 2, 3  # the classes of data
WAV = b"\x10\x0b"  # what the plugin of sounds reads: encoding, 11
COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels → PNG's type of colour: grey, grey and alpha, RGB, RGB and alpha


def summary(values: Any) -> Any:
    """Values as one summary."""
    return TENSORFLOW.Summary(value=values)


# -- of TensorFlow 1 --------------------------------------------------------------------------------------------------


def scalar_value(tag: str, array: np.ndarray) -> list[Any]:
    """A number, as TensorFlow 1 writes it."""
    return [TENSORFLOW.Summary.Value(tag=tag, simple_value=float(array))]


def histogram_value(tag: str, array: np.ndarray) -> list[Any]:
    """The distribution of numbers, as TensorFlow 1 writes it."""
    numbers = array.astype("float64").reshape(-1)
    rows = buckets(numbers, BUCKETS) if numbers.size else np.zeros((1, 3))
    histogram = TENSORFLOW.HistogramProto(
        min=float(numbers.min(initial=np.inf)),
        max=float(numbers.max(initial=-np.inf)),
        num=float(numbers.size),
        sum=float(numbers.sum()),
        sum_squares=float(np.square(numbers).sum()),
        bucket_limit=rows[:, 1].tolist(),
        bucket=rows[:, 2].tolist(),
    )
    return [TENSORFLOW.Summary.Value(tag=tag, histo=histogram)]


def image_values(tag: str, array: np.ndarray, most: int = 3) -> list[Any]:
    """Pictures of any numbers, as TensorFlow 1 writes them: the largest number is the brightest.

    Args:
        tag: the beginning of their tags.
        array: (batch, rows, columns, channels).
        most: how many of them are written.
    """
    check_images(array)
    summaries = []
    for number, image in enumerate(array[:most]):
        pixels = image if image.dtype == np.uint8 else _stretched(image)
        height, width, channels = image.shape
        picture = TENSORFLOW.Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=png(pixels)
        )
        name = f"{tag}/image" if most == 1 else f"{tag}/image/{number}"
        summaries.append(TENSORFLOW.Summary.Value(tag=name, image=picture))
    return summaries


def _stretched(image: np.ndarray) -> np.ndarray:
    """Numbers as pixels: the largest is the brightest, and 0 is grey where there are negative ones."""
    low, high = float(image.min(initial=0)), float(image.max(initial=0))
    if low < 0:
        return np.clip(image * (127 / max(-low, high)) + 128, 0, 255).astype("uint8")
    return np.clip(image * (255 / high if high else 0.0), 0, 255).astype("uint8")


def audio_values(tag: str, array: np.ndarray, rate: float, most: int = 3) -> list[Any]:
    """Sounds, as TensorFlow 1 writes them.

    Args:
        tag: the beginning of their tags.
        array: numbers from -1 to 1, of shape (batch, frames) or (batch, frames, channels).
        rate: frames a second.
        most: how many of them are written.
    """
    if array.ndim not in (2, 3):
        raise ValueError(f"sounds have the shape (batch, frames) or (batch, frames, channels), not {array.shape}.")
    summaries = []
    for number, frames in enumerate((array[..., None] if array.ndim == 2 else array)[:most]):
        sound = TENSORFLOW.Summary.Audio(
            sample_rate=rate,
            num_channels=frames.shape[1],
            length_frames=len(frames),
            encoded_audio_string=wav(frames, rate),
            content_type="audio/wav",
        )
        name = f"{tag}/audio" if most == 1 else f"{tag}/audio/{number}"
        summaries.append(TENSORFLOW.Summary.Value(tag=name, audio=sound))
    return summaries


# -- of TensorFlow 2 --------------------------------------------------------------------------------------------------


def metadata(plugin: str, data_class: int, description: str | None = None, content: bytes = b"") -> Any:
    """The metadata of a tensor that a plugin of TensorBoard shows."""
    known = TENSORFLOW.SummaryMetadata(summary_description=description or "", data_class=data_class)
    known.plugin_data.plugin_name, known.plugin_data.content = plugin, content
    return known


def tensor_value(tag: str, array: Any, known: Any = None) -> list[Any]:
    """A tensor, as TensorFlow 2 writes it.

    Args:
        tag: its tag.
        array: numbers, or texts.
        known: its metadata.
    """
    value = TENSORFLOW.Summary.Value(tag=tag, tensor=tensor_proto(_texts(array)))
    if known is not None:
        value.metadata.MergeFromString(known if isinstance(known, bytes) else known.SerializeToString())
    return [value]


def _texts(array: Any) -> Any:
    """Texts as bytes; numbers as they are."""
    array = np.asarray(array)
    if array.dtype.kind not in "SUO":
        return array
    encoded = np.empty(array.shape, object)
    encoded[...] = np.vectorize(lambda text: text.encode() if isinstance(text, str) else bytes(text), [object])(array)
    return encoded


def scalar_tensor(tag: str, array: np.ndarray, description: str | None = None) -> list[Any]:
    """A number, as TensorFlow 2 writes it.

    Raises:
        ValueError: it is not one number.
    """
    if array.shape != () or array.dtype.kind in "cO":
        raise ValueError(f"a scalar is one real number, not {array.dtype}{list(array.shape)}.")
    return tensor_value(tag, array.astype("float32"), metadata("scalars", SCALAR, description))


def histogram_tensor(tag: str, array: np.ndarray, count: int | None, description: str | None = None) -> list[Any]:
    """The distribution of numbers, as TensorFlow 2 writes it."""
    rows = buckets(array.astype("float64").reshape(-1), BUCKETS if count is None else count)
    return tensor_value(tag, rows, metadata("histograms", TENSOR, description))


def image_tensor(tag: str, array: np.ndarray, most: int, description: str | None = None) -> list[Any]:
    """Pictures of numbers from 0 to 1, or of integers, as TensorFlow 2 writes them."""
    check_images(array)
    pictures = [png(image) for image in _bytes(array[:most])]
    sizes = [str(size).encode() for size in (array.shape[2], array.shape[1])]
    return tensor_value(tag, np.array([*sizes, *pictures], object), metadata("images", BLOBS, description))


def audio_tensor(tag: str, array: np.ndarray, rate: float, most: int, description: str | None = None) -> list[Any]:
    """Sounds of numbers from -1 to 1, (batch, frames, channels), as TensorFlow 2 writes them."""
    if array.ndim != 3:
        raise ValueError(f"sounds have the shape (batch, frames, channels), not {array.shape}.")
    rows = np.array([[wav(frames, rate), b""] for frames in array[:most]], object).reshape(-1, 2)  # with empty labels
    return tensor_value(tag, rows, metadata("audio", BLOBS, description, WAV))


def _bytes(images: np.ndarray) -> np.ndarray:
    """Numbers as bytes: floats from 0 to 1, and the highest bits of integers, as TensorFlow converts images."""
    if images.dtype.kind not in "iu":
        scaled = images * images.dtype.type(255.5)
    else:
        most = int(np.iinfo(images.dtype).max) + 1
        scaled = images // (most // 256) if most >= 256 else images.astype("int64") * (256 // most)
    return np.clip(scaled, 0, 255).astype("uint8")


def buckets(numbers: np.ndarray, count: int) -> np.ndarray:
    """Rows of left edge, right edge and how many of the numbers lie between, as TensorBoard's histograms."""
    count = max(count, 0)
    low, high = (numbers.min(), numbers.max()) if numbers.size else (0.0, 0.0)
    if not count or not numbers.size or low == high:
        counts = np.zeros(count)
        counts[count - 1 : count] = numbers.size
        return np.stack([np.full(count, low), np.full(count, high), counts], axis=1)
    edges = np.linspace(low, high, count + 1)
    places = np.minimum(np.floor((numbers - low) / ((high - low) / count)).astype("int64"), count - 1)
    counts = np.bincount(places, minlength=count).astype("float64")
    return np.stack([edges[:-1], edges[1:], counts], axis=1)


# -- pictures ---------------------------------------------------------------------------------------------------------


def check_images(array: np.ndarray) -> None:
    """Check the shape of pictures.

    Raises:
        ValueError: it is not (batch, rows, columns, channels), with one to four channels.
    """
    if array.ndim != 4 or array.shape[-1] not in COLOURS:
        raise ValueError(f"images have the shape (batch, rows, columns, 1, 2, 3 or 4), not {array.shape}.")


def png(pixels: np.ndarray) -> bytes:
    """Bytes of colours as a picture in PNG.

    Args:
        pixels: uint8 of shape (rows, columns, channels).

    Example:
        >>> png(np.zeros((2, 2, 3), np.uint8))[:4]
        b'\\x89PNG'
    """
    height, width, channels = pixels.shape
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # a 0 at the start of a line: it has no filter
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, COLOURS[channels], 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# -- sounds -----------------------------------------------------------------------------------------------------------


def wav(frames: np.ndarray, rate: float) -> bytes:
    """Numbers from -1 to 1 as a sound in WAV, of 16 bits.

    Args:
        frames: (frames, channels).
        rate: frames a second.

    Example:
        >>> wav(np.zeros((2, 1)), 8000)[:4]
        b'RIFF'
    """
    scaled = frames.astype("float32") * 32768
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    with io.BytesIO() as file:
        with wave.open(file, "wb") as writer:
            writer.setparams((frames.shape[1], 2, round(rate), len(frames), "NONE", "not compressed"))
            writer.writeframes(np.clip(rounded, -32768, 32767).astype("<i2").tobytes())
        return file.getvalue()
