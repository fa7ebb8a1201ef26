"""Saving models in TensorFlow's files: Python's objects become trees of variables and functions."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

from dovetail import ops
from dovetail.core.base.errors import check_path, op_error
from dovetail.core.base.files import replacing, replacing_folder
from dovetail.core.base.scopes import scopes
from dovetail.core.values.spec import TensorSpec
from dovetail.core.values.structure import unflatten
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph
from dovetail.edit.transplant import copy_graph
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.frozen import graph_def_of
from dovetail.formats.tensorflow.functions import argument_name
from dovetail.formats.tensorflow.main_graph import edit_graph
from dovetail.formats.tensorflow.patching import Patch, changed_values
from dovetail.formats.tensorflow.saved_model import INIT
from dovetail.formats.tensorflow.saving import DICT, LIST, OBJECT, Endpoint, Traced, Tree, saved_model
from dovetail.formats.wire.bundle import Bundle, write_bundle, write_changed
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW, to_text
from dovetail.functions.function import Function, GraphFunction, Trace
from dovetail.passes.resolve import resolved
from dovetail.saved_model.loading import LoadedModel
from dovetail.saved_model.signatures import SERVING, OneSignature, Signature

FILE, VARIABLES = "saved_model.pb", "variables/variables"
SKIPPED = (ModuleType, type, FunctionType, MethodType, str, bytes, LoadedModel)  # attributes that hold no variables


def save(obj: Any, path: str | os.PathLike[str], signatures: Any = None) -> None:
    """Save a model as a SavedModel of TensorFlow, which TensorFlow loads and trains; TensorFlow is not needed.

    A folder of this path is replaced as a whole: if saving fails, it stays as it was.

    Args:
        obj: a compiled function, a signature, a graph, a model of Keras on Dovetail that has shapes, or an object whose
            attributes are variables, compiled functions, lists and objects.  A function is saved for each kind of
            arguments for which it was traced: call it before, or use `input_signature` or
            `function.trace(dt.spec((None, 3)))`.
        path: the folder.
        signatures: a function, a signature or a graph, which becomes the signature `serving_default`, or a dict of
            several by name.  If not given, it is `obj` itself, its method `__call__`, or its only function.

    Raises:
        TypeError: it is no model, or an argument of a function is of a type that no file can hold.
        ValueError: a function was not traced, an operation has no equivalent in TensorFlow, or TensorFlow refuses the
            name of an input or of a signature when it loads the model.
        StaleValueError: a variable has no value.
        RuntimeError: a graph is being built.
        ImportError: the extra `formats` is not installed.
        OSError: the files cannot be written.

    Source: `tf.saved_model.save`.

    Example:
        >>> import dovetail as dt, tempfile
        >>> w = dt.Variable([[1.0], [2.0]], name="w")
        >>> double = dt.function(lambda x: dt.ops.matmul(x, w), input_signature=[dt.spec((None, 2))], name="product")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(double, f"{folder}/model")
        ...     dt.saved_model.load(f"{folder}/model")(dt.ops.constant([[3.0, 4.0]])).numpy()
        array([[11.]], dtype=float32)
    """
    need("saved_model.save")
    if scopes().graphs:
        raise op_error(RuntimeError, "saved_model.save", "a graph is being built; save when its function has returned.")
    check_path("saved_model.save", path)
    folder, kind = Path(path), obj._saved.kind if isinstance(obj, LoadedModel) and signatures is None else None
    if folder.suffix in (".pb", ".pbtxt"):
        _save_graph(obj, folder, _loaded_graph(obj) if kind is TENSORFLOW.GraphDef else _frozen(obj, signatures))
        return
    _check_free(folder)
    if kind is TENSORFLOW.SavedModel:
        _save_loaded(obj, folder)
    else:
        write(*_Walk().model(obj, signatures), folder)


def _loaded_graph(model: LoadedModel) -> Any:
    """The message of a graph that was loaded, with its edits."""
    saved, message = model._saved, model._saved.original()
    for signature in model.signatures.made.values():
        if signature.is_edited:
            edit_graph(saved, message, signature.parts["read"])
    return message


def _frozen(obj: Any, signatures: Any) -> Any:
    """The message `GraphDef` of a function or a signature, with the values of its variables."""
    _, endpoints = _Walk().model(obj, signatures)
    if len(endpoints) != 1:
        problem = (
            f"a file .pb holds one graph, and there are the signatures {', '.join(endpoints) or 'none'}: save one."
        )
        raise op_error(ValueError, "saved_model.save", problem)
    (one,) = endpoints.values()
    ends = [*one.function.inputs, *one.function.outputs]
    if not ends:
        problem = "the signature has neither inputs nor outputs, so there is nothing to save."
        raise op_error(ValueError, "saved_model.save", problem)
    graph = ends[0][1].op.graph
    if isinstance(obj, OneSignature):
        return graph_def_of(_with_keys(obj.signature))
    copy = copy_graph(graph, own=True)
    copy.freeze()
    return graph_def_of(copy)


def _with_keys(signature: Signature) -> Graph:
    """The graph of a signature without variables and assignments, whose placeholders and results are named by keys."""
    whole = resolved(signature.graph, signature.name)
    graph: Any = whole.subgraph(whole.outputs, whole.inputs)
    graph.freeze()
    for operation in list(graph):
        if operation.name in (*signature.input_keys, *signature.output_keys):
            operation.change(name=f"inner/{operation.name}")
    for key, tensor in zip(signature.input_keys, graph.inputs, strict=True):
        tensor.op.change(name=key)
    with graph.as_default():
        graph.outputs = [ops.identity(tensor) for tensor in graph.outputs]
    for key, tensor in zip(signature.output_keys, graph.outputs, strict=True):
        tensor.op.change(name=key)
    return graph


def _save_graph(obj: Any, file: Path, message: Any) -> None:
    loaded = obj._saved if isinstance(obj, LoadedModel) else None
    is_same = loaded is not None and (loaded.kind, loaded.file.suffix) == (TENSORFLOW.GraphDef, file.suffix)
    unedited = is_same and not any(one.is_edited for one in obj.signatures.made.values())
    data = message.SerializeToString() if file.suffix == ".pb" else to_text(message).encode()
    with replacing(file) as out:
        out.write(obj._saved.data if unedited else data)


def write(root: Tree, endpoints: Mapping[str, Endpoint], folder: Path) -> None:
    """Write a tree of objects with its signatures as a SavedModel; for errors, see `save`."""
    if INIT in endpoints:
        problem = f"TensorFlow runs the signature {INIT!r} when it loads a model: give it another name."
        raise op_error(ValueError, "saved_model.save", problem)
    try:
        written = saved_model(root, endpoints)
    except Unreadable as error:
        raise op_error(TypeError, "saved_model.save", f"{error}.") from None
    with _new_folder(folder) as made:
        write_bundle(str(made / VARIABLES), written.values)
        with replacing(made / FILE) as file:
            file.write(written.message.SerializeToString())


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with replacing_folder(folder) as made:
        yield made


def _save_loaded(model: LoadedModel, folder: Path) -> None:
    """Save a model that was loaded: unedited parts stay as they are in its files."""
    saved, edits = model._saved, model._edits()
    patch = None
    if edits:
        patch = Patch(saved)
        for edit in edits:
            edit(patch)
        patch.end()
    source, values = saved.file.parent, {**changed_values(saved), **(patch.values if patch is not None else {})}
    with _new_folder(folder) as made:
        for file in sorted(source.rglob("*")):
            own = file.relative_to(source)
            is_replaced = (
                own == Path(saved.file.name)
                or own.parent == Path(VARIABLES).parent
                or (patch is not None and own.name == "fingerprint.pb")
            )
            if file.is_file() and not is_replaced:
                (made / own).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, made / own)
        if isinstance(saved.bundle, Bundle):
            write_changed(str(made / VARIABLES), saved.bundle, values)
        with replacing(made / (saved.file.name if patch is None else FILE)) as out:
            out.write(saved.data if patch is None else patch.message.SerializeToString())


def _check_free(folder: Path) -> None:
    """Raise an error if a folder has other files than those of a model, which saving would remove."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / FILE).is_file():
        problem = f"{str(folder)!r} has files that are no SavedModel, and saving would replace them; name a new folder."
        raise op_error(FileExistsError, "saved_model.save", problem)


class _Walk:
    """A walk through the attributes of an object."""

    def __init__(self) -> None:
        self._parts: dict[int, Any] = {}  # id of a value → its part of the tree
        self._kept: list[Any] = []  # the values, whose ids stay theirs

    def model(self, obj: Any, signatures: Any) -> tuple[Tree, dict[str, Endpoint]]:
        """The tree of an object, and its signatures."""
        if isinstance(obj, LoadedModel) and signatures is None:
            obj = dict(obj.signatures)
        elif isinstance(obj, OneSignature) and not isinstance(obj, LoadedModel):
            obj = obj.signature
        of_keras: Any = getattr(sys.modules.get("keras"), "Model", ())
        if signatures is None and isinstance(obj, of_keras):
            if not hasattr(obj, "saved_model_parts"):
                problem = f"the Keras of {obj.name!r} does not run on Dovetail: write model.export(folder)."
                raise op_error(TypeError, "saved_model.save", problem)
            parts: tuple[Tree, dict[str, Endpoint]] = obj.saved_model_parts()
            return parts
        named = {SERVING: obj} if isinstance(obj, Signature) else obj
        if isinstance(named, Mapping) and named and all(isinstance(one, Signature) for one in named.values()):
            return Tree(), {name: _of_signature(one) for name, one in named.items()}
        part = self.part(obj)
        if part is None or isinstance(part, Variable):
            problem = f"{obj!r} is no model: save a compiled function, a graph, or an object with such attributes."
            raise op_error(TypeError, "saved_model.save", problem)
        if isinstance(part, list) and not part:
            raise _nottraced(obj)
        root = Tree({"__call__": part}) if isinstance(part, list) else part
        root.kind = OBJECT  # a model is no list and no dict
        return root, {name: endpoint(kinds) for name, kinds in self._signatures(root, signatures).items()}

    def _signatures(self, root: Tree, given: Any) -> dict[str, list[Traced]]:
        if given is None:
            functions = {name: child for name, child in root.children.items() if isinstance(child, list) and child}
            if "__call__" not in functions and len(functions) != 1:
                return {}
            return {SERVING: functions.get("__call__") or next(iter(functions.values()))}
        named = given if isinstance(given, Mapping) else {SERVING: given}
        parts = {name: self.part(function) for name, function in named.items()}
        for name, kinds in parts.items():
            if not isinstance(kinds, list):
                problem = f"the signature {name!r} is no compiled function and no graph, but {named[name]!r}."
                raise op_error(TypeError, "saved_model.save", problem)
            if not kinds:
                raise _nottraced(named[name])
        return parts

    def part(self, value: Any) -> Any:
        """The part of the tree for a value: a variable, a list of `Traced`, or a tree; None for others."""
        if isinstance(value, Variable):
            return value
        known = self._parts.get(id(value))
        if known is None:
            self._kept.append(value)
            known = self._part(value)
        return known

    def _part(self, given: Any) -> Any:
        value = _compiled(given) or given
        if isinstance(value, (Function, Graph, Signature, Trace)):
            kinds = self._parts[id(given)] = _kinds(value)
            return kinds
        if hasattr(type(value), "traced_kinds"):  # a function that says itself what a file has of it
            kinds = self._parts[id(given)] = value.traced_kinds()
            return kinds
        pairs: Any
        if isinstance(value, Mapping):
            pairs, kind = value.items(), DICT
        elif isinstance(value, (list, tuple)):
            pairs, kind = enumerate(value), LIST
        elif hasattr(value, "__dict__") and not isinstance(value, SKIPPED):
            pairs, kind = {**_methods(value), **vars(value)}.items(), OBJECT
        else:
            return None
        tree = self._parts[id(given)] = Tree({}, kind)
        for name, inner in list(pairs):
            part = self.part(inner)
            held = part.children if isinstance(part, Tree) else part
            if isinstance(part, Variable) or held:  # no function without traces, and no object without variables
                tree.children[str(name)] = part
        return tree


def _methods(value: Any) -> dict[str, Function[..., Any]]:
    """The methods of an object that are compiled functions, by name."""
    names = [name for name in dir(type(value)) if _compiled(inspect.getattr_static(type(value), name))]
    return {name: getattr(value, name) for name in names}


def _compiled(value: Any) -> Function[..., Any] | None:
    """A compiled function, also of one that only holds it, as `tf.function` does; None for others."""
    function = value if isinstance(value, Function) else getattr(value, "compiled", None)
    return function if isinstance(function, Function) else None


def _kinds(value: Any) -> list[Traced]:
    """A function for each kind of its arguments."""
    if isinstance(value, Signature):
        value = value.as_function()
    if isinstance(value, GraphFunction):
        return [_of_graph(graph) for graph in value.graphs]
    if isinstance(value, Graph):
        return [_of_graph(value)]
    if isinstance(value, Trace):
        return [traced(value, None)]
    if not value.traces and value._signature is not None:
        specs, structure = value._signature
        value.trace(*unflatten(structure, specs))
    return [traced(trace, value) for trace in value.traces]


def _of_graph(graph: Graph) -> Traced:
    graph = resolved(graph, graph.name)
    names: list[str] = []
    for tensor in graph.inputs:
        names.append(argument_name(tensor.op.name, names))
    outputs = tuple(graph.outputs)
    return Traced(graph.name, names, tuple(graph.inputs), {}, outputs[0] if len(outputs) == 1 else outputs)


def _of_signature(signature: Signature) -> Endpoint:
    """A signature of a loaded model, with the needs of its graph alone."""
    if signature.has_host_nodes:
        problem = f"{signature.name!r}: the host computes strings, tables or records for it; save the whole model."
        raise op_error(NotImplementedError, "saved_model.save", problem)
    graph = resolved(signature.graph, signature.name)
    inputs, outputs = graph.inputs, graph.outputs
    results = dict(zip(signature.output_keys, outputs, strict=True))
    one = Traced(signature.name, list(signature.input_keys), tuple(inputs), {}, results)
    return Endpoint(one, dict(zip(signature.input_keys, inputs, strict=True)), results)


def traced(trace: Trace, function: Function[..., Any] | None, graph: Graph | None = None) -> Traced:
    """A trace of a function as data.

    Args:
        trace: the trace.
        function: the function, whose parameters give the arguments names.
        graph: a copy of the trace's graph in place of it, which may be edited.
    """
    graph = graph or resolved(trace.concrete.graph, trace.concrete.graph.name)
    tensors = iter(graph.inputs)
    leaves = [next(tensors) if type(leaf) is TensorSpec else leaf for leaf in trace.leaves]
    keys = {tensor: leaf.name for tensor, leaf in zip(leaves, trace.leaves, strict=True) if type(leaf) is TensorSpec}
    given, result = unflatten(trace.structure, leaves), trace.rebuild(list(graph.outputs))
    signature = ANY if function is None else inspect.signature(function)
    if function is not None and function._owner is not None:  # a method
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    bound = _bound(signature, given)
    named = [one for one in signature.parameters.values() if one.kind in POSITIONAL]
    names = [one.name for one in named]
    names += [f"arg{i}" for i in range(len(names), len(bound.args))]
    defaults = tuple(one.default for one in named if one.default is not inspect.Parameter.empty)
    has_more = len(names) > len(named)  # then the last parameters are others
    return Traced(graph.name, names, bound.args, bound.kwargs, result, () if has_more else defaults, keys)


def _bound(signature: inspect.Signature, given: Any) -> inspect.BoundArguments:
    """The arguments of a trace, by the parameters of its function.

    Args:
        signature: of the function.
        given: the arguments, or the pair (args, kwargs) if there are keywords.
    """
    if len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        with suppress(TypeError):  # else a tuple and a dict are the arguments
            return _with_defaults(signature.bind(*given[0], **given[1]))
    return _with_defaults(signature.bind(*given))


def _with_defaults(bound: inspect.BoundArguments) -> inspect.BoundArguments:
    bound.apply_defaults()
    return bound


POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ANY = inspect.signature(lambda *args, **kwargs: None)  # of a function that is not known


def endpoint(kinds: list[Traced], keys: Sequence[str] = ()) -> Endpoint:
    """A signature of a function; a dict of results has its keys.

    Args:
        kinds: one for each kind of arguments; the one with the most unknown dimensions is taken.
        keys: of the inputs; the names of their specs, or of the arguments, if not given.
    """
    one = max(kinds, key=lambda kind: kind.unknowns)
    is_named = isinstance(one.result, Mapping)
    outputs = {name if is_named else f"output_{i}": tensor for i, (name, tensor) in enumerate(one.outputs)}
    named = keys or [one.keys.get(tensor) or name for name, tensor in one.inputs]
    if len({*named}) < len(named):  # two specs have one name
        named = [name for name, _ in one.inputs]
    inputs = {key: tensor for key, (_, tensor) in zip(named, one.inputs, strict=True)}
    return Endpoint(one, inputs, outputs)


def endpoint_of(obj: Any, user: str) -> Endpoint:
    """The inputs and outputs of a compiled function, a graph, a signature, or the only signature of a loaded model.

    Args:
        obj: the function.
        user: the function that needs them, for errors.

    Raises:
        TypeError: it is none of them.
        ValueError: the function was not traced.
    """
    if isinstance(obj, OneSignature):
        return _of_signature(obj.signature)
    value = _compiled(obj) or obj
    if not isinstance(value, (Function, Graph, Trace)):
        problem = f"{obj!r} is no compiled function, no graph and no signature; give it one, as dt.function makes it."
        raise op_error(TypeError, user, problem)
    kinds = _kinds(value)
    if not kinds:
        raise _nottraced(obj, user)
    return endpoint(kinds)


def _nottraced(function: Any, user: str = "saved_model.save") -> Exception:
    problem = (
        f"{function!r} was not traced, so the shapes of its arguments are not known: call it before, give it "
        "input_signature=, or trace it, function.trace(dt.spec((None, 3)))."
    )
    return op_error(ValueError, user, problem)


OneSignature.saver = staticmethod(save)
