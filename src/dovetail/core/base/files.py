"""Atomic writes and locks: a crash or a full disk leaves the old file or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write, which replaces `path` when the `with` block ends without an error.

    Raises:
        OSError: the folder does not exist or cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "numbers") as file:
        ...         _ = file.write(b"123")
        ...     (Path(folder) / "numbers").read_bytes()
        b'123'
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # less the umask of the process
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, which replaces `path` when the `with` block ends without an error.

    Raises:
        OSError: the folder around it does not exist or cannot be written to.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing_folder(Path(folder) / "model") as made:
        ...         _ = (made / "numbers").write_bytes(b"123")
        ...     (Path(folder) / "model" / "numbers").read_bytes()
        b'123'
    """
    temporary, old = (path.with_name(f".{path.name}.{secrets.token_hex(8)}") for _ in range(2))
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            os.replace(path, old)
        try:
            os.replace(temporary, path)
        except BaseException:
            if old.exists():
                os.replace(old, path)
            raise
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


_SAFE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))  # no link, and no wait for a pipe's reader
WAIT, AGAIN = 10.0, 0.002  # seconds: for a lock, at most; and between two tries


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that all processes share by the name of an empty file, which is made.

    It waits for another holder, but ten seconds at most: the holder may be stopped, or be what a signal's handler has
    interrupted.  Then, and without such locks (Windows, some network disks, a link instead of the file), the block runs
    unlocked.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked(Path(folder) / "lock"):
        ...         (Path(folder) / "lock").stat().st_size
        0
    """
    if fcntl is None:
        yield
        return
    with _opened(path) as file:
        try:
            if file is not None:
                _take(file)
            yield
        finally:
            if file is not None:
                with suppress(OSError):  # of a disk that has no locks
                    fcntl.flock(file, fcntl.LOCK_UN)  # a fork may hold the open file, too


def _opened(path: Path) -> AbstractContextManager[BinaryIO | None]:
    try:
        return open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags | _SAFE, 0o600))
    except OSError:
        return nullcontext()


def _take(file: BinaryIO) -> None:
    """Take the lock of a file, if that can be had in time."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(AGAIN)
        except OSError:  # this disk has no locks
            return
