"""TensorFlow 1's readers: each run reads a record of the files whose names are in a queue."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.io.queues import QueueBase
from dovetail.compat.tensorflow.names.io.records import options_of
from dovetail.compat.tensorflow.names.strings.tensors import called
from dovetail.compat.tensorflow.names.strings.text import STRING, strings_of
from dovetail.core.base.errors import op_error
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.records import read_records

Record = tuple[bytes, bytes]  # its key, as "file:number", and its bytes


class ReaderBase:
    """The base of readers.  The place in the files belongs to the process: all sessions share it.

    Source: `tf.compat.v1.ReaderBase`.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name, self._lock = name, threading.Lock()
        self._records: Iterator[Record] = iter(())
        self._count = self._files = 0

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Any, Any]:
        """The key and the bytes of the next record; a run raises IndexError after the last one."""

        def one() -> list[Any]:
            with self._lock:
                return list(self._next(queue))

        key, record = called(one, [], [STRING, STRING], [(), ()], name)
        return key, record

    def read_up_to(self, queue: QueueBase, num_records: Any, name: str | None = None) -> tuple[Any, Any]:
        """The keys and the bytes of the next records of a file, at least of one."""

        def several(count: np.ndarray) -> list[np.ndarray]:
            with self._lock:
                pairs = [self._next(queue)]
                pairs += itertools.islice(self._records, int(count) - 1)
                self._count += len(pairs) - 1
            return [np.array(part, object) for part in zip(*pairs, strict=True)]

        keys, records = called(several, [num_records], [STRING, STRING], [(None,), (None,)], name)
        return keys, records

    def _next(self, queue: QueueBase) -> Record:
        while (record := next(self._records, None)) is None:
            name = strings_of(queue.take()).item()
            self._records = self.records(name.decode())
            self._files += 1
        self._count += 1
        return record

    def records(self, path: str) -> Iterator[Record]:
        """The records of a file."""
        raise NotImplementedError

    def num_records_produced(self, name: str | None = None) -> Any:
        """How many records were read."""
        return called(lambda: np.int64(self._count), [], ["int64"], [()], name)[0]

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """How many files were begun."""
        return called(lambda: np.int64(self._files), [], ["int64"], [()], name)[0]

    def reset(self, name: str | None = None) -> Any:
        """The operation after which the reader is as it was in the beginning."""

        def begin() -> bool:
            with self._lock:
                self._records, self._count, self._files = iter(()), 0, 0
            return True

        return called(begin, [], ["bool"], [()], name)[0].op


class TextLineReader(ReaderBase):
    """A reader of the lines of files.

    Args:
        skip_header_lines: the number of lines of each file that are left out.

    Source: `tf.compat.v1.TextLineReader`.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self._skipped = skip_header_lines or 0

    def records(self, path: str) -> Iterator[Record]:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if number > self._skipped:
                    yield f"{path}:{number}".encode(), line.rstrip(b"\r\n")


class WholeFileReader(ReaderBase):
    """A reader of whole files, whose key is the name.

    Source: `tf.compat.v1.WholeFileReader`.
    """

    def records(self, path: str) -> Iterator[Record]:
        yield path.encode(), Path(path).read_bytes()


class IdentityReader(ReaderBase):
    """A reader whose records are the names themselves.

    Source: `tf.compat.v1.IdentityReader`.
    """

    def records(self, path: str) -> Iterator[Record]:
        yield path.encode(), path.encode()


class TFRecordReader(ReaderBase):
    """A reader of files of records.

    Args:
        options: their compression.

    Source: `tf.compat.v1.TFRecordReader`.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(name)
        need("tf.TFRecordReader")
        self._options = options_of(options)

    def records(self, path: str) -> Iterator[Record]:
        for number, record in enumerate(read_records(path, self._options.compression_type)):
            yield f"{path}:{number}".encode(), record


class FixedLengthRecordReader(ReaderBase):
    """A reader of records of one length.

    Args:
        record_bytes: the bytes of a record.
        header_bytes, footer_bytes: the bytes of each file before and after the records.
        hop_bytes: the bytes from the beginning of a record to that of the next; `record_bytes`, if not given.

    Source: `tf.compat.v1.FixedLengthRecordReader`.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(name)
        if encoding not in (None, ""):
            raise op_error(NotImplementedError, "tf.FixedLengthRecordReader", "decompress the files before.")
        self._sizes = record_bytes, header_bytes or 0, footer_bytes or 0, hop_bytes or record_bytes

    def records(self, path: str) -> Iterator[Record]:
        data = Path(path).read_bytes()
        size, first, last, hop = self._sizes
        for number, start in enumerate(range(first, len(data) - last - size + 1, hop)):
            yield f"{path}:{number}".encode(), data[start : start + size]


for _kind in (ReaderBase, TextLineReader, WholeFileReader, IdentityReader, TFRecordReader, FixedLengthRecordReader):
    value(_kind.__name__, _kind, "v1")
