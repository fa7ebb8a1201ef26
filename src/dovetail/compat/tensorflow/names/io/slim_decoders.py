"""The decoders of TF-Slim's data sets: items that are made of the features of an example.

Source: `tf.contrib.slim`, the class of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor as KSparseTensor
from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue, sparse_to_dense
from dovetail.compat.tensorflow.names.graph.control import cond
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.io.records import FixedLenFeature, parse_single_example
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.formats.host import images

SPARSE = KSparseTensor, SparseTensorValue
CORNERS = ["ymin", "xmin", "ymax", "xmax"]


def _dense(given: Any, default: Any = 0) -> Any:
    """A tensor, or a sparse one with a value at all other places."""
    if not isinstance(given, SPARSE):
        return given
    return in_v1(sparse_to_dense)(given.indices, given.dense_shape, given.values, default)


# -- items of an example ----------------------------------------------------------------------------------------------


class ItemHandler:
    """An item that is made of some features of an example; a class of this one says how.

    Args:
        keys: the keys of the features, or one.
    """

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the features."""
        return self._keys

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The item, of the tensors of the features."""
        raise NotImplementedError(f"{type(self).__name__} must define tensors_to_item.")


class ItemHandlerCallback(ItemHandler):
    """An item that a function makes of the tensors by their keys."""

    def __init__(self, keys: Any, func: Callable[[Mapping[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Boxes, a row each, of the features of their four sides.

    Args:
        keys: the last parts of the keys of the lower and upper ends of y and of x, in the order ymin, xmin, ymax, xmax.
        prefix: the first part of the keys.

    Raises:
        ValueError: there are not four keys.
    """

    def __init__(self, keys: Sequence[str] | None = None, prefix: str = "") -> None:
        sides = CORNERS if keys is None else keys
        if len(sides) != 4:
            raise op_error(ValueError, "slim.tfexample_decoder.BoundingBox", f"it takes 4 keys, not {len(sides)}.")
        super().__init__([prefix + key for key in sides])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        sides = [keys_to_tensors[key] for key in self.keys]
        return ops.stack([side.values if isinstance(side, SPARSE) else side for side in sides], -1)


class Tensor(ItemHandler):
    """The tensor of a feature.

    Args:
        tensor_key: the key of the feature.
        shape_keys: the keys of features that have the shape, or one.
        shape: the shape, if it is the same in all examples.
        default_value: the value of elements that the feature lacks.

    Raises:
        ValueError: there are both a shape and keys of it.
    """

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            problem = "it takes shape_keys or shape, not both."
            raise op_error(ValueError, "slim.tfexample_decoder.Tensor", problem)
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        self._shape_keys = shape_keys if isinstance(shape_keys, list) else [shape_keys] if shape_keys else []
        super().__init__([tensor_key, *self._shape_keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        tensor, shape = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            shape = ops.concatenate([ops.reshape(_dense(keys_to_tensors[key]), [-1]) for key in self._shape_keys], 0)
        if isinstance(tensor, SPARSE) and shape is not None:
            tensor = named("sparse_reshape")(tensor, shape)
            shape = None
        tensor = _dense(tensor, self._default_value)
        return tensor if shape is None else named("reshape")(tensor, shape)


class LookupTensor(Tensor):
    """The values of a table at the tensor of a feature.

    Args:
        table: a table of `tf.contrib.lookup`.
        tensor_key, shape_keys, shape, default_value: as of `Tensor`.
    """

    def __init__(
        self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = ""
    ) -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of a handler, or of another one if that has no elements.

    Raises:
        ValueError: one of them is no handler.
    """

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for each in (handler, backup):
            if not isinstance(each, ItemHandler):
                problem = "both must be an ItemHandler."
                raise op_error(ValueError, "slim.tfexample_decoder.BackupHandler", problem, repr(each))
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        item = self._handler.tensors_to_item(keys_to_tensors)
        is_empty = ops.equal(ops.size(item), 0)
        return in_v1(cond)(is_empty, lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor, of a feature that has the positions along the last axis and one that has the values.

    Args:
        indices_key, values_key: the keys of the two features.
        shape_key: the key of the feature that has its shape.
        shape: its shape, if no feature has it.
        densify: whether the item is a tensor with all its elements.
        default_value: the value of elements that it lacks.
    """

    def __init__(
        self,
        indices_key: str | None = None,
        values_key: str | None = None,
        shape_key: str | None = None,
        shape: Any = None,
        densify: bool = False,
        default_value: Any = 0,
    ) -> None:
        self._parts = [indices_key or "indices", values_key or "values"]
        self._shape_key, self._shape, self._densify, self._default_value = shape_key, shape, densify, default_value
        super().__init__([*self._parts, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        indices, values = (keys_to_tensors[key] for key in self._parts)
        shape = self._shape or indices.dense_shape
        if self._shape_key:
            shape = _dense(keys_to_tensors[self._shape_key])
        last = ops.expand_dims(ops.cast(indices.values, "int64"), 1)
        item = named("SparseTensor")(ops.concatenate([indices.indices[:, :-1], last], 1), values.values, shape)
        return _dense(item, self._default_value) if self._densify else item


class Image(ItemHandler):
    """The pixels of a file of an image, or of raw bytes.

    Args:
        image_key: the key of the feature that has the bytes of the file.
        format_key: the key of the feature that has the format; files of "raw" are numbers of the dtype.
        shape: the shape, if all images have one.
        channels: how many numbers a pixel has.
        dtype: the dtype of the numbers.
        repeated: whether the feature has several files, of images of one size.
        dct_method: nothing, since there is one method.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = "uint8",
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        self._shape, self._channels, self._dtype, self._repeated = shape, channels, as_dtype(dtype), repeated

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        contents, form = (keys_to_tensors[key] for key in self.keys)
        image = in_v1(py_func)(self._images if self._repeated else self._image, [contents, form], self._dtype)
        if self._shape is not None:
            return ops.reshape(image, [*([-1] if self._repeated else []), *self._shape])
        image.set_shape([*([None] if self._repeated else []), None, None, self._channels])
        return image

    def _image(self, contents: bytes, form: bytes) -> np.ndarray:
        if form in (b"raw", b"RAW"):
            return np.frombuffer(contents, self._dtype.numpy)
        return images.decode(np.array(contents, object), channels=self._channels).astype(self._dtype.numpy)

    def _images(self, contents: np.ndarray, form: bytes) -> np.ndarray:
        return np.stack([self._image(one, form) for one in contents.reshape(-1)])


class DataDecoder:
    """What gives the items of a record; a class of this one says how."""

    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors of some items of a record."""
        raise NotImplementedError(f"{type(self).__name__} must define decode.")

    def list_items(self) -> list[str]:
        """The names of the items."""
        raise NotImplementedError(f"{type(self).__name__} must define list_items.")


class TFExampleDecoder(DataDecoder):
    """The items of the bytes of a `tf.train.Example`.

    Args:
        keys_to_features: keys → features, as `tf.parse_single_example` takes them.
        items_to_handlers: names of items → their `ItemHandler`.
    """

    def __init__(self, keys_to_features: Mapping[str, Any], items_to_handlers: Mapping[str, ItemHandler]) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        tensors = in_v1(parse_single_example)(serialized_example, self._keys_to_features)
        for key, feature in self._keys_to_features.items():
            if isinstance(feature, FixedLenFeature):
                tensors[key] = named("reshape")(tensors[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: tensors[key] for key in handler.keys}) for handler in handlers]


_HANDLERS = BackupHandler, BoundingBox, Image, ItemHandler, ItemHandlerCallback, LookupTensor, SparseTensor, Tensor
for _handler in (*_HANDLERS, TFExampleDecoder):
    value(f"contrib.slim.tfexample_decoder.{_handler.__name__}", _handler, "v1")
value("contrib.slim.data_decoder.DataDecoder", DataDecoder, "v1")
