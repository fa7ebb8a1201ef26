"""Tensor bundles: exchanged with TensorFlow in both directions; damaged ones are refused without much memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire import bundle
from dovetail.formats.wire import table as tables
from dovetail.formats.wire.bundle import Bundle, write_bundle
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.slices import slice_key
from dovetail.formats.wire.table import MAGIC, read_table, table
from dovetail.formats.wire.tensors import DTYPES, QUANTIZED, STRING
from tests.libraries import Library, require

require("google_crc32c", "bundles have its checksums")

tf, raw = Library("tensorflow"), Library("tensorflow.raw_ops")


def strings(*texts):
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


RANDOM = np.random.default_rng(0)
OTHERS = (STRING, *QUANTIZED)
KINDS = {  # the kinds of variables
    **{
        f"of {DTYPES[n].name}": RANDOM.integers(0, 2, (3, 2)).astype(DTYPES[n])
        for n in DTYPES
        if n not in (7, *QUANTIZED)
    },
    "scalar": np.float32(3.5),
    "empty": np.zeros((0, 4), "float32"),
    "large": RANDOM.normal(size=(600, 700)).astype("float32"),
    "strings": strings(b"", b"one", b"\x00\xff" * 200).reshape(3, 1),
    "one string": strings(b"x" * 300)[0],
    "no strings": np.empty((0,), object),
    "big-endian": np.arange(3, dtype=">i4"),
    "not contiguous": np.arange(12.0).reshape(3, 4).T,
    "net/ä/.ATTRIBUTES/VARIABLE_VALUE": np.arange(2),
}


def test_the_kinds_are_twenty():
    assert len(KINDS) >= 20


def same(found, wanted):
    wanted = np.asarray(wanted, object if isinstance(wanted, bytes) else None)
    assert (found.dtype, found.shape) == (wanted.dtype.newbyteorder("="), wanted.shape)
    assert found.tolist() == wanted.tolist()


def test_bundles_are_read_by_tensorflow(tmp_path):
    write_bundle(str(tmp_path / "new" / "x"), KINDS)
    reader = tf.train.load_checkpoint(str(tmp_path / "new" / "x"))
    assert set(reader.get_variable_to_shape_map()) == set(KINDS)
    for name, array in KINDS.items():
        if "int4" not in name:  # its Python reader has no such arrays
            found = reader.get_tensor(name)
            same(np.asarray(found, object if isinstance(found, bytes) else None), array)
    mine = Bundle(str(tmp_path / "new" / "x"))
    assert mine.names == sorted(KINDS, key=str.encode) and len(mine) == len(KINDS) and "strings" in mine
    for name, array in KINDS.items():
        same(mine[name], array)
        assert (mine.shape(name), mine.dtype(name)) == (mine[name].shape, mine[name].dtype)
    with pytest.raises(KeyError):
        mine["gone"]


def test_a_bundle_that_replaces_another_has_other_shards(tmp_path):
    """The index is replaced last; TensorFlow reads the new bundle, and no file of the old one stays."""
    prefix, ends = str(tmp_path / "x"), []
    for number in range(3):
        write_bundle(prefix, {"n": np.array(number), "s": strings(b"a" * number)})
        ends.append([path.name.partition(".")[2] for path in bundle.files(prefix)])
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"x.{end}" for end in ends[-1])
        assert tf.train.load_checkpoint(prefix).get_tensor("n") == number
        assert Bundle(prefix)["s"].tolist() == [b"a" * number]
    one, two = ["data-00000-of-00001"], ["data-00000-of-00002", "data-00001-of-00002"]
    assert ends == [["index", *one], ["index", *two], ["index", *one]]
    (tmp_path / "x.index").write_bytes(b"damaged")
    write_bundle(prefix, {"n": np.array(7)})
    assert Bundle(prefix)["n"] == 7 and len(bundle.files(prefix)) == 2


def test_bundles_of_tensorflow_are_read(tmp_path):
    given = {name: array for name, array in KINDS.items() if name != "big-endian"}
    names = sorted(given)
    tensors = [tf.constant(given[name]) for name in names]
    raw.SaveV2(prefix=str(tmp_path / "x"), tensor_names=names, shape_and_slices=[""] * len(names), tensors=tensors)
    found = Bundle(str(tmp_path / "x"))
    assert set(found) == set(names)
    for name in names:
        same(found[name], given[name])


def test_the_files_are_those_of_tensorflow(tmp_path):
    given = {name: KINDS[name] for name in ("of float32", "scalar", "strings", "large")}
    write_bundle(str(tmp_path / "ours"), given)
    names = sorted(given)
    tensors = [tf.constant(given[name]) for name in names]
    raw.SaveV2(prefix=str(tmp_path / "theirs"), tensor_names=names, shape_and_slices=[""] * 4, tensors=tensors)
    ours, theirs = ([path.read_bytes() for path in bundle.files(str(tmp_path / name))] for name in ("ours", "theirs"))
    assert ours[1] == theirs[1] and read_table(ours[0], "x") == read_table(theirs[0], "x")


def test_arrays_are_read_only_and_share_the_mapped_memory_if_they_are_aligned(tmp_path):
    given = {"a": strings(b"x"), "b": np.array([True]), "c": np.arange(5.0), "d": np.arange(3, dtype="float32")}
    write_bundle(str(tmp_path / "ours"), given)
    tensors = [tf.constant(array) for array in given.values()]
    raw.SaveV2(prefix=str(tmp_path / "theirs"), tensor_names=[*given], shape_and_slices=[""] * 4, tensors=tensors)
    for writer, mapped in {"ours": "bcd", "theirs": "b"}.items():  # TensorFlow's numbers follow the string
        found = Bundle(str(tmp_path / writer))
        for name in "bcd":
            assert found[name].flags.aligned and not found[name].flags.writeable, name
            assert np.shares_memory(found[name], found[name]) == (name in mapped), name
            same(found[name], given[name])


def test_several_shards_and_slices_are_read(tmp_path):
    whole = np.arange(24.0, dtype="float32").reshape(4, 6)
    for number, (start, end) in enumerate([(0, 1), (1, 4)]):
        raw.SaveV2(
            prefix=str(tmp_path / f"part{number}"),
            tensor_names=["cut", f"own{number}"],
            shape_and_slices=[f"4 6 {start},{end - start}:-", ""],
            tensors=[tf.constant(whole[start:end]), tf.constant([number])],
        )
    prefixes = [str(tmp_path / f"part{number}") for number in range(2)]
    raw.MergeV2Checkpoints(checkpoint_prefixes=prefixes, destination_prefix=str(tmp_path / "x"))
    assert len(bundle.files(str(tmp_path / "x"))) == 3
    found = Bundle(str(tmp_path / "x"))
    assert found.names == ["cut", "own0", "own1"]
    same(found["cut"], whole)
    same(found["own1"], np.array([1], "int32"))


def test_many_names_take_several_blocks(tmp_path):
    given = {f"layer/{number:06d}/" + "w" * 50: np.float32(number) for number in range(6000)}
    write_bundle(str(tmp_path / "x"), given)
    reader = tf.train.load_checkpoint(str(tmp_path / "x"))
    assert len(reader.get_variable_to_shape_map()) == 6000
    found = Bundle(str(tmp_path / "x"))
    for name in [*given][::997]:
        assert reader.get_tensor(name) == found[name] == given[name]


def test_a_dtype_that_tensorflow_lacks_writes_nothing(tmp_path):
    with pytest.raises(TypeError, match="no dtype 'datetime64"):
        write_bundle(str(tmp_path / "x"), {"a": np.zeros(2), "b": np.zeros(2, "M8[s]")})
    assert [*tmp_path.iterdir()] == []


# -- damage -----------------------------------------------------------------------------------------------------------


def small(folder):
    write_bundle(str(folder / "x"), {"a": np.arange(5.0), "b": strings(b"one", b"two"), "c": np.bool_(True)})
    return {path: path.read_bytes() for path in bundle.files(str(folder / "x"))}


def read_all(folder):
    found = Bundle(str(folder / "x"))
    return {name: found[name].tolist() for name in found}


def test_a_file_that_is_cut_is_refused_at_each_byte(tmp_path):
    for path, data in small(tmp_path).items():
        for end in range(len(data)):
            path.write_bytes(data[:end])
            with pytest.raises(FormatError):
                read_all(tmp_path)
        path.write_bytes(data)


def test_a_flipped_bit_is_found(tmp_path):
    files = small(tmp_path)
    whole, harmless = read_all(tmp_path), 0
    for path, data in files.items():
        for bit in range(8 * len(data)):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            path.write_bytes(changed)
            try:
                assert read_all(tmp_path) == whole, (path, bit)
                harmless += 1
            except FormatError:
                pass
        path.write_bytes(data)
    assert harmless < 8 * 60  # of the empty block, its handle, and the bytes that fill the footer up


def entry(**given):
    given = {"dtype": 1, "size": 4, "crc32c": 0} | given
    shape = {"dim": [{"size": size} for size in given.pop("shape", ())]}
    return TENSORFLOW.BundleEntryProto(shape=shape, **given).SerializeToString()


def header(**given):
    return TENSORFLOW.BundleHeaderProto(**({"num_shards": 1} | given)).SerializeToString()


ONE = TENSORFLOW.TensorSliceProto(extent=[{"start": 0, "length": 1}])
DAMAGED = {  # the entries of an index whose checksums are right
    "no header": ([(b"x", entry())], "the header"),
    "no shard": ([(b"", header(num_shards=0)), (b"x", entry())], "the header: found 0 shards"),
    "many shards": ([(b"", header(num_shards=2**31 - 1)), (b"x", entry())], "the header"),
    "another byte order": ([(b"", header(endianness=1)), (b"x", entry())], "byte order 1"),
    "a later version": ([(b"", header(version={"min_consumer": 9})), (b"x", entry())], "the header"),
    "a header that is none": ([(b"", b"\x0a\xff")], "no BundleHeaderProto"),
    "an entry that is none": ([(b"", header()), (b"x", b"\x0a\xff")], "no BundleEntryProto"),
    "a name that is no text": ([(b"", header()), (b"\xff", entry())], "no text"),
    "a huge shape": ([(b"", header()), (b"x", entry(shape=[2**40, 2**40]))], "the shape"),
    "a huge size": ([(b"", header()), (b"x", entry(size=2**62))], "bytes at 0"),
    "a shape of other bytes": ([(b"", header()), (b"x", entry(shape=[2**30]))], "found 4 bytes"),
    "an unknown shape": ([(b"", header()), (b"x", entry(shape=[-1]))], "the shape"),
    "an offset below 0": ([(b"", header()), (b"x", entry(offset=-4))], "4 bytes at -4"),
    "another shard": ([(b"", header()), (b"x", entry(shard_id=3))], "shard 3"),
    "a resource": ([(b"", header()), (b"x", entry(dtype=20))], "the dtype 20"),
    "another checksum": ([(b"", header()), (b"x", entry())], "another checksum"),
    "many strings": ([(b"", header()), (b"x", entry(dtype=7, shape=[2**35]))], "strings"),
    "lengths of strings": ([(b"", header()), (b"x", entry(dtype=7, shape=[2]))], "found"),
    "a slice that is not there": (
        [(b"", header()), (b"x", entry(shape=[0], slices=[{"extent": [{"start": 0, "length": 1}]}]))],
        "a slice without an entry",
    ),
    "slices of a huge tensor": (
        [(b"", header()), (b"x", entry(shape=[2**38], slices=[{"extent": [{"start": 0, "length": 1}]}]))],
        "slices of 0 bytes",
    ),
    "a slice that stands often": (
        [
            (b"", header()),
            (slice_key("x", ONE), entry(shape=[1])),
            (b"x", entry(size=0, shape=[2**38], slices=[ONE] * 2**16)),
        ],
        "slices of 4 bytes",
    ),
    "tensors over each other": (
        [(b"", header()), (b"x", entry(size=4)), (b"y", entry(size=2, offset=2))],
        "at 2 of shard 0",
    ),
    "keys that are not in order": ([(b"", header()), (b"y", entry()), (b"x", entry())], "not in order"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_index_is_refused_without_memory(name, tmp_path):
    entries, message = DAMAGED[name]
    (tmp_path / "x.index").write_bytes(table(entries))
    (tmp_path / "x.data-00000-of-00001").write_bytes(b"\xff" * 4)
    tracemalloc.start()
    with pytest.raises(FormatError, match=message):
        read_all(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_tables_that_are_built_to_harm(monkeypatch):
    data = table([(b"a", b"1")])
    with pytest.raises(FormatError, match="another magic number"):
        read_table(data[:-1] + b"x", "x")
    for footer in (b"\xff" * 40, b"\x00" * 40, b"\x00\x00\xff\xff\xff\xff\x7f\xff\xff\xff\x7f" + b"\0" * 29):
        with pytest.raises(FormatError):
            read_table(data[:-48] + footer + MAGIC, "x")
    monkeypatch.setattr(tables, "BLOCK", 2**62)
    monkeypatch.setattr(tables, "INTERVAL", 2**62)
    big = table([(b"k" * 100_000, b""), *((b"k" * 100_000 + bytes([i, j]), b"") for i in range(60) for j in range(60))])
    tracemalloc.start()
    with pytest.raises(FormatError, match="of the key before"):  # keys of 360 MB in a file of 130 kB
        read_table(big, "x")
    assert tracemalloc.get_traced_memory()[1] < 2**27
    tracemalloc.stop()


def test_a_missing_shard_is_named(tmp_path):
    small(tmp_path)
    (tmp_path / "x.data-00000-of-00001").unlink()
    with pytest.raises(FileNotFoundError, match="data-00000-of-00001"):
        read_all(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"gone\.index"):
        Bundle(str(tmp_path / "gone"))
    assert not bundle.exists(str(tmp_path / "gone"))
