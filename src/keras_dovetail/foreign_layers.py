"""Layers of other libraries on Dovetail: Keras' `TorchModuleWrapper`, `JaxLayer` and `FlaxLayer`.

The call of such a layer is one operation of any program.  The library's own engine alone has a rule for it, which calls
the library's function with its arrays; the gradient is the library's own.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from dovetail import kinds
from dovetail.core.calls.static_types import DTypeLike, ShapeLike
from dovetail.core.calls.user_ops import UserOp, register_op
from dovetail.core.tensor import Tensor
from dovetail.core.values.value_kinds import dtype_of
from dovetail.interop.privates import tree
from dovetail.ops.control.host_calls import gradient_of_function, specs_of_results
from keras_dovetail.src.tensors import convert_to_tensor, is_tensor
from keras_dovetail.src.variable import Variable

SIZES = 2, 3  # an unknown dimension of a result is one that differs with them


class Call(ABC):
    """A function of a library's arrays that gives a list of arrays, with its gradient by the library."""

    @abstractmethod
    def __call__(self, *arrays: Any) -> list[Any]:
        """The results."""

    @abstractmethod
    def gradient(self, *arrays: Any) -> list[Any]:
        """The gradients by the arguments of float dtypes; after the arguments, those by such results are given."""

    @abstractmethod
    def results(self, specs: Sequence[tuple[tuple[int, ...], str]]) -> list[tuple[tuple[int, ...], str]]:
        """The shapes and dtypes of the results for arguments of some shapes and dtypes."""

    def specs(self, tensors: Sequence[Any]) -> tuple[list[str], list[tuple[int | None, ...]]]:
        """The dtypes of the results, and their shapes, as far as they are known."""
        given = [(tuple(tensor.shape), str(dtype_of(tensor))) for tensor in tensors]
        sizes = SIZES if any(None in shape for shape, _ in given) else SIZES[:1]
        of_sizes = [self.results([(_filled(shape, size), dtype) for shape, dtype in given]) for size in sizes]
        shapes = [
            tuple(dims[0] if len({*dims}) == 1 else None for dims in zip(*(shape for shape, _ in same), strict=True))
            for same in zip(*of_sizes, strict=True)
        ]
        return [dtype for _, dtype in of_sizes[0]], shapes


def _filled(shape: Sequence[int | None], size: int) -> tuple[int, ...]:
    return tuple(size if dim is None else dim for dim in shape)


def _operation(name: str, engine: str) -> UserOp:
    """The op that makes a `Call` on an engine."""

    @register_op(
        name, infer=specs_of_results, rules={engine: lambda inputs, function, *specs: tuple(function(*inputs))}
    )
    def call(
        inputs: kinds.Eachs, function: Callable[..., Any], dtypes: Sequence[DTypeLike], shapes: Sequence[ShapeLike]
    ) -> tuple[Tensor, ...]:
        """The results of a function of an engine's arrays."""

    call.gradient(gradient_of_function(call))
    advice = f"choose it, as by DOVETAIL_ENGINE={engine} or dovetail.set_engine({engine!r})."
    call.no_rule = lambda other: (  # type: ignore[method-assign, assignment]
        f"a layer of {engine} runs on the engine {engine!r}, not on {other!r}: {advice}"
    )
    return call


# -- PyTorch ----------------------------------------------------------------------------------------------------------


def wrap_torch_modules(module: ModuleType) -> None:
    """Let `TorchModuleWrapper` run on Dovetail.

    The module's parameters are variables of Keras, which replace them in each call.  Its buffers, as the means of batch
    normalization, stay with it.

    Args:
        module: `keras.src.utils.torch_utils`, which has just been imported.
    """
    keras: Any = module
    layer = keras.TorchModuleWrapper
    base, save, config = layer.__mro__[1], layer.save_own_variables, layer.get_config
    operation = functools.cache(lambda: _operation("TorchModule", "torch"))

    def __init__(self: Any, module: Any, name: str | None = None, output_shape: Any = None, **kwargs: Any) -> None:
        import torch

        base.__init__(self, name=name, **kwargs)
        if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin) and module.has_uninitialized_params():
            raise ValueError(f"call the lazy module once, so that it has parameters, before it is wrapped: {module}.")
        self.module, self.output_shape = module, output_shape
        self._named = {}
        for parameter_name, parameter in module.named_parameters():
            initial = parameter.detach().cpu().numpy()
            variable = self.add_weight(
                initial.shape,
                initializer=lambda *args, initial=initial, **kwargs: convert_to_tensor(initial),
                dtype=str(initial.dtype),
                trainable=parameter.requires_grad,
                name=parameter_name.replace(".", "_"),
            )
            self._named[parameter_name] = variable
        self.built = True

    def call(self: Any, *args: Any, training: bool | None = None, **kwargs: Any) -> Any:
        leaves = tree.flatten((args, kwargs))
        tensors = [convert_to_tensor(leaf) for leaf in leaves if is_tensor(leaf)]
        function = _ModuleCall(self.module, (args, kwargs), tuple(self._named), training is not False)
        given = [*tensors, *(convert_to_tensor(variable) for variable in self._named.values())]
        results = operation()(given, function, *function.specs(given))
        return tree.pack_sequence_as(function.structure, list(results))

    def compute_output_spec(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.output_shape is not None:
            return base.compute_output_spec(self, *args, **kwargs)
        return keras.backend.compute_output_spec(self.call, *args, **kwargs)

    def write_back(self: Any) -> None:
        """Give the module the values of its variables."""
        import torch

        with torch.no_grad():
            for parameter_name, parameter in self.module.named_parameters():
                parameter.copy_(torch.from_numpy(np.array(self._named[parameter_name].numpy())))

    def save_own_variables(self: Any, store: Any) -> None:
        write_back(self)
        save(self, store)

    def load_own_variables(self: Any, store: Any) -> None:
        import torch

        texts = {key.decode() if isinstance(key, bytes) else key: key for key in store.keys()}  # noqa: SIM118  # of h5py
        self.module.load_state_dict({text: torch.from_numpy(np.array(store[key])) for text, key in texts.items()})
        for parameter_name, parameter in self.module.named_parameters():
            self._named[parameter_name].assign(parameter.detach().cpu().numpy())

    def get_config(self: Any) -> dict[str, Any]:
        write_back(self)
        return config(self)

    for method in (__init__, call, compute_output_spec, save_own_variables, load_own_variables, get_config):
        setattr(layer, method.__name__, method)


class _ModuleCall(Call):
    """A call of a module with parameters from outside.

    Attributes:
        structure: of the results, once there are some.
    """

    def __init__(self, module: Any, given: Any, names: Sequence[str], training: bool) -> None:
        self._module, self._given, self._names, self._training = module, given, names, training
        self._count = len(names) + sum(map(is_tensor, tree.flatten(given)))
        self._random: Any = None  # the generator's state as the latest call began
        self.structure: Any = None

    def _run(self, arrays: Sequence[Any], buffers: dict[str, Any]) -> list[Any]:
        from torch.func import functional_call

        count = len(arrays) - len(self._names)
        tensors = iter(arrays[:count])
        args, kwargs = tree.map_structure(lambda leaf: next(tensors) if is_tensor(leaf) else leaf, self._given)
        weights = dict(zip(self._names, arrays[count:], strict=True))
        self._module.train(self._training)
        results = functional_call(self._module, {**weights, **buffers}, args, kwargs)
        self.structure = tree.map_structure(lambda _: 0, results)
        return tree.flatten(results)

    def _buffers(self) -> dict[str, Any]:
        """Copies of the module's buffers, which a call may change."""
        return {name: buffer.clone() for name, buffer in self._module.named_buffers()}

    def __call__(self, *arrays: Any) -> list[Any]:
        import torch

        self._random = torch.get_rng_state()
        with torch.no_grad():
            return self._run(arrays, {})

    def gradient(self, *arrays: Any) -> list[Any]:
        import torch

        given, arriving = arrays[: self._count], arrays[self._count :]
        with torch.random.fork_rng(), torch.enable_grad():
            torch.set_rng_state(self._random)  # so that the same elements are dropped
            inputs = [array.detach().requires_grad_(_is_float(array)) for array in given]
            results = [result for result in self._run(inputs, self._buffers()) if _is_float(result)]
        followed = [pair for pair in zip(results, arriving, strict=True) if pair[0].requires_grad]
        floats = [array for array in inputs if array.requires_grad]
        if not followed:
            return [torch.zeros_like(array) for array in floats]
        outputs, slopes = zip(*followed, strict=True)
        gradients = torch.autograd.grad(outputs, floats, slopes, allow_unused=True)
        return [torch.zeros_like(a) if g is None else g for a, g in zip(floats, gradients, strict=True)]

    def results(self, specs: Sequence[tuple[tuple[int, ...], str]]) -> list[tuple[tuple[int, ...], str]]:
        import torch

        zeros = [torch.zeros(shape, dtype=getattr(torch, dtype)) for shape, dtype in specs]
        with torch.random.fork_rng(), torch.no_grad():
            made = self._run(zeros, self._buffers())
        return [(tuple(result.shape), str(result.dtype).removeprefix("torch.")) for result in made]


def _is_float(array: Any) -> bool:
    return array.is_floating_point() or array.is_complex()


# -- JAX --------------------------------------------------------------------------------------------------------------


def call_jax_functions(module: ModuleType) -> None:
    """Let `JaxLayer`, and `FlaxLayer`, which inherits from it, run on Dovetail.

    Args:
        module: `keras.src.utils.jax_layer`, which has just been imported.
    """
    keras: Any = module
    operation = functools.cache(lambda: _operation("JaxFunction", "jax"))
    keras.backend = _AsOnJax(keras.backend)

    def call(self: Any, inputs: Any, training: bool = False) -> Any:
        import jax

        values = {
            "params": lambda: self.params,
            "state": lambda: self.state,
            "rng": lambda: self._get_call_rng(training),
            "inputs": lambda: inputs,
            "training": lambda: None,
        }
        given = [values[name]() for name in self.call_fn_arguments]
        function = _FunctionCall(self.call_fn, self.call_fn_arguments, given, training)
        tensors = [convert_to_tensor(leaf) for leaf in jax.tree_util.tree_leaves(given) if _is_value(leaf)]
        results = operation()(tensors, function, *function.specs(tensors))
        returned = jax.tree_util.tree_unflatten(function.structure, list(results))
        if not self.call_fn_has_state:
            return returned
        predictions, state = returned
        jax.tree_util.tree_map(lambda value, variable: variable.assign(value), state, self.state)
        return predictions

    keras.JaxLayer.call = call


class _AsOnJax:
    """Keras' `backend`, which says that it is JAX: then these layers accept it."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def backend(self) -> str:
        return "jax"


class _FunctionCall(Call):
    """A call of a function of JAX.

    Attributes:
        structure: of the results, once there are some.
    """

    def __init__(self, function: Callable[..., Any], names: Sequence[str], given: list[Any], training: bool) -> None:
        import jax

        self._function, self._names, self._training = function, names, training
        self._leaves, self._structure = jax.tree_util.tree_flatten(given)
        self._count = sum(map(_is_value, self._leaves))
        self.structure: Any = None

    def _run(self, *arrays: Any) -> list[Any]:
        import jax

        tensors = iter(arrays)
        leaves = [next(tensors) if _is_value(leaf) else leaf for leaf in self._leaves]
        given = dict(zip(self._names, jax.tree_util.tree_unflatten(self._structure, leaves), strict=True))
        if "training" in given:
            given["training"] = self._training
        if given.get("rng") is not None:
            given["rng"] = jax.tree_util.tree_map(lambda key: key.astype("uint32"), given["rng"])
        results, self.structure = jax.tree_util.tree_flatten(self._function(*given.values()))
        return results

    def __call__(self, *arrays: Any) -> list[Any]:
        with _own_bits(arrays):
            return self._run(*arrays)

    def gradient(self, *arrays: Any) -> list[Any]:
        import jax

        given, arriving = arrays[: self._count], list(arrays[self._count :])
        places = [i for i, array in enumerate(given) if jax.numpy.issubdtype(array.dtype, jax.numpy.inexact)]

        def of_floats(*floats: Any) -> list[Any]:
            inputs = list(given)
            for place, value in zip(places, floats, strict=True):
                inputs[place] = value
            return [r for r in self._run(*inputs) if jax.numpy.issubdtype(r.dtype, jax.numpy.inexact)]

        with _own_bits(given):
            return list(jax.vjp(of_floats, *(given[i] for i in places))[1](arriving))

    def results(self, specs: Sequence[tuple[tuple[int, ...], str]]) -> list[tuple[tuple[int, ...], str]]:
        import jax

        given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
        with _own_bits(given):
            return [(result.shape, str(result.dtype)) for result in jax.eval_shape(self._run, *given)]


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, Variable) or is_tensor(leaf)


def _own_bits(arrays: Sequence[Any]) -> Any:
    """A scope without JAX's types of 64 bits, as users' functions expect it, unless an argument has one."""
    import jax

    is_wide = any(array.dtype.itemsize == 8 and array.dtype.name != "complex64" for array in arrays)
    return nullcontext() if is_wide else jax.enable_x64(False)
