"""Functions of `keras.utils` and `keras.engine` of Keras 1 and 2 that Keras 3 lacks."""

from __future__ import annotations

import functools
import inspect
import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import keras
import numpy as np

from dovetail.compat.keras2.words import in_old_words
from dovetail.core.base.errors import op_error
from dovetail.interop.privates import (
    file_utils,
    io_utils,
    python_utils,
    standardize_data_format,
    standardize_tuple,
    summary_utils,
)

# -- generic_utils ----------------------------------------------------------------------------------------------------


def has_arg(fn: Callable[..., Any], name: str, accept_all: bool = False) -> bool:
    """Say whether a function can be called with an argument by keyword; `accept_all` counts `**kwargs`."""
    parameters = inspect.signature(fn).parameters
    if name in parameters:
        return parameters[name].kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return accept_all and any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def to_list(x: Any, allow_tuple: bool = False) -> list[Any]:
    """The list itself, or a list of the one value; `allow_tuple` makes a tuple a list."""
    return list(x) if allow_tuple and isinstance(x, tuple) else x if isinstance(x, list) else [x]


def unpack_singleton(x: Any) -> Any:
    """The element of a sequence of one, or the sequence itself."""
    return x[0] if len(x) == 1 else x


def is_all_none(iterable_or_element: Any) -> bool:
    """Say whether a value, or each in a list or tuple, is None."""
    return all(each is None for each in to_list(iterable_or_element, allow_tuple=True))


def object_list_uid(object_list: Any) -> str:
    """A string that tells lists of objects apart."""
    return ", ".join(str(abs(id(each))) for each in to_list(object_list))


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """Slice an array, or each of a list; `start` may be indices, and None stays."""
    if arrays is None:
        return [None]
    if isinstance(arrays, list):
        return [None if x is None else slice_arrays(x, start, stop) for x in arrays]
    return arrays[np.asarray(start).tolist()] if hasattr(start, "__len__") else arrays[start:stop]


def collect_trainable_weights(layer: Any) -> Any:
    """The weights of a layer or model that are trained."""
    return layer.trainable_weights


_to_list, _object_list_uid = to_list, object_list_uid  # their names in Keras 2.1
func_dump, func_load = python_utils.func_dump, python_utils.func_load


# -- np_utils and conv_utils ------------------------------------------------------------------------------------------


def probas_to_classes(y_pred: Any) -> Any:
    """The most probable classes: of one column, whether it is above 0.5.  Source: Keras 1.2."""
    if np.ndim(y_pred) > 1 and np.shape(y_pred)[1] > 1:
        return np.argmax(y_pred, axis=1)
    return np.array([1 if p > 0.5 else 0 for p in y_pred])


_to_categorical = keras.utils.to_categorical


@functools.partial(in_old_words, text="nb_classes:num_classes")
def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """Rows of zeros with a one for the class.  Source: Keras 2.3."""
    return _to_categorical(np.asarray(y), num_classes).astype(dtype)


def normalize_padding(value: str) -> str:
    """The padding in small letters.

    Raises:
        ValueError: it is not "valid", "same" or "causal".
    """
    if value.lower() not in ("valid", "same", "causal"):
        raise ValueError(f'The `padding` argument must be one of "valid", "same" (or "causal" for Conv1D): {value}')
    return value.lower()


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The length of the result of a convolution; `padding` is "valid", "same", "causal" or "full"."""
    if input_length is None:
        return None
    reach = (filter_size - 1) * dilation
    return (input_length + {"same": 0, "causal": 0, "valid": -reach, "full": reach}[padding] + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of the input of a convolution; `padding` is "valid", "same" or "full"."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_length(
    dim_size: int | None,
    stride_size: int,
    kernel_size: int,
    padding: str,
    output_padding: int | None = None,
    dilation: int = 1,
) -> int | None:
    """The length of the result of a transposed convolution; `padding` is "valid", "same" or "full"."""
    if dim_size is None:
        return None
    size = kernel_size + (kernel_size - 1) * (dilation - 1)
    if output_padding is not None:
        pad = {"same": size // 2, "valid": 0, "full": size - 1}[padding]
        return (dim_size - 1) * stride_size + size - 2 * pad + output_padding
    more = {"same": 0, "valid": max(size - stride_size, 0), "full": -(stride_size + size - 2)}
    return dim_size * stride_size + more[padding]


def convert_kernel(kernel: Any) -> Any:
    """A kernel of Theano for TensorFlow, or the other way round: its axes in space run backwards."""
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError(f"Invalid kernel shape: {kernel.shape}")
    return np.flip(kernel, tuple(range(kernel.ndim - 2))).copy()


def convert_all_kernels_in_model(model: Any) -> None:
    """Convert the kernels of all convolutions of a model, as `convert_kernel` does."""
    for layer in model.layers:
        if type(layer).__name__.startswith(("Conv", "SeparableConv")) and hasattr(layer, "kernel"):
            layer.kernel.assign(convert_kernel(layer.kernel))


normalize_tuple, normalize_data_format = standardize_tuple, standardize_data_format


# -- layer_utils, vis_utils, io_utils ---------------------------------------------------------------------------------

count_params, _plot_model = summary_utils.count_params, keras.utils.plot_model


def plot_model(model: Any, *args: Any, **kwargs: Any) -> Any:
    """Keras' picture of a model; without pydot or Graphviz a warning says so, and the program goes on."""
    try:
        return _plot_model(model, *args, **kwargs)
    except ImportError as error:
        warnings.warn(f"no picture of {model.name!r} is written: {error}", stacklevel=2)


plot = plot_model  # its name in Keras 1
ask_to_proceed_with_overwrite, validate_file = io_utils.ask_to_proceed_with_overwrite, file_utils.validate_file


def print_summary(
    model: Any, line_length: int | None = None, positions: Any = None, print_fn: Callable[..., Any] | None = None
) -> None:
    """Print a model's layers, as `model.summary` does."""
    model.summary(line_length=line_length, positions=positions, print_fn=print_fn)


def multi_gpu_model(model: Any, gpus: Any = None, **options: Any) -> NoReturn:
    """Raise an error: a model runs on one device.

    Source: `keras.utils.multi_gpu_model` of Keras 2.3, which fails in this way without several GPUs.
    """
    raise ValueError(
        f"multi_gpu_model with gpus={gpus} needs several devices for one model: leave the call out.  To divide batches "
        "among processes, write `keras.distribution.initialize()` and `keras.distribution.set_distribution("
        "keras.distribution.DataParallel())` before the model, and start by `dovetail run --processes N`."
    )


class HDF5Matrix:
    """A part of a dataset in an HDF5 file, which is read when it is indexed.

    Args:
        datapath: the file.
        dataset: the name in it.
        start, end: the part of the first axis.
        normalizer: a function that changes each array that is read.

    Source: `keras.utils.HDF5Matrix` of Keras 2.3.
    """

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        import h5py  # type: ignore[import-untyped]

        self.data = h5py.File(datapath, "r")[dataset]
        self.start, self.end = start, len(self.data) if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        places = np.arange(self.start, self.end)[key]  # an index beyond the part is an IndexError
        if isinstance(key, slice):
            rows = self.data[places[0] : places[-1] + 1 : key.step] if len(places) else self.data[:0]
        else:
            rows = self.data[places.tolist()]
        return rows if self.normalizer is None else self.normalizer(rows)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self[:], dtype)

    ndim = property(lambda self: self.data.ndim)
    shape = property(lambda self: (len(self), *self.data.shape[1:]))
    dtype = property(lambda self: self.data.dtype)
    size = property(lambda self: int(np.prod(self.shape)))


# -- data_utils -------------------------------------------------------------------------------------------------------


class GeneratorEnqueuer:
    """The items of a generator; each is made when it is asked for, whatever the number of workers.

    Source: `keras.utils.GeneratorEnqueuer` of Keras 2.2.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, **options: Any) -> None:
        self.sequence, self._runs = sequence, False

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begin."""
        self._runs = True

    def is_running(self) -> bool:
        """Say whether it has begun, and has not been stopped."""
        return self._runs

    def stop(self, timeout: float | None = None) -> None:
        """End: `get` gives no more items."""
        self._runs = False

    def get(self) -> Iterator[Any]:
        """The items, in order."""
        return itertools.takewhile(lambda item: self._runs, self._items())

    def _items(self) -> Iterator[Any]:
        return iter(self.sequence)


class OrderedEnqueuer(GeneratorEnqueuer):
    """The items of a `keras.utils.Sequence`, epoch after epoch; `shuffle` changes the order of each.

    Source: `keras.utils.OrderedEnqueuer` of Keras 2.2.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence)
        self.shuffle = shuffle

    def _items(self) -> Iterator[Any]:
        while True:
            order = list(range(len(self.sequence)))
            if self.shuffle:
                random.shuffle(order)
            yield from (self.sequence[i] for i in order)
            self.sequence.on_epoch_end()


# -- engine.topology --------------------------------------------------------------------------------------------------


class Node:
    """The node that a program makes for its own kind of input layer; Keras' `InputLayer` stands for the layer.

    Args:
        outbound_layer: the program's layer, whose `inbound_nodes` get the node.
        inbound_layers: must be empty.
        node_indices, tensor_indices, input_tensors: ignored.
        output_tensors: placeholders, for each of which there is an input of the same shape.

    Raises:
        NotImplementedError: there are inbound layers.

    Source: `keras.engine.topology.Node` of Keras 2.1.
    """

    def __init__(
        self, outbound_layer: Any, inbound_layers: Any, node_indices: Any, tensor_indices: Any, input_tensors: Any,
        output_tensors: Any, *masks_and_shapes: Any, **more: Any,
    ) -> None:  # fmt: skip
        if inbound_layers:
            problem = "a layer that is called on the tensors of others makes its node itself: call the layer."
            raise op_error(NotImplementedError, "Node", problem, f"inbound_layers={inbound_layers!r}")
        self.outbound_layer = outbound_layer
        self.output_tensors = self.input_tensors = [
            keras.Input(batch_shape=tuple(each.shape), dtype=str(each.dtype), name=outbound_layer.name)
            for each in output_tensors
        ]
        outbound_layer.inbound_nodes.append(self)


# -- test_utils -------------------------------------------------------------------------------------------------------


def get_test_data(
    num_train: int = 1000,
    num_test: int = 500,
    input_shape: tuple[int, ...] = (10,),
    output_shape: tuple[int, ...] = (2,),
    classification: bool = True,
    num_classes: int = 2,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Draw samples around a number for each: its class, or a random one that the targets lie around, too."""
    count = num_train + num_test
    random = np.random  # programs seed it
    centers = random.randint(0, num_classes, count) if classification else random.random(count)
    x = np.stack([random.normal(center, 0.7, input_shape) for center in centers])
    y = centers if classification else np.stack([random.normal(center, 0.7, output_shape) for center in centers])
    return (x[:num_train], y[:num_train]), (x[num_train:], y[num_train:])


def keras_test(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a test: after it, Keras forgets its names and state."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        keras.backend.clear_session()
        return result

    return run
