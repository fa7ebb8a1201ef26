"""Configurations of models of Keras 1 and 2, as Keras 3 takes them: plain data in, plain data out.

Each layer becomes `{"class_name", "config", "registered_name"}`, in a functional model also `"name"` and
`"inbound_nodes"`, whose nodes are `{"args", "kwargs"}` with Keras 3's records of tensors.  Nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.formats.keras.config_rows import (
    ACTIVATIONS,
    CLASSES,
    FUNCTIONAL,
    IMPLIED,
    INNER,
    MERGES,
    MODELS,
    RECURRENT,
    Refused,
    renamed,
    value_of,
    words,
)

DEEPEST = 40  # models, wrappers and nodes inside each other
CONSTANT = "_CONSTANT_VALUE"
TENSOR = "__keras_tensor__"


class Configs:
    """The conversion of the configurations of one file.

    Args:
        file: its path, for errors.
        own: names of the program's classes and functions; a layer of such a class keeps its arguments.
        old: whether Keras 1 or 2 wrote the file.
    """

    def __init__(self, file: Path, own: Container[str] = (), *, old: bool = True) -> None:
        self.file, self.own, self.old = file, own, old
        self._whole: Any = None  # the outermost configuration

    def model(self, config: Any, place: str = "model_config", depth: int = 0) -> dict[str, Any]:
        """A layer or a model.

        Args:
            config: `{"class_name", "config"}`, as the file has it.
            place: the place in the file, for errors.
            depth: the number of layers around it.

        Raises:
            FormatError: it is no such configuration, or Keras 3 computes something else; the error names the layer.

        Example:
            >>> layer = {"class_name": "Convolution1D", "config": {"name": "c", "nb_filter": 2, "filter_length": 3}}
            >>> Configs(Path("old.h5")).model(layer)["config"]
            {'name': 'c', 'filters': 2, 'kernel_size': 3}
        """
        self._whole = config if depth == 0 else self._whole
        if depth > DEEPEST:
            raise FormatError(self.file, place, "layers that are nested too deeply", f"at most {DEEPEST} levels")
        name, inner = self._parts(config, place)
        title = inner.get("name") if isinstance(inner, dict) else None
        place = f"{place}, {name} {title!r}" if title else f"{place}, {name}"
        base = name.rpartition(">")[2]
        if base not in self.own and name not in self.own:
            name, inner = self._renamed(base, inner, place)
        layer = _classified(name, self._arguments(name, inner, place, depth))
        return layer | {key: config[key] for key in ("name", "build_config") if key in config}

    def _parts(self, config: Any, place: str) -> tuple[str, Any]:
        if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
            raise FormatError(self.file, place, "no configuration of a layer", "an object with class_name and config")
        inner = config.get("config")
        if not isinstance(inner, (dict, list)):
            raise FormatError(self.file, f"{place}, {config['class_name']}", "no config", "an object")
        return config["class_name"], inner

    def _renamed(self, name: str, inner: Any, place: str) -> tuple[str, Any]:
        """The class in Keras 3, with the arguments that its old name implies."""
        if name == "Merge" and isinstance(inner, dict):
            if inner.get("mode") not in MERGES:
                actual = f"the mode {inner.get('mode')!r}"
                raise FormatError(self.file, place, actual, f"one of {', '.join(MERGES)}")
            name, more = MERGES[inner["mode"]]
            kept = {"Concatenate": ("concat_axis",), "Dot": ("dot_axes",)}.get(name, ())
            return name, {k: v for k, v in inner.items() if k in ("name", "trainable", *kept)} | more
        new = CLASSES.get(name, name)
        if isinstance(inner, dict):
            inner = inner | IMPLIED.get(name, {})
        return new, inner

    def _arguments(self, name: str, inner: Any, place: str, depth: int) -> dict[str, Any]:
        if name == "Sequential":
            return self._sequential(inner, place, depth)
        if isinstance(inner, list):
            raise FormatError(self.file, f"{place}, config", "a list", "an object")
        if isinstance(inner.get("layers"), list) and "output_layers" in inner:
            return self._functional(inner, place, depth)
        if name in self.own:
            return {k: _with_policies(self._value(k, v)) for k, v in inner.items() if k != "batch_input_shape"}
        config = self._by_rows(name, inner, place)
        if name == "Lambda":
            config["function"] = self._lambda(config, place)
        for key in INNER:
            if isinstance(config.get(key), dict):
                config[key] = self.model(config[key], place, depth + 1)
        if isinstance(config.get("cells"), list):
            config["cells"] = [self.model(cell, place, depth + 1) for cell in config["cells"]]
        return config

    def _by_rows(self, name: str, inner: dict[str, Any], place: str) -> dict[str, Any]:
        """The arguments of a layer, by the tables."""
        rows = words(name)
        try:
            config = renamed(name, rows, inner, self._value)
        except Refused as problem:
            needed = f"{problem.needed}; else pass custom_objects={{{name!r}: cls}}"
            raise FormatError(self.file, place, problem.found, needed) from None
        config = {**rows.defaults, **config}
        if name == "Embedding" and str(config.get("dtype")).startswith("int"):
            del config["dtype"]  # of its inputs, in Keras 2.0
        return config

    def _value(self, name: str, given: Any) -> Any:
        """The value of an argument; functions of the program, and of Keras 2, by their names."""
        value = value_of(name, given)
        if isinstance(value, str) and name.endswith(FUNCTIONAL):
            if value in self.own:
                return _function(value)
            if self.old and value in ACTIVATIONS:
                return _function(ACTIVATIONS[value])
        return value

    def _lambda(self, config: dict[str, Any], place: str) -> dict[str, Any]:
        """The function of a Lambda layer: the name of one that the program passes, since bytecode is not executed."""
        name, given = self._function_of(config), _written(config)
        if isinstance(given, dict) and given.get("class_name") in self.own:  # an op
            return given
        if name not in self.own:
            what = "the bytecode of a function" if not isinstance(given, str) else f"the function {given!r}"
            needed = ", ".join(f"{one!r}: f" for one in dict.fromkeys([name, *self._missing(self._whole)]))
            advice = "the program's functions, as files execute nothing, also with safe_mode=False: pass "
            raise FormatError(self.file, place, what, f"{advice}custom_objects={{{needed}}}")
        config.pop("output_shape", None)
        return _function(name)

    def _function_of(self, config: dict[str, Any]) -> str:
        """The name of the function of a Lambda layer: one that the program passes, or else one that it might pass."""
        names = [name for name in (_written(config), config.get("name")) if isinstance(name, str)]
        return next((name for name in names if name in self.own), names[0] if names else "")

    def _missing(self, config: Any) -> Iterator[str]:
        """The functions of Lambda layers in a configuration that the program does not pass."""
        inner = config.get("config") if isinstance(config, dict) and config.get("class_name") == "Lambda" else None
        if isinstance(inner, dict) and (name := self._function_of(inner)) not in self.own:
            yield name
        for part in config.values() if isinstance(config, dict) else config if isinstance(config, list) else ():
            yield from self._missing(part)

    # -- models -------------------------------------------------------------------------------------------------------

    def _sequential(self, inner: Any, place: str, depth: int) -> dict[str, Any]:
        """A Sequential; its first layer may have the shape of the input."""
        config = {"layers": inner} if isinstance(inner, list) else inner
        layers = [self.model(each, place, depth + 1) for each in self._list(config.get("layers"), place)]
        model = {"name": config.get("name", "sequential"), "layers": layers}
        if layers and layers[0]["class_name"] != "InputLayer" and (given := input_of(config["layers"][0])):
            name = f"{layers[0]['config'].get('name', 'first')}_input"
            layers.insert(
                0, {"class_name": "InputLayer", "registered_name": "InputLayer", "config": {**given, "name": name}}
            )
        if config.get("build_input_shape") is not None:
            model["build_input_shape"] = config["build_input_shape"]
        return model

    def _functional(self, inner: dict[str, Any], place: str, depth: int) -> dict[str, Any]:
        """A functional model: its layers and the nodes between them."""
        layers = self._list(inner["layers"], place)
        numbers = _Numbers(inner, self.old)
        config: dict[str, Any] = {key: inner[key] for key in ("name", "trainable") if key in inner}
        config["layers"] = []
        for layer in layers:
            made = self.model(layer, place, depth + 1)
            nodes = self._list(layer.get("inbound_nodes", []), f"{place}, inbound_nodes")
            at = f"{place}, {made['class_name']} {layer.get('name')!r}, inbound_nodes"
            made["inbound_nodes"] = [self._node(made["class_name"], node, numbers, at) for node in nodes]
            if isinstance(name := layer.get("name"), str):
                made["config"]["name"] = made["name"] = name
            config["layers"].append(made)
        for key in ("input_layers", "output_layers"):
            ends = numbers.ends(inner.get(key))
            config[key] = ends[0] if self.old and isinstance(ends, list) and len(ends) == 1 else ends
        return config

    def _node(self, cls: str, node: Any, numbers: _Numbers, place: str) -> dict[str, Any]:
        """A call of a layer: its tensors, then the arguments that stand beside each of them."""
        if isinstance(node, dict) and node.keys() >= {"args", "kwargs"}:
            return node  # Keras 3's own
        kwargs: dict[str, Any] = {}

        def converted(value: Any, depth: int = 0) -> Any:
            if depth > DEEPEST:
                raise FormatError(self.file, place, "arguments that are nested too deeply", f"at most {DEEPEST} levels")
            if numbers.is_tensor(value):
                if len(value) > 3 and isinstance(value[3], dict):
                    kwargs.update(value[3])
                return value[2] if value[0] == CONSTANT else numbers.tensor(value)
            if isinstance(value, dict):
                return {k: converted(v, depth + 1) for k, v in value.items()}
            return [converted(v, depth + 1) for v in value] if isinstance(value, list) else value

        first = converted(node)
        named = {k: converted(v) for k, v in kwargs.items() if v is not None}
        if isinstance(first, list) and cls in RECURRENT and len(first) > 1:
            named["initial_state"] = first[1:]
            first = first[0]
        elif isinstance(first, list) and len(first) == 1 and not cls.endswith("OpLambda"):
            first = first[0]
        if cls.endswith("OpLambda"):  # whose first argument may be a number
            return {"args": [], "kwargs": {"first": first, **named}}
        return {"args": [first], "kwargs": named}

    def _list(self, value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            raise FormatError(self.file, place, f"a {type(value).__name__}", "a list")
        return value


def input_of(layer: Any, depth: int = 0) -> dict[str, Any] | None:
    """The shape and dtype of the input that the configuration of a first layer has; None if it has none."""
    inner = layer.get("config") if isinstance(layer, dict) else None
    if isinstance(inner, dict) and isinstance(inner.get("batch_input_shape"), list):
        dtype = value_of("dtype", inner.get("input_dtype") or inner.get("dtype"))
        known = isinstance(dtype, str) and not dtype.startswith("mixed_")
        return {"batch_shape": inner["batch_input_shape"], "dtype": dtype if known else "float32"}
    layers = inner.get("layers") if isinstance(inner, dict) else inner
    return input_of(layers[0], depth + 1) if isinstance(layers, list) and layers and depth < DEEPEST else None


class _Numbers:
    """The records of tensors of a functional model, and the numbers of nodes in them.

    Keras 2 counts from 1 the calls of a model that has a node of its own, and Keras 3 from 0.
    """

    def __init__(self, model: dict[str, Any], old: bool) -> None:
        self.old = old
        self.layers = {layer["name"]: layer for layer in model["layers"] if _is_named(layer)}
        seen: dict[str, set[int]] = {name: set() for name in self.layers}
        parts = [layer.get("inbound_nodes") for layer in self.layers.values()]
        for record in self._records([*parts, model.get("output_layers"), model.get("input_layers")]):
            if record[0] != CONSTANT:
                seen[record[0]].add(record[1])
        self.first = {name: self._first(self.layers[name], seen[name]) for name in self.layers}

    def _first(self, layer: dict[str, Any], seen: set[int]) -> int:
        """The number of the first call of a layer."""
        base = CLASSES.get(str(layer.get("class_name")), layer.get("class_name"))
        inner, nodes = layer.get("config"), layer.get("inbound_nodes")
        if 0 in seen or not nodes or not (base in MODELS or (isinstance(inner, dict) and "layers" in inner)):
            return 0
        return 1 if base != "Sequential" or max(seen, default=0) >= len(nodes) or input_of(layer) else 0

    def is_tensor(self, value: Any) -> bool:
        """Whether a value stands for a tensor: the name of a layer, the numbers of its call and of the result."""
        return (
            isinstance(value, list)
            and len(value) in (3, 4)
            and isinstance(value[0], str)
            and (value[0] == CONSTANT or (value[0] in self.layers and type(value[1]) is type(value[2]) is int))
        )

    def _records(self, value: Any, depth: int = 0) -> Iterator[Any]:
        if self.is_tensor(value):
            yield value
            value = value[3:]
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            if depth < DEEPEST:
                yield from self._records(each, depth + 1)

    def tensor(self, record: list[Any]) -> dict[str, Any]:
        """Keras 3's record of a tensor."""
        history = [record[0], record[1] - self.first[record[0]], record[2]]
        return {"class_name": TENSOR, "config": {"shape": [], "dtype": "float32", "keras_history": history}}

    def ends(self, value: Any) -> Any:
        """The inputs or outputs of a model, in which Keras 3 also counts the calls of functional models from 1."""
        if self.is_tensor(value) and self.old:
            layer = self.layers[value[0]]
            functional = layer.get("class_name") in ("Functional", "Model", "Network", "Container")
            return [value[0], value[1] - self.first[value[0]] + functional, value[2]]
        if isinstance(value, dict):
            return {key: self.ends(each) for key, each in value.items()}
        return [self.ends(each) for each in value] if isinstance(value, list) else value


def _written(config: dict[str, Any]) -> Any:
    """What a configuration says of a function: its name, or bytecode."""
    given = config.get("function")
    return given.get("config") if isinstance(given, dict) and given.get("class_name") == "function" else given


def _function(name: str) -> dict[str, Any]:
    """The configuration of a function."""
    return {"class_name": "function", "module": "builtins", "config": name, "registered_name": name}


def _with_policies(value: Any) -> Any:
    """A value in which names stand for dtype policies, as in Keras 2: a program's layer may hold whole layers."""
    if isinstance(value, list):
        return list(map(_with_policies, value))
    if not isinstance(value, dict):
        return value
    return {key: value_of("dtype", inner) if key == "dtype" else _with_policies(inner) for key, inner in value.items()}


def _classified(name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"class_name": name, "registered_name": name, "config": config}


def _is_named(layer: Any) -> bool:
    return isinstance(layer, dict) and isinstance(layer.get("name"), str)
