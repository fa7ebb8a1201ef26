"""Summaries of NumPy's archives: as NumPy's own reader reads them, without reading the numbers."""

from __future__ import annotations

import tracemalloc
import zipfile

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.kinds import summarize

ARRAYS = {
    "w": np.zeros((100, 20), "float32"),
    "fortran": np.asfortranarray(np.ones((3, 4))),
    "scalar": np.int64(3),
    "empty": np.zeros((0, 5), "bool"),
    "texts": np.array(["a", "bc"]),
}


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_arrays(tmp_path, write):
    write(tmp_path / "x.npz", **ARRAYS)
    (table,) = summarize(tmp_path / "x.npz").tables
    assert {row[0]: row[1:] for row in table.rows} == {
        name: (a.dtype.name, a.shape, a.size, a.nbytes) for name, a in ARRAYS.items()
    }
    assert table.total[0] == "5 arrays" and table.total[-1] == sum(a.nbytes for a in ARRAYS.values())
    assert table.rows[0][0] == "w"


def test_pickled_objects_are_not_read(tmp_path):
    class Bomb:
        def __reduce__(self):
            return print, ("executed",)

    np.savez(tmp_path / "x.npz", bomb=np.array([Bomb()], object))
    (table,) = summarize(tmp_path / "x.npz").tables
    assert table.rows == [("bomb", "object", (1,), 1, None)]


def test_large_arrays_take_no_memory(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", w=np.zeros(2**24))
    tracemalloc.start()
    summarize(tmp_path / "x.npz")
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


def test_damaged_archives(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    data = (tmp_path / "x.npz").read_bytes()
    for end in range(1, len(data), 7):
        (tmp_path / "cut.npz").write_bytes(data[:end])
        with pytest.raises(FormatError, match=r"cut\.npz"):
            summarize(tmp_path / "cut.npz")
    (tmp_path / "other.npz").write_bytes(data.replace(b"'descr': '<f8'", b"'descr': 'xxx'"))
    with pytest.raises(FormatError, match="the archive"):
        summarize(tmp_path / "other.npz")
    with zipfile.ZipFile(tmp_path / "version.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x09\x00" + b"\0" * 20)
    with pytest.raises(FormatError, match="unknown version"):
        summarize(tmp_path / "version.npz")
