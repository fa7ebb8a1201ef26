"""Executables of XLA on disk: JAX's persistent compilation cache, with Dovetail's own store below it.

JAX decides which executables to keep, and makes their keys.  JAX's own store returns the content of any file of the
right name, which then runs as machine code.  Here a file begins with a digest of its key and its content, so a file
that is cut, damaged or renamed is no entry.  The folder must belong to the user alone.  Its name has a digest of the
settings that JAX's keys leave out.  The most recently used entries stay, up to a number of bytes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jaxlib

from dovetail.core.base.cache_folder import place, processor
from dovetail.core.base.files import replacing
from dovetail.core.base.optional_api import optional_api
from dovetail.core.base.version import VERSION
from dovetail.core.engines.engine_registry import threads

logger = logging.getLogger("dovetail.engines")

SETTING = "jax_compilation_cache_dir"
# XLA's own files for GPUs would lie in the folder, too, without a limit.
OTHERS = {"jax_persistent_cache_enable_xla_caches": "", "jax_persistent_cache_min_compile_time_secs": 0.1}
MOST = 256 << 20  # bytes of all entries
OPENED = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY"))  # a link or pipe is no entry

_caches = optional_api(jax, "_src.compilation_cache")
_NEEDED = ("get_file_cache", "get_executable_and_time", "put_executable_and_time", "reset_cache")
_has_store = all(optional_api(jax, f"_src.compilation_cache.{name}") is not None for name in _NEEDED)


def start() -> None:
    """Keep XLA's executables from now on, if Dovetail has a cache folder and the user has set up no JAX cache."""
    config, folder = jax.config, place()
    is_set = (
        SETTING.upper() in os.environ or config.jax_compilation_cache_dir or not config.jax_enable_compilation_cache
    )
    if is_set or isinstance(folder, str) or not _has_store or not hasattr(os, "geteuid"):
        return
    ours, theirs = str(folder / "xla"), _caches.get_file_cache
    before: dict[str, Any] = {}

    def get_file_cache(path: str) -> Any:
        return _opened(Path(path), before) if path == ours else theirs(path)

    def is_ours() -> bool:
        return getattr(config, SETTING) == ours

    _caches.get_file_cache = get_file_cache
    _caches.get_executable_and_time = _quiet(_caches.get_executable_and_time, is_ours, (None, None))
    _caches.put_executable_and_time = _quiet(_caches.put_executable_and_time, is_ours, None)
    config.update(SETTING, ours)
    for name, value in OTHERS.items():
        if name.upper() not in os.environ:
            before[name] = getattr(config, name)
            config.update(name, value)


def _quiet(function: Callable[..., Any], is_ours: Callable[[], bool], otherwise: Any) -> Callable[..., Any]:
    """A function of JAX's cache that raises no errors if the cache is Dovetail's, so that JAX does not warn.

    XLA cannot serialize a program that takes its memory in several blocks, so such a program is no reason to warn.
    """

    @functools.wraps(function)
    def quiet(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if not is_ours():
                raise
            logger.debug("an executable of jax is not kept on disk: %s", error)
            return otherwise

    return quiet


def _opened(root: Path, before: dict[str, Any]) -> tuple[Store, str] | None:
    """The store in a folder, which is created; None if the folder cannot be used, and the log says why."""
    folder = root / _digest()
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        for made in (root, folder):
            made.mkdir(0o700, exist_ok=True)
            _check(made)
    except OSError as error:
        logger.warning("what jax compiles is not kept on disk: %s", error)
        return None
    return Store(folder, before), str(root)


def _check(folder: Path) -> None:
    """Refuse a folder into which another user may write, since its files run as machine code.

    Raises:
        PermissionError: another user may write into the folder.
    """
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{str(folder)!r} must be a folder of this user, into which no other user may write.")


def _digest() -> str:
    """A digest of the settings on which executables depend, and which JAX's keys leave out."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    said = [os.environ.get(name, "") for name in ("XLA_FLAGS", "NPROC")]
    parts = [VERSION, jax.__version__, jaxlib.__version__, processor(), str(cores), str(threads()), *said]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


class Store:
    """The entries of a folder, as JAX's cache asks for them.

    Args:
        folder: a folder of this user alone.
        before: JAX's former settings; they come back when the user sets up a JAX cache after all.
    """

    def __init__(self, folder: Path, before: dict[str, Any]) -> None:
        self._path = folder
        self._before = before
        self._has_warned = False

    def get(self, key: str) -> bytes | None:
        """The content of an entry; None without a valid one."""
        if self._is_left():
            return None
        path = self._file(key)
        try:
            with open(path, "rb", opener=lambda name, flags: os.open(name, flags | OPENED)) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size > MOST:
                    return None
                head, content = file.read(len(_head("", b""))), file.read()
            if head != _head(key, content):
                return None
            os.utime(path)  # it is used now
        except OSError:
            return None
        return content

    def put(self, key: str, value: bytes) -> None:
        """Keep an entry, and remove the least recently used ones."""
        if self._is_left() or len(value) > MOST // 4:
            return
        try:
            with replacing(self._file(key)) as file:
                file.write(_head(key, value))
                file.write(value)
            self._forget()
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                logger.warning("what jax compiles is not kept on disk: %s", error)

    def _file(self, key: str) -> Path:
        return self._path / hashlib.sha256(key.encode()).hexdigest()

    def _is_left(self) -> bool:
        """Whether the user has set up another cache since; JAX opens that one the next time."""
        if getattr(jax.config, SETTING) == str(self._path.parent):
            return False
        for name, value in self._before.items():
            if getattr(jax.config, name) == OTHERS[name]:
                jax.config.update(name, value)
        _caches.reset_cache()
        return True

    def _forget(self) -> None:
        files = sorted(_files(self._path.parent), reverse=True)  # the latest first
        total = 0
        for _, size, path in files:
            total += size
            if total > MOST:
                path.unlink(missing_ok=True)
                if path.parent != self._path:
                    with contextlib.suppress(OSError):  # it has other entries
                        path.parent.rmdir()


def _head(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _files(root: Path) -> Iterator[tuple[int, int, Path]]:
    """The time of last use, the size and the path of each file, of all processors and versions."""
    for path in root.glob("*/*"):
        with contextlib.suppress(OSError):  # another process has removed it
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield status.st_mtime_ns, status.st_size, path
