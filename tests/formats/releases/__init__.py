"""Files of each format that later releases read; `python -m tests.formats.releases` writes those of this release.

`tests/formats/released/0.1.0` has the files, and `results.json` their results: numbers by names.  A file that is there
is never written again.  A new format gets a function that writes it, and one that reads it, in a module here.  Then the
command adds its file.  It needs all libraries, since TensorFlow, Keras and ONNX Runtime compute the results of files
that are for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

RELEASED = Path(__file__).parents[1] / "released"
RESULTS = "results.json"
X = np.linspace(-1.0, 1.5, 6, dtype="float32").reshape(2, 3)
Y = np.float32([[1.0], [-1.0]])
KERNEL = np.linspace(0.5, -0.5, 6, dtype="float32").reshape(3, 2)
Results = Mapping[str, Any]


class Format(NamedTuple):
    """A format, of which a release has a file.

    Attributes:
        write: writes the file at a path; gives its results by names, as the value itself or another library has them.
        read: opens a file, and gives its results on the current engine.
        needs: a library without which the file cannot be read.
    """

    write: Callable[[Path], Results]
    read: Callable[[Path], Results]
    needs: str


FORMATS: dict[str, Format] = {}  # by the name of a file or folder


def released(name: str, read: Callable[[Path], Results], needs: str = "numpy") -> Any:
    """Declare the format of a file of this name, by the function that writes it."""

    def declare(write: Callable[[Path], Results]) -> Callable[[Path], Results]:
        FORMATS[name] = Format(write, read, needs)
        return write

    return declare


def as_data(value: Any) -> Any:
    """The dtype and the numbers or texts of a result, as JSON holds them."""
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return ["str", array.tolist()]
    name = array.dtype.name
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind not in "biu":
        array = array.astype("float32" if array.dtype.itemsize < 8 else "float64")
        array = array.astype(str).astype("float64")  # so that few digits are written
    return [name, array.tolist()]


def check(found: Mapping[str, Any], wanted: Mapping[str, Any], with_dtypes: bool = True) -> None:
    """Check that some results, as `as_data` gives them, are the same as others."""
    assert list(found) == list(wanted)
    for name, (dtype, numbers) in wanted.items():
        if dtype == "str":
            assert found[name] == [dtype, numbers], name
        else:
            np.testing.assert_allclose(found[name][1], numbers, 1e-4, 1e-4, err_msg=name)
            assert not with_dtypes or found[name][0] == dtype, name


def results_of(release: Path) -> dict[str, Any]:
    """The results of the files of a release, by their names."""
    path = release / RESULTS
    return json.loads(path.read_text()) if path.exists() else {}
