"""Event files, which TensorBoard shows: TFRecord files of events, each with a time, a step and its contents."""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import CutError
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.records import RecordWriter, read_records

logger = logging.getLogger("dovetail.formats")

VERSION, WRITER = "brain.Event:2", "dovetail"
_numbers = itertools.count()  # of the files of this process, so that no two have one name


class EventWriter:
    """A writer of an event file; several threads may use it.

    Args:
        folder: is made if need be.
        most: the events that may wait in memory.
        seconds: how long they may wait for the next event.
        suffix: the end of the file's name.

    Attributes:
        path: the file.

    Raises:
        ImportError: the extra `formats` is not installed.
        OSError: the file cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], most: int = 10, seconds: float = 120, suffix: str = "") -> None:
        first = TENSORFLOW.Event(wall_time=time.time(), file_version=VERSION)
        first.source_metadata.writer = WRITER
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        self.path = Path(folder) / f"{name}{suffix}"
        self._records = RecordWriter(open(self.path, "xb"))  # noqa: SIM115  # until `close`
        self._most, self._seconds, self._waiting, self._flushed = most, seconds, 0, time.monotonic()
        self._lock = threading.Lock()
        self._add(first.SerializeToString())
        self.flush()

    def add(self, event: Any) -> None:
        """Write an event; after `close` do nothing.

        Args:
            event: a message `Event`, of any library.
        """
        with self._lock:
            self._add(event.SerializeToString())
            if self._waiting > self._most or time.monotonic() - self._flushed > self._seconds:
                self._flush()

    def _add(self, data: bytes) -> None:
        if not self._records.closed:
            self._records.write(data)
            self._waiting += 1

    def flush(self) -> None:
        """Give the events that wait to the system."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        if not self._records.closed:
            self._records.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        """End the file."""
        with self._lock:
            self._records.close()


def read_events(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The events of a file, one after another.

    The file of a run that was killed, or that goes on, may end within an event.  The events before it are read, and
    `logging.getLogger("dovetail.formats")` logs a warning.

    Raises:
        FormatError: the file is damaged.
        OSError: it cannot be read.
    """
    try:
        for number, record in enumerate(read_records(path)):
            yield parsed(TENSORFLOW.Event, record, path, f"record {number}")
    except CutError as error:
        problem = "%r ends within %s (%s): it was cut off, or a program still writes it. The events before it are read."
        logger.warning(problem, error.file, error.place, error.found)
