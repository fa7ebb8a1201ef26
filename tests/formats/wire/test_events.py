"""Event files: TensorBoard's own reader opens them; damaged ones are refused, and cut ones are read up to the cut."""

from __future__ import annotations

import itertools
import os
import threading

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.events import EventWriter, read_events
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.records import read_records
from tests.libraries import Library, require

require("google_crc32c", "records have its checksums")

loaders = Library("tensorboard.backend.event_processing.event_file_loader")


def event(step):
    return TENSORFLOW.Event(step=step, summary={"value": [{"tag": "loss", "simple_value": step / 2}]})


def test_events_are_read_by_tensorboard(tmp_path):
    writer = EventWriter(tmp_path / "new" / "folder", suffix=".x")
    for step in range(3):
        writer.add(event(step))
    writer.close()
    writer.add(event(4))
    writer.close()
    (path,) = (tmp_path / "new" / "folder").iterdir()
    assert path == writer.path and path.name.startswith("events.out.tfevents.") and path.suffix == ".x"
    found = list(loaders.LegacyEventFileLoader(str(path)).Load())
    assert [one.step for one in found] == [0, 0, 1, 2]
    assert found[0].file_version == "brain.Event:2" and found[0].wall_time > 1e9
    assert [one.summary.value[0].simple_value for one in found[1:]] == [0.0, 0.5, 1.0]
    assert [one.SerializeToString() for one in found] == [one.SerializeToString() for one in read_events(path)]


def test_events_wait_until_there_are_many_or_time_is_over(tmp_path):
    writer, quick = EventWriter(tmp_path, most=2), EventWriter(tmp_path, seconds=0)
    assert writer.path != quick.path
    counts = []
    for step in range(4):
        writer.add(event(step))
        counts.append(sum(1 for _ in read_events(writer.path)))
    assert counts == [1, 1, 4, 4]
    quick.add(event(0))
    assert sum(1 for _ in read_events(quick.path)) == 2
    writer.flush()
    assert sum(1 for _ in read_events(writer.path)) == 5
    writer.close()
    quick.close()


def test_several_threads_write(tmp_path):
    writer = EventWriter(tmp_path, most=7)
    threads = [threading.Thread(target=lambda: [writer.add(event(1)) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sum(1 for _ in read_events(writer.path)) == 801


def test_a_file_that_ends_within_an_event(tmp_path, caplog):
    writer = EventWriter(tmp_path)
    for step in range(3):
        writer.add(event(step))
    writer.close()
    data = writer.path.read_bytes()
    ends = list(itertools.accumulate((16 + len(record) for record in read_records(writer.path)), initial=0))
    for end in range(len(data) + 1):
        writer.path.write_bytes(data[:end])
        caplog.clear()
        found = [one.SerializeToString() for one in read_events(writer.path)]
        seen = [one.SerializeToString() for one in loaders.LegacyEventFileLoader(str(writer.path)).Load()]
        assert found == seen and len(found) == sum(e <= end for e in ends) - 1
        texts = [record.getMessage() for record in caplog.records if record.name == "dovetail.formats"]
        cut = f"{os.fspath(writer.path)!r} ends within record {len(found)} ("
        assert not texts if end in ends else len(texts) == 1 and texts[0].startswith(cut)
    writer.path.write_bytes(data[:-1] + b"x")
    with pytest.raises(FormatError, match="record 3: found bytes of another checksum"):
        list(read_events(writer.path))


def test_a_record_that_is_no_event(tmp_path):
    writer = EventWriter(tmp_path)
    writer._records.write(b"\x0a\xff")
    writer.close()
    with pytest.raises(FormatError, match=f"{os.fspath(tmp_path)}.*record 1: found no Event"):
        list(read_events(writer.path))
