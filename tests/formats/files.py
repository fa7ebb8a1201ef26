"""Files made by hand, right and wrong ones."""

import json
from pathlib import Path

import numpy as np


def parts(path: Path) -> tuple[dict, bytes]:
    """The header of a safetensors file and the bytes of its tensors."""
    whole = path.read_bytes()
    end = 8 + int.from_bytes(whole[:8], "little")
    return json.loads(whole[8:end]), whole[end:]


def by_hand(header: bytes | dict | list, body: bytes = b"", length: int | None = None) -> bytes:
    """A file of a header and a body; `length` is the said length of the header if that is not its own."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + body


def tensor(dtype="F32", shape=(2,), offsets=(0, 8), **more) -> dict:
    """The entry of a tensor in a header."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


def numbers(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of any dtype, without NaN."""
    found = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - (0 if dtype.kind in "ub" else 3)
    return np.asarray(found.astype(dtype) * (1 + 1j) if dtype.kind == "c" else found, dtype)
