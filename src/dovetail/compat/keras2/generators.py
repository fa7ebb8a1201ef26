"""`fit_generator` and its kind, in Keras 1's words, which count samples, and in Keras 2's, which count steps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras

from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.words import named
from dovetail.formats.keras.config_rows import parsed, renamed

STEPS = {"steps_per_epoch", "validation_steps", "steps"}  # also numbers with a fraction, as len(x) / 32
SAMPLES = "samples_per_epoch", "nb_val_samples", "val_samples"  # arguments that count samples
KERAS1 = {*SAMPLES, "nb_epoch", "nb_worker", "max_q_size", "pickle_safe"}
UNUSED = "-max_q_size -nb_worker -pickle_safe -max_queue_size -workers -use_multiprocessing"

# Method → Keras 3's, its arguments by position, and the words for them.
METHODS = {
    "fit_generator": (
        "fit",
        "steps_per_epoch epochs verbose callbacks validation_data validation_steps class_weight max_queue_size workers "
        "use_multiprocessing shuffle initial_epoch",
        f"samples_per_epoch:steps_per_epoch nb_val_samples:validation_steps nb_epoch:epochs {UNUSED}",
    ),
    "evaluate_generator": ("evaluate", "steps max_queue_size workers", f"val_samples:steps +verbose=0 {UNUSED}"),
    "predict_generator": ("predict", "steps max_queue_size workers", f"val_samples:steps +verbose=0 {UNUSED}"),
}


def patches() -> Iterable[Patch]:
    """Yield the methods of models that take generators."""
    model: Any = keras.Model
    yield from methods(model, **{name: _method(*row) for name, row in METHODS.items()})


def _method(name: str, order: str, text: str) -> Callable[..., Any]:
    """Make `fit_generator` or the like from the method that takes data of any kind."""
    rows, names = parsed(text), order.split()

    def call(self: Any, generator: Any, *args: Any, **kwargs: Any) -> Any:
        given = named(names, args, kwargs)
        if args and KERAS1 & given.keys():  # then the first number is one of samples
            given[next(old for old, new in rows.renamed.items() if new == names[0])] = given.pop(names[0])
        counted = {rows.renamed[each] for each in SAMPLES if each in given}
        given = rows.defaults | renamed("", rows, given, lambda _, value: value)
        if names[0] in counted:
            generator, given[names[0]] = _in_steps(generator, given[names[0]])
        if "validation_steps" in counted:
            data, steps = _in_steps(given["validation_data"], given["validation_steps"])
            given |= {"validation_data": data, "validation_steps": steps}
        return getattr(self, name)(generator, **given)

    return call


def _in_steps(batches: Any, samples: Any) -> tuple[Any, int | None]:
    """A generator, and the number of batches of a number of samples; arrays stay."""
    if samples is None or not hasattr(batches, "__next__"):
        return batches, None
    if (size := getattr(batches, "batch_size", None)) is None:
        first = next(batches)
        batches, size = _again(first, batches), _size(first)
    return batches, -(-int(samples) // size)


def _again(first: Any, batches: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from batches


def _size(batch: Any) -> int:
    """The number of samples of a batch."""
    while isinstance(batch, (list, tuple, dict)):
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return len(batch)


def from_iterators(method: Callable[..., Any], of_inputs: bool = False) -> Callable[..., Any]:
    """Wrap `fit` or the like: it takes any iterator; a batch may be a list.

    Args:
        method: the method of Keras 3.
        of_inputs: whether a batch that is no tuple has the inputs only.
    """

    @functools.wraps(method)
    def call(self: Any, x: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs |= {name: math.ceil(kwargs[name]) for name in STEPS & kwargs.keys() if kwargs[name] is not None}
        if _is_endless(kwargs.get("validation_data")):
            kwargs["validation_data"] = _Continued(kwargs["validation_data"], kwargs.pop("validation_steps", None))
        return method(self, _tuples(x, of_inputs) if _is_endless(x) else x, *args, **kwargs)

    return call


def _is_endless(data: Any) -> bool:
    """Whether data is an iterator, and does not say how many batches it has."""
    return hasattr(data, "__next__") and not isinstance(data, keras.utils.PyDataset)


def _tuples(batches: Iterator[Any], of_inputs: bool = False) -> Iterator[Any]:
    for batch in batches:
        yield (batch if isinstance(batch, tuple) else (batch,) if of_inputs else tuple(batch))


class _Continued(keras.utils.PyDataset):
    """The batches of an iterator, which goes on where the last validation ended; Keras 3 ends such a generator."""

    def __init__(self, batches: Iterator[Any], steps: int | None) -> None:
        super().__init__()
        self.batches, self.steps = _tuples(batches), steps

    @property
    def num_batches(self) -> int | None:
        """The number of batches of a validation; None if the iterator ends it."""
        return self.steps

    def __getitem__(self, index: int) -> Any:
        return next(self.batches)
