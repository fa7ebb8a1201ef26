"""The blocks of a file of HDF5: the superblock, headers of objects, heaps of names and strings, and trees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dovetail.core.base.errors import FormatError

MAGIC = b"\x89HDF\r\n\x1a\n"
SOFT = "SoftLink"  # h5py's word
NOWHERE = 2**64 - 1  # an address that leads nowhere
MOST = 1_000_000  # blocks, messages or entries that one object has
CONTINUED = 0x10  # the type of a message that says where further messages are
SHARED = 2  # the flag of a message that stands elsewhere
MORE = 64  # bytes in memory for each byte of the file that chunks and strings may take
ROOM = 2**28  # further bytes, for any file


class Message(NamedTuple):
    """A message of an object's header: its type, and the place of its bytes."""

    kind: int
    begin: int
    end: int


def begin_of(data: Any) -> int | None:
    """The place of the superblock among the bytes of a file, behind a block of the user's; None if it has none.

    Source: the specification of HDF5's format, "Superblock": it begins at 0, 512, 1024, 2048, ...
    """
    at = 0
    while at < len(data):
        if data[at : at + len(MAGIC)] == MAGIC:
            return at
        at = 2 * at or 512
    return None


class Blocks:
    """The bytes of a file.

    Args:
        data: all of them.
        file: its path, for errors.

    Attributes:
        root: the address of the header of the root group.
        room: the bytes of memory that may still be taken.
    """

    def __init__(self, data: memoryview, file: Path) -> None:
        self.data, self.file = data, file
        self.room = ROOM + MORE * len(data)
        self.base = begin_of(data) or 0
        self.root = self._superblock()

    def wrong(self, place: str, found: str, needed: str) -> FormatError:
        """An error for a part of the file."""
        return FormatError(self.file, place, found, needed)

    def take(self, size: int, place: str) -> None:
        """Count memory that is about to be taken.

        Raises:
            FormatError: the file would take more than its size allows.
        """
        self.room -= size
        if self.room < 0:
            raise self.wrong(place, f"{size} bytes more than a file of this size needs", "an array that fits its file")

    def part(self, at: int, size: int, place: str) -> memoryview:
        """Bytes at an address.

        Raises:
            FormatError: they are not in the file.
        """
        begin = self.base + at
        if at < 0 or size < 0 or begin + size > len(self.data):
            raise self.wrong(place, f"{size} bytes at {begin} of {len(self.data)}", "a whole file")
        return self.data[begin : begin + size]

    def number(self, at: int, size: int, place: str) -> int:
        """An unsigned integer."""
        return int.from_bytes(self.part(at, size, place), "little")

    def signed(self, at: int, mark: bytes, place: str) -> int:
        """Check the mark of a block, and return the address behind it."""
        if (start := bytes(self.part(at, len(mark), place))) != mark:
            raise self.wrong(place, f"{start!r} at {at}", f"a block that begins with {mark!r}")
        return at + len(mark)

    def _superblock(self) -> int:
        """Read where addresses count from, and the address of the root's header."""
        place = "the superblock"
        at = self.signed(0, MAGIC, place)
        version = self.number(at, 1, place)
        if version > 3:
            raise self.wrong(place, f"version {version}", "a version from 0 to 3")
        sizes = tuple(self.part(at + (5 if version < 2 else 1), 2, place))
        if sizes != (8, 8):
            raise self.wrong(place, f"addresses and lengths of {sizes} bytes", "8 bytes each")
        if version < 2:
            at += 16 + 4 * (version == 1)
            base, root = self.number(at, 8, place), at + 40
        else:
            at += 4
            base, root = self.number(at, 8, place), at + 24
        if base != self.base:
            raise self.wrong(place, f"addresses that count from {base}", f"addresses that count from {self.base}")
        return self.number(root, 8, place)

    # -- headers of objects -------------------------------------------------------------------------------------------

    def messages(self, at: int, place: str) -> list[Message]:
        """The messages of an object's header."""
        if bytes(self.part(at, 4, place)) == b"OHDR":
            parse, blocks, options = self._new_messages, [self._new_header(at, place)], self.number(at + 5, 1, place)
        else:
            if (version := self.number(at, 1, place)) != 1:
                raise self.wrong(place, f"a header of version {version}", "version 1 or 2")
            parse, blocks, options = self._old_messages, [(at + 16, self.number(at + 8, 4, place))], 0
        messages: list[Message] = []
        seen = set[int]()
        for begin, size in blocks:  # which grows
            self.part(begin, size, place)
            if begin in seen or len(messages) > MOST:
                raise self.wrong(place, "a header without end", "blocks that follow each other")
            seen.add(begin)
            for message in parse(begin, begin + size, options, place):
                if message.kind == CONTINUED:
                    where, length = self.number(message.begin, 8, place), self.number(message.begin + 8, 8, place)
                    if parse == self._new_messages:
                        where, length = self.signed(where, b"OCHK", place), length - 8
                    blocks.append((where, length))
                else:
                    messages.append(message)
        return messages

    def _new_header(self, at: int, place: str) -> tuple[int, int]:
        options, begin = self.number(at + 5, 1, place), at + 6
        begin += 16 * bool(options & 0x20) + 4 * bool(options & 0x10)
        width = 1 << (options & 3)
        return begin + width, self.number(begin, width, place)

    def _old_messages(self, at: int, end: int, options: int, place: str) -> Iterator[Message]:
        while at + 8 <= end:
            kind, size, flags = self.number(at, 2, place), self.number(at + 2, 2, place), self.number(at + 4, 1, place)
            yield self._message(kind, flags, at + 8, at + 8 + size, end, place)
            at += 8 + size

    def _new_messages(self, at: int, end: int, options: int, place: str) -> Iterator[Message]:
        start = 4 + 2 * bool(options & 4)
        while at + start <= end:
            kind, size, flags = self.number(at, 1, place), self.number(at + 1, 2, place), self.number(at + 3, 1, place)
            yield self._message(kind, flags, at + start, at + start + size, end, place)
            at += start + size

    def _message(self, kind: int, flags: int, begin: int, end: int, last: int, place: str) -> Message:
        if end > last:
            raise self.wrong(place, f"a message that ends at {end}, behind its block", f"an end before {last}")
        if flags & SHARED and kind:
            raise self.wrong(
                place, "a message that stands elsewhere (a committed type)", "types that stand at their arrays"
            )
        return Message(kind, begin, end)

    # -- heaps --------------------------------------------------------------------------------------------------------

    def name(self, heap: int, offset: int, place: str) -> str:
        """A name in a local heap."""
        at = self.signed(heap, b"HEAP", place)
        size, where = self.number(at + 4, 8, place), self.number(at + 20, 8, place)
        data = bytes(self.part(where + offset, min(size - offset, 2**16), place))
        return self.text(data.partition(b"\0")[0], place)

    def text(self, data: bytes, place: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.wrong(place, f"{data[:40]!r} ({error.reason})", "UTF-8") from None

    def string(self, heap: int, index: int, place: str) -> bytes:
        """An object of a global heap."""
        at = self.signed(heap, b"GCOL", place)
        end = heap + self.number(at + 4, 8, place)
        at += 12
        while at + 16 <= end:
            number, size = self.number(at, 2, place), self.number(at + 8, 8, place)
            if number == index and number:
                self.take(size, place)
                return bytes(self.part(at + 16, size, place))
            if number == 0:
                break
            at += 16 + size + -size % 8
        raise self.wrong(place, f"no object {index} in the heap at {heap}", "a string of the heap")

    # -- trees --------------------------------------------------------------------------------------------------------

    def leaves(self, root: int, kind: int, key: int, place: str) -> Iterator[tuple[int, int]]:
        """The leaves of a tree of version 1: the address of each key, and the child's.

        Args:
            root: the address of the root.
            kind: 0 for groups, 1 for chunks.
            key: the size of a key.
            place: the object, for errors.
        """
        waiting, seen = [root], set[int]()
        while waiting:
            node = waiting.pop()
            if node in seen or len(seen) > MOST:
                raise self.wrong(place, "a tree with a circle", "nodes that stand once in their tree")
            seen.add(node)
            at = self.signed(node, b"TREE", place)
            if self.number(at, 1, place) != kind:
                raise self.wrong(place, f"a tree of the kind {self.number(at, 1, place)}", f"the kind {kind}")
            level, count = self.number(at + 1, 1, place), self.number(at + 2, 2, place)
            at += 20
            self.part(at, count * (key + 8), place)
            children = [(at + n * (key + 8), self.number(at + n * (key + 8) + key, 8, place)) for n in range(count)]
            if level:
                waiting += [child for _, child in reversed(children)]
            else:
                yield from children

    def links(self, tree: int, heap: int, place: str) -> dict[str, int | str]:
        """The names of a group, and the addresses of their headers, or SOFT for a link to another name."""
        addresses: dict[str, int | str] = {}
        for _, leaf in self.leaves(tree, 0, 8, place):
            at = self.signed(leaf, b"SNOD", place)
            count = self.number(at + 2, 2, place)
            at += 4
            self.part(at, 40 * count, place)
            for entry in range(at, at + 40 * count, 40):
                header = self.number(entry + 8, 8, place)
                is_soft = self.number(entry + 16, 4, place) == 2
                if header != NOWHERE or is_soft:
                    addresses[self.name(heap, self.number(entry, 8, place), place)] = SOFT if is_soft else header
                if len(addresses) > MOST:
                    raise self.wrong(place, f"more than {MOST} names", "a group that fits its file")
        return addresses
