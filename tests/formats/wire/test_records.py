"""TFRecord files: exchanged with TensorFlow in both directions; damaged ones are refused."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.crc import masked_bytes
from dovetail.formats.wire.records import COMPRESSIONS, RecordWriter, read_records
from tests.libraries import Library, require

require("google_crc32c", "records have its checksums")

tf = Library("tensorflow")
RECORDS = [b"", b"one", b"two" * 1000, bytes(range(256)) * 9000]


def write(path, compression="", records=RECORDS):
    with open(path, "wb") as file:
        writer = RecordWriter(file, compression)
        for number, record in enumerate(records):
            writer.write(record)
            if number == 1:
                writer.flush()
        writer.close()
        writer.close()
        assert file.closed


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records_are_read_by_tensorflow(tmp_path, compression):
    write(tmp_path / "x", compression)
    found = tf.data.TFRecordDataset(str(tmp_path / "x"), compression)
    assert [one.numpy() for one in found] == RECORDS == list(read_records(tmp_path / "x", compression))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records_of_tensorflow_are_read(tmp_path, compression):
    with tf.io.TFRecordWriter(str(tmp_path / "x"), compression) as writer:
        for record in RECORDS:
            writer.write(record)
    assert list(read_records(tmp_path / "x", compression)) == RECORDS


def test_the_bytes_are_those_of_tensorflow(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "x")) as writer:
        for record in RECORDS:
            writer.write(record)
    write(tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == (tmp_path / "x").read_bytes()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_file_that_is_cut_is_refused_at_each_byte(tmp_path, compression):
    write(tmp_path / "whole", compression, RECORDS[:3])
    data = (tmp_path / "whole").read_bytes()
    whole = [16, 16 + 19, len(data)] if not compression else [len(data)]
    for end in range(1, len(data)):
        (tmp_path / "cut").write_bytes(data[:end])
        if end in whole:
            assert list(read_records(tmp_path / "cut", compression)) == RECORDS[: whole.index(end) + 1]
        else:
            with pytest.raises(FormatError, match=r"record [0123]"):
                list(read_records(tmp_path / "cut", compression))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_flipped_bit_is_found(tmp_path, compression):
    write(tmp_path / "whole", compression, [b"one", b"two" * 20])
    data = (tmp_path / "whole").read_bytes()
    harmless = 0  # a bit of gzip's header, as the time, or of deflate's padding
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "flipped").write_bytes(changed)
        try:
            found = list(read_records(tmp_path / "flipped", compression))
            assert found == [b"one", b"two" * 20], bit
            harmless += 1
        except FormatError:
            pass
    assert harmless == 0 if not compression else harmless < 0.3 * 8 * len(data)


def test_a_length_that_is_wrong_costs_no_memory(tmp_path):
    length = (2**62).to_bytes(8, "little")
    (tmp_path / "x").write_bytes(length + masked_bytes(length) + b"abc")
    tracemalloc.start()
    with pytest.raises(FormatError, match=r"record 0: found 3 of 4611686018427387904 bytes"):
        list(read_records(tmp_path / "x"))
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_a_compression_that_is_not_known(tmp_path):
    with pytest.raises(ValueError, match="there is no compression 'LZ4'"):
        RecordWriter(io.BytesIO(), "LZ4")
    with pytest.raises(ValueError, match="there is no compression 'LZ4'"):
        next(read_records(tmp_path / "x", "LZ4"))
