"""Checks that Keras' wrappers for scikit-learn work on Dovetail, in a process where Keras runs on it."""

from __future__ import annotations

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
import numpy as np
from keras.wrappers import SKLearnClassifier, SKLearnRegressor
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dovetail as dt
from tests.keras_backends import ENGINES, main

LONG = {"epochs": 15, "verbose": 0}  # given to `fit`: Keras' wrappers forget their `fit_kwargs` when they are cloned


def mlp(X, y, units, outputs, activation, loss):
    keras.utils.set_random_seed(1)
    middle = [] if units == 0 else [keras.layers.Dense(units, "relu")]
    last = keras.layers.Dense(outputs, activation)
    model = keras.Sequential([keras.Input((X.shape[1],)), *middle, last])
    model.compile(keras.optimizers.Adam(0.05), loss)
    return model


def classifier(units=16):
    kwargs = {"units": units, "outputs": 3, "activation": "softmax", "loss": "categorical_crossentropy"}
    return SKLearnClassifier(mlp, model_kwargs=kwargs)


def regressor():
    kwargs = {"units": 0, "outputs": 1, "activation": None, "loss": "mse"}
    return SKLearnRegressor(mlp, model_kwargs=kwargs, fit_kwargs={"epochs": 20, "verbose": 0})


def check_cross_validation_gives_the_same_scores_on_each_engine():
    X, y = load_iris(return_X_y=True)
    found = []
    for name in ENGINES:
        with dt.engine(name):
            pipeline = make_pipeline(StandardScaler(), classifier())
            options = {f"sklearnclassifier__{name}": value for name, value in LONG.items()}
            found.append(cross_val_score(pipeline, X, y, cv=2, params=options))
    assert found[0].min() > 0.85, found
    for scores in found[1:]:
        np.testing.assert_allclose(scores, found[0], atol=0.014)  # at most one flower of 75


def check_a_search_over_two_processes_finds_what_one_finds():
    """Check that models go to other processes and back; there KERAS_BACKEND selects the backend."""
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    grid = {"model_kwargs": [{**classifier().model_kwargs, "units": units} for units in (0, 8)]}
    found = []
    for jobs in (1, 2):
        found.append(GridSearchCV(classifier(), grid, cv=2, n_jobs=jobs).fit(X, y, **LONG))
    one, two = (search.cv_results_["mean_test_score"] for search in found)
    np.testing.assert_array_equal(one, two)
    assert one[0] != one[1] and found[1].best_score_ > 0.85, one
    assert isinstance(found[1].best_estimator_.model_.weights[0]._value, dt.Variable)


def check_regression_in_a_pipeline():
    X, y = load_diabetes(return_X_y=True)
    scaled = (y - y.mean()) / y.std()
    found = []
    for name in ENGINES:
        with dt.engine(name):
            estimator = make_pipeline(StandardScaler(), regressor()).fit(X, scaled)
            found.append(estimator.score(X, scaled))
            assert estimator.predict(X).shape == (442,)
    assert found[0] > 0.48  # least squares explain 0.518 of the variance
    np.testing.assert_allclose(found, found[0], rtol=1e-3)


def check_estimators_are_cloned_unfitted():
    X, y = load_iris(return_X_y=True)
    fitted = classifier().fit(X, y, epochs=1, verbose=0)
    assert hasattr(fitted, "model_") and not hasattr(clone(fitted), "model_")


if __name__ == "__main__":
    main(globals())
