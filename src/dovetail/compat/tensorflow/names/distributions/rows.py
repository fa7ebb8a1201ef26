"""Rows of distributions: a row says the parameters of one, and computes its numbers from them.

The modules `distributions_of_numbers`, `distributions_of_classes` and `distributions_of_vectors` have the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.debugging import assert_
from dovetail.compat.tensorflow.names.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
)
from dovetail.compat.tensorflow.names.math.by_type import FUNCTIONS
from dovetail.compat.tensorflow.names.random.draws import key_of_draw
from dovetail.compat.tensorflow.table import alike_values, arguments_of, signature_of
from dovetail.core.dtypes import promote
from dovetail.core.values.value_kinds import is_tensor
from dovetail.ops.shapes.shape import dims_of


class RowDistribution(Distribution):
    """A distribution of a row, whose parameters are attributes.

    Attributes:
        words: the names of the parameters, in order.
        shapes: the parameters that give the batch shape, each with the number of its last axes that do not.
        event_axes: the number of axes of a sample of one distribution, 0 or 1.
    """

    words: list[str]
    shapes: tuple[tuple[str, int], ...]
    event_axes: int

    def _batch(self) -> Any:
        """Zeros in the batch shape."""
        zeros_of_each = []
        for name, inner in self.shapes:
            zeros = ops.zeros_like(getattr(self, name))
            zeros_of_each.append(ops.sum(zeros, list(range(-inner, 0))) if inner else zeros)
        return functools.reduce(ops.add, zeros_of_each)

    def _event_dims(self) -> list[Any]:
        name = next((name for name, inner in self.shapes if inner), "")
        return dims_of(getattr(self, name))[-1:] if self.event_axes else []

    def _batch_shape(self) -> Any:
        return self._batch().shape

    def _batch_shape_tensor(self) -> Any:
        return ops.shape(self._batch())

    def _event_shape(self) -> Any:
        return [None if is_tensor(dim) else dim for dim in self._event_dims()]

    def _event_shape_tensor(self) -> Any:
        return ops.convert(self._event_dims(), "int32")

    def _sample_n(self, n: Any, seed: Any) -> Any:
        shape = [n, *dims_of(self._batch()), *self._event_dims()]
        return self._by("draw", key_of_draw(f"distributions.{type(self).__name__}", seed, "float32", shape), shape)


def distribution(
    names: str,
    words: str,
    shapes: str,
    ready: Callable[[Any], None] | None = None,
    event_axes: int = 0,
    is_reparameterized: bool = True,
    **rules: Callable[..., Any],
) -> type[RowDistribution]:
    """Add a distribution.

    Args:
        names: with spaces between.
        words: its parameters in TensorFlow's order, and their defaults.
        shapes: the parameters that give the batch shape, as "loc scale" or, with last axes that do not, "logits:1".
        ready: computes the parameters that are not given from the others.
        event_axes: the number of axes of a sample of one distribution, 0 or 1.
        is_reparameterized: whether gradients pass from samples to parameters.
        rules: what it computes: (the distribution, the method's argument) → the number; `draw` gets a key and a shape,
            and `kl` another distribution of the kind.
    """
    kind = names.split()[0].rpartition(".")[2]
    signature = signature_of(f"{words} validate_args=False allow_nan_stats=True name='{kind}'")
    sort = FULLY_REPARAMETERIZED if is_reparameterized else NOT_REPARAMETERIZED

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = arguments_of(signature, args, kwargs)
        settings: dict[str, Any] = {key: given[key] for key in ("validate_args", "allow_nan_stats", "name")}
        known = {key: one for key, one in given.items() if key not in settings and key != "dtype" and one is not None}
        floats = [_floats(one) for one in alike_values(list(known.values()))]
        dtype = given.get("dtype") or promote([one.dtype for one in floats] or ["float32"])
        Distribution.__init__(self, dtype, sort, parameters=dict(given), **settings)
        vars(self).update(dict.fromkeys(given.keys() - vars(self).keys()), **dict(zip(known, floats, strict=True)))
        if ready is not None:
            ready(self)

    parts = tuple((name, int(inner or 0)) for name, _, inner in (word.partition(":") for word in shapes.split()))
    kl = rules.pop("kl", None)
    body: dict[str, Any] = {f"_{name}": rule for name, rule in rules.items()}
    doc = f"A distribution.\n\n    Source: `tf.{names.split()[0]}` of TensorFlow 1.15.\n    "
    body |= {"__init__": __init__, "__doc__": doc, "words": list(signature.parameters)}
    body |= {"shapes": parts, "event_axes": event_axes}
    made = type(kind, (RowDistribution,), body)
    if kl is not None:
        RegisterKL(made, made)(lambda a, b, name=None: kl(a, b))
    value(names, made, "v1")
    return made


def _floats(given: Any) -> Any:
    floats = ops.convert(given)
    return floats if floats.dtype.is_floating else ops.cast(floats, "float32")


def softplus_of(base: type[RowDistribution], parameters: str, names: str) -> None:
    """Add a distribution some of whose parameters are given before softplus."""
    kind = names.split()[0].rpartition(".")[2]

    def __init__(self: Any, *args: Any, name: str = kind, **kwargs: Any) -> None:
        given = dict(zip(base.words, args, strict=False)) | kwargs
        arguments: dict[str, Any] = {k: ops.softplus(v) if k in parameters.split() else v for k, v in given.items()}
        base.__init__(self, **arguments, name=name)

    doc = f"A distribution.\n\n    Source: `tf.{names.split()[0]}` of TensorFlow 1.15.\n    "
    value(names, type(kind, (base,), {"__init__": __init__, "__doc__": doc}), "v1")


def where_defined(d: Distribution, condition: Any, found: Any, what: str) -> Any:
    """A number of a distribution where it is defined, else NaN, or an error if the distribution allows no NaN."""
    if d.allow_nan_stats:
        return ops.where(condition, found, float("nan"))
    check = assert_(ops.all(condition), [f"the {what} of {d.name} is not defined for all parameters"])
    graph = graph_mode.graph()
    if graph is None:
        return found
    with graph.control_dependencies([check]):
        return ops.identity(found)


def everywhere(name: str) -> str:
    """The names of a distribution that TensorFlow has and contrib has, too."""
    return f"distributions.{name} contrib.distributions.{name}"


def in_contrib(name: str) -> str:
    """The name of a distribution that only contrib has."""
    return f"contrib.distributions.{name}"


def like(d: Any, value: Any) -> Any:
    """A value in the batch shape."""
    return ops.add(value, d._batch())


def unit(d: Any, key: Any, shape: Any, low: float = 0.0) -> Any:
    """Uniform numbers in [low, 1)."""
    return ops.random.uniform(key, shape, low, 1.0, d.dtype)


def xlogy(x: Any, y: Any) -> Any:
    """x log y, and 0 where x is 0."""
    return FUNCTIONS["Xlogy"](x, y)


def event_size(d: Any) -> Any:
    """The number of numbers in a sample, as a float."""
    return ops.cast(d.event_shape_tensor()[0], d.dtype if d.dtype.is_floating else d.logits.dtype)
