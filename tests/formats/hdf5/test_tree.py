"""Files of HDF5 without its library: the same as h5py reads, and refusals of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats import hdf5
from tests.libraries import Library, require

require("h5py", "it writes the files, and is what they are compared with")
h5py = Library("h5py")

MODELS = Path(__file__).parent.parent / "keras" / "models"
RANDOM = np.random.default_rng(0)


def same(theirs, ours) -> None:
    """Compare all of a group: names, attributes, arrays."""
    assert {*theirs.attrs} == {*ours.attributes}
    for name, value in theirs.attrs.items():
        equal(value, ours.attributes[name])
    if isinstance(theirs, h5py.Dataset):
        assert (theirs.shape, ours.dtype) == (ours.shape, None if theirs.dtype.kind in "SO" else theirs.dtype)
        return equal(theirs[()], ours.read())
    assert {*theirs} == {*ours}
    for name in theirs:
        same(theirs[name], ours[name])
    return None


def equal(theirs, ours) -> None:
    if isinstance(theirs, np.ndarray) and theirs.dtype.kind in "SO":
        theirs = [each.encode() if isinstance(each, str) else bytes(each) for each in theirs]
    if isinstance(theirs, str):
        theirs = theirs.encode()
    np.testing.assert_array_equal(theirs, ours)
    assert getattr(theirs, "dtype", None) == getattr(ours, "dtype", None) or isinstance(theirs, bytes)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*5")), ids=lambda path: path.name)
def test_models(path):
    with h5py.File(path) as theirs:
        same(theirs, hdf5.read(path))


@pytest.mark.parametrize("size", [512, 4096])
def test_a_block_of_the_user_before_the_file(tmp_path, size):
    with h5py.File(tmp_path / "f", "w", userblock_size=size) as file:
        file["x"], file["texts"] = np.arange(6.0), ["a", "bc"]
        file.create_dataset("chunks", data=np.arange(3000).reshape(30, 100), chunks=(4, 100))
    with h5py.File(tmp_path / "f") as theirs:
        same(theirs, hdf5.read(tmp_path / "f"))
    assert hdf5.is_file(tmp_path / "f")


@pytest.mark.parametrize("libver", ["earliest", "v108"])
def test_all_kinds(tmp_path, libver):
    with h5py.File(tmp_path / "f", "w", libver=("earliest", libver) if libver != "earliest" else libver) as file:
        options = {"compression": "gzip", "shuffle": True, "fletcher32": True}
        file.create_dataset("zipped", data=RANDOM.normal(size=(50, 70)).astype("f4"), chunks=(33, 17), **options)
        file.create_dataset("chunks", data=np.arange(3000).reshape(30, 100), chunks=(4, 100))
        for kind in ("i1", "u2", ">i4", "u8", "f2", ">f4", "f8", "bool"):
            file[kind.strip(">")] = np.array([0, 1, 5]).astype(kind)
        file["texts"], file["text"], file["fixed"] = ["a", "ö" * 300], "abc", np.array([b"x", b"yyy"])
        file["none"], file["scalar"] = np.zeros((0, 3)), 3.0
        file.attrs.update({"long": "x" * 60_000, "words": ["a", "bc"], "fixed": np.array([b"a" * n for n in range(9)])})
        file.attrs.update({"number": 3, "numbers": np.float32([[1, 2]]), "true": True, "nothing": h5py.Empty("f4")})
        for number in range(300):
            file.create_group(f"group {number}/inner").attrs["n"] = number
    ours = hdf5.read(tmp_path / "f")
    assert ours.attributes.pop("nothing") is None
    with h5py.File(tmp_path / "f", "a") as theirs:
        del theirs.attrs["nothing"]
        same(theirs, ours)
    assert len([*ours.arrays()]) == 15


def test_few_names_in_order(tmp_path):
    with h5py.File(tmp_path / "f", "w", track_order=True) as file:
        file["b"], file["a"] = np.ones(2), np.zeros(3)
        file["soft"], file["outside"] = h5py.SoftLink("/a"), h5py.ExternalLink("other", "/x")
        file["circle"] = file["/"]
    found = hdf5.read(tmp_path / "f")
    assert [*found] == ["b", "a", "circle"] and "other" not in found and "circle/circle/a" in found
    assert [array.place for array in found.arrays()] == ["/a", "/b"]


@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("kind", ["SoftLink", "ExternalLink"])
def test_links_are_not_followed(tmp_path, kind, order):
    with h5py.File(tmp_path / "f", "w", track_order=order) as file:
        file["a/b"] = np.ones(2)
        file["link"] = h5py.SoftLink("/a") if kind == "SoftLink" else h5py.ExternalLink("other", "/x")
        file["a/inner"] = file.get("link", getlink=True)
    found = hdf5.read(tmp_path / "f")
    assert [*found] == ["a"] and [*found["a"]] == ["b"] and "link" in found
    for path in ("link", "link/b", "a/inner"):
        with pytest.raises(
            FormatError, match=rf"/{path.removesuffix('/b')}: found {kind}; needed: a group or an array"
        ):
            found[path]


def test_bytes_and_arrays_are_not_copied():
    path = MODELS / "mlp.h5"
    found = hdf5.read(path.read_bytes(), path)["model_weights/dense/dense/kernel:0"].read()
    assert not found.flags.owndata and not found.flags.writeable


REFUSED = {
    "a fractal heap": (lambda f: [f.create_group(str(n)) for n in range(20)], {"track_order": True}, "heap"),
    "lzf": (lambda f: f.create_dataset("x", data=np.ones(9), compression="lzf"), {}, "the filter 32000"),
    "never written": (lambda f: f.create_dataset("x", (2**40,)), {}, "never written"),
    "some chunks": (lambda f: f.create_dataset("x", (2**40,), chunks=(4,)).__setitem__(0, 1.0), {}, "1 chunks"),
    "a zip bomb": (
        lambda f: f.create_dataset("x", data=np.zeros(2**24, "u1"), chunks=(2**24,), compression=9),
        {},
        "bytes more than",
    ),
    "complex": (lambda f: f.create_dataset("x", data=np.ones(2, complex)), {}, "a type of class 6"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path, name, monkeypatch):
    make, options, message = REFUSED[name]
    monkeypatch.setattr("dovetail.formats.hdf5.blocks.ROOM", 2**20)
    with h5py.File(tmp_path / "f", "w", **options) as file:
        make(file)
    with pytest.raises(FormatError, match=message):
        hdf5.read(tmp_path / "f")["x"].read()


def test_what_is_missing_is_named(tmp_path):
    found = hdf5.read(MODELS / "mlp.h5")
    with pytest.raises(FormatError, match=r"/model_weights: found no 'x' among dense, .*; needed: 'model_weights/x/y'"):
        found["model_weights/x/y"]
    with pytest.raises(FormatError, match="found an array; needed: a group"):
        found.group("model_weights/dense/dense/kernel:0")
    for data in (b"x", b"", b"\x89HDF\r\n\x1a\n"):
        (tmp_path / "f").write_bytes(data)
        with pytest.raises(FormatError):
            hdf5.read(tmp_path / "f")
    with pytest.raises(FormatError, match="no regular file"):
        hdf5.read(tmp_path)


def test_an_array_without_elements_whose_shape_numpy_does_not_have(tmp_path):
    with h5py.File(tmp_path / "f", "w") as file:
        file.create_dataset("x", (0, 12_345_678_901), "f4")
    data = (tmp_path / "f").read_bytes()
    assert hdf5.read(data)["x"].read().shape == (0, 12_345_678_901)
    data = data.replace((12_345_678_901).to_bytes(8, "little"), (2**63 - 1).to_bytes(8, "little"))
    with pytest.raises(FormatError, match="a shape that NumPy has"):
        hdf5.read(data, "f")["x"].read()
