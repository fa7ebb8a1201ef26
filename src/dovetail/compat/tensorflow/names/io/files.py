"""TensorFlow's names for files of this machine."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dovetail.compat.tensorflow.entries import value


class GFile:
    """A file of this machine.  It takes strings and bytes in each mode, and gives bytes in those with a "b".

    Args:
        name: the path.
        mode: as of `open`.

    Source: `tf.io.gfile.GFile`.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "words")
        >>> with GFile(path, "wb") as file:
        ...     file.write("one\\n")
        >>> GFile(path).read(), GFile(path, "rb").read()
        ('one\\n', b'one\\n')
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self.name, self.mode = name, mode
        self._file: Any = open(name, mode.replace("b", "").replace("t", "") + "b")  # noqa: SIM115  the program closes it
        self.seekable, self.tell, self.flush, self.close = (
            getattr(self._file, word) for word in ("seekable", "tell", "flush", "close")
        )

    def size(self) -> int:
        """The number of its bytes."""
        return os.path.getsize(self.name)

    def write(self, file_content: str | bytes) -> None:
        """Write a string, in UTF-8, or bytes."""
        self._file.write(file_content.encode() if isinstance(file_content, str) else file_content)

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes, or all that are left; a string, unless the mode is binary."""
        return self._given(self._file.read(n))

    def readline(self) -> Any:
        """The next line, with its end, and without carriage returns; empty at the end of the file."""
        return self._given(self._file.readline().replace(b"\r", b""))

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return [*self]

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place; `position` is an old word for `offset`."""
        self._file.seek(position if offset is None else offset, whence)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if line := self.readline():
            return line
        raise StopIteration

    next = __next__

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _given(self, data: bytes) -> Any:
        return data if "b" in self.mode else data.decode()


def found_files(pattern: Any) -> list[str]:
    """The files that fit a pattern, or several."""
    patterns = [pattern] if isinstance(pattern, str) else pattern
    return [path for one in patterns for path in sorted(glob.glob(one))]


def _moving(function: Callable[[Any, Any], Any]) -> Callable[..., None]:
    """A function that writes a file, and leaves one that is there unless `overwrite` says otherwise."""

    def move(src: Any, dst: Any, overwrite: bool = False) -> None:
        if os.path.exists(dst) and not overwrite:
            raise FileExistsError(f"{dst} is there: say overwrite=True, or give another name.")
        function(src, dst)

    return move


class FileStatistics(NamedTuple):
    """Facts about a file.

    Source: `tf.io.gfile.stat`.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def stat(path: Any) -> FileStatistics:
    """The length of a file, and when it was last changed.

    Source: `tf.io.gfile.stat`.
    """
    told = os.stat(path)
    return FileStatistics(told.st_size, told.st_mtime_ns, os.path.isdir(path))


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder below one, with the names of its folders and of its files.

    Source: `tf.io.gfile.walk`.
    """
    return os.walk(top, topdown, onerror)


def _remove(path: str) -> None:
    """Delete a file."""
    os.remove(path)


for _new, _old, _function in (
    ("GFile", "GFile Open FastGFile", GFile),
    ("exists", "Exists", os.path.exists),
    ("isdir", "IsDirectory", os.path.isdir),
    ("listdir", "ListDirectory", os.listdir),
    ("makedirs", "MakeDirs", lambda path: os.makedirs(path, exist_ok=True)),
    ("mkdir", "MkDir", os.mkdir),
    ("glob", "Glob", found_files),
    ("remove", "Remove", _remove),
    ("rmtree", "DeleteRecursively", shutil.rmtree),
    ("rename", "Rename", _moving(os.replace)),
    ("copy", "Copy", _moving(shutil.copyfile)),
    ("stat", "Stat", stat),
    ("walk", "Walk", walk),
    ("join", "", os.path.join),
):
    value(f"io.gfile.{_new}", _function)
    value(" ".join(f"gfile.{name}" for name in _old.split()), _function, "v1")
