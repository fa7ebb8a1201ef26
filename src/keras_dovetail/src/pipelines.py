"""Datasets of TensorFlow's names, which Dovetail computes, as data of Keras."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.interop.privates import DataAdapter, data_adapter_utils, tree


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


def adapted(x: Any, options: Mapping[str, Any]) -> Any:
    """Data for Keras' iterator with other arguments: an adapter of a dataset, or the data as they are.

    Raises:
        ValueError: targets or weights stand beside a dataset, which has its own.
    """
    if not (type(x).__module__.startswith("dovetail.") and hasattr(x, "as_numpy_iterator")):
        return x
    for name in ("y", "sample_weight"):
        if options.get(name) is not None:
            raise ValueError(f"When x is a tf.data.Dataset, leave {name} out: the dataset gives (x, y, sample_weight).")
    return Pipeline(x, options.get("class_weight"))
