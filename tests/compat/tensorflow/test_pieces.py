"""Parts of strings, texts with tensors in them, tensors as bytes, and files that a run writes."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from tests.libraries import require

v1 = tf.compat.v1
WORDS = np.array([b"a b  c", b"", b"d,e b"], object)


@pytest.fixture
def tensorflow():
    require("tensorflow", "it is the oracle")
    import tensorflow

    return tensorflow


def of_graph(lib, make):
    """The results of a graph in a session."""
    with lib.Graph().as_default(), lib.Session() as session:
        return session.run(make(lib))


@pytest.mark.parametrize("given", [{}, {"sep": " "}, {"sep": "b", "maxsplit": 1}], ids=str)
def test_parts_of_strings(tensorflow, given):
    def parts(lib):
        found = lib.strings.split(lib.constant(WORDS.tolist()), **given)
        return [found.indices, found.values, found.dense_shape]

    for mine, their in zip(of_graph(v1, parts), of_graph(tensorflow.compat.v1, parts), strict=True):
        assert mine.tolist() == their.tolist()


def test_parts_of_one_string(tensorflow):
    for lib in (tf, tensorflow):
        assert lib.strings.split("a/b/c", "/").numpy().tolist() == [b"a", b"b", b"c"]
        assert lib.strings.bytes_split("ab").numpy().tolist() == [b"a", b"b"]
        given = lib.strings.unicode_transcode(["é"], "UTF-8", "UTF-16-BE").numpy().tolist()
        assert given == ["é".encode("utf-16-be")]
    for call in (tf.strings.split, tf.strings.bytes_split):
        with pytest.raises(NotImplementedError, match=r"split one string, or use tf\.compat\.v1"):
            call(["a b"])
    with pytest.raises(NotImplementedError, match="leave result_type out"):
        v1.strings.split(["a"], result_type="RaggedTensor")


def test_texts_with_tensors(tensorflow):
    for lib in (tf, tensorflow):
        x, y = lib.range(9), lib.constant(2.5)
        assert lib.strings.format("x: {}, y: {}!", (x, y)).numpy() == b"x: [0 1 2 ... 6 7 8], y: 2.5!"
        assert lib.strings.format("%", x[:2], "%", -1).numpy() == b"[0 1]"
    with pytest.raises(ValueError, match="2 places for 1 tensors"):
        tf.strings.format("{} {}", [x])


ARRAYS = [np.float32([[1.5, -2]]), np.int64(7), np.array([True, False]), np.zeros((0, 3), "uint8"), np.float16([0.5])]


@pytest.mark.parametrize("array", [*ARRAYS, np.array([b"a", b"bc"], object)], ids=lambda x: f"{x.dtype}{x.shape}")
def test_tensors_as_bytes(tensorflow, array):
    dtype = "string" if array.dtype == object else array.dtype.name
    given = array.tolist() if array.dtype == object else array
    ours, theirs = (lib.io.serialize_tensor(lib.constant(given)).numpy() for lib in (tf, tensorflow))
    for lib in (tf, tensorflow):
        for data in (ours, theirs):
            found = lib.io.parse_tensor(lib.constant(data), getattr(lib, dtype)).numpy()
            assert found.shape == array.shape and found.tolist() == array.tolist()


def test_bytes_in_graphs():
    def there_and_back(lib):
        return lib.parse_tensor(lib.serialize_tensor(lib.placeholder_with_default(ARRAYS[0], [None, 2])), lib.float32)

    assert of_graph(v1, there_and_back).tolist() == ARRAYS[0].tolist()
    with pytest.raises(ValueError, match="of int64, not of float32"):
        tf.io.parse_tensor(tf.io.serialize_tensor(ARRAYS[1]), tf.float32)


def test_files(tmp_path):
    path = tmp_path / "new" / "a.txt"
    assert tf.io.write_file(str(path), b"at once") is None and path.read_bytes() == b"at once"
    with v1.Graph().as_default(), v1.Session() as session:
        data = v1.placeholder(v1.string, [])
        write = v1.write_file(str(path), data)
        session.run(write, {data: b"by a run"})
    assert path.read_bytes() == b"by a run"


def test_times():
    before = time.time()
    assert before <= float(tf.timestamp()) <= of_graph(v1, lambda lib: lib.timestamp()) <= time.time()
