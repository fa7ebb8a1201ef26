"""The container: all dtypes and shapes, alignment, mapping, the reference library as the oracle, and wrong files."""

import os
import threading

import numpy as np
import pytest

from dovetail.core import dtypes
from dovetail.core.base.errors import FormatError
from dovetail.formats.safetensors import LONGEST, read, write
from tests.formats.files import by_hand, numbers, parts, tensor
from tests.libraries import require

SHAPES = [(), (0,), (3,), (0, 5), (2, 3, 4), (16, 8)]
DTYPES = [dtype.numpy for dtype in dtypes.ALL.values()]


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def everything():
    return {f"{dtype}{shape}": numbers(dtype, shape) for dtype in DTYPES for shape in SHAPES}


def test_all_dtypes_and_shapes(tmp_path):
    path, given = tmp_path / "all", everything()
    write(path, given, {"note": 'é "quoted"\n'})
    found = read(path)
    same(found.tensors, given)
    assert found.metadata == {"note": 'é "quoted"\n'}


def test_memory_orders(tmp_path):
    x = np.arange(24.0).reshape(2, 3, 4)
    given = {"t": x.T, "strided": x[:, ::2], "flipped": x[::-1], "c": (x + 1j)[..., ::-1], "big": x.astype(">f4")}
    write(tmp_path / "orders", given, {})
    same(read(tmp_path / "orders").tensors, {**given, "big": x.astype("f4")})


def test_bytes_begin_at_multiples_of_64_and_elements_are_aligned(tmp_path):
    write(tmp_path / "all", everything(), {})
    for name, array in read(tmp_path / "all").tensors.items():
        assert array.flags.aligned and array.flags.writeable, name
        assert array.nbytes % 64 or array.__array_interface__["data"][0] % 64 == 0, name


def test_a_file_is_mapped_copy_on_write(tmp_path):
    write(tmp_path / "x", {"x": np.arange(4.0)}, {})
    before = (tmp_path / "x").read_bytes()
    found = read(tmp_path / "x").tensors["x"]
    found += 1
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0] and (tmp_path / "x").read_bytes() == before
    write(tmp_path / "x", {"x": np.zeros(2)}, {})  # the file under this name is another one now
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_reference_library_reads_and_writes_the_same(tmp_path):
    require("safetensors", "it defines the format")
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    kinds = ("bool", "uint8", "int64", "float16", "float32", "float64")
    given = {name: array for name, array in everything().items() if array.dtype in kinds}
    write(tmp_path / "ours", given, {"a": "b"})
    same(load_file(tmp_path / "ours"), given)
    with safe_open(tmp_path / "ours", "np") as file:
        assert file.metadata() == {"a": "b"}
    save_file(given, tmp_path / "theirs", {"c": "d"})
    found = read(tmp_path / "theirs")
    same(found.tensors, given)
    assert found.metadata == {"c": "d"}
    write(tmp_path / "all", everything(), {})
    with safe_open(tmp_path / "all", "np") as file:
        assert set(file.keys()) == everything().keys()


@pytest.mark.parametrize(
    ("tensors", "metadata", "error"),
    [
        ({"x": np.array(["a"])}, {}, "TypeError: the array 'x' cannot be written: .*is not a dtype"),
        ({"x": np.array([None])}, {}, "TypeError: the array 'x'"),
        ({"__metadata__": np.ones(1)}, {}, "ValueError: no tensor can be named '__metadata__'"),
        ({}, {"complex": "x"}, "ValueError: .*no metadata 'complex'"),
        ({}, {"x": "y" * LONGEST}, "ValueError: the header has 100000.* several files"),
    ],
)
def test_what_cannot_be_written(tmp_path, tensors, metadata, error):
    (tmp_path / "x").write_text("before")
    kind, _, text = error.partition(": ")
    with pytest.raises({"TypeError": TypeError, "ValueError": ValueError}[kind], match=text):
        write(tmp_path / "x", tensors, metadata)
    assert (tmp_path / "x").read_text() == "before" and len(os.listdir(tmp_path)) == 1


# -- wrong files ------------------------------------------------------------------------------------------------------

ONE, TWO = tensor(), tensor(offsets=(8, 16))
DEEP = b'{"a": ' * 100_000
WRONG = {  # file → the text of the error
    b"": "no length of a header in a file of 0",
    b"\x08\0\0\0": "no length of a header in a file of 4",
    b"PK\x03\x04" + bytes(60): "a header of 67324752 bytes in a file of 64",
    by_hand({}, length=2**63): "a header of 9223372036854775808 bytes",
    by_hand(b""): "the header: found no JSON",
    by_hand(b"\xff{}"): "the header: found no JSON .*utf-8",
    by_hand(b"[]"): "the header: found a list",
    by_hand(b"null"): "the header: found a NoneType",
    by_hand(b"{}{}"): "no JSON",
    by_hand(b'{"a": NaN}'): "NaN is no number",
    by_hand(b'{"a": 1' + b"0" * 5000 + b"}"): "no JSON",
    by_hand(DEEP): "nested too deeply",
    by_hand(b"[" * 100_000): "nested too deeply",
    by_hand(b'{"a": 1, "a": 2}'): "the key 'a' stands twice",
    by_hand({"a": 3}): "the tensor 'a': found 3; needed: an object",
    by_hand({"a": {"dtype": "F32", "shape": [2]}}): "the tensor 'a'",
    by_hand({"a": tensor(more=1)}, bytes(8)): "the tensor 'a'",
    by_hand({"a": tensor("F99")}, bytes(8)): 'the dtype "F99"; needed: one of BOOL',
    by_hand({"a": tensor(["F32"])}, bytes(8)): "the dtype",
    by_hand({"a": tensor(shape=[-2])}, bytes(8)): r"the shape \[-2\]",
    by_hand({"a": tensor(shape=[2.0])}, bytes(8)): r"the shape \[2.0\]",
    by_hand({"a": tensor(shape=[True, 2])}, bytes(8)): "the shape",
    by_hand({"a": tensor(shape=[2**63])}, bytes(8)): "the shape",
    by_hand({"a": tensor(shape=[1] * 65)}, bytes(8)): "the shape .*at most 64",
    by_hand({"a": tensor(shape=[2**40, 2**40])}, bytes(8)): "8 bytes for F32 .*; needed: [0-9]{25} bytes",
    by_hand({"a": tensor(shape=[0, 2**62, 2**62], offsets=(0, 0))}): "a shape that NumPy has",
    by_hand({"a": tensor(offsets=(0, 8, 9))}, bytes(8)): "the offsets",
    by_hand({"a": tensor(offsets=(8, 0))}, bytes(8)): "-8 bytes",
    by_hand({"a": tensor(offsets=(-8, 0))}, bytes(8)): "the offsets",
    by_hand({"a": tensor(offsets=(0, 4))}, bytes(8)): "4 bytes for F32",
    by_hand({"a": ONE}, bytes(7)): "7 bytes behind the header, and tensors of 8; needed: a whole file",
    by_hand({"a": ONE}, bytes(9)): "ends with its tensors",
    by_hand({"a": TWO}, bytes(16)): "without overlaps and holes",
    by_hand({"a": ONE, "b": ONE}, bytes(8)): "the tensor 'b': found bytes from 0 on, after the 8",
    by_hand({"a": ONE, "b": tensor(offsets=(4, 12))}, bytes(12)): "without overlaps and holes",
    by_hand({"a": tensor("BOOL", [2], (0, 2))}, b"\x01\x02"): "a byte above 1",
    by_hand({"__metadata__": [1]}): "__metadata__: found",
    by_hand({"__metadata__": {"a": 1}}): "an object of strings",
    by_hand({"__metadata__": {"complex": "["}}): "__metadata__ 'complex': found no JSON",
    by_hand({"__metadata__": {"complex": '["a"]'}}): "a list of names",
    by_hand({"__metadata__": {"complex": '[["a"]]'}}): "a list of names",
    by_hand({"a": tensor("I32"), "__metadata__": {"complex": '["a"]'}}, bytes(8)): "found int32 .*needed: pairs",
    by_hand({"a": tensor(shape=[1, 2]), "__metadata__": {"complex": '["a", "a"]'}}, bytes(8)): "needed: pairs",
}


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_files(tmp_path, number):
    data, text = list(WRONG.items())[number]
    (tmp_path / "wrong").write_bytes(data)
    with pytest.raises(FormatError, match=f"wrong' cannot be read: .*{text}"):
        read(tmp_path / "wrong")


def test_a_file_that_is_cut_anywhere(tmp_path):
    write(tmp_path / "whole", {"a": np.arange(3.0), "b": np.array([True, False])}, {"x": "y"})
    whole = (tmp_path / "whole").read_bytes()
    assert len(whole) % 64 == 26 and parts(tmp_path / "whole")[0]["__metadata__"] == {"x": "y"}
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read(tmp_path / "cut")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []

    def reading():
        with pytest.raises(FormatError, match="no regular file"):
            read(tmp_path / "pipe")
        found.append(True)

    thread = threading.Thread(target=reading, daemon=True)
    thread.start()
    thread.join(20)
    assert found


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")
