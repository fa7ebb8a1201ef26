"""One graph that several asyncio tasks build: each has its own scopes."""

from contextlib import contextmanager, nullcontext

import dovetail.compat.tensorflow.compat.v1 as v1
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.compat.tf_graph.device_scopes import device_scope
from tests.tasks.together import COUNT, pause, together

# scope → (a function that opens it on a graph, a function that reads it from an operation)
SCOPES = {
    "name": (lambda graph, n: graph.name_scope(f"scope{n}"), lambda op: op.name.rpartition("/")[0][5:]),
    "control": (
        lambda graph, n: graph.control_dependencies([graph.get_operation(f"first{n}")]),
        lambda op: "".join(other.name for other in op.control_inputs)[5:],
    ),
    "overrides": (
        lambda graph, n: graph.gradient_override_map({"Tanh": f"name{n}"}),
        lambda op: op.overrides.get("Tanh", "")[4:],
    ),
    "device": (lambda graph, n: device_scope(graph, f"/gpu:{n}"), lambda op: (op.device or "")[len("/device:GPU:") :]),
    "part": (lambda graph, n: placed(graph, n), lambda op: str(op.part or "")),
    "place": (
        lambda graph, n: graph.insert_before(graph.get_operation(f"first{n}")),
        lambda op: next((other.name[5:] for other in behind(op) if other.name.startswith("first")), ""),
    ),
}


def behind(op):
    operations = op.graph.operations
    return operations[operations.index(op) + 1 :]


@contextmanager
def placed(graph, part):
    with graph.as_default(), dt.place(part=part):
        yield


@pytest.mark.parametrize("name", SCOPES)
def test_scopes_of_one_graph(name):
    open_it, seen = SCOPES[name]
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")
    with graph.as_default():
        for n in range(9):
            ops.identity(x, name=f"first{n}")

    async def work(number):
        with open_it(graph, number) if number % 3 else nullcontext():
            await pause()
            inside = ops.tanh(x)
            await pause()
            second = ops.tanh(inside)
            await pause()
        return [seen(op) for op in (inside.op, second.op, ops.tanh(x).op)]

    assert together(work, 9) == [[str(n) if n % 3 else ""] * 2 + [""] for n in range(9)]
    graph.validate()


def test_what_is_computed_again_in_one_graph():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec(()), "x")

    async def work(number):
        with graph.recomputed() if number % 2 else nullcontext():
            await pause()
            y = ops.tanh(x)
            await pause()
        return y.op.recompute_group

    spans = together(work, 6)
    assert spans[::2] == [None] * 3 and None not in spans[1::2] and len(set(spans)) == 4


def test_scopes_of_variables_in_one_graph():
    graph = v1.Graph()

    async def work(number):
        with graph.as_default(), v1.variable_scope(f"scope{number}", initializer=v1.zeros_initializer()):
            await pause()
            with v1.variable_scope("inner"), v1.name_scope("named"):
                await pause()
                v = v1.get_variable("v", [])
                await pause()
                return v.op_name, v1.identity(v, name="y").op.name, v1.get_variable_scope().name

    right = [(f"scope{n}/inner/v", f"scope{n}/inner/named/y", f"scope{n}/inner") for n in range(COUNT)]
    assert together(work) == right


def test_devices(engine):
    """Check scopes of devices that end out of order."""

    async def work(number):
        with dt.engine(engine):
            with dt.device("cpu:0"):
                await pause()
                for _ in range(number % 3):
                    await pause()
                x = ops.zeros((2,)) + ops.constant([1.0, 2.0])
            await pause()
        return x.device, x.tolist()

    assert together(work, 10) == [("cpu:0", [1.0, 2.0])] * 10


def test_devices_of_graphs_that_are_opened_in_them():
    async def work(number):
        with v1.device(f"/gpu:{number}"):
            await pause()
            inside = v1.placeholder(v1.float32)
            await pause()
        return inside.op.device, v1.placeholder(v1.float32).op.device

    assert together(work, 5) == [(f"/device:GPU:{n}", "") for n in range(5)]
