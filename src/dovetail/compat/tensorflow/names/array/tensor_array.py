"""TensorArray: numbered tensors, which loops write one after the other."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.tensors import NUMBER, as_numbers, joined, with_strings
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.core.base.errors import describe, op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_recorded, is_tensor, static_shape
from dovetail.ops.shapes.shape import dims_of


class TensorArray:
    """An array of numbered tensors of one dtype.  Writing a tensor returns a new array.

    Args:
        dtype: the dtype of the tensors.
        size: how many there are; more can be written if `dynamic_size`.
        dynamic_size: whether it grows.  If it grows in a loop of a graph, its size is known only when the loop runs.
            For jax, NumPy runs such loops, since jax compiles programs of known shapes.
        element_shape: the shape of each tensor, for arrays that are written in loops of a graph before they are
            filled.

    Source: `tf.TensorArray`.

    Example:
        >>> array = TensorArray("float32", size=2)
        >>> array.write(0, 1.).write(1, 2.).stack().numpy()
        array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None or flow is not None:
            problem = "an array has no handle and no flow that another is made of: leave them out."
            raise op_error(NotImplementedError, "tf.TensorArray", problem)
        self._has_strings = is_text(None, dtype)
        self.dtype = STRING if self._has_strings else as_dtype(dtype)
        self._kind = NUMBER if self._has_strings else self.dtype  # of the tensors that it computes with
        self.dynamic_size = bool(dynamic_size)
        self.element_shape = element_shape
        self._size = 0 if size is None else size
        self._items: dict[int, Any] = {}
        self._whole: Any = None  # in loops of graphs: the tensors, stacked

    # contents

    @property
    def is_empty(self) -> bool:
        """Whether nothing says the shape of its tensors."""
        return self._whole is None and not self._items and self.element_shape is None

    def of(self, whole: Any) -> TensorArray:
        """The array of tensors that come stacked."""
        array = self._copy()
        array._items, array._whole = {}, whole
        return array

    def zeros_like(self, other: TensorArray) -> TensorArray:
        """This array; if nothing says the shape of its tensors, an array of zeros like another array's tensors."""
        if not self.is_empty or other.is_empty:
            return self
        return self.of(ops.zeros([self._size, *other._element_dims()], self._kind))

    def _element_dims(self) -> list[Any]:
        """The dimensions of its tensors."""
        if self._whole is not None:
            return dims_of(self._whole)[1:]
        return dims_of(next(iter(self._items.values()))) if self._items else list(self.element_shape)

    def _copy(self) -> TensorArray:
        array = TensorArray.__new__(TensorArray)
        vars(array).update(vars(self))
        array._items = dict(self._items)
        return array

    # one tensor

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with a tensor at an index."""
        return self._written(index, self._taken(value))

    def _written(self, index: Any, value: Any) -> TensorArray:
        if value.dtype != self._kind:
            raise op_error(ValueError, "tf.TensorArray.write", f"it holds {self.dtype}, not {value.dtype}.")
        array = self._copy()
        if self._whole is not None or is_recorded(index):
            place = ops.reshape(ops.convert(index), (1, 1))
            whole = self._grown(self._filled(value), index) if self.dynamic_size else self._filled(value)
            array._items, array._whole = {}, ops.tensor_scatter_update(whole, place, ops.expand_dims(value, 0))
            return array
        number = int(index)
        if number < 0 or (number >= int(self._size) and not self.dynamic_size):
            raise op_error(ValueError, "tf.TensorArray.write", f"there is no place {number} among {self._size}.")
        array._items[number] = value
        array._size = max(int(self._size), number + 1)
        return array

    def _filled(self, like: Any) -> Any:
        """All tensors stacked, with zeros for tensors that were not written."""
        if self._whole is not None:
            return self._whole
        if not self._items:
            return ops.zeros([self._size, *dims_of(like)], self._kind)
        known = next(iter(self._items.values()))
        return ops.stack([self._items.get(i, ops.zeros_like(known)) for i in range(int(self._size))])

    @staticmethod
    def _grown(whole: Any, index: Any) -> Any:
        """All tensors stacked, followed by zeros up to an index."""
        size, *others = dims_of(whole)
        missing = ops.maximum(ops.subtract(ops.add(ops.saturate_cast(index, "int32"), 1), size), 0)
        return ops.concatenate([whole, ops.zeros([missing, *others], whole.dtype)])

    def read(self, index: Any, name: str | None = None) -> Any:
        """The tensor at an index."""
        if self._whole is not None or is_recorded(index):
            return self._given(ops.getitem(self.whole(), index))
        return self._given(self._item(int(index)))

    def _item(self, number: int) -> Any:
        if number in self._items:
            return self._items[number]
        if 0 <= number < int(self._size) and self._items:
            return ops.zeros_like(next(iter(self._items.values())))
        raise op_error(ValueError, "tf.TensorArray.read", f"nothing was written at {number}.")

    # strings, which it holds as numbers

    def _taken(self, value: Any) -> Any:
        """A tensor to write."""
        if not self._has_strings:
            return ops.convert(value, None if is_tensor(value) else self.dtype)
        if not is_text(value):
            raise op_error(ValueError, "tf.TensorArray.write", f"it holds strings, not {describe(value)}.")
        return as_numbers(text(joined(value)))[0]

    def _given(self, tensor: Any) -> Any:
        """A result."""
        return with_strings(tensor, {0}) if self._has_strings else tensor

    # all tensors

    def stack(self, name: str | None = None) -> Any:
        """All tensors, stacked along a new first axis."""
        return self._given(self.whole())

    def whole(self) -> Any:
        """The same, with the numbers of strings."""
        if self.is_empty:
            if not is_tensor(self._size) and self._size == 0:
                return ops.zeros([0], self._kind)
            raise op_error(ValueError, "tf.TensorArray.stack", "nothing was written, so the shape is not known.")
        if self._whole is None and not self._items:
            return ops.zeros([self._size, *self.element_shape], self._kind)
        return self._filled(None)

    def concat(self, name: str | None = None) -> Any:
        """All tensors, joined along their first axis."""
        if self._whole is None and self._items:
            return self._given(ops.concatenate([self._item(i) for i in range(int(self._size))]))
        whole = self.whole()
        _, first, *others = dims_of(whole)
        count = ops.multiply(dims_of(whole)[0], first) if is_tensor(first) else -1
        return self._given(ops.reshape(whole, [count, *others]))

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """The tensors at several indices, stacked."""
        return self._given(ops.gather(self.whole(), indices))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array of the slices of a tensor."""
        value = self._taken(value)
        array = self.of(value)
        array._size = dims_of(value)[0]
        count = static_shape(value)[0]
        if count is not None and not is_recorded(value):
            array._items, array._whole = {i: value[i] for i in range(count)}, None
        return array

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the slices of a tensor at several indices."""
        array, value = self, self._taken(value)
        for place, number in enumerate(np_list(indices)):
            array = array._written(number, ops.getitem(value, place))
        return array

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array of parts of a tensor, of these lengths."""
        array, value = self, self._taken(value)
        for place, part in enumerate(ops.split_sizes(value, np_list(lengths))):
            array = array._written(place, part)
        return array

    def size(self, name: str | None = None) -> Any:
        """The number of tensors."""
        return ops.convert(self._size, "int32") if self._whole is None else ops.cast(dims_of(self._whole)[0], "int32")

    def identity(self) -> TensorArray:
        """The array itself."""
        return self


def np_list(numbers: Any) -> list[int]:
    """Numbers that are known, as ints."""
    return [int(n) for n in (numbers.tolist() if hasattr(numbers, "tolist") else numbers)]
