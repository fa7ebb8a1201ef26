"""`tf.contrib.learn.datasets`: tables of CSV, and the data sets by name."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as tf

from tests.libraries import require

datasets = tf.contrib.learn.datasets
ROWS = "6.4,2.8,2\n5.0,2.3,1\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f"2,2,setosa,versicolor\n{ROWS}")
    return path


def test_tables(file, tmp_path):
    data, target = datasets.base.load_csv_with_header(filename=str(file), target_dtype=int, features_dtype=np.float32)
    assert data.tolist() == np.float32([[6.4, 2.8], [5.0, 2.3]]).tolist() and data.dtype == "float32"
    assert target.tolist() == [2, 1] and target.dtype == int
    (tmp_path / "rows.csv").write_text(ROWS)
    table = datasets.base.load_csv_without_header(str(tmp_path / "rows.csv"), float, float, target_column=0)
    assert table.target.tolist() == [6.4, 5.0] and table.data.tolist() == [[2.8, 2.0], [2.3, 1.0]]
    assert datasets.load_iris(file).target.tolist() == datasets.load_boston(str(file)).target.tolist() == [2, 1]


def test_flowers():
    require("sklearn", "it has the table")
    flowers = datasets.load_dataset("iris")
    assert flowers.data.shape == (150, 4) and {*flowers.target} == {0, 1, 2}


def test_nothing_is_downloaded(file, tmp_path):
    assert datasets.base.maybe_download("table.csv", str(tmp_path), "http://a.org/table.csv") == str(file)
    with pytest.raises(FileNotFoundError, match=r"put the file of http://a\.org/b there"):
        datasets.base.maybe_download("b", str(tmp_path), "http://a.org/b")
    with pytest.raises(ValueError, match=r"give data_path, or write keras\.datasets\.boston_housing"):
        datasets.load_boston()
    with pytest.raises(ValueError, match="boston, iris, mnist, not 'cifar'"):
        datasets.load_dataset("cifar")
