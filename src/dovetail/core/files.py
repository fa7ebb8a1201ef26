"""Writing files so that a crash or a full disk leaves either the old file or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write; it takes the place of `path` when the `with` block ends without an error.

    Raises:
        OSError: the folder does not exist or cannot be written to.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(Path(folder) / "numbers") as file:
        ...         _ = file.write(b"123")
        ...     (Path(folder) / "numbers").read_bytes()
        b'123'
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's files are for the owner alone
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """The permissions that new files are made without; the system tells only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
