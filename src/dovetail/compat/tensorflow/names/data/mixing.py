"""Data sets that take turns, by draws or by choices; and data sets for TensorFlow itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.data import elements as parts
from dovetail.compat.tensorflow.names.data.dataset import UNKNOWN, Dataset, Taken, taken
from dovetail.compat.tensorflow.names.data.elements import each
from dovetail.compat.tensorflow.names.random.draws import seed_of_draw
from dovetail.core.base.errors import op_error

SAMPLE, CHOOSE = "tf.data.Dataset.sample_from_datasets", "tf.data.Dataset.choose_from_datasets"


def sample_from_datasets(
    datasets: Sequence[Any],
    weights: Any = None,
    seed: Any = None,
    stop_on_empty_dataset: bool = False,
    rerandomize_each_iteration: bool | None = None,
) -> Dataset:
    """The elements of several data sets, each from one that is drawn, by weights or a data set of them.

    Source: `tf.data.Dataset.sample_from_datasets`.
    """
    given = [*map(taken, datasets)]
    if not isinstance(weights, Dataset):
        chances = np.ones(len(given)) if weights is None else np.asarray(weights, "float64")
        if chances.shape != (len(given),):
            problem = f"there are {len(given)} data sets, but the weights have the shape {chances.shape}"
            raise op_error(ValueError, SAMPLE, f"{problem}: give one for each data set.")
        given, chances = [part for part, one in zip(given, chances, strict=True) if one], chances[chances > 0]
        if len(given) == 1:
            return given[0]
    random = np.random.default_rng(seed_of_draw(seed))
    first = int(random.integers(2**32))

    def places() -> Iterator[int]:
        draws = random if rerandomize_each_iteration or seed is None else np.random.default_rng(first)
        rows = taken(weights)._elements() if isinstance(weights, Dataset) else itertools.repeat(chances)
        return (int(draws.choice(len(given), p=row / np.sum(row))) for row in rows)

    return _in_turns(SAMPLE, given, places, stop_on_empty_dataset)


def choose_from_datasets(datasets: Sequence[Any], choice_dataset: Any, stop_on_empty_dataset: bool = True) -> Dataset:
    """The elements of several data sets, each from the one whose number the next element of another data set is.

    Source: `tf.data.Dataset.choose_from_datasets`.
    """
    choices = taken(choice_dataset)
    return _in_turns(CHOOSE, [*map(taken, datasets)], choices._elements, stop_on_empty_dataset, choices.needs)


def _in_turns(
    title: str, datasets: Sequence[Any], places: Callable[[], Iterable[Any]], stops: bool, needs: Iterable[Any] = ()
) -> Dataset:
    """The elements of data sets, each from the one at the next place; one without more is left out, or the end."""
    if not datasets:
        raise op_error(ValueError, title, "there are no data sets: give at least one.")

    def elements() -> Iterator[Any]:
        rests = [iter(part._elements()) for part in datasets]
        left = set(range(len(rests)))
        for place in map(int, places()):
            if not 0 <= place < len(rests):
                raise op_error(ValueError, title, f"there are {len(rests)} data sets, but none has the number {place}.")
            at_most_one = [*itertools.islice(rests[place], 1)]
            yield from at_most_one
            left -= set() if at_most_one else {place}
            if not left or (stops and not at_most_one):
                return

    known = [part._leaf for part in datasets]
    leaf = None if None in known else reduce(lambda a, b: each(parts.Leaf.or_other, a, b), known)
    return Dataset(elements, UNKNOWN, leaf, [*needs, *(x for part in datasets for x in part.needs)])


for _function in (sample_from_datasets, choose_from_datasets):
    _name = _function.__name__
    setattr(Dataset, _name, staticmethod(_function))
    value(f"data.experimental.{_name}", _function)
    value(f"contrib.data.{_name}", _function, "v1")


def of_tensorflow(x: Any, tensorflow: Any) -> Any:
    """A data set as one of TensorFlow itself, whose module is given."""
    if isinstance(x, Taken) or parts.is_of_tensorflow(x):
        return getattr(x, "whole", x)
    spec = each(lambda leaf: tensorflow.TensorSpec(leaf.shape, leaf.dtype.name), x.element_spec)
    made = tensorflow.data.Dataset.from_generator(x.as_numpy_iterator, output_signature=spec)
    return made.apply(tensorflow.data.experimental.assert_cardinality(int(x.cardinality())))
