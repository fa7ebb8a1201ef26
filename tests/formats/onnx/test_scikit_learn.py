"""Trees, vector machines and labels of scikit-learn, as skl2onnx writes them, against ONNX Runtime."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.formats.onnx.running import session_of
from tests.libraries import Library, require

skl2onnx = Library("skl2onnx")
datasets = Library("sklearn.datasets")
require("sklearn", "it trains the models")
require("skl2onnx", "it writes them as ONNX")

TREES = ["tree.DecisionTree", "ensemble.RandomForest", "ensemble.GradientBoosting", "ensemble.ExtraTrees"]
CLASSIFIERS = [
    *TREES,
    "ensemble.Bagging",
    "ensemble.AdaBoost",
    "linear_model.LogisticRegression",
    "svm.SVC",
    "svm.NuSVC",
]
REGRESSORS = [*TREES, "svm.SVR"]


def estimator(name: str, kind: str = "") -> Any:
    """An estimator of scikit-learn, with a seed and of few parts."""
    module, _, own = name.partition(".")
    classes = import_module(f"sklearn.{module}")
    of = getattr(classes, own + kind, None) or getattr(classes, own)
    seed = {"random_state": 0} if "random_state" in of().get_params() else {}
    few = {"n_estimators": 5} if module == "ensemble" else {}
    return of(**few, **seed)


def agree(fitted: Any, x: np.ndarray, **options: Any) -> list[Any]:
    """The results of a fitted estimator, which are those of ONNX Runtime."""
    proto = skl2onnx.to_onnx(fitted, x[:1], target_opset={"": 18, "ai.onnx.ml": 3}, options=options or None)
    wanted = session_of(proto.SerializeToString()).run(None, {proto.graph.input[0].name: x})
    found = dt.onnx.load(proto).run([x])
    results = [one if isinstance(one, (np.ndarray, list)) else one.numpy() for one in found]
    for mine, theirs in zip(results, wanted, strict=True):
        if isinstance(theirs, list):  # of maps
            assert [list(one) for one in mine] == [list(one) for one in theirs]
            mine, theirs = ([list(one.values()) for one in side] for side in (mine, theirs))
        if np.asarray(theirs).dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
        else:
            assert mine.tolist() == theirs.tolist()
    return results


def flowers(classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.load_iris(return_X_y=True)
    return x[y < classes].astype("float32"), y[y < classes]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore")
def test_classifiers(name: str):
    for classes in (2, 3):
        x, y = flowers(classes)
        words = np.array(["setosa", "versicolor", "virginica"])[y]
        for labels, options in ((words, {}), (y, {"zipmap": False})):
            fitted = estimator(name, "Classifier").fit(x, labels)
            assert agree(fitted, x, **options)[0].tolist() == fitted.predict(x).tolist()


@pytest.mark.filterwarnings("ignore")
def test_pairwise_probabilities():
    from sklearn.svm import SVC

    x, y = flowers()
    agree(SVC(kernel="poly", probability=True, random_state=0).fit(x, y), x, zipmap=False)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore")
def test_regressors(name: str):
    x, y = datasets.make_regression(40, 4, random_state=0)
    fitted = estimator(name, "Regressor").fit(x.astype("float32"), y / 100)
    (found,) = agree(fitted, x.astype("float32"))
    np.testing.assert_allclose(found.reshape(-1), fitted.predict(x.astype("float32")), rtol=1e-3, atol=1e-3)


def test_columns_of_words_and_numbers():
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    x, y = flowers()
    words = np.array([["red"], ["blue"], ["green"]], object)[(x[:, 0] * 10).astype(int) % 3]
    table = np.concatenate([words, x.astype(object)], 1)
    parts = ColumnTransformer([("words", OneHotEncoder(), [0]), ("numbers", StandardScaler(), [1, 2, 3, 4])])
    fitted = make_pipeline(parts, LogisticRegression()).fit(table, y)
    types = [("words", skl2onnx.common.data_types.StringTensorType([None, 1]))]
    types.append(("numbers", skl2onnx.common.data_types.FloatTensorType([None, 4])))
    proto = skl2onnx.to_onnx(fitted, initial_types=types, target_opset=18, options={"zipmap": False})
    given = {"words": words, "numbers": x}
    wanted = session_of(proto.SerializeToString()).run(None, given)
    found = dt.onnx.load(proto)(**given)
    np.testing.assert_allclose(found["probabilities"].numpy(), wanted[1], atol=1e-5)
    assert found["label"].numpy().tolist() == wanted[0].tolist()


def test_pipelines_on_every_engine(engine: str):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = flowers()
    agree(make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)).fit(x, y), x)
