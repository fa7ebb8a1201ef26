"""NumPy's files: `.npz` and `.npy`, and archives written array by array."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.cli import WrongInput
from dovetail.core.base.files import replacing


def write_npz(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name, which replace an old file as a whole; strings are bytes of one length, without pickles.

    Raises:
        WrongInput: NumPy's files have no such dtype.
        OSError: the file cannot be written.
    """
    unknown = next((name for name, array in arrays.items() if array.dtype.kind == "V"), None)
    if unknown is not None:
        problem = f"{str(path)!r} cannot hold {unknown!r}, since NumPy's files have no {arrays[unknown].dtype.name}"
        raise WrongInput(f"{problem}: write a .safetensors.")
    archive: Any
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                plain = array.astype("S") if array.dtype.hasobject else array
                np.lib.format.write_array(part, plain, allow_pickle=False)


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file `.npz` by name; of an `.npy`, by the name of the file.

    Raises:
        WrongInput: the file cannot be read, or has no arrays.
    """
    try:
        read = np.load(path, allow_pickle=False)
        return dict(read) if isinstance(read, np.lib.npyio.NpzFile) else {path.stem: read}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise WrongInput(f"{str(path)!r} has no arrays of NumPy's, .npy or .npz: {error}") from None
