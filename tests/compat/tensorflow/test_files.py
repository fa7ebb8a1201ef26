"""Files of this machine by TensorFlow's names: strings and bytes, folders."""

from __future__ import annotations

import csv
import json
import pickle

import numpy as np
import pytest

from dovetail.compat import tensorflow as tf
from tests.libraries import Library

real = Library("tensorflow")
v1 = tf.compat.v1


def test_files(tmp_path):
    path = str(tmp_path / "folder")
    tf.io.gfile.makedirs(path)
    with v1.gfile.GFile(f"{path}/text", "w") as file:
        file.write("words")
    for mode in ("r", "rb"):
        with tf.io.gfile.GFile(f"{path}/text", mode) as file:
            assert file.size() == 5
    assert (tf.io.gfile.exists(f"{path}/text"), v1.gfile.Glob(f"{path}/*")) == (True, [f"{path}/text"])


def read_and_written(lib, folder):
    """What files give that are written in each mode, as strings and as bytes."""
    results = []
    for mode in ("w", "wb", "a", "ab"):
        for content in ("é\r\nb\n", b"\xc3\xa9\nc"):
            with lib.io.gfile.GFile(f"{folder}/text", mode) as file:
                results.append(file.write(content))
            text, data = (lib.io.gfile.GFile(f"{folder}/text", way) for way in ("r", "rb"))
            results += [text.read(3), text.tell(), text.read(), text.read(), data.read(3), data.size(), data.read()]
            results += [text.seek(0), text.readline(), next(text), data.seek(position=0), data.readlines(), [*text]]
    return results


def test_files_give_strings_or_bytes_as_tensorflows(tmp_path):
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    assert read_and_written(tf, tmp_path / "ours") == read_and_written(real, str(tmp_path / "theirs"))


def test_libraries_read_and_write_them(tmp_path):
    def both(name, mode, write, read):
        with v1.gfile.Open(str(tmp_path / name), mode) as file:
            write(file)
        with v1.gfile.Open(str(tmp_path / name), mode.replace("w", "r")) as file:
            return read(file)

    assert both("json", "w", lambda f: json.dump({"a": 1}, f), json.load) == {"a": 1}
    assert both("pickle", "wb", lambda f: pickle.dump({"a": 1}, f), pickle.load) == {"a": 1}
    assert both("csv", "w", lambda f: csv.writer(f).writerow([1, 2]), lambda f: [*csv.reader(f)]) == [["1", "2"]]
    assert both("array", "wb", lambda f: np.save(f, np.arange(3)), np.load).tolist() == [0, 1, 2]
    assert both("numbers", "w", lambda f: np.savetxt(f, np.arange(3)), np.loadtxt).tolist() == [0, 1, 2]


def test_files_are_overwritten_if_the_program_says_so(tmp_path):
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    for path in (one, other):
        with tf.io.gfile.GFile(path, "w") as file:
            file.write(path)
    for call in (tf.io.gfile.copy, v1.gfile.Copy, tf.io.gfile.rename, v1.gfile.Rename):
        with pytest.raises(tf.errors.AlreadyExistsError, match="overwrite=True"):
            call(one, other)
    v1.gfile.Copy(one, other, overwrite=True)
    assert tf.io.gfile.GFile(other).read() == one
    tf.io.gfile.rename(one, other, True)
    assert not tf.io.gfile.exists(one)


def test_folders_are_walked(tmp_path):
    tf.io.gfile.makedirs(tf.io.gfile.join(str(tmp_path), "a", "b"))
    (tmp_path / "a" / "b" / "text").write_text("words")
    top = str(tmp_path / "a")
    wanted = [(top, ["b"], []), (f"{top}/b", [], ["text"])]
    assert [*v1.gfile.Walk(top)] == wanted and [*tf.io.gfile.walk(top, topdown=False)] == wanted[::-1]
    told, theirs = tf.io.gfile.stat(f"{top}/b/text"), real.io.gfile.stat(f"{top}/b/text")
    assert (told.length, told.mtime_nsec // 10**9, told.is_directory) == (5, theirs.mtime_nsec // 10**9, False)
