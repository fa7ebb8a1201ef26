"""Datasets of TensorFlow's names, which Dovetail computes, as data of Keras."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from dovetail.core.values.foreign import densified, note_dense
from dovetail.interop.privates import DataAdapter, data_adapter_utils, tree
from keras_dovetail.src.tensors import each_leaf


class Pipeline(DataAdapter):
    """A dataset whose elements are the batches.

    Args:
        dataset: a `tf.data.Dataset` of `dovetail.compat.tensorflow`.
        class_weight: class → the weight of its samples.

    Source: the adapter of Keras for `tf.data.Dataset`.
    """

    has_partial_batch = True  # perhaps: only the last batch tells
    partial_batch_size = None

    def __init__(self, dataset: Any, class_weight: Any = None) -> None:
        self._dataset, self._class_weight = dataset, class_weight

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Yield the batches of a pass through the dataset."""
        for batch in self._dataset.as_numpy_iterator():
            yield batch if self._class_weight is None else self._weighted(*batch)

    def _weighted(self, x: Any, y: Any, *weights: Any) -> tuple[Any, Any, Any]:
        if weights:
            raise ValueError("class_weight: the dataset has weights of samples already; leave out one of them.")
        return x, y, data_adapter_utils.class_weight_to_sample_weights(y, self._class_weight)

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None if it is unknown or endless."""
        count = int(self._dataset.cardinality())
        return None if count < 0 else count

    @property
    def batch_size(self) -> int | None:
        """The number of samples of a batch, if the dataset knows it."""
        size: int | None = tree.flatten(self._dataset.element_spec)[0].shape[0]
        return size


DATA = ("y", "sample_weight")  # the options that are data, too


def adapted(x: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Data and the other arguments for Keras' iterator: an adapter of a dataset, or the data, dense.

    Sparse values become dense, also those among the options; of SciPy's, Keras makes each batch dense.

    Raises:
        ValueError: targets or weights stand beside a dataset, which has its own.
    """
    if not (type(x).__module__.startswith("dovetail.") and hasattr(x, "as_numpy_iterator")):
        dense = {name: each_leaf(_sliceable, options.get(name)) for name in DATA}
        return each_leaf(_sliceable, x), options | dense
    for name in DATA:
        if options.get(name) is not None:
            raise ValueError(f"When x is a tf.data.Dataset, leave {name} out: the dataset gives (x, y, sample_weight).")
    return Pipeline(x, options.get("class_weight")), options


def _sliceable(value: Any) -> Any:
    """A part of data as Keras cuts batches out of it."""
    if not data_adapter_utils.is_scipy_sparse(value):
        return densified(value)
    note_dense(value)
    return sys.modules["scipy"].sparse.csr_array(value)  # its batches become arrays; of other classes, matrices
