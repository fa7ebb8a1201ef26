"""Export of models as SavedModels: the base of Keras' ExportArchive.  TensorFlow is not needed.

`import keras` does without the tables of files, so `dovetail.saved_model` is imported when a model is exported.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dovetail
from dovetail.core.base.table import OPS
from dovetail.formats.wire.libraries import need

if TYPE_CHECKING:
    from dovetail.formats.tensorflow.saving import Endpoint, Traced, Tree
    from dovetail.functions.function import Trace

SERVING = "serving_default"
COLLECTIONS = ("variables", "trainable_variables", "non_trainable_variables")


class SavedModelExportArchive:
    """The base class that Keras' ExportArchive inherits from a backend.

    Attributes:
        variables, trainable_variables, non_trainable_variables: Keras' variables that were tracked.

    Source: `keras.export.ExportArchive`.
    """

    def __init__(self) -> None:
        need("keras.export.ExportArchive")
        self.variables: list[Any] = []
        self.trainable_variables: list[Any] = []
        self.non_trainable_variables: list[Any] = []
        self._collections: dict[str, list[Any]] = {}
        self._endpoints: dict[str, tuple[list[Traced], list[str]]] = {}

    def track(self, resource: Any) -> None:
        """Save the variables of a layer or a model.

        Raises:
            ValueError: it is none, or is not built.
        """
        if not hasattr(resource, "trainable_variables") or not getattr(resource, "built", True):
            raise ValueError(f"a layer or model that is built is needed, not {resource!r}; call it on data first.")
        for name in COLLECTIONS:
            known = getattr(self, name)
            known += [variable for variable in getattr(resource, name) if not any(variable is one for one in known)]

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> Any:
        """Save a function, for arguments of some shapes and dtypes.

        Args:
            name: of the attribute and of the signature.
            fn: the function.
            input_signature: a list with a spec or a structure of specs for each argument; a compiled function that was
                traced needs none.

        Returns:
            The compiled function.

        Raises:
            ValueError: the name is taken, or no shapes are known.
        """
        if name in self._endpoints:
            raise ValueError(f"the endpoint name {name!r} is already taken.")
        traced = dovetail.saved_model.saving.traced
        if input_signature is None:
            kinds = [traced(trace, fn) for trace in getattr(fn, "traces", ())]
            if not kinds:
                raise ValueError(f"the shapes of the arguments of {fn!r} are not known: give input_signature=.")
            self._endpoints[name] = kinds, []
            return fn
        compiled = dovetail.function(lambda *args: fn(*args), name=name)
        specs, keys = specs_of(input_signature)
        graph = compiled.graph(*specs)
        use_bias_add(graph)
        self._endpoints[name] = [traced(compiled.trace(*specs), None, graph)], keys
        return compiled

    def track_and_add_endpoint(self, name: str, resource: Any, input_signature: Any, **kwargs: Any) -> Any:
        """Save the variables of a layer or a model, and its call."""
        self.track(resource)
        return self.add_endpoint(name, resource.__call__, input_signature, **kwargs)

    def add_variable_collection(self, name: str, variables: Iterable[Any]) -> None:
        """Save variables in a list, as an attribute."""
        self._collections[name] = list(variables)

    def write_out(self, filepath: Any, options: Any = None, verbose: bool | None = True) -> None:
        """Write the SavedModel; the first endpoint is also the signature `serving_default`.

        Raises:
            ValueError: there are no endpoints.
            OSError: the files cannot be written.
        """
        if not self._endpoints:
            raise ValueError("there are no endpoints: call add_endpoint before.")
        saving = dovetail.saved_model.saving
        lists = _lists({**{name: getattr(self, name) for name in COLLECTIONS}, **self._collections})
        functions = {name: kinds for name, (kinds, _) in self._endpoints.items()}
        signatures = {name: saving.endpoint(*given) for name, given in self._endpoints.items()}
        first = next(iter(signatures.values()))
        tree = saving.Tree({**lists, **functions})
        saving.write(tree, {**signatures, SERVING: signatures.get(SERVING, first)}, Path(filepath))
        if verbose:
            for name, one in signatures.items():
                print(f"Saved {filepath!s}: {name}({', '.join(one.inputs)}) -> {', '.join(one.outputs)}")


def _lists(named: dict[str, list[Any]]) -> dict[str, Tree]:
    from dovetail.formats.tensorflow.saving import LIST, Tree

    return {name: Tree({str(i): one._value for i, one in enumerate(some)}, LIST) for name, some in named.items()}


def parts_of_model(model: Any) -> tuple[Tree, dict[str, Endpoint]]:
    """The variables of a Keras model and its signature, for `dovetail.saved_model.save`.

    Raises:
        ValueError: the model was never called or built, so that no shapes are known.

    Source: `tf.saved_model.save` of a Keras model.
    """
    from dovetail.interop.privates import get_input_signature

    saving = dovetail.saved_model.saving
    signature = get_input_signature(model)
    specs, _ = specs_of(signature[0] if len(signature) == 1 else signature)
    compiled = dovetail.function(lambda inputs: model(inputs), name="call")
    graph = compiled.graph(specs)
    use_bias_add(graph)
    kinds = [saving.traced(compiled.trace(specs), compiled, graph)]
    keys = ["inputs", *(f"inputs_{number}" for number in range(1, len(graph.inputs)))]
    lists = _lists({name: getattr(model, name) for name in COLLECTIONS})
    return saving.Tree({**lists, "__call__": kinds}), {SERVING: saving.endpoint(kinds, keys)}


def call_of(model: Any, signature: Any = None) -> tuple[Trace, list[str]]:
    """The call of a Keras model, for inference.

    Args:
        model: the model, which is built.
        signature: a list with a spec or a structure of specs for each argument; Keras' own if not given.

    Returns:
        Its trace, and the names of the inputs.

    Raises:
        ValueError: the model was never called, so that no shapes are known.
    """
    from dovetail.interop.privates import get_input_signature

    signature = get_input_signature(model) if signature is None else signature
    if not signature:
        raise ValueError("The model provided has never been called, so the shapes of its inputs are not known.")
    specs, names = specs_of(signature)
    phase = {"training": False} if "training" in inspect.signature(model.call).parameters else {}
    compiled = dovetail.function(lambda *args: model(*args, **phase), name=model.name)
    return compiled.trace(*specs), names


def specs_of(signature: Any) -> tuple[Any, list[str]]:
    """Specs of Dovetail in place of Keras' specs and tensors, and the names of the inputs."""
    import keras

    from dovetail.interop.privates import make_input_spec

    specs = [make_input_spec(leaf) for leaf in keras.tree.flatten(signature)]
    names = [one.name or f"input_{number}" for number, one in enumerate(specs)]
    known = [dovetail.spec(one.shape, one.dtype) for one in specs]
    return keras.tree.pack_sequence_as(signature, known), names


def use_bias_add(graph: Any) -> None:
    """Add biases as TensorFlow does, by operations `BiasAdd`, by whose names programs find them."""
    for operation in graph.find("AddV2"):
        bias = _bias_of(operation)
        if bias is not None:
            name = operation.name.replace("AddV2", "BiasAdd")
            with graph.insert_before(operation):
                biased = OPS["BiasAdd"](operation.inputs[0], bias, "channels_last", name=f"{name}/")
            graph.replace_all_uses(operation.outputs[0], biased)
    graph.prune()


def _bias_of(operation: Any) -> Any:
    """The vector that a sum adds to the channels, which come last, of its first input; None if it does not."""
    x, y = operation.inputs
    if y.op.type == "Reshape" and x.shape and y.shape and x.shape[-1] == y.shape[-1]:
        y = y.op.inputs[0]
    is_bias = x.shape and y.shape and len(x.shape) > 1 and len(y.shape) == 1 and x.shape[-1] == y.shape[0]
    return y if is_bias and y.shape[0] is not None and y.op.type in ("ReadVariableOp", "Cast") else None
