"""`keras.wrappers.scikit_learn` of Keras 1 and 2: models as estimators of scikit-learn, made by a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

import keras
import numpy as np

from dovetail.compat.keras2.utils import has_arg, to_list

METHODS = keras.Model.fit, keras.Model.predict, keras.Model.evaluate  # whose arguments an estimator takes


def wrapped_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The method that an estimator trains its model with; `dovetail run --steps` makes another of it."""
    return fit


class BaseWrapper:
    """An estimator whose model a function makes each time that it is fitted.

    Args:
        build_fn: a function that returns a compiled model, or an object with `__call__`; None if the class defines it.
        sk_params: arguments of `build_fn`, and of `fit`, `predict` and `evaluate` of the model.

    Raises:
        ValueError: none of these functions has the argument.

    Source: `keras.wrappers.scikit_learn` of Keras 2.3.
    """

    estimator_type: str | None = None

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def check_params(self, params: dict[str, Any]) -> None:
        """Raise a ValueError for a name that is no argument of any function."""
        functions = *METHODS, self._makes
        for name in params:
            if name != "nb_epoch" and not any(has_arg(function, name) for function in functions):
                raise ValueError(f"{name} is not a legal parameter: {_name(self._makes)} and fit do not take it.")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """The arguments by name, with `build_fn`."""
        return {**self.sk_params, "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Self:
        """Change arguments; the next `fit` uses them."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def filter_sk_params(self, fn: Callable[..., Any], override: dict[str, Any] | None = None) -> dict[str, Any]:
        """The arguments of the estimator that a function takes, and `override`."""
        return {**{name: value for name, value in self.sk_params.items() if has_arg(fn, name)}, **(override or {})}

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Make a model and train it.

        Args:
            x: (samples, features).
            y: (samples,) or (samples, outputs).
            kwargs: arguments of the model's `fit`; they win over the estimator's.

        Returns:
            The history of the training.
        """
        self.model = self._makes(**self.filter_sk_params(self._makes))
        old = {"epochs": self.sk_params["nb_epoch"]} if "nb_epoch" in self.sk_params else {}
        return wrapped_fit(self.model.fit)(
            x, self._targets(y), **{**old, **self.filter_sk_params(METHODS[0]), **kwargs}
        )

    @property
    def _makes(self) -> Callable[..., Any]:
        build: Any = self.build_fn or self
        return build if inspect.isroutine(build) else build.__call__

    def _targets(self, y: Any) -> Any:
        """Make classes vectors if the model's loss needs these."""
        loss = self.model.loss
        is_categorical = getattr(loss, "__name__", loss) == "categorical_crossentropy"
        return keras.utils.to_categorical(y) if is_categorical and np.ndim(y) != 2 else y

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        kind = getattr(self, "_estimator_type", self.estimator_type)  # which programs set
        tags: dict[Any, Any] = {
            "classifier": {"classifier_tags": ClassifierTags()},
            "regressor": {"regressor_tags": RegressorTags()},
        }
        return Tags(estimator_type=kind, target_tags=TargetTags(required=True), **tags.get(kind, {}))


class KerasClassifier(BaseWrapper):
    """A classifier; its model ends with a probability for each class, or one for the second of two."""

    estimator_type = "classifier"

    def fit(self, x: Any, y: Any, sample_weight: Any = None, **kwargs: Any) -> Any:
        """Make a model and train it; `y` has labels of any kind, or a column for each class."""
        y = np.array(y)
        if y.ndim > 2 or y.ndim == 0:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        self.n_classes_ = len(self.classes_)
        if sample_weight is not None:
            kwargs["sample_weight"] = sample_weight
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The most probable labels: (samples,), or (samples, 1) if the model ends with one probability."""
        scores = np.asarray(self.model.predict(x, **self.filter_sk_params(METHODS[1], kwargs)))
        return self.classes_[scores.argmax(-1) if scores.shape[-1] > 1 else (scores > 0.5).astype("int32")]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """The probabilities: (samples, classes)."""
        scores = np.asarray(self.model.predict(x, **self.filter_sk_params(METHODS[1], kwargs)))
        return np.hstack([1 - scores, scores]) if scores.shape[1] == 1 else scores

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The accuracy, which the model must have as a metric."""
        y = self._targets(np.searchsorted(self.classes_, y))
        scores = to_list(self.model.evaluate(x, y, **self.filter_sk_params(METHODS[2], kwargs)))
        for name, value in zip(self.model.metrics_names, scores, strict=True):
            if name in ("acc", "accuracy"):
                return float(value)
        raise ValueError('The model has no accuracy: pass metrics=["accuracy"] to its compile.')


class KerasRegressor(BaseWrapper):
    """A regressor."""

    estimator_type = "regressor"

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The predictions, without axes of size 1."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(METHODS[1], kwargs)))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The negative loss."""
        return -float(to_list(self.model.evaluate(x, y, **self.filter_sk_params(METHODS[2], kwargs)))[0])


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", repr(function))
