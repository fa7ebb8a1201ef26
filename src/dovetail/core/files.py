"""Atomic writes and locks: a crash or a full disk leaves the old file or the new one, never half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
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
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that all processes share by the name of an empty file, which is made; wait for its holder.

    A process that ends gives its lock up.  Without such locks (Windows, some network disks, a link instead of the
    file), the block runs unlocked.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with locked(Path(folder) / "lock"):
        ...         (Path(folder) / "lock").stat().st_size
        0
    """
    handle = -1
    try:
        if fcntl is not None:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        pass
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)
