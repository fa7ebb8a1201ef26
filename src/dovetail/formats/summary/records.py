"""Summaries of files of records: TFRecord files of examples, and the event files that TensorBoard shows."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from dovetail.core.base.errors import CutError
from dovetail.formats.summary.base import Summary, Table, summary
from dovetail.formats.summary.source import Source
from dovetail.formats.wire.crc import masked_bytes
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.records import scan_records
from dovetail.formats.wire.slim import BYTES, slim, spans

HEAD, LOOKED_AT = 12, 1 << 12  # bytes of the length of a record and its checksum, and of a file that is looked at
READ, LONGEST = 1000, 2**26  # examples that are read, and the bytes of a record that is read
BITS = {"GZIP": 31, "ZLIB": 15}  # compression → zlib's name for it
FIRST = {"GZIP": b"\x1f\x8b", "ZLIB": b"\x78"}  # compression → the first bytes of such a file


# -- recognition ------------------------------------------------------------------------------------------------------


def is_records(source: Source) -> bool:
    """Whether a file begins with the length of a record, and its checksum."""
    return _compression(source) is not None


def _compression(source: Source) -> str | None:
    """The compression of a file of records; None if it is no such file."""
    return next((name for name in ("", *BITS) if _is_head(_head(source, name))), None)


def _head(source: Source, compression: str) -> bytes:
    """The first bytes of the first record, as the compression gives them."""
    data = source.data[:LOOKED_AT]
    if not compression:
        return data[:HEAD]
    if not data.startswith(FIRST[compression]):
        return b""
    try:
        return zlib.decompressobj(BITS[compression]).decompress(data, HEAD)
    except zlib.error:
        return b""


def _is_head(head: bytes) -> bool:
    return len(head) == HEAD and masked_bytes(head[:8]) == head[8:]


def of_records(source: Source) -> Summary:
    """The summary of a file of records, which may be events or examples.

    Raises:
        FormatError: it is damaged.
    """
    compression = _compression(source) or ""
    with closing(scan_records(source.path, compression, lambda number, size: size <= LONGEST)) as records:
        _, first = next(records, (0, None))
    return (_events if first is not None and _is_version(first) else _examples)(source, compression)


def _is_version(record: bytes) -> bool:
    """Whether a record is the first of an event file, which has the version of the file."""
    return any(record[s.first : s.end].startswith(b"brain.Event:") for s in _spans(record) if s.number == 3)


def _spans(record: bytes) -> list[Any]:
    """The fields of a record; none if it is no message."""
    try:
        return list(spans(record, 0, len(record)))
    except ValueError:
        return []


# -- examples ---------------------------------------------------------------------------------------------------------


class _Features:
    """The features of examples: of which kinds, in how many examples, and how many values they have."""

    def __init__(self) -> None:
        self._kinds: dict[str, set[str]] = {}
        self._sizes: dict[str, list[int]] = {}

    def add(self, example: Any) -> None:
        """Count the features of an example, which may be a sequence."""
        for name, feature in example.context.feature.items():
            kind = feature.WhichOneof("kind")
            self._add(name, _kind(feature), len(getattr(feature, kind).value) if kind else 0)
        for name, steps in example.feature_lists.feature_list.items():
            kinds = {_kind(feature) for feature in steps.feature} or {"nothing"}
            self._add(name, f"sequence of {', '.join(sorted(kinds))}", len(steps.feature))

    def _add(self, name: str, kind: str, size: int) -> None:
        self._kinds.setdefault(name, set()).add(kind)
        self._sizes.setdefault(name, []).append(size)

    def table(self) -> Table:
        rows = []
        for name, sizes in sorted(self._sizes.items()):
            low, high = min(sizes), max(sizes)
            count = str(low) if low == high else f"{low} to {high}"
            rows.append((name, ", ".join(sorted(self._kinds[name])), len(sizes), count))
        return Table("features", ("name", "kind", "examples", "values"), rows)


def _kind(feature: Any) -> str:
    return (feature.WhichOneof("kind") or "nothing").removesuffix("_list")


def _examples(source: Source, compression: str) -> Summary:
    count = total = read = examples = 0
    features = _Features()
    wanted = lambda number, size: number < READ and size <= LONGEST  # noqa: E731  # it is one expression
    for size, record in scan_records(source.path, compression, wanted):
        count, total = count + 1, total + size
        if record is not None:
            read += 1
            fields = _spans(record)
            if fields and {(s.number, s.kind) for s in fields} <= {(1, BYTES), (2, BYTES)}:
                features.add(parsed(TENSORFLOW.SequenceExample, record, source.path, f"record {count - 1}"))
                examples += 1
    of = f"{examples} of the first {read} records" if read < count or examples < read else ""
    facts = {"records": count, "bytes of records": total, "compression": compression, "examples": of}
    return summary(source.path, "TFRecord", facts, [features.table()])


# -- events -----------------------------------------------------------------------------------------------------------

PLUGINS = {"scalars": "scalar", "histograms": "histogram", "images": "image"}  # TensorFlow 2's names → ours
VALUES = {"simple_value": "scalar", "histo": "histogram", "obsolete_old_style_histogram": "histogram"}
CONTENTS = {4: "graphs", 6: "log messages", 7: "session logs", 8: "run metadata", 9: "meta graphs"}  # by field


class _Tag:
    """The events of a tag: their kind, their count, and the steps."""

    def __init__(self, value: Any, step: int) -> None:
        plugin, kind = value.metadata.plugin_data.plugin_name, value.WhichOneof("value") or "nothing"
        self.kind = PLUGINS.get(plugin, plugin) or VALUES.get(kind, kind)
        self.count, self.first, self.last = 0, step, step

    def add(self, step: int) -> None:
        self.count, self.first, self.last = self.count + 1, min(self.first, step), max(self.last, step)


def _events(source: Source, compression: str) -> Summary:
    tags: dict[str, _Tag] = {}
    others: Counter[str] = Counter()
    times: list[float] = []
    count, cut = 0, list[str]()
    for record in _whole_records(source, compression, cut):
        count += 1
        if record is None:
            others["events that are too long to be read"] += 1
            continue
        event = slim(TENSORFLOW.Event, record, source.path, f"record {count - 1}")
        others.update(CONTENTS[span.number] for span in _spans(record) if span.number in CONTENTS)
        times = [min([*times[:1], event.wall_time]), max([*times[1:], event.wall_time])]
        for value in event.summary.value:
            tags.setdefault(value.tag, _Tag(value, event.step)).add(event.step)
    rows = [(tag, tally.kind, tally.count, tally.first, tally.last) for tag, tally in sorted(tags.items())]
    facts = {"events": count, **others, **dict(zip(("from", "to"), map(_date, times), strict=False))}
    facts |= {"cut off": ", ".join(cut)}
    columns = ("name", "kind", "count", "first step", "last step")
    return summary(source.path, "event file of TensorBoard", facts, [Table("tags", columns, rows)])


def _whole_records(source: Source, compression: str, cut: list[str]) -> Iterator[bytes | None]:
    """The records of an event file.  If it ends within one, as that of a killed run may, the list gets the place."""
    try:
        yield from (record for _, record in scan_records(source.path, compression, lambda _, size: size <= LONGEST))
    except CutError as error:
        cut.append(f"within {error.place}, after {error.found}")


def _date(seconds: float) -> str:
    """A time in UTC; a number if it is no time."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return str(seconds)
