"""Groups, arrays and attributes of a file of HDF5."""

from __future__ import annotations

import itertools
import math
import mmap
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError
from dovetail.formats.hdf5.blocks import NOWHERE, SOFT, Blocks, Message, begin_of
from dovetail.formats.hdf5.types import Type, filters_at, shape_at, type_at, unfiltered

# types of messages
SHAPE, LINK_INFO, TYPE, LINK, LAYOUT, FILTERS, ATTRIBUTE, NAMES, ATTRIBUTE_INFO = 1, 2, 3, 6, 8, 11, 12, 17, 21
COMPACT, CONTIGUOUS, CHUNKED = 0, 1, 2  # layouts
LINKS = {0: "", 1: SOFT, 64: "ExternalLink"}  # number → h5py's word for a link to another name
ADVICE = "a file as h5py writes it by default (libver='earliest')"
DEEPEST = 100  # groups inside each other


class Node:
    """A group or an array.

    Attributes:
        place: its name, after the names of the groups around it.
    """

    def __init__(self, blocks: Blocks, messages: list[Message], place: str) -> None:
        self.blocks, self.messages, self.place = blocks, messages, place

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Numbers and arrays of NumPy, strings as bytes, lists of strings as lists; by name.

        Raises:
            FormatError: they are damaged, or have another type.
        """
        for message in self._all(ATTRIBUTE_INFO):
            options = self.blocks.number(message.begin + 1, 1, self.place)
            if self.blocks.number(message.begin + 2 + 2 * (options & 1), 8, self.place) != NOWHERE:
                raise self.blocks.wrong(self.place, "attributes in a fractal heap", ADVICE)
        return dict(self._attribute(message) for message in self._all(ATTRIBUTE))

    def _all(self, kind: int) -> Iterator[Message]:
        return (message for message in self.messages if message.kind == kind)

    def _one(self, kind: int, what: str) -> int:
        """The address of the only message of a kind."""
        message = next(self._all(kind), None)
        if message is None:
            raise self.blocks.wrong(self.place, f"no {what}", f"an array with its {what}")
        return message.begin

    def _attribute(self, message: Message) -> tuple[str, Any]:
        blocks, at, place = self.blocks, message.begin, f"{self.place}, an attribute"
        version = blocks.number(at, 1, place)
        if version not in (1, 2, 3):
            raise blocks.wrong(place, f"version {version}", "a version from 1 to 3")
        sizes = [blocks.number(at + 2 + 2 * n, 2, place) for n in range(3)]
        padded = [size + -size % 8 if version == 1 else size for size in sizes]
        at += 8 + (version == 3)
        name = blocks.text(bytes(blocks.part(at, sizes[0], place)).partition(b"\0")[0], place)
        place = f"{self.place}, attribute {name!r}"
        kind = type_at(blocks, at + padded[0], place)
        shape = shape_at(blocks, at + padded[0] + padded[1], place)
        at += sum(padded)
        if shape is None:
            return name, None
        size = math.prod(shape) * kind.size
        if at + size > message.end:
            raise blocks.wrong(
                place, f"{size} bytes in a message of {message.end - at}", "an attribute inside its message"
            )
        return name, _value(blocks, at, shape, kind, place)


class Array(Node):
    """An array, which is read when it is asked for.

    Attributes:
        shape: its shape.
        dtype: NumPy's type; None for strings.
    """

    @cached_property
    def _type(self) -> Type:
        return type_at(self.blocks, self._one(TYPE, "type"), self.place)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return shape_at(self.blocks, self._one(SHAPE, "shape"), self.place) or ()

    @property
    def dtype(self) -> np.dtype | None:
        return np.dtype(bool) if self._type.is_bool else self._type.numpy

    def read(self) -> Any:
        """The array, which shares the mapped memory of the file if it is in one piece; strings as bytes, in lists.

        Raises:
            FormatError: it is damaged, or larger than its file allows.
        """
        at, blocks, place = self._one(LAYOUT, "layout"), self.blocks, self.place
        version, layout = tuple(blocks.part(at, 2, place))
        if version != 3 or layout not in (COMPACT, CONTIGUOUS, CHUNKED):
            raise blocks.wrong(place, f"a layout of version {version} and class {layout}", ADVICE)
        if layout == CHUNKED:
            return self._chunked(at + 2)
        size = math.prod(self.shape) * self._type.size
        if layout == COMPACT:
            where, length = at + 4, blocks.number(at + 2, 2, place)
        else:
            where, length = blocks.number(at + 2, 8, place), blocks.number(at + 10, 8, place)
        if size == 0:
            return self._without_elements()
        if where == NOWHERE:
            raise blocks.wrong(place, "an array that was never written", "an array with its numbers")
        if length < size:
            raise blocks.wrong(place, f"{length} bytes", f"{size} bytes, for {self.shape}")
        return _value(blocks, where, self.shape, self._type, place)

    def _without_elements(self) -> np.ndarray:
        try:
            return np.zeros(self.shape, self.dtype or "S1")
        except ValueError as error:  # dimensions that NumPy does not multiply
            raise self.blocks.wrong(self.place, f"the shape {self.shape}", f"a shape that NumPy has: {error}") from None

    def _chunked(self, at: int) -> np.ndarray:
        blocks, place, kind, shape = self.blocks, self.place, self._type, self.shape
        rank, tree = blocks.number(at, 1, place) - 1, blocks.number(at + 1, 8, place)
        chunk = tuple(blocks.number(at + 9 + 4 * n, 4, place) for n in range(max(rank, 0)))
        if kind.numpy is None or rank != len(shape) or not all(chunk):
            raise blocks.wrong(
                place, f"chunks of {chunk} for an array of {shape}", "chunks of numbers, of the array's rank"
            )
        filters = filters_at(blocks, m.begin, place) if (m := next(self._all(FILTERS), None)) else []
        size, needed = math.prod(chunk) * kind.size, math.prod(-(-n // c) for n, c in zip(shape, chunk, strict=True))
        if needed == 0:
            return self._without_elements()
        if tree == NOWHERE:
            raise blocks.wrong(place, "an array that was never written", "an array with its numbers")
        chunks = dict(self._chunks(tree, chunk))
        if len(chunks) != needed:
            raise blocks.wrong(place, f"{len(chunks)} chunks", f"{needed} chunks of {chunk} for {shape}")
        blocks.take(math.prod(shape) * kind.size + size, place)
        array = np.empty(shape, kind.numpy)
        for corner, (where, length, mask) in chunks.items():
            used = [f for n, f in enumerate(filters) if not mask >> n & 1]
            data = unfiltered(blocks, blocks.part(where, length, place), size, kind.size, used, place)
            into = array[tuple(slice(c, c + n) for c, n in zip(corner, chunk, strict=True))]
            into[...] = np.frombuffer(data, kind.numpy).reshape(chunk)[tuple(slice(n) for n in into.shape)]
        return array

    def _chunks(self, tree: int, chunk: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, int, int]]]:
        """The chunks by their first index: address, bytes, and the filters that are left out."""
        rank, blocks, place = len(chunk), self.blocks, self.place
        for key, child in blocks.leaves(tree, 1, 8 * (rank + 2), place):
            corner = tuple(blocks.number(key + 8 + 8 * n, 8, place) for n in range(rank))
            if any(c % n or c >= length for c, n, length in zip(corner, chunk, self.shape, strict=True)):
                raise blocks.wrong(place, f"a chunk at {corner}", f"a multiple of {chunk} inside {self.shape}")
            yield corner, (child, blocks.number(key, 4, place), blocks.number(key + 4, 4, place))


def _value(blocks: Blocks, at: int, shape: tuple[int, ...], kind: Type, place: str) -> Any:
    """The elements at an address: a number, an array, a string, or a list of strings."""
    count = math.prod(shape)
    data = blocks.part(at, count * kind.size, place)
    if kind.numpy is not None:
        array = np.frombuffer(data, kind.numpy)
        if kind.is_bool:
            array = array != 0
        try:
            return array.reshape(shape) if shape else array[0]
        except ValueError as error:  # an empty array with dimensions that NumPy does not multiply
            raise blocks.wrong(place, f"the shape {shape}", f"a shape that NumPy has: {error}") from None
    strings = []
    for begin in range(at, at + len(data), kind.size):
        if kind.in_heap:
            length, heap = blocks.number(begin, 4, place), blocks.number(begin + 4, 8, place)
            text = blocks.string(heap, blocks.number(begin + 12, 4, place), place)[:length] if length else b""
        else:
            text = bytes(blocks.part(begin, kind.size, place))
        strings.append(text.rstrip(b"\0"))
    return strings if shape else strings[0]


class Group(Node):
    """A group of groups and arrays by name, each of which is read when it is asked for: `group["dense/kernel"]`."""

    @cached_property
    def _links(self) -> dict[str, int]:
        """The names of groups and arrays, and the addresses of their headers."""
        return {name: address for name, address in self._names.items() if not isinstance(address, str)}

    @cached_property
    def _names(self) -> dict[str, int | str]:
        """All names, and the addresses of their headers, or the kind of a link to another name."""
        blocks, place = self.blocks, self.place
        if (table := next(self._all(NAMES), None)) is not None:
            return blocks.links(blocks.number(table.begin, 8, place), blocks.number(table.begin + 8, 8, place), place)
        for message in self._all(LINK_INFO):
            options = blocks.number(message.begin + 1, 1, place)
            if blocks.number(message.begin + 2 + 8 * (options & 1), 8, place) != NOWHERE:
                raise blocks.wrong(place, "names in a fractal heap", ADVICE)
        return dict(map(self._link, self._all(LINK)))

    def _link(self, message: Message) -> tuple[str, int | str]:
        """A name and the address of its header, or the kind of a link to another name."""
        blocks, at, place = self.blocks, message.begin, self.place
        options = blocks.number(at + 1, 1, place)
        at += 2
        kind = ""
        if options & 8:
            kind = LINKS.get(blocks.number(at, 1, place), "a link of an unknown kind")
            at += 1
        at += 8 * bool(options & 4) + bool(options & 16)
        width = 1 << (options & 3)
        length = blocks.number(at, width, place)
        name = blocks.text(bytes(blocks.part(at + width, length, place)), place)
        return name, kind or blocks.number(at + width + length, 8, place)

    def __iter__(self) -> Iterator[str]:
        return iter(self._links)

    def __contains__(self, path: str) -> bool:
        first, _, rest = path.strip("/").partition("/")
        if first not in self._names:
            return False
        if not rest:
            return True
        inner = self[first]
        return isinstance(inner, Group) and rest in inner

    def __getitem__(self, path: str) -> Group | Array:
        """A group or an array by its name, or by several with slashes between.

        Raises:
            FormatError: the group has no such name, or it is a link to another name, which is not followed.
        """
        node: Group | Array = self
        parts = path.strip("/").split("/")
        for part in parts[:DEEPEST]:
            if isinstance(node, Group) and isinstance(link := node._names.get(part), str):
                raise self.blocks.wrong(f"{node.place}/{part}", link, "a group or an array: links are not followed")
            if not isinstance(node, Group) or part not in node._links:
                names = ", ".join(itertools.islice(node, 8)) if isinstance(node, Group) else "no names"
                raise self.blocks.wrong(node.place, f"no {part!r} among {names}"[:200], f"{path!r}")
            node = _node(node.blocks, node._links[part], f"{node.place}/{part}")
        return node

    def group(self, path: str) -> Group:
        """A group by its name.

        Raises:
            FormatError: there is none.
        """
        if not isinstance(node := self[path], Group):
            raise self.blocks.wrong(node.place, "an array", "a group")
        return node

    def arrays(self) -> Iterator[Array]:
        """All arrays, each group once."""
        waiting, seen = [self], set()
        while waiting:
            group = waiting.pop()
            for name, address in sorted(group._links.items()):
                if address not in seen:
                    seen.add(address)
                    node = _node(group.blocks, address, f"{group.place}/{name}")
                    if isinstance(node, Group):
                        waiting.append(node)
                    else:
                        yield node


def _node(blocks: Blocks, address: int, place: str) -> Group | Array:
    messages = blocks.messages(address, place)
    return (Array if any(m.kind == LAYOUT for m in messages) else Group)(blocks, messages, place)


def read(source: str | os.PathLike[str] | bytes, file: str | os.PathLike[str] = "") -> Group:
    """The root of a file, which is mapped into memory.

    Args:
        source: the path, or the bytes of a file that is part of another.
        file: for bytes, the path for errors.

    Raises:
        FormatError: it is no file of HDF5, or damaged.
        OSError: it cannot be read.

    Example:
        >>> root = read("tests/formats/keras/models/mlp.h5")
        >>> root.attributes["keras_version"], root["model_weights/dense/dense/kernel:0"].shape
        (b'2.21.0', (4, 5))
    """
    if isinstance(source, bytes):
        return _root(memoryview(source), Path(file))
    path = Path(source)
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
        raise FormatError(path, "the file", "no regular file", "a file of HDF5")
    with path.open("rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            raise FormatError(path, "the file", "no bytes", "a file of HDF5")
        return _root(memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)), path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of HDF5, by its first bytes, or by those behind a block of the user's."""
    with Path(path).open("rb") as opened:
        if os.fstat(opened.fileno()).st_size == 0:
            return False
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return begin_of(data) is not None


def _root(data: memoryview, file: Path) -> Group:
    blocks = Blocks(data, file)
    root = _node(blocks, blocks.root, "")
    if not isinstance(root, Group):
        raise blocks.wrong("the root", "an array", "a group")
    return root
