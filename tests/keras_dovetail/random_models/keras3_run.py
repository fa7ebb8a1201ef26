"""Run random programs on the process' backend of Keras, and print the results.

    python -m … PROGRAM WAY…

PROGRAM is JSON. On Dovetail a way is an engine, or "turns": each call on the next engine.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ON_DOVETAIL = os.environ["KERAS_BACKEND"] == "dovetail"
if ON_DOVETAIL:
    import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

import keras
import numpy as np

import dovetail as dt
from tests.keras_backends import tell
from tests.keras_dovetail.random_models import keras3_own as own

ENGINES = ("numpy", "torch", "jax", "tensorflow")
Data = dict[str, Any]


def built(data: Any) -> Any:
    """Make the objects that data describes."""
    if isinstance(data, list):
        return [built(part) for part in data]
    if not isinstance(data, dict):
        return data
    if "named" in data:
        return _found(data["named"])
    if "new" in data:
        return _found(data["new"])(**{name: built(value) for name, value in data["with"].items()})
    return {name: built(value) for name, value in data.items()}


def _found(name: str) -> Any:
    place: Any = own if name.startswith("own.") else keras
    for part in name.removeprefix("own.").split("."):
        place = getattr(place, part)
    return place


# -- models and arrays ------------------------------------------------------------------------------------------------


def made(data: Data) -> Any:
    """The model of a program."""
    if data["style"] == "sequential":
        return _sequential(data)
    if data["style"] == "subclass":
        return _called(own.Replayed(data), data)
    inputs = [keras.Input(x["shape"], dtype=_symbolic(x), name=x["name"]) for x in data["inputs"]]
    tensors = own.replayed(data["nodes"], own.layers_of(data["nodes"], built), inputs)
    outputs = _arranged([tensors[head["value"]] for head in data["heads"]], data["outputs_as"], "out")
    kind = _found(data["kind"]) if data["kind"] else keras.Model
    return kind(_arranged(inputs, data["inputs_as"], "in"), outputs)


def _symbolic(given: Data) -> str:
    return "int32" if given["kind"] == "words" else "float32"


def _called(model: Any, data: Data) -> Any:
    """A model that has its weights, since it was called."""
    model(_arranged([np.zeros((1, *x["shape"]), _symbolic(x)) for x in data["inputs"]], data["inputs_as"], "in"))
    return model


def _sequential(data: Data) -> Any:
    first = [] if data["deferred"] else [keras.Input(data["inputs"][0]["shape"], dtype=_symbolic(data["inputs"][0]))]
    model = keras.Sequential(first + own.layers_of(data["nodes"], built))
    return _called(model, data)


def _arranged(values: list[Any], form: str, prefix: str) -> Any:
    if form == "dict":
        return {f"{prefix}{i}": value for i, value in enumerate(values)}
    return list(values) if form == "list" else values[0]


def samples(random: np.random.Generator, given: Data, count: int) -> np.ndarray:
    """Inputs of a kind. A masked sample ends at a random step."""
    shape = (count, *given["shape"])
    lengths = random.integers(1, given["shape"][0] + 1, (count, 1))
    kept = np.arange(given["shape"][0]) < lengths
    if given["kind"] == "words":
        return (random.integers(1, 9, shape) * kept).astype(given["dtype"])
    values = random.normal(size=shape).astype(given["dtype"])
    return values * kept[..., None] if given["kind"] == "padded" else values


def targets(random: np.random.Generator, head: Data, count: int) -> np.ndarray:
    """Targets of a head's task."""
    shape = (count, *head["shape"])
    if head["task"] == "numbers":
        values = random.normal(size=(*shape, 2)).astype("float32")
        return values if head["activation"] is None else np.abs(values) + np.float32(0.1)
    if head["task"] == "yes or no":
        return random.integers(0, 2, (*shape, 1)).astype("float32")
    classes = random.integers(0, 3, shape)
    return classes if head["task"] == "classes" else np.eye(3, dtype="float32")[classes]


class Batches(keras.utils.PyDataset):
    """A sequence of batches, of which the last may be smaller."""

    def __init__(self, data: Any, size: int) -> None:
        super().__init__()
        self._data, self._size = data, size

    def __len__(self) -> int:
        return -(-len(keras.tree.flatten(self._data)[0]) // self._size)

    def __getitem__(self, number: int) -> Any:
        rows = slice(number * self._size, (number + 1) * self._size)
        return keras.tree.map_structure(lambda v: v[rows], self._data)


# -- running ----------------------------------------------------------------------------------------------------------


class Run:
    """A run of a program.

    Args:
        program: data.

    Attributes:
        records: for each number or array that came out: its name, how many steps of training went before, the values.
    """

    def __init__(self, program: Data) -> None:
        self.program, self.data, self.sizes = program, program["model"], program["sizes"]
        self.records: list[tuple[str, int, list[float]]] = []
        self.random = np.random.default_rng(program["seed"])
        self._steps, self._name, self._scheduled = 0, "", self.sizes["has_schedule"]
        count, random = self.sizes["samples"], self.random
        self._x = [samples(random, given, count) for given in self.data["inputs"]]
        self._y = [targets(random, head, count) for head in self.data["heads"]]
        self._weights = [random.uniform(0.1, 3.0, (count, *head["shape"])) for head in self.data["heads"]]
        self.model = made(self.data)
        self.model.set_weights([self._first(w) for w in self.model.weights])
        self._compile(program["compile"])

    def _first(self, weight: Any) -> np.ndarray:
        if weight.dtype.startswith("int"):
            return np.zeros(weight.shape, weight.dtype)
        if len(weight.shape) < 2:  # this skips scales and variances
            return self.random.uniform(0.2, 1.0, weight.shape)
        return self.random.normal(0, 1 / np.sqrt(np.prod(weight.shape[:-1])), weight.shape)

    def _compile(self, data: Data) -> None:
        self.model.compile(**built(data))

    def go(self, around: Any) -> None:
        """Make all calls, each in its own context."""
        for number, call in enumerate(self.program["calls"]):
            self._name = f"{number} {call['do']}"
            with around(number):
                getattr(self, f"_{call['do']}")(call)
        self._name = "end"
        with around(0):
            self._keep("weights", self.model.get_weights())
            self.model.optimizer.build(self.model.trainable_variables)  # if no call has built it before
            self._keep("optimizer", self.model.optimizer.variables)

    def _keep(self, name: str, values: Any) -> None:
        for number, value in enumerate(keras.tree.flatten(values)):
            array = np.asarray(keras.ops.convert_to_numpy(value), "float64")
            self.records.append((f"{self._name}: {name} {number}", self._steps, array.ravel().tolist()))

    # data

    def _rows(self, start: int = 0, size: int | None = None, weighted: bool = False) -> tuple[Any, ...]:
        """Samples as (x, y) or (x, y, weights)."""
        rows = slice(start, None if size is None else start + size)
        x = _arranged([v[rows] for v in self._x], self.data["inputs_as"], "in")
        y = _arranged([v[rows] for v in self._y], self.data["outputs_as"], "out")
        if not weighted:
            return x, y
        return x, y, _arranged([v[rows] for v in self._weights], self.data["outputs_as"], "out")

    def _fed(self, feed: str, *data: Any) -> Data:
        """The arguments that pass data to `fit` and others."""
        if feed == "arrays":
            return {**dict(zip(("x", "y", "sample_weight"), data, strict=False)), "batch_size": self.sizes["batch"]}
        batches = Batches(data, self.sizes["batch"])
        return {"x": batches if feed == "sequence" else (batches[i] for i in range(len(batches)))}

    @property
    def _class_weight(self) -> dict[int, float]:
        return {0: 1.0, 1: 2.5, 2: 0.3}

    # calls

    def _fit(self, call: Data) -> None:
        options = {name: call[name] for name in ("epochs", "steps_per_epoch", "validation_freq") if name in call}
        options |= {"class_weight": self._class_weight} if call.get("class_weight") else {}
        held = self._rows(0, 2 * self.sizes["batch"], weighted=call.get("validation") == "weighted")
        if "validation" in call:
            split = call["validation"] == "split"
            options |= {"validation_split": 0.4} if split else {"validation_data": held}
        callbacks = [built(each) for each in call["callbacks"]]
        fed = self._fed(call["feed"], *self._rows(weighted=call.get("weighted", False)))
        self._steps += call["epochs"] * -(-self.sizes["samples"] // self.sizes["batch"])
        history = self.model.fit(**fed, **options, callbacks=callbacks, shuffle=False, verbose=0).history
        for name in sorted(history):
            self._keep(name, np.array(history[name]))
        for callback in callbacks:
            self._keep(type(callback).__name__, np.array(getattr(callback, "seen", ())))

    def _train_on_batch(self, call: Data) -> None:
        self._steps += 1
        x, y, *weights = self._rows(call["start"], call["size"], call.get("weighted", False))
        options: Data = {"sample_weight": weights[0]} if weights else {}
        options |= {"class_weight": self._class_weight} if call.get("class_weight") else {}
        logs = self.model.train_on_batch(x, y, **options, return_dict=call.get("return_dict", False))
        self._keep("logs", logs)

    def _test_on_batch(self, call: Data) -> None:
        x, y, *weights = self._rows(call["start"], call["size"], call.get("weighted", False))
        self._keep("logs", self.model.test_on_batch(x, y, *weights))

    def _evaluate(self, call: Data) -> None:
        fed = self._fed(call["feed"], *self._rows(weighted=call["weighted"]))
        self._keep("logs", self.model.evaluate(**fed, return_dict=call["return_dict"], verbose=0))

    def _predict(self, call: Data) -> None:
        self._keep("outputs", self.model.predict(**self._fed(call["feed"], self._rows()[0]), verbose=0))

    def _predict_on_batch(self, call: Data) -> None:
        self._keep("outputs", self.model.predict_on_batch(self._rows(call["start"], call["size"])[0]))

    def _call(self, call: Data) -> None:
        options = {} if call["training"] is None else {"training": call["training"]}
        self._keep("outputs", self.model(self._rows(0, self.sizes["batch"])[0], **options))

    def _freeze(self, call: Data) -> None:
        layers = [layer for layer in self.model._flatten_layers(include_self=False) if layer.weights]
        layers[call["layer"] % len(layers)].trainable = call["trainable"]
        self._compile(self.program["compile"])

    def _compile_again(self, call: Data) -> None:
        self._compile(self.program["again"])
        self._scheduled = False

    def _rate(self, call: Data) -> None:
        if not self._scheduled:
            self.model.optimizer.learning_rate = call["rate"]

    def _set(self, call: Data) -> None:
        weights = self.model.get_weights()
        self.model.set_weights([w if w.dtype.kind == "i" else w * call["factor"] for w in weights])

    def _apply(self, call: Data) -> None:
        """Do steps by given gradients."""
        weights = self.model.trainable_weights
        gradients = [keras.ops.convert_to_tensor(self.random.normal(size=w.shape), w.dtype) for w in weights]
        self._steps += 1
        if weights:
            self.model.optimizer.apply(gradients, weights)

    def _save(self, call: Data) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("model.keras" if call["kind"] == "keras" else "model.weights.h5")
            if call["kind"] == "keras":
                self.model.save(path)
                self.model = keras.saving.load_model(path)
            else:
                self.model.save_weights(path)
                self._set({"factor": 0.5})
                self.model.load_weights(path)

    def _copy(self, call: Data) -> None:
        """Go on with a copy; compile it if it is not compiled."""
        old, kind = self.model, call["kind"]
        if kind in ("pickle", "deepcopy"):
            self.model = pickle.loads(pickle.dumps(old)) if kind == "pickle" else copy.deepcopy(old)
            return
        config = old.get_config()
        copied = keras.models.clone_model(old) if kind == "clone" else type(old).from_config(config)
        self.model = _called(copied, self.data)
        self.model.set_weights(old.get_weights())
        self._compile(self.program["compile"])


def outcome(program: Data, way: str) -> Data:
    """The result of a run: its records, and the error by which it ended, or ""."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(program["policy"])
    records: list[Any] = []
    try:
        with warnings.catch_warnings(), _engine(way, 0):
            warnings.simplefilter("ignore")
            run = Run(program)
            records = run.records
            run.go(lambda number: _engine(way, number))
    except Exception as error:
        return {"records": records, "error": type(error).__name__, "trace": traceback.format_exc()[-3000:]}
    finally:
        keras.config.set_dtype_policy("float32")
    return {"records": records, "error": "", "trace": ""}


@contextlib.contextmanager
def _engine(way: str, number: int) -> Iterator[None]:
    """The engine of a call."""
    if not ON_DOVETAIL:
        yield
        return
    with dt.engine(ENGINES[number % len(ENGINES)] if way == "turns" else way):
        yield


def main(program: str, *ways: str) -> None:
    tell({way: outcome(json.loads(program), way) for way in ways})


if __name__ == "__main__":
    main(*sys.argv[1:])
