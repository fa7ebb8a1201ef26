"""Variables in parts: each part is a variable of its own, and all are one tensor of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.variables.variable_views import View
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.formats.wire.bundle import Cut
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.slices import Part


@dataclass(frozen=True)
class SaveSliceInfo:
    """The part that a variable is of a whole one, as `variable._save_slice_info`; None for whole variables.

    Args:
        full_name, full_shape: the name of the whole variable, which is its key in checkpoints, and its shape.
        var_offset: where the part begins.
        var_shape: the shape of the part.

    Source: `tf.Variable.SaveSliceInfo`.
    """

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def part(self) -> Part:
        """The part as checkpoints say it."""
        return Part(tuple(self.full_shape), tuple(self.var_offset), tuple(self.var_shape))

    @property
    def spec(self) -> str:
        """The text that stands for the part in graphs."""
        return self.part.spec

    def to_proto(self) -> Any:
        """The message `SaveSliceInfoDef`."""
        return TENSORFLOW.SaveSliceInfoDef(**vars(self))

    def of_slot(self, name: str, rank: int) -> SaveSliceInfo:
        """The part that a slot of the variable is, which may have only the first axes."""
        boxes = (box[:rank] for box in (self.full_shape, self.var_offset, self.var_shape))
        return SaveSliceInfo(f"{self.full_name}/{name}", *boxes)


def take_part(slot: Any, variable: Any) -> None:
    """Let a slot be a part of a whole slot, as its variable is of a whole variable."""
    info = slice_info(variable)
    if info is not None and slot.shape.rank:
        slot._save_slice_info = info.of_slot(slot.op_name[len(variable.op_name) + 1 :], slot.shape.rank)


def slice_info(variable: Any) -> SaveSliceInfo | None:
    """The part that a variable is of a whole one; None if it is whole."""
    return getattr(variable, "_save_slice_info", None)


def key_of(variable: Any) -> str:
    """The key of a variable in checkpoints."""
    info = slice_info(variable)
    return variable.op_name if info is None else info.full_name


class Parts:
    """Some parts of a variable, which a checkpoint has under one key.

    Args:
        variables: the parts.

    Raises:
        ValueError: a variable is whole, or of another variable than the first.
    """

    name: str
    shape: Any = None

    def __init__(self, variables: Iterable[Any]) -> None:
        self._variables = list(variables)
        infos = [slice_info(variable) for variable in self._variables]
        wholes = {(info.full_name, tuple(info.full_shape)) for info in infos if info is not None}
        if None in infos or len(wholes) != 1:
            names = ", ".join(variable.name for variable in self._variables)
            raise op_error(
                ValueError, "tf.train.Saver", f"a list under one key has parts of one variable, not {names}."
            )
        ((self.name, shape),) = wholes
        self.shape = shape_of(shape)

    @property
    def dtype(self) -> Any:
        """The dtype of each part."""
        return self._variables[0].dtype

    @property
    def graph(self) -> Any:
        """The graph of the parts."""
        return self._variables[0].graph

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variables)

    def cut(self) -> Cut:
        """The values of the parts, for a checkpoint."""
        return Cut(tuple((one._save_slice_info.part, np.array(one.numpy())) for one in self._variables))

    def load(self, value: Any, session: Any = None) -> None:
        """Give the parts the value of the whole variable."""
        for one in self._variables:
            one.load(np.asarray(value)[one._save_slice_info.part.box], session)

    def begin_with(self, value: Any) -> None:
        """Let the parts begin with the value of the whole variable."""
        for one in self._variables:
            one.begin_with(np.asarray(value)[one._save_slice_info.part.box])


def variables_of(value: Any) -> list[Any]:
    """The variables of a variable: its parts, or itself."""
    return list(value) if isinstance(value, Parts) else [value]


def by_key(variables: Iterable[Any]) -> dict[str, Any]:
    """Key in checkpoints → a whole variable, or the parts of one."""
    return grouped({one: key_of(one) for variable in variables for one in variables_of(variable)})


def grouped(keys: Mapping[Any, str]) -> dict[str, Any]:
    """Key in checkpoints → a whole variable, or the parts of one, from the key of each."""
    held_by_key: dict[str, list[Any]] = {}
    for variable, key in keys.items():
        held_by_key.setdefault(key, []).append(variable)
    return {key: held[-1] if slice_info(held[-1]) is None else Parts(held) for key, held in held_by_key.items()}


class PartitionedVariable(Parts, View):
    """A variable in parts, as `tf.get_variable` makes it with a `partitioner`.

    Iteration gives the parts; as an operand it is the whole value, which is concatenated.

    Args:
        variables: the parts, in order.
        partitions: the number of parts along each axis, of which one at most is more than 1.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     table = tf.get_variable("table", [7, 2], partitioner=tf.fixed_size_partitioner(3))
        ...     names, shapes = [v.name for v in table], [v.shape.as_list() for v in table]
        ...     table.shape.as_list(), names[0], shapes, (table * 2.0).shape.as_list()
        ([7, 2], 'table/part_0:0', [[3, 2], [2, 2], [2, 2]], [7, 2])
    """

    def __init__(self, variables: Iterable[Any], partitions: Sequence[int]) -> None:
        super().__init__(variables)
        self._partitions = list(partitions)
        self._whole: tuple[list[Any], Any] | None = None  # the values of the parts, and the whole of these

    def __len__(self) -> int:
        return len(self._variables)

    def _get_variable_list(self) -> list[Any]:
        return list(self._variables)

    def _get_partitions(self) -> list[int]:
        return list(self._partitions)

    @property
    def axis(self) -> int:
        """The axis along which it is in parts."""
        return next((axis for axis, count in enumerate(self._partitions) if count > 1), 0)

    def get_shape(self) -> Any:
        """The shape of the whole."""
        return self.shape

    def tensor(self) -> Any:
        with graph_mode.inside(graph_mode.graph()) as graph:
            reads = [one.read() for one in self._variables]
            known = self._whole
            if known is not None and all(a is b for a, b in zip(reads, known[0], strict=True)):
                return known[1]
            if graph is None:
                return ops.concatenate(reads, self.axis)
            with graph.at_scope(f"{self.name}/ConcatPartitions/"):
                joined = ops.concatenate(reads, self.axis, name="concat") if len(reads) > 1 else reads[0]
            with graph.at_scope(""):
                whole = ops.identity(joined, name=self.name)
            self._whole = reads, whole
            return whole

    as_tensor = tensor

    def _each(self, method: str, value: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """The results of a method of each part, for the parts of a value or a list of them."""
        if not isinstance(value, (list, PartitionedVariable)):
            whole = ops.convert(value, self.dtype)
            value = [whole[one._save_slice_info.part.box] for one in self._variables]
        pairs = zip(self._variables, value, strict=True)
        return [getattr(one, method)(part, *args, **kwargs) for one, part in pairs]

    def assign(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> list[Any]:
        """Assign each part: of a value of the whole shape, or a list with a value for each."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> list[Any]:
        """Add to each part, as `assign` assigns them."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> list[Any]:
        """Subtract from each part, as `assign` assigns them."""
        return self._each("assign_sub", value, use_locking, name, read_value)


value("python.ops.variables.PartitionedVariable", PartitionedVariable)
