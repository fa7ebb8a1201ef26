"""Tensor bundles, the checkpoints of TensorFlow: an index of names, and shards with the bytes of the tensors.

The checkpoint `model` is the files `model.index` and `model.data-00000-of-00001`, and more shards.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.core.base.files import replacing
from dovetail.core.base.progress import watched
from dovetail.formats.wire.crc import masked, masked_bytes, masked_whole
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.shard import Shard
from dovetail.formats.wire.slices import Part, is_cut, slice_key
from dovetail.formats.wire.table import Cursor, read_table, table, varint
from dovetail.formats.wire.tensors import STRING, dtype_of, known_shape, little_endian, number_of, shape_proto

SHARDS = 100_000  # the most of a bundle, as their names have five digits


def _index(prefix: str) -> Path:
    return Path(f"{prefix}.index")


def _shard(prefix: str, number: int, count: int) -> Path:
    return Path(f"{prefix}.data-{number:05d}-of-{count:05d}")


def exists(prefix: str) -> bool:
    """Whether there is a bundle."""
    return _index(prefix).is_file()


def files(prefix: str) -> list[Path]:
    """The files of a bundle."""
    index = _index(prefix)
    shards = index.parent.glob(f"{_escaped(index.name.removesuffix('.index'))}.data-?????-of-?????")
    return [path for path in (index, *sorted(shards)) if path.is_file()]


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


# -- writing ----------------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """A tensor that is written as slices.

    Attributes:
        slices: the place of each, and its array; all have one dtype.
    """

    slices: tuple[tuple[Part, np.ndarray], ...]


def write_bundle(prefix: str, values: Mapping[str, Any]) -> None:
    """Write arrays by name as a bundle; if the process ends while it writes, an old bundle of this prefix is whole.

    The shards of the new bundle have other names than the ones of the old bundle, since the names say how many shards
    there are: one, or two of which one is empty.  The index is replaced last; then the old shards are removed.

    Args:
        prefix: the path without the ends of the files' names; the folder is made if need be.
        values: name → array of numbers, or of `bytes` with dtype `object`; or a `Cut`.

    Raises:
        ImportError: the extra `formats` is not installed.
        TypeError: TensorFlow has no such dtype.
    """
    count = _free_count(prefix)
    header = TENSORFLOW.BundleHeaderProto(num_shards=count, version=TENSORFLOW.VersionDef(producer=1))
    entries = [(b"", header.SerializeToString())]
    for array in _arrays(values).values():
        number_of(array.dtype)
    _index(prefix).parent.mkdir(parents=True, exist_ok=True)
    shards = [_shard(prefix, number, count) for number in range(count)]
    for shard in shards[1:]:
        shard.write_bytes(b"")
    with replacing(shards[0]) as file:
        entries += sorted(_add_arrays(file, values, 0))
    with replacing(_index(prefix)) as file:
        file.write(table(entries))
    for old in {*files(prefix)} - {_index(prefix), *shards}:
        old.unlink(missing_ok=True)


def write_changed(prefix: str, old: Bundle, values: Mapping[str, Any]) -> None:
    """Write a bundle with some other values: the old shards as they are, and one more with the values.

    An old shard whose values are all replaced becomes an empty file.

    Args:
        prefix: of the new bundle, of which there is no file yet.
        old: the bundle.  Entries and shards are kept as they are, unknown fields included; the shards are linked.
        values: name → array, as for `write_bundle`; for names of the bundle, and new ones.

    Raises:
        TypeError: TensorFlow has no such dtype.
    """
    replaced = {name.encode() for name in values}
    replaced |= {slice_key(name, part) for name in values if name in old for part in old.entries[name.encode()].slices}
    kept = {key: entry for key, entry in old.entries.items() if key not in replaced}
    entries = {key: entry.SerializeToString() for key, entry in kept.items()}
    used, count = {entry.shard_id for entry in kept.values() if not entry.slices}, len(old.shards) + bool(values)
    _index(prefix).parent.mkdir(parents=True, exist_ok=True)
    for number, shard in enumerate(old.shards):
        if number in used or not values:
            _link(shard, _shard(prefix, number, count))
        else:
            _shard(prefix, number, count).write_bytes(b"")
    if values:
        with replacing(_shard(prefix, count - 1, count)) as file:
            entries |= dict(_add_arrays(file, values, count - 1))
    header = TENSORFLOW.BundleHeaderProto.FromString(old.header.SerializeToString())
    header.num_shards = count
    with replacing(_index(prefix)) as file:
        file.write(table([(b"", header.SerializeToString()), *sorted(entries.items())]))


def _link(old: Path, new: Path) -> None:
    """Give a file another name, or copy it if the disk has no links."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def _add_arrays(file: BinaryIO, values: Mapping[str, Any], shard: int) -> Iterator[tuple[bytes, bytes]]:
    """Write arrays to a shard, such that all numbers are aligned; pairs of a key and its entry."""
    arrays = _arrays(values)
    for key, value in values.items():
        if isinstance(value, Cut):
            first, array = value.slices[0]
            whole = TENSORFLOW.BundleEntryProto(dtype=number_of(array.dtype), shape=shape_proto(first.whole))
            whole.slices.extend(part.proto for part, _ in value.slices)
            yield key.encode(), whole.SerializeToString()
    numbers = {name: number_of(array.dtype) for name, array in arrays.items()}
    offset = 0
    for name in sorted(arrays, key=lambda name: (numbers[name] == STRING, -arrays[name].itemsize, name)):
        array = arrays[name]
        parts, crc = _strings(array) if numbers[name] == STRING else _numbers(array)
        size = sum(map(len, parts))
        for part in parts:
            file.write(part)
        shape = shape_proto(array.shape)
        entry = TENSORFLOW.BundleEntryProto(dtype=numbers[name], shape=shape, shard_id=shard, offset=offset, size=size)
        entry.crc32c = crc
        yield name, entry.SerializeToString()
        offset += size


def _arrays(values: Mapping[str, Any]) -> dict[bytes, np.ndarray]:
    """The arrays of values by their keys."""
    arrays: dict[bytes, np.ndarray] = {}
    for name, value in values.items():
        slices = value.slices if isinstance(value, Cut) else ()
        arrays |= {slice_key(name, part.proto): array for part, array in slices}
        if not slices:
            arrays[name.encode()] = np.asarray(value)
    return arrays


def _free_count(prefix: str) -> int:
    """The number of shards of a new bundle: not the one of the bundle that it replaces."""
    try:
        return 2 if Bundle(prefix)._count == 1 else 1
    except (OSError, FormatError):  # there is none, or none that can be read
        return 1


def _numbers(array: np.ndarray) -> tuple[list[Any], int]:
    """The bytes of numbers, and their checksum."""
    data = np.ascontiguousarray(little_endian(array)).reshape(-1).view(np.uint8)
    return [data], masked(data)


def _strings(array: np.ndarray) -> tuple[list[Any], int]:
    """The bytes of strings, their lengths first, and their checksum."""
    texts = [text.encode() if isinstance(text, str) else bytes(text) for text in array.reshape(-1).tolist()]
    lengths = b"".join(_length(len(text)) for text in texts)
    crc = masked_bytes(lengths)
    return [b"".join(varint(len(text)) for text in texts) + crc, *texts], masked(lengths, crc, *texts)


def _length(size: int) -> bytes:
    """A length as the checksum takes it."""
    return size.to_bytes(4 if size < 2**32 else 8, "little")


# -- reading ----------------------------------------------------------------------------------------------------------


class Bundle(Mapping[str, np.ndarray]):
    """A bundle that is open to be read, as a mapping of names to arrays; the shards are mapped into memory.

    Args:
        prefix: its path without the ends of the files' names.

    Attributes:
        names: the names of its tensors, in order.
        header, entries: the messages of the index; the entries by their keys.

    Raises:
        FileNotFoundError: there is no such bundle, or it lacks a shard.
        FormatError: the index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix, self._file = prefix, _index(prefix)
        entries = read_table(self._file.read_bytes(), self._file)
        header = parsed(TENSORFLOW.BundleHeaderProto, entries.pop(b"", b""), self._file, "the header")
        if header.endianness or not 0 < header.num_shards < SHARDS or header.version.min_consumer > 1:
            actual = f"{header.num_shards} shards, byte order {header.endianness}"
            raise FormatError(self._file, "the header", actual, "shards of bytes with the lowest first")
        self._count = header.num_shards
        kind = TENSORFLOW.BundleEntryProto
        self.header = header
        self.entries = {key: parsed(kind, data, self._file, f"the entry {key!r}") for key, data in entries.items()}
        self.names = [_text(key, self._file) for key in self.entries if key[:1] != b"\0"]  # the others are slices
        self._shards: dict[int, Shard] = {}
        places = sorted((entry.shard_id, entry.offset, entry.size) for entry in self.entries.values() if entry.size)
        for (shard, offset, size), (other, start, _) in pairwise(places):
            if shard == other and offset + size > start:  # they could ask for any memory, and any time
                actual = f"tensors that lie over each other, at {start} of shard {shard}"
                raise FormatError(self._file, "the entries", actual, "an undamaged file")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.encode() in self.entries and name != ""

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return known_shape(self._entry(name).shape, self._file, f"the tensor {name!r}")

    def dtype(self, name: str) -> np.dtype:
        """The dtype of a tensor; `object` of strings."""
        return dtype_of(self._entry(name).dtype, self._file, f"the tensor {name!r}")

    @property
    def shards(self) -> list[Path]:
        """The files of the tensors' bytes, which may be missing."""
        return [_shard(self._prefix, number, self._count) for number in range(self._count)]

    def check_sizes(self) -> None:
        """Check that the shards that are there have the bytes of all tensors, without reading them.

        Raises:
            FormatError: a shard is too short.
        """
        needed: dict[int, int] = {}
        for entry in self.entries.values():
            needed[entry.shard_id] = max(needed.get(entry.shard_id, 0), entry.offset + entry.size)
        for number, size in needed.items():
            path = _shard(self._prefix, number, self._count)
            if path.is_file() and path.stat().st_size < size:
                raise FormatError(
                    path, "the end", f"{path.stat().st_size} bytes", f"{size} bytes, a file that is whole"
                )

    def size(self, name: str) -> int:
        """The bytes of a tensor in the shards."""
        entry = self._entry(name)
        return self._size_of(entry, name) if entry.slices else entry.size

    def _entry(self, name: str) -> Any:
        return self.entries[name.encode()]

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor, whose checksum is compared.

        Returns:
            Read-only memory of the file, or memory of its own: for slices, strings, and if the place in the file is
            not aligned.  Strings are `bytes` with dtype `object`.

        Raises:
            KeyError: there is no such name.
            FormatError: its bytes are damaged.
        """
        entry = self._entry(name)
        if not entry.slices:
            return self._values(entry, f"the tensor {name!r}")
        shape, dtype = self.shape(name), self.dtype(name)
        _check_size(math.prod(shape) * dtype.itemsize, self._size_of(entry, name), self._file, name)
        whole = np.zeros(shape, dtype)
        for key, part in _parts(entry, name).items():
            if key not in self.entries:
                raise FormatError(self._file, f"the tensor {name!r}", "a slice without an entry", "a whole checkpoint")
            place = tuple(slice(e.start, e.start + e.length) if is_cut(e) else slice(None) for e in part.extent)
            values = self._values(self.entries[key], f"a slice of {name!r}")
            if whole[place].shape != values.shape:
                actual = f"a slice of shape {values.shape}"
                raise FormatError(self._file, f"the tensor {name!r}", actual, f"the shape {whole[place].shape}")
            whole[place] = values
        return whole

    def _size_of(self, entry: Any, name: str) -> int:
        """The bytes of the slices of a tensor."""
        return sum(self.entries[key].size for key in _parts(entry, name) if key in self.entries)

    def _values(self, entry: Any, place: str) -> np.ndarray:
        dtype, shape = dtype_of(entry.dtype, self._file, place), known_shape(entry.shape, self._file, place)
        shard, file = self._shard(entry, place)
        start, end = entry.offset, entry.offset + entry.size
        data = shard.bytes(start, end)
        if dtype.kind == "O":
            texts, crc = _read_strings(data.tobytes(), math.prod(shape), file, place)
            if crc != entry.crc32c:
                raise FormatError(file, place, "bytes of another checksum", "an undamaged file")
            return texts.reshape(shape)
        if len(data) != math.prod(shape) * dtype.itemsize:
            raise FormatError(file, place, f"{len(data)} bytes", f"{math.prod(shape)} elements of {dtype.name}")
        if masked_whole(watched(shard.chunks(start, end), place, end - start)) != entry.crc32c:
            raise FormatError(file, place, "bytes of another checksum", "an undamaged file")
        values = data.view(dtype.newbyteorder("<"))
        array = values.astype(dtype, copy=not values.flags.aligned).reshape(shape)
        array.flags.writeable = False  # the next read may have the same memory
        return array

    def _shard(self, entry: Any, place: str) -> tuple[Shard, Path]:
        """The shard that has the bytes of an entry, and its file."""
        path = _shard(self._prefix, entry.shard_id, self._count)
        if entry.shard_id not in self._shards:
            if not 0 <= entry.shard_id < self._count:
                raise FormatError(self._file, place, f"shard {entry.shard_id}", f"one of {self._count} shards")
            self._shards[entry.shard_id] = Shard(path)
        shard = self._shards[entry.shard_id]
        if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > shard.size:
            actual = f"{entry.size} bytes at {entry.offset}"
            raise FormatError(path, place, actual, f"a place in the file's {shard.size} bytes")
        return shard, path


def _text(key: bytes, file: Path) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise FormatError(file, f"the key {key!r}", "no text", "names in UTF-8") from None


def _parts(entry: Any, name: str) -> dict[bytes, Any]:
    """The slices of a tensor, by the keys of their entries; a slice that a file repeats is read once."""
    return {slice_key(name, part): part for part in entry.slices}


def _check_size(size: int, known: int, file: Path, name: str) -> None:
    if size > known:
        raise FormatError(file, f"the tensor {name!r}", f"slices of {known} bytes", f"slices of {size} bytes")


def _read_strings(data: bytes, count: int, file: Path, place: str) -> tuple[np.ndarray, int]:
    """Some strings, and the checksum of their lengths and bytes."""
    if count > len(data):
        raise FormatError(file, place, f"{len(data)} bytes", f"{count} strings")
    cursor = Cursor(data, file, place)
    sizes = [cursor.varint() for _ in range(count)]
    lengths = b"".join(map(_length, sizes))
    crc = cursor.bytes(4)
    if crc != masked_bytes(lengths):
        raise FormatError(file, place, "lengths of another checksum", "an undamaged file")
    texts = np.empty(count, object)
    texts[:] = [cursor.bytes(size) for size in sizes]
    if cursor.at != len(data):
        raise FormatError(file, place, f"{len(data) - cursor.at} bytes after the strings", "an undamaged file")
    return texts, masked(lengths, crc, *texts)
