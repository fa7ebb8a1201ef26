"""Summaries: event files that TensorFlow's own reader reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from tests.libraries import Library, require

require("tensorflow", "it writes and reads the files")

real = Library("tensorflow")


def events(folder: Path) -> list[tuple[int, str, object]]:
    """Step, tag and value of each summary in a folder."""
    found = []
    for path in sorted(folder.glob("events*")):
        for event in real.compat.v1.train.summary_iterator(str(path)):
            found += [(event.step, value.tag, value) for value in event.summary.value]
    return found


def test_what_sessions_make_of_summaries_is_written(tmp_path):
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [None])
        with v1.name_scope("net"):
            v1.summary.scalar("loss", v1.reduce_sum(x))
        v1.summary.histogram("spread", x)
        image = v1.summary.image("picture", v1.reshape(x, [1, 2, 2, 1]), collections=["other"])
        merged = v1.summary.merge_all()
        with v1.summary.FileWriter(str(tmp_path)) as writer:
            for step in range(2):
                total, summary = session.run([v1.reduce_sum(x), merged], {x: [1.0, 2.0, 3.0, 4.0 + step]})
                assert total == 10.0 + step
                writer.add_summary(summary, step)
            writer.add_summary(image.eval({x: np.ones(4)}, session))
            writer.add_summary(v1.Summary(value=[v1.Summary.Value(tag="own", simple_value=0.5)]), 7)
    found = events(tmp_path)
    tags = [(step, tag) for step, tag, _ in found]
    assert tags == [(0, "net/loss"), (0, "spread"), (1, "net/loss"), (1, "spread"), (0, "picture/image/0"), (7, "own")]
    assert [value.simple_value for _, tag, value in found if tag == "net/loss"] == [10.0, 11.0]
    assert (found[1][2].histo.num, found[1][2].histo.sum, sum(found[1][2].histo.bucket)) == (4.0, 10.0, 4.0)
    assert real.io.decode_png(found[4][2].image.encoded_image_string).shape == (2, 2, 1)


def test_what_is_computed_is_written_at_once(tmp_path, engine):
    assert tf.summary.scalar("nowhere", 1.0, step=0) is False
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        assert tf.summary.scalar("loss", tf.constant(0.5), step=3)
        tf.summary.image("picture", np.ones((1, 2, 2, 3)), step=3, max_outputs=1)
        with pytest.raises(ValueError, match="needs a step"):
            tf.summary.histogram("spread", [1.0, 2.0])
    writer.close()
    assert [(step, tag) for step, tag, _ in events(tmp_path)] == [(3, "loss"), (3, "picture/image")]
