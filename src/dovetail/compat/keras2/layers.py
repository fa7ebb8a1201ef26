"""Methods and attributes that layers, models and tensors had in Keras 2."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from traceback import walk_tb
from typing import Any

import keras
import numpy as np

from dovetail import backend as K
from dovetail.backend.feeding import map_sparse, sparse_placeholder
from dovetail.backend.seeds import seeds_of_layer
from dovetail.compat.keras2 import built_tensors, recurrent, words
from dovetail.compat.keras2.patches import Own, Patch, methods
from dovetail.core.base.scopes import record_on
from dovetail.core.base.tensor_shape import TensorShape
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.interop.keras.tensors import tensor_like
from dovetail.interop.keras_values import in_run
from dovetail.interop.layer_phase import in_set_phase
from dovetail.interop.privates import BaseConv, Functional, Node, any_symbolic_tensors, functional, get_keras_mask, tree

OF_KERAS = "keras.", "keras_dovetail.", "dovetail."  # the modules of classes that no program wrote

MASKS = {"mask", "input_mask", "previous_mask"}  # the argument of `call` and `compute_mask`
CALLED = {"call", "_merge_function"}  # methods that compute a layer's results; merges have the second
SEEDS = "_seeds_of_calls"  # the attribute of a layer for the seeds that its calls have taken

# Properties that were attributes, which a program may set.
SETTABLE = {keras.layers.Dense: "kernel", BaseConv: "kernel", keras.layers.Embedding: "embeddings"}


def patches() -> Iterable[Patch]:
    """Yield the changes of layers, models and KerasTensors."""
    own_losses: Any = keras.layers.Layer.losses
    yield Patch(keras.layers.Layer, "losses", property(built_tensors.losses(own_losses.fget)))
    yield Patch(keras.layers.Layer, "_lock_state", lambda self: None)  # a built layer may get weights and layers
    shape_of: Any = keras.layers.Layer.compute_output_shape
    yield Patch(keras.layers.Layer, "compute_output_shape", functools.wraps(shape_of)(_shape_of_the_call))
    yield Patch(keras.layers.Layer, "compute_output_spec", _of_the_call(keras.layers.Layer.compute_output_spec))
    yield Patch(keras.layers.Layer, "__call__", _that_unpacks(keras.layers.Layer.__call__))
    yield Patch(Functional, "compute_output_spec", _with_new_seeds(Functional.compute_output_spec))
    for cls, name in SETTABLE.items():
        set_it = functools.partial(_set_private, name=name)
        yield Patch(cls, name, property(_while_built(vars(cls)[name].fget, f"_{name}"), set_it))
    yield from methods(
        keras.layers.Layer,
        add_loss=_add_loss,
        get_output_shape_for=lambda self, shape: self.compute_output_shape(shape),
        __init_subclass__=classmethod(_with_old_ways),
        get_input_at=_at("input_tensors", "input"),
        get_output_at=_at("output_tensors", "output"),
        get_input_shape_at=_at("input_tensors", "input shape", lambda tensor: tuple(tensor.shape)),
        get_output_shape_at=_at("output_tensors", "output shape", lambda tensor: tuple(tensor.shape)),
        get_input_mask_at=_at("input_tensors", "input mask", get_keras_mask),
        get_output_mask_at=_at("output_tensors", "output mask", get_keras_mask),
    )
    yield from methods(
        keras.Sequential,
        input=_of_the_graph("input"),
        output=_of_the_graph("output"),
        _nodes_by_depth=property(lambda self: self._functional._nodes_by_depth),
    )
    yield from methods(
        keras.layers.Layer,
        input_shape=_shape_of("input"),
        output_shape=_shape_of("output"),
        input_mask=Own(lambda self: self.get_input_mask_at(0)),
        output_mask=Own(lambda self: self.get_output_mask_at(0)),
        assert_input_compatibility=lambda self, inputs: self._assert_input_compatibility(inputs),
        stateful=False,
        dynamic=False,
        input_dtype=Own(keras.layers.Layer.input_dtype.fget),  # which programs may set
        apply=lambda self, inputs, *args, **kwargs: self(inputs, *args, **kwargs),
        batch_input_shape=Own(lambda self: vars(self).get("_batch_input_shape")),
        inbound_nodes=Own(lambda self: self._inbound_nodes),
        outbound_nodes=Own(lambda self: self._outbound_nodes),
    )
    yield Patch(keras.layers.Wrapper, "weights", property(_of_the_layer_first))
    yield Patch(keras.layers.InputLayer, "input", property(lambda self: self.output))
    yield from methods(
        Node,
        outbound_layer=property(lambda self: self.operation),
        input_tensors=property(lambda self: self.outputs if self.is_input else self.arguments.keras_tensors),
        inbound_layers=_of_history("operation"),
        node_indices=_of_history("node_index"),
        tensor_indices=_of_history("tensor_index"),
        input_shapes=_shape_of("input_tensors"),
        output_shapes=_shape_of("output_tensors"),
        input_masks=property(lambda self: [*map(get_keras_mask, self.input_tensors)]),
        output_masks=property(lambda self: [*map(get_keras_mask, self.output_tensors)]),
    )
    yield Patch(functional, "serialize_node", _but_of_inputs(functional.serialize_node))
    yield from methods(
        keras.KerasTensor,
        shape=property(lambda self: TensorShape(self._shape), vars(keras.KerasTensor)["shape"].fset),
        _keras_shape=property(lambda self: tuple(self._shape)),
        get_shape=lambda self: self.shape,
        set_shape=_set_shape,
    )


def _set_shape(self: Any, shape: Any) -> None:
    """Give a KerasTensor the dimensions that it lacks, as `tf.Tensor.set_shape` does.

    Raises:
        ValueError: they differ from the dimensions that it has.
    """
    self._shape = tuple(TensorShape(self.shape).merge_with(shape).as_list())


def _but_of_inputs(serialize: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function that writes nodes: those of inputs are not written, though they have input tensors."""
    return functools.wraps(serialize)(lambda node, **options: None if node.is_input else serialize(node, **options))


def _of_history(part: str) -> property:
    """Make a property of nodes: where each input tensor comes from."""
    return property(lambda self: [getattr(t._keras_history, part) for t in self.arguments.keras_tensors])


def _shape_of(name: str) -> Own:
    """Make an attribute for the shapes of the tensors of another one."""

    def shapes(self: Any) -> Any:
        tensors = getattr(self, name)
        if isinstance(tensors, (list, tuple)):
            return [tuple(tensor.shape) for tensor in tensors]
        return tuple(tensors.shape)

    return Own(shapes)


def _with_old_ways(cls: Any, **options: Any) -> None:
    """Let a class that defines `get_output_shape_for`, as in Keras 1, compute the shape of its output by that.

    A program's class also computes again what its `build` computes.
    """
    super(keras.layers.Layer, cls).__init_subclass__(**options)
    if "get_output_shape_for" in vars(cls) and "compute_output_shape" not in vars(cls):
        cls.compute_output_shape = cls.get_output_shape_for
    if not cls.__module__.startswith(OF_KERAS):
        recurrent.loop_over_steps(cls)
        for name in {"call", "compute_mask"} & vars(cls).keys():
            setattr(cls, name, _of_masks(vars(cls)[name]))
        built_tensors.prepare(cls)
        if CALLED & vars(cls).keys() and "compute_output_spec" not in vars(cls):
            cls.compute_output_spec = keras.layers.Layer.compute_output_spec  # an Embedding has one of its own
        if "compute_output_shape" in vars(cls):
            cls.compute_output_shape = _in_numbers(cls.compute_output_shape)


def _of_masks(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `call` or `compute_mask`: the mask of several inputs is None if no input has one, not a list of None."""
    if not inspect.isfunction(method) or MASKS.isdisjoint(inspect.signature(method).parameters):
        return method

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs |= {name: _of_some(kwargs[name]) for name in MASKS & kwargs.keys()}
        return method(self, *args[:1], *map(_of_some, args[1:]), **kwargs)

    return call


def _of_some(mask: Any) -> Any:
    """A mask, or the masks of several inputs; None if no input has one."""
    return None if isinstance(mask, (list, tuple)) and all(each is None for each in tree.flatten(mask)) else mask


def _in_numbers(shape_of: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `compute_output_shape`: it may return a `tf.TensorShape`, or several of them."""
    return functools.wraps(shape_of)(lambda self, *args, **kwargs: _plain_shape(shape_of(self, *args, **kwargs)))


def _plain_shape(shape: Any) -> Any:
    """A shape, or a structure of shapes, in tuples."""
    if isinstance(shape, TensorShape):
        return tuple(shape.as_list())
    if isinstance(shape, dict):
        return {key: _plain_shape(each) for key, each in shape.items()}
    return type(shape)(map(_plain_shape, shape)) if type(shape) in (list, tuple) else shape


def _shape_of_the_call(self: Any, input_shape: Any) -> Any:
    """The shape of a layer's output, found by its `call`; the layer is built, if it was not.

    Args:
        input_shape: a shape, or a structure of shapes.

    Raises:
        NotImplementedError: `call` needs more than the input.

    Source: `tf.keras.layers.Layer.compute_output_shape` of TensorFlow 2.
    """
    shapes = _plain_shape(input_shape)
    inputs = tree.map_shape_structure(lambda shape: keras.KerasTensor(shape, self.input_dtype), shapes)
    if not (self.built or hasattr(self.build, "_is_default")):
        self.build(shapes)
    options = {"training": False} if self._call_has_training_arg else {}
    try:
        specs = super(keras.layers.Layer, self).compute_output_spec(inputs, **options)
    except TypeError as error:
        reason = f"{type(self).__name__}.call needs more than its input: define compute_output_shape there"
        raise NotImplementedError(f"compute_output_shape: {reason}.") from error
    return keras.tree.map_structure(lambda each: tuple(each.shape), specs)


def _of_the_call(spec_of: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `compute_output_spec`: a program's `call` decides how many outputs there are, and of which dtypes.

    So did the tensors in Keras 2.  `compute_output_shape` gives the dimensions that stay unknown.  Wrong ones did no
    harm there, so a call that they keep from working gets inputs without them.  A layer's own errors are raised.
    """

    @functools.wraps(spec_of)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _seeds(self, is_new=True):
            try:
                return once(self, *args, **kwargs)
            except Exception as error:
                leaves = keras.tree.flatten((args, kwargs))
                if _is_of_shape(error, self) or not any(map(_is_partly_known, leaves)):
                    raise
                try:
                    return _in_a_graph(self.call, args, kwargs)
                except Exception as without:
                    raise error from without

    def once(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_lambda = isinstance(self, keras.layers.Lambda)
        if not is_lambda and not _runs_the_program(type(self)):
            args, kwargs = keras.tree.map_structure(_dense_spec, (args, kwargs))
            return spec_of(self, *args, **kwargs)
        is_of_class = _is_of_the_program(type(self), "compute_output_shape")
        try:
            specs = super(keras.layers.Layer, self).compute_output_spec(*args, **kwargs)
            specs = keras.tree.map_structure(lambda v: _spec_of_variable(v) if isinstance(v, Variable) else v, specs)
        except Exception as error:
            is_declared = self._output_shape is not None if is_lambda else is_of_class
            needs_lengths = isinstance(error, TypeError) or not _is_own(error, self)  # which no shape tells
            if not (is_declared and needs_lengths):
                raise
            return spec_of(self, *args, **kwargs)
        if is_of_class and any(each is None for each in keras.tree.flatten(specs)):
            return spec_of(self, *args, **kwargs)  # a gradient between inputs, which are tensors of their own here
        if all(None not in each.shape for each in keras.tree.flatten(specs) if isinstance(each, keras.KerasTensor)):
            return specs
        try:
            declared = keras.tree.flatten(spec_of(self, *args, **kwargs))
        except Exception as error:
            if _is_own(error, self) and not words.of_tensorflow:  # tf.keras never asked for it
                raise
            return specs
        leaves = keras.tree.flatten(specs)
        merged = map(_with_dimensions, leaves, declared) if len(leaves) == len(declared) else leaves
        return keras.tree.pack_sequence_as(specs, list(merged))

    return call


def _seeds(layer: Any, is_new: bool) -> AbstractContextManager[None]:
    """A scope with the seeds of a layer that runs functions of a program; `is_new` as for `seeds_of_layer`."""
    if type(layer).__module__.startswith(OF_KERAS) and not isinstance(layer, keras.layers.Lambda):
        return nullcontext()
    return seeds_of_layer(vars(layer).setdefault(SEEDS, []), is_new)


def _with_new_seeds(spec_of: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `compute_output_spec` of models: if layers in one have taken seeds, another call takes new ones."""

    @functools.wraps(spec_of)
    def call(self: Any, inputs: Any, **options: Any) -> Any:
        if any(vars(layer).get(SEEDS) for layer in self._flatten_layers()):
            return self._run_through_graph(inputs, operation_fn=lambda operation: operation.compute_output_spec)
        return spec_of(self, inputs, **options)

    return call


def _is_own(error: BaseException, layer: Any) -> bool:
    """Whether an error was raised by the code of a program's layer, and not by a library that it called."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    source = layer.function if isinstance(layer, keras.layers.Lambda) else type(layer)
    module = str(frame.f_globals.get("__name__"))
    return not module.startswith(OF_KERAS) and module == source.__module__


def _is_of_shape(error: BaseException, layer: Any) -> bool:
    """Whether a program's `compute_output_shape` raised an error, which no other call would change."""
    names = [frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)]
    return "compute_output_shape" in names and _is_own(error, layer)


def _with_dimensions(found: Any, declared: Any) -> Any:
    """A KerasTensor whose unknown dimensions are those of another one of the same rank, as is an unknown first one."""
    if not isinstance(found, keras.KerasTensor) or len(found.shape) != len(declared.shape):
        return found
    shape = [other if own is None else own for own, other in zip(found.shape, declared.shape, strict=True)]
    if shape and declared.shape[0] is None:
        shape[0] = None
    merged = keras.KerasTensor(shape, found.dtype, sparse=found.sparse)
    merged._computed_shape = found.shape
    return merged


def _is_partly_known(value: Any) -> bool:
    """Whether a value is a KerasTensor with unknown dimensions, or with some that `compute_output_shape` declared."""
    return isinstance(value, keras.KerasTensor) and (None in value.shape or hasattr(value, "_computed_shape"))


def _dense_spec(spec: Any) -> Any:
    """A KerasTensor without the mark of a sparse one; another value itself."""
    is_sparse = isinstance(spec, keras.KerasTensor) and spec.sparse
    return keras.KerasTensor(tuple(spec.shape), spec.dtype) if is_sparse else spec


def _spec_of_variable(variable: Variable) -> Any:
    return keras.KerasTensor(variable.shape, str(variable.dtype))


def _in_a_graph(call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The KerasTensors of a call's results, which a graph infers from inputs without declared dimensions."""
    graph = Graph("call")

    def stand_in(value: Any) -> Any:
        if not isinstance(value, keras.KerasTensor):
            return value
        shape = tuple(getattr(value, "_computed_shape", value.shape))
        shape = (None, *shape[1:]) if shape else shape
        if value.sparse:
            return sparse_placeholder(graph, shape, value.dtype, None)
        return graph.placeholder(TensorSpec(shape, as_dtype(value.dtype)))

    with record_on(()), graph.as_default():
        args, kwargs = keras.tree.map_structure(stand_in, (args, kwargs))
        return keras.tree.map_structure(_spec_of_tensor, call(*args, **kwargs))


def _spec_of_tensor(tensor: Any) -> Any:
    return (
        keras.KerasTensor(tuple(tensor.shape), str(tensor.dtype), sparse=True)
        if K.is_sparse(tensor)
        else tensor_like(tensor)
    )


def _is_of_the_program(cls: Any, name: str) -> bool:
    """Whether a class has an attribute of a program's class, not one of Keras."""
    owner = next((each for each in cls.__mro__ if name in vars(each)), cls)
    return not owner.__module__.startswith(OF_KERAS)


def _runs_the_program(cls: Any) -> bool:
    """Whether the calls of a class of layers run a method of a program's class."""
    return any(hasattr(cls, name) and _is_of_the_program(cls, name) for name in CALLED)


def _that_unpacks(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `__call__`: a program's layer that returns a list of one tensor gives the tensor, but not in `tf.keras`.

    Arguments that are no tensors, as in `layer(x, True)`, may be positional.  A learning phase that is set says whether
    the layer trains.  Layers of Keras take sparse tensors as dense ones.
    """

    @functools.wraps(call)
    def unpacked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, (bool, int, str)) for arg in args[1:]):
            names = list(inspect.signature(self.call).parameters)
            args, kwargs = args[:1], dict(zip(names[1:], args[1:], strict=False)) | kwargs
        if not _takes_sparse(self):
            args, kwargs = map_sparse(K.to_dense, args), map_sparse(K.to_dense, kwargs)
        elif isinstance(self, keras.Model):
            args = _alike(args)
        with nullcontext() if any_symbolic_tensors(args, kwargs) else _seeds(self, is_new=False):
            results = call(self, *args, **in_set_phase(self, args, kwargs))
        unpacks = not (words.of_tensorflow or type(self).__module__.startswith(("keras.", "dovetail.")))
        return results[0] if unpacks and type(results) is list and len(results) == 1 else results

    return unpacked


def _alike(inputs: Any) -> Any:
    """Inputs of a model; arrays beside tensors become tensors."""
    if not any(map(keras.ops.is_tensor, tree.flatten(inputs))):
        return inputs
    made = keras.ops.convert_to_tensor
    return tree.map_structure(lambda each: made(each) if isinstance(each, np.ndarray) else each, inputs)


def _takes_sparse(layer: Any) -> bool:
    """Whether a layer runs functions of a program, which may take sparse tensors."""
    return isinstance(layer, (keras.Model, keras.layers.Lambda)) or _runs_the_program(type(layer))


def _of_the_layer_first(self: Any) -> list[Any]:
    """The weights of the layer in a wrapper, then the wrapper's own."""
    inner = self.layer.weights if hasattr(self, "layer") else []
    ids = {id(variable) for variable in inner}
    return [*inner, *(v for v in super(keras.layers.Wrapper, self).weights if id(v) not in ids)]


def _while_built(get: Callable[[Any], Any], private: str) -> Callable[[Any], Any]:
    """Wrap the getter of a weight, which `build` may read as soon as it has set it."""
    return functools.wraps(get)(lambda self: get(self) if self.built else vars(self).get(private) or get(self))


def _set_private(self: Any, value: Any, name: str) -> None:
    setattr(self, f"_{name}", value)


_own_add_loss = keras.layers.Layer.add_loss


def _add_loss(self: Any, losses: Any, inputs: Any = None) -> None:
    """Add losses in the call of a layer; `inputs` is ignored, as in `add_update`."""
    in_run_losses = [in_run(loss) for loss in (losses if isinstance(losses, list) else [losses])]
    built_tensors.note(self, in_run_losses)
    _own_add_loss(self, in_run_losses)


def _at(tensors: str, words: str, part: Callable[[Any], Any] = lambda tensor: tensor) -> Callable[..., Any]:
    """Make a method for the inputs or outputs of one call of a layer; several tensors come as a list."""

    def method(self: Any, node_index: int) -> Any:
        if isinstance(self, keras.Model) and not self._inbound_nodes:  # its own tensors were its first call
            tensors_of_node = getattr(self, f"{tensors.partition('_')[0]}s")
            tensors_of_node = tensors_of_node[0] if len(tensors_of_node) == 1 else tensors_of_node
        else:
            tensors_of_node = self._get_node_attribute_at_index(node_index, tensors, words)
        return (
            [part(tensor) for tensor in tensors_of_node]
            if isinstance(tensors_of_node, (list, tuple))
            else part(tensors_of_node)
        )

    return method


def _of_the_graph(name: str) -> property:
    """Make a property for the input or output of a Sequential, which need not have been called as a layer."""

    def tensor(self: Any) -> Any:
        source = self._functional or super(keras.Sequential, self)
        tensors = getattr(source, name)
        return tensors[0] if isinstance(tensors, list) and len(tensors) == 1 else tensors

    return property(tensor)
