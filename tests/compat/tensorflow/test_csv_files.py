"""Data sets of tables: the numbers are those that TensorFlow 2.21 reads from the same files."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail.compat.tensorflow as tf
from tests.libraries import require

A = 'x,y,name,big,f\n1,2.5,"a, b",5000000000,1e39\n3,,c,1,2\n-4,1.5,,2,\n'
B = 'x,y,name,big,f\n7,8,"q",3,1\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.csv").write_text(A)
    (tmp_path / "b.csv").write_text(B)
    return str(tmp_path)


def make(pattern, size, **options):
    return tf.data.experimental.make_csv_dataset(pattern, size, **{"shuffle": False, "num_epochs": 1, **options})


def told(columns):
    return {name: (np.asarray(x).tolist(), "string" if name == "name" else x.dtype.name) for name, x in columns.items()}


def test_columns_and_their_dtypes(folder):
    first, last = make(f"{folder}/*.csv", 3)
    assert told(first) == {
        "x": ([1, 3, -4], "int32"),
        "y": ([2.5, 0.0, 1.5], "float32"),
        "name": ([b"a, b", b"c", b""], "string"),
        "big": ([5000000000, 1, 2], "int64"),
        "f": ([1e39, 2.0, 0.0], "float64"),
    }
    assert [*last] == [*first] and told(last)["x"] == ([7], "int32")


def test_labels_and_selected_columns(folder):
    made = make([f"{folder}/b.csv", f"{folder}/a.csv"], 2, label_name="y", select_columns=["y", "x", 2])
    batches = [(told(columns), np.asarray(label).tolist()) for columns, label in made]
    assert batches == [
        ({"x": ([1, 3], "int32"), "name": ([b"a, b", b"c"], "string")}, [2.5, 0.0]),
        ({"x": ([-4, 7], "int32"), "name": ([b"", b"q"], "string")}, [1.5, 8.0]),
    ]


def test_rows_without_end_and_what_follows(folder):
    made = make(f"{folder}/b.csv", 2, num_epochs=None, label_name="f", select_columns=["x", "y", "f"], shuffle=True)
    assert made.element_spec[0]["x"].shape == (2,)
    rows, labels = next(iter(made.map(lambda columns, label: (tf.stack([*columns.values()], axis=1), label))))
    assert np.asarray(rows).tolist() == [[7, 8], [7, 8]] and np.asarray(labels).tolist() == [1, 1]


def test_names_and_defaults_that_are_given(tmp_path):
    (tmp_path / "c.csv").write_text("1;?;'a\n\n2;3;b\n")
    options = {"field_delim": ";", "use_quote_delim": False, "na_value": "?", "header": False, "column_names": [*"abc"]}
    (batch,) = make(str(tmp_path / "c.csv"), 5, column_defaults=[tf.int64, [7.0], [""]], **options)
    assert [np.asarray(x).tolist() for x in batch.values()] == [[1, 2], [7.0, 3.0], [b"'a", b"b"]]
    assert batch["a"].dtype.name == "int64" and batch["b"].dtype.name == "float32"


def test_rows_as_tuples(folder):
    rows = tf.data.experimental.CsvDataset(f"{folder}/a.csv", [tf.float32, [9.0]], header=True, select_cols=[0, 1])
    assert [tuple(map(float, row)) for row in rows] == [(1.0, 2.5), (3.0, 9.0), (-4.0, 1.5)]
    rows = tf.data.experimental.CsvDataset([f"{folder}/b.csv"], [tf.int32, [0]], header=True, exclude_cols=[1, 2, 4])
    assert [tuple(map(int, row)) for row in rows] == [(7, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_name": "no"}, "'no' is none of the columns"),
        ({"select_columns": [9]}, "select_columns has 9"),
        ({"column_names": [*"abcde"], "column_defaults": [tf.int32] * 3}, "column_defaults has 3 columns"),
        ({"column_names": [*"abc"], "column_defaults": [[""]] * 3}, "a row has 5 columns, and there are 3"),
        ({"column_defaults": [tf.int32, tf.float32, [""], [0.0], [0.0]]}, "lacks a value that has no default"),
    ],
)
def test_wrong_columns_are_refused(folder, options, message):
    with pytest.raises(ValueError, match=message):
        [*make(f"{folder}/a.csv", 2, **options)]


def test_files_of_different_columns_are_refused(folder, tmp_path):
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(ValueError, match="different names of columns"):
        make(f"{folder}/*.csv", 2)


def test_rows_with_errors_are_left_out(tmp_path):
    require("tensorflow", "the oracle")
    import tensorflow as theirs

    (tmp_path / "a.csv").write_text("x,y,z\n1,2,a\nno,3,b\n4,5\n6,7.5,c\n8,9,d,more\n,1,e\n10,11,f\n")
    options = {"num_epochs": 2, "shuffle": False, "ignore_errors": True, "label_name": "x"}

    def read(tf):
        made = tf.data.experimental.make_csv_dataset(
            str(tmp_path / "a.csv"), 2, column_defaults=[tf.int32, tf.float32, tf.string], **options
        )
        return [
            (
                type(cells).__name__,
                {key: np.asarray(one).tolist() for key, one in cells.items()},
                label.numpy().tolist(),
            )
            for cells, label in made
        ]

    assert read(tf) == read(theirs)
