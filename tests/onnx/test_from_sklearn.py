"""Models of scikit-learn that leave by skl2onnx: Dovetail gives the results of scikit-learn and ONNX Runtime."""

from __future__ import annotations

import functools
import tempfile
import warnings
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests import foreign
from tests.formats.onnx.running import onnxruntime
from tests.libraries import Library, require

for library in ("skl2onnx", "sklearn", "onnxruntime"):
    require(library, "it exports the models, or runs them")
skl2onnx = Library("skl2onnx")
sklearn_pipeline, sklearn_utils = Library("sklearn.pipeline"), Library("sklearn.utils")

CLASSIFIERS = """
StandardScaler() LogisticRegression()
PCA(2) KNeighborsClassifier(3)
MLPClassifier((8,),max_iter=20,random_state=0)
MinMaxScaler() MultinomialNB()
GaussianNB()
BernoulliNB()
LinearDiscriminantAnalysis()
OneVsRestClassifier(LogisticRegression())
CalibratedClassifierCV(LogisticRegression())
StackingClassifier([("a",LogisticRegression()),("b",GaussianNB())])
RobustScaler() KBinsDiscretizer(3,encode="onehot-dense",quantile_method="averaged_inverted_cdf") LogisticRegression()
SelectKBest(k=2) MaxAbsScaler() SGDClassifier(loss="log_loss",random_state=0)
Normalizer() PolynomialFeatures(2) LogisticRegression()
SimpleImputer() Binarizer() TruncatedSVD(2) LogisticRegression()
QuantileTransformer(n_quantiles=20) PowerTransformer() LogisticRegression()
PCA(2) SVC(probability=True,random_state=0)
DecisionTreeClassifier(max_depth=4)
RandomForestClassifier(5,random_state=0)
GradientBoostingClassifier(n_estimators=4)
AdaBoostClassifier(n_estimators=4)
"""
REGRESSORS = """
LinearRegression()
StandardScaler() Ridge()
KNeighborsRegressor(3)
KernelPCA(2,kernel="rbf") Lasso(0.1)
PLSRegression(2)
TweedieRegressor()
SVR()
DecisionTreeRegressor(max_depth=4)
ExtraTreesRegressor(4,random_state=0)
GradientBoostingRegressor(n_estimators=4)
MLPRegressor(hidden_layer_sizes=(8,),max_iter=20,random_state=0)
"""
TRANSFORMERS = """
StandardScaler()
PCA(2,whiten=True)
GaussianRandomProjection(2,random_state=0)
KMeans(3,n_init=1,random_state=0)
"""


@functools.cache
def classes() -> dict[str, Any]:
    """The estimators of scikit-learn by name."""
    return dict(sklearn_utils.discovery.all_estimators())


def made(text: str) -> Any:
    """The pipeline of a row."""
    return sklearn_pipeline.make_pipeline(*(eval(one, classes()) for one in text.split(" ")))


def rows(texts: str) -> list[str]:
    return texts.strip().splitlines()


def data() -> tuple[np.ndarray, np.ndarray]:
    """Rows of four features, and numbers that depend on them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 4)).astype("float32")
    return x, (x @ np.float32([1, 2, -1, 0.5]) + np.abs(x[:, 0])).astype("float32")


def left(model: Any, types: list[Any], **options: Any) -> tuple[Any, Any]:
    """A model that left scikit-learn, on Dovetail and on ONNX Runtime."""
    file = skl2onnx.to_onnx(model, initial_types=types, target_opset=18, **options).SerializeToString()
    return dt.onnx.load(file), onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])


def compare(model: Any, given: dict[str, Any], expected: dict[str, Any], **options: Any) -> None:
    """Compare the results of a model with ONNX Runtime's, scikit-learn's, and those of TensorFlow, where it goes on."""
    kinds = {"f": "FloatTensorType", "O": "StringTensorType"}
    types = skl2onnx.common.data_types
    inputs = [(name, getattr(types, kinds[x.dtype.kind])([None, x.shape[1]])) for name, x in given.items()]
    loaded, ready = left(model, inputs, **options)
    found = dict(zip(loaded.outputs, loaded.run([given[name] for name in loaded.inputs]), strict=True))
    results = dict(zip([one.name for one in ready.get_outputs()], ready.run(None, given), strict=True))
    agree(found, results)
    agree(found, expected)
    if all(np.asarray(x).dtype.kind not in "OU" for x in (*given.values(), *results.values())):  # strings stay here
        with tempfile.TemporaryDirectory() as folder:
            dt.saved_model.save(loaded, folder)
            agree(foreign.saved_model(folder, given), results)


def agree(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, values in wanted.items():
        ours, theirs = np.asarray(found[name]), np.asarray(values)
        if theirs.dtype.kind in "OU":
            assert ours.tolist() == theirs.tolist()
        else:
            np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("text", rows(CLASSIFIERS))
def test_classifiers(text: str, is_named: bool):
    x, y = data()
    labels = (y > 0).astype("int64") + (y > 2)
    labels = np.array(["low", "middle", "high"])[labels] if is_named else labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, that few steps of training are few
        model = made(text).fit(x[:60], labels[:60])
    compare(
        model,
        {"x": x[60:]},
        {"label": model.predict(x[60:]), "probabilities": model.predict_proba(x[60:])},
        options={"zipmap": False},
    )


@pytest.mark.parametrize("text", rows(REGRESSORS))
def test_regressors(text: str):
    x, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made(text).fit(x[:60], y[:60])
    compare(model, {"x": x[60:]}, {"variable": model.predict(x[60:])})


@pytest.mark.parametrize("text", rows(TRANSFORMERS))
def test_transformers(text: str):
    x, _ = data()
    model = made(text).fit(x[:60])
    has_labels = hasattr(model, "predict")
    found = {"scores" if has_labels else "variable": model.transform(x[60:])}
    compare(model, {"x": x[60:]}, found | ({"label": model.predict(x[60:])} if has_labels else {}))


def test_columns_of_numbers_and_words():
    x, y = data()
    words = np.random.default_rng(1).choice(["red", "green", "blue"], (80, 1)).astype(object)
    names, whole = classes(), np.concatenate([x.astype(object), words], 1)
    columns = [("numbers", names["StandardScaler"](), [0, 1, 2, 3]), ("words", names["OneHotEncoder"](), [4])]
    steps = names["ColumnTransformer"](columns), names["LogisticRegression"]()
    model = sklearn_pipeline.make_pipeline(*steps).fit(whole[:60], y[:60] > 0)
    expected = {"probabilities": model.predict_proba(whole[60:])}
    compare(model, {"numbers": x[60:], "words": words[60:]}, expected, options={"zipmap": False})
