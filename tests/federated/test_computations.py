"""Federated computations in one process: placements, the parts of a trace, and files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dovetail as dt
from dovetail import federated as fed
from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.federated.computations import ONNX, unpack
from dovetail.formats import safetensors
from tests.federated.problems import (
    DATA,
    PICTURE_WEIGHTS,
    PICTURES,
    WEIGHTS,
    drawn,
    drawn_pictures,
    loss,
    picture_loss,
)
from tests.libraries import Library

onnxruntime = Library("onnxruntime")

NUMBER, COUNT = dt.spec(()), dt.spec((), "int32")
SERVER, CLIENTS = fed.FederatedType(NUMBER, fed.SERVER), fed.FederatedType(NUMBER, fed.CLIENTS)


def test_one_client_is_plain_training(engine, rng):
    """A round with one client is that client's steps, on every engine."""
    weights, (data, *_) = drawn(rng)
    found, report = fed.fed_avg(loss, WEIGHTS, DATA, steps=3)(weights, [data])
    assert found["w"].engine == engine
    expected = {name: dt.ops.convert(value) for name, value in weights.items()}
    for _ in range(3):
        with dt.GradientTape() as tape:
            tape.watch(expected)
            value = loss(expected, data)
        slopes = tape.gradient(value, expected)
        expected = {name: value - 0.1 * slopes[name] for name, value in expected.items()}
    for name in weights:
        np.testing.assert_allclose(found[name].numpy(), expected[name].numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(float(report["loss"]), float(loss(weights, data)), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_mean_has_the_dtype_of_its_values(dtype):
    @fed.computation(fed.FederatedType((dt.spec((2,), dtype), COUNT), fed.CLIENTS))
    def average(reading):
        mean, count = reading
        return fed.federated_mean(mean, count), fed.federated_sum(count)

    np_dtype = dt.spec((), dtype).dtype.numpy
    mean, count = average([(np.array([1, 2], np_dtype), 3), (np.array([5, np.nan], np_dtype), 1)])
    assert (mean.dtype, count.dtype, int(count)) == (dtype, "int32", 4)
    np.testing.assert_array_equal(mean.numpy().astype("float32"), [2, np.nan])


def test_the_server_computes_before_and_after_the_clients():
    @fed.computation(SERVER, CLIENTS, CLIENTS)
    def move(place, goal, share):
        here = fed.federated_broadcast(fed.federated_map(lambda p: p * 2, place))
        way = fed.federated_map(lambda here, goal, share: (goal - here) * share, (here, goal, share))
        return fed.federated_map(lambda p, w: {"place": p + w, "way": w}, (place, fed.federated_mean(way)))

    found = move(1.0, [3.0, 7.0], [1.0, 0.5])
    assert {name: float(value) for name, value in found.items()} == {"place": 2.75, "way": 1.75}
    assert (move.client.weights, move.client.data) == ({"value": NUMBER}, {"goal": NUMBER, "share": NUMBER})
    assert [len(part.find("Mul")) for part in (move.before, move.client.graph, move.after)] == [1, 1, 0]


def test_equal_names_are_told_apart():
    @fed.computation(SERVER, CLIENTS)
    def both(value, other):
        received = fed.federated_broadcast(value), fed.federated_broadcast(value)
        first = fed.federated_mean(fed.federated_map(ops.add, received), fed.federated_map(ops.square, other))
        return first, fed.federated_mean(other), fed.federated_mean(other, other)

    assert [*both.client.weights] == ["value", "value_1"]
    assert [one.name for one in both.client.updates] == ["weight", "mean", "mean_1", "weight_1", "mean_2"]
    assert [float(value) for value in both(2.0, [1.0, 3.0])] == [4.0, 2.0, 2.5]


def test_a_function_may_return_constants():
    @fed.computation(SERVER, CLIENTS)
    def counted(goal, x):
        one, pair = fed.federated_map(lambda x: (1, dt.ops.convert([1.0, 2.0])), x)
        return fed.federated_sum(one), fed.federated_mean(pair), fed.federated_map(lambda goal: np.float32(3), goal)

    count, pair, three = counted(1.0, [5.0, 6.0])
    assert (int(count), pair.numpy().tolist(), float(three)) == (2, [1.0, 2.0], 3.0)
    assert float(unpack(counted.client.package())({}, {"x": 1.0})["sum"]) == 1.0


KEPT = []
VARIABLE = dt.Variable(1.0, name="kept")
WRONG = {  # name → (types, function, words of the error)
    "mixed": (
        (SERVER, CLIENTS),
        lambda a, b: fed.federated_map(ops.add, (a, b)),
        "federated_map at .*: .*at one place",
    ),
    "mean at the server": (
        (SERVER, CLIENTS),
        lambda a, b: fed.federated_mean(a),
        "at CLIENTS, not <a value at SERVER>",
    ),
    "broadcast of a client's": ((CLIENTS,), fed.federated_broadcast, "federated_broadcast at .*federated_mean or"),
    "operator": ((CLIENTS,), lambda b: b * 2.0, "computation at test_computations.py:.* has no operators"),
    "part of a tensor": ((CLIENTS,), lambda b: b[0], "has no operators"),
    "op": ((CLIENTS,), ops.tanh, "Tanh at test_computations.py:.*<a value at CLIENTS>"),
    "closure": (
        (SERVER, CLIENTS),
        lambda a, b: fed.federated_map(lambda x: x + a, b),
        "AddV2 at test_computations.py:.*<a value at SERVER>",
    ),
    "returned": (
        (SERVER, CLIENTS),
        lambda a, b: fed.federated_mean(fed.federated_map(lambda x: a, b)),
        "federated_map at .*returns <a value at SERVER>",
    ),
    "kept": (
        (CLIENTS,),
        lambda b: [
            fed.federated_map(lambda x: KEPT.append(x) or x, b),
            fed.federated_map(lambda m: m + KEPT.pop(), fed.federated_mean(b)),
        ][1],
        "kept a tensor of another place",
    ),
    "two exchanges": (
        (CLIENTS,),
        lambda b: fed.federated_mean(fed.federated_broadcast(fed.federated_mean(b))),
        "federated_broadcast at test_computations.py:.*in the same round",
    ),
    "result at clients": ((CLIENTS,), lambda b: b, "must return values at SERVER"),
    "variable": (
        (CLIENTS,),
        lambda b: fed.federated_mean(fed.federated_map(lambda x: x + VARIABLE, b)),
        "at test_computations.py:.*uses the variable 'kept'",
    ),
    "random numbers": (
        (CLIENTS,),
        lambda b: fed.federated_mean(fed.federated_map(lambda x: dt.backend.random_normal(()) + x, b)),
        r"at test_computations.py:.*give functions of ops\.random a seed",
    ),
    "unknown shape": (
        (fed.FederatedType(dt.spec((None,)), fed.CLIENTS),),
        lambda x: fed.federated_mean(x),
        "federated_mean at .*all clients send one shape",
    ),
    "mean of integers": ((fed.FederatedType(COUNT, fed.CLIENTS),), lambda x: fed.federated_mean(x), "takes floats"),
    "weight": (
        (CLIENTS, fed.FederatedType(dt.spec((2,)), fed.CLIENTS)),
        fed.federated_mean,
        "a weight is one number of each client, not float32\\[2\\]",
    ),
    "no spec": ((CLIENTS, fed.FederatedType((2,), fed.CLIENTS)), lambda a, b: a, r"where a spec is dt.spec\(shape\)"),
    "no placement": ((fed.FederatedType(NUMBER, "clients"),), lambda a: a, r"FederatedType\(spec, CLIENTS\), where"),
    "no type": ((CLIENTS,), lambda a, b: a, "has the parameters a, b: give each a type"),
    "no clients": ((SERVER,), lambda a: a, "at CLIENTS"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_placements_are_named(name):
    types, python, words = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=words):
        fed.computation(*types)(python)


ALGORITHMS = {  # name → (loss, data, options, words of the error)
    "loss": (lambda weights, data: data["x"], DATA, {}, r"the loss must be one number, .* not float32\[\?,4\]"),
    "steps": (loss, DATA, {"steps": 0}, "it needs steps >= 1, not 0"),
    "rows": (loss, {"x": NUMBER}, {}, "a client counts by the rows of the first array of its data"),
    "no data": (loss, {}, {}, "a client counts by the rows of the first array of its data"),
}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_wrong_algorithms_are_named(name):
    function, specs, options, words = ALGORITHMS[name]
    with pytest.raises(ValueError, match=rf"federated at test_computations.py:.*{words}"):
        fed.fed_avg(function, WEIGHTS, specs, **options)


VALUES = {  # name → (server's value, clients' values, words of the error)
    "no clients": (1.0, [], "a list with"),
    "no list": (1.0, 2.0, "a list with"),
    "shape": (1.0, [[1.0, 2.0]], "'x' must be float32\\[\\]"),
    "dtype": (1j, [1.0], "'w' must be float32\\[\\]"),
    "structure": ({"a": 1.0}, [1.0], "'w' must be"),
}


@pytest.mark.parametrize("name", VALUES)
def test_wrong_values_are_named(name):
    @fed.computation(SERVER, CLIENTS)
    def add(w, x):
        return fed.federated_mean(fed.federated_map(ops.add, (fed.federated_broadcast(w), x)))

    server, clients, words = VALUES[name]
    with pytest.raises((TypeError, ValueError), match=words):
        add(server, clients)


def test_a_client_with_weight_0_has_no_part():
    average = fed.computation(CLIENTS, CLIENTS)(lambda value, weight: fed.federated_mean(value, weight))
    assert float(average([1.0, 3.0], [0.0, 2.0])) == float(average([np.nan, 3.0], [0.0, 2.0])) == 3.0
    for weights in ([0.0, 0.0], [3.0, -1.0], [np.nan, 1.0]):
        with pytest.raises(
            ValueError, match=r"federated_mean at .*the weights of 'mean' are .*A client without examples"
        ):
            average([1.0, 3.0], weights)


def test_a_client_without_rows_has_no_part(rng):
    train = fed.fed_avg(loss, WEIGHTS, DATA, steps=2)
    weights, data = drawn(rng)
    empty = {"x": np.zeros((0, 4)), "y": np.zeros((0, 1))}
    found, expected = train(weights, [*data, empty]), train(weights, data)
    assert float(found[1]["loss"]) == float(expected[1]["loss"])
    np.testing.assert_array_equal(found[0]["w"].numpy(), expected[0]["w"].numpy())


def test_outside_of_a_computation():
    with pytest.raises(RuntimeError, match=r"federated_sum at .*inside a function under @dt.federated.computation"):
        fed.federated_sum(fed.SERVER)


def test_a_file_has_the_whole_computation(tmp_path, rng):
    made = fed.fed_adam(loss, WEIGHTS, DATA, steps=2)
    weights, data = drawn(rng)
    made.save(tmp_path / "adam")
    read = fed.Computation.load(tmp_path / "adam")
    assert (read.arguments, read.state, read.client.updates) == (made.arguments, made.state, made.client.updates)
    state = fed.adam_state(weights)
    for first, second in zip(*(one(state, data)[0]["weights"].values() for one in (made, read)), strict=True):
        np.testing.assert_array_equal(first.numpy(), second.numpy())


@pytest.mark.parametrize("value", [3, {"name": "f", "arguments": 1}, [dt.spec(())]])
def test_another_file_is_refused(tmp_path, value):
    dt.save(value, tmp_path / "file")
    with pytest.raises(FormatError, match="needed: a federated computation"):
        fed.Computation.load(tmp_path / "file")


NETWORKS = {
    "dense": (loss, WEIGHTS, DATA, drawn),
    "pictures": (picture_loss, PICTURE_WEIGHTS, PICTURES, drawn_pictures),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_package_has_the_client_twice(name, rng):
    """Dovetail's file and the ONNX model compute the same update, and the manifest names its tensors."""
    pytest.importorskip("google.protobuf", reason="the models are messages")
    function, weight_specs, specs, drawn = NETWORKS[name]
    client = fed.fed_prox(function, weight_specs, specs, mu=0.1, steps=2).client
    weights, (data, *_) = drawn(rng)
    package = client.package()
    tensors, metadata = safetensors.of_bytes(package, "package")
    manifest = json.loads(metadata["manifest"])
    assert manifest["data"]["x"] == {"dtype": "float32", "shape": list(specs["x"].shape)}
    expected = client(weights, data)
    session = onnxruntime.InferenceSession(tensors[ONNX].tobytes())
    found = session.run([f"{name}.new" for name in manifest["updates"]], {**weights, **data})
    for (name, value), other in zip(expected.items(), found, strict=True):
        np.testing.assert_allclose(other, value, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(unpack(package)(weights, data)[name], value)


def test_clients_of_other_kinds_train_a_network_and_tune_it(engine, rng):
    """Pictures differ by client; each is measured with the weights of all, and with weights tuned to its own."""

    def tuned(weights, data):
        """The loss of the weights, and after a step of the client's, both summed over its rows; and their number."""
        with dt.GradientTape() as tape:
            tape.watch(weights)
            value = picture_loss(weights, data)
        slopes = tape.gradient(value, weights)
        after = picture_loss({name: weights[name] - 0.3 * slopes[name] for name in weights}, data)
        rows = ops.shape(data["y"])[0]
        return {"shared": value * ops.cast(rows, "float32"), "own": after * ops.cast(rows, "float32"), "rows": rows}

    @fed.computation(fed.FederatedType(PICTURE_WEIGHTS, fed.SERVER), fed.FederatedType(PICTURES, fed.CLIENTS))
    def measured(weights, data):
        return fed.federated_sum(fed.federated_map(tuned, (fed.federated_broadcast(weights), data)))

    train = fed.fed_avg(picture_loss, PICTURE_WEIGHTS, PICTURES, steps=3, learning_rate=0.3)
    weights, data = drawn_pictures(rng)
    for _ in range(4):
        weights, report = train(weights, data)
    found = measured(weights, data)
    expected = sum(float(picture_loss(weights, own)) * len(own["y"]) for own in data)
    assert int(found["rows"]) == sum(len(own["y"]) for own in data)
    np.testing.assert_allclose(float(found["shared"]), expected, rtol=1e-4)
    assert float(found["own"]) < float(found["shared"]) < float(report["loss"]) * int(found["rows"])


def test_a_package_says_why_it_has_no_model():
    @fed.computation(CLIENTS)
    def total(x):
        return fed.federated_sum(fed.federated_map(lambda x: ops.cast(ops.cast(x, "bfloat16"), "float32"), x))

    def refuse(*args):
        raise NotImplementedError("no such operator")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dovetail.federated.computations.write_onnx", refuse)
        tensors, metadata = safetensors.of_bytes(total.client.package(), "package")
    assert ONNX not in tensors
    assert json.loads(metadata["manifest"])["no_onnx"] == "no such operator"
    assert float(unpack(total.client.package())({}, {"x": 1.0})["sum"]) == 1.0


def test_a_damaged_package_is_refused():
    with pytest.raises(FormatError):
        unpack(b"\0" * 100)
    with pytest.raises(FormatError, match=r"needed: client\.dovetail"):
        unpack(safetensors.to_bytes({"a": np.zeros(2)}, {}))
