"""Copies and pickles of all objects of a program, also in other processes."""

import copy
import functools
import gc
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dovetail as dt
import dovetail.backend as K
from dovetail import ops
from dovetail.core.engines import engine_registry
from dovetail.core.engines.engine_registry import get_engine
from tests.conftest import ENGINES

WAYS = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}

scale = dt.Variable(2.0, name="scale")


def plain(x):
    return ops.sum(x) * scale


@dt.function
def decorated(x):
    return ops.sum(x) * 3.0


with_signature = dt.function(plain, input_signature=[dt.spec((None,))], name="other")


class Model:
    """An object with variables, a compiled method and a generator, as models are."""

    def __init__(self):
        self.w = dt.Variable([1.0, 2.0], name="w")
        self.generator = dt.Generator(7)

    @dt.function
    def step(self, x):
        self.w.assign_add(x)
        return ops.sum(self.w)


@pytest.fixture(params=WAYS)
def again(request):
    return WAYS[request.param]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_tensors(engine, again, dtype):
    t = ops.cast(ops.constant([[1.0, 0.0, 2.0]]), dtype)
    found = again(t)
    assert (type(found), found.engine, found.dtype, found.shape) == (type(t), engine, dtype, (1, 3))
    assert found.numpy().tolist() == t.numpy().tolist()


def test_a_tensor_whose_engine_is_not_installed_here(engine, monkeypatch):
    pickled = pickle.dumps(ops.constant([1.0, 2.0]))
    monkeypatch.setattr(sys.modules["dovetail.core.engines.engine_registry"], "list_engines", lambda: ["numpy"])
    with dt.engine("numpy"):
        found = pickle.loads(pickled)
    assert found.engine == "numpy" and found.numpy().tolist() == [1, 2]


def test_variables(engine, again):
    """Check that a copy is a variable of its own."""
    v = dt.Variable(np.ones(4096, "float32"), name="v", trainable=False, constraint=ops.relu)
    double = dt.function(lambda v: [v.assign(v * 2.0), None][1])
    double(v)
    found = again(v)
    assert (found.name, found.shape, found.dtype, found.trainable) == ("v", (4096,), "float32", False)
    assert found.constraint is ops.relu and found.engine == engine
    for _ in range(3):
        double(v)
        double(found)
        found.assign_add(np.ones(4096, "float32"))
    assert v.numpy()[0] == 16 and (found.numpy() == 23).all()


def test_deleted_variables(again):
    v = dt.Variable(1.0, name="gone")
    v.delete()
    with pytest.raises(dt.errors.StaleValueError, match="'gone' has no value"):
        again(v).numpy()


@pytest.mark.parametrize("name", ["tanh", "softmax", "matmul", "scan", "random.normal", "convert"])
def test_ops(again, name):
    op = ops
    for part in name.split("."):
        op = getattr(op, part)
    assert again(op) is op


def test_functions_of_k(again):
    assert again(K.softmax) is K.softmax and again(K.binary_crossentropy) is K.binary_crossentropy


def test_dtypes_and_specs(again):
    dtype, spec = ops.constant(1.0).dtype, dt.spec((None, 3), "bfloat16")
    assert again(dtype) is dtype and again(spec) == spec and again(spec).dtype is spec.dtype


def test_functions(engine, again):
    x = ops.constant([1.0, 2.0])
    assert again(decorated) is decorated
    assert float(again(with_signature)(x)) == 6 and repr(again(with_signature)).startswith("<function other")
    model = Model()
    found = again(model)
    assert float(model.step(x)) == 6
    assert float(again(found.step)(x)) == (9 if again is copy.copy else 6)


def test_a_function_without_a_name_to_find_it_by():
    inner = 3.0
    for function in (lambda x: x * inner, lambda x: x):
        with pytest.raises(pickle.PicklingError, match=r"<lambda>' cannot be pickled.*at the top of a module"):
            pickle.dumps(dt.function(function))
    local = dt.function(lambda x: x * inner)
    assert copy.deepcopy({"f": local})["f"] is local


def test_a_function_that_was_given_some_of_its_arguments():
    found = pickle.loads(pickle.dumps(dt.function(functools.partial(ops.multiply, 2.0))))
    assert float(found(ops.constant(3.0))) == 6


def test_generators(engine, again):
    generator = dt.Generator(5)
    ops.random.normal(generator, (3,))
    found = again(generator)
    wanted = ops.random.normal(generator, (3,)).numpy()
    assert ops.random.normal(found, (3,)).numpy().tolist() == wanted.tolist()
    assert found.count is not generator.count


def test_graphs(engine, again):
    w = dt.Variable([1.0, 2.0], name="w")

    def body(x):
        total, _ = ops.scan(lambda s, row: (s + row * w, None), ops.zeros((2,)), x)
        w.assign_add([1.0, 1.0])
        return ops.cond(ops.sum(total) > 0.0, lambda: total, lambda: -total), w + 0.0

    graph = dt.function(body).graph(dt.spec((3, 2)))
    graph.outputs[0].op.device = "cpu:0"
    found = again(graph)
    assert str(found) == str(graph) and found is not graph
    found.validate()
    assert [op.name for op in found] == [op.name for op in graph] and found.outputs[0].op.device == "cpu:0"
    x = np.ones((3, 2), "float32")
    first, second = dt.function(found)(x)
    assert first.numpy().tolist() == [3, 6] and second.numpy().tolist() == [2, 3]
    assert w.numpy().tolist() == ([2, 3] if again is copy.copy else [1, 2])  # a deep copy has its own variables
    found.prune()
    del found.outputs[1:]
    assert len(graph.outputs) == 2
    tensor, operation = again((graph.outputs[0], graph.outputs[0].op))
    assert tensor.op is operation and tensor.name == graph.outputs[0].name


def test_graphs_and_the_variables_beside_them():
    w = dt.Variable([1.0, 2.0])
    graph = dt.function(lambda x: x * w).graph(dt.spec((2,)))
    graph, run, w = pickle.loads(pickle.dumps((graph, dt.function(graph), w)))
    w.assign([5.0, 6.0])
    assert run(np.ones(2, "float32")).numpy().tolist() == [5, 6]
    assert dt.function(graph)(np.ones(2, "float32")).numpy().tolist() == [5, 6]


def test_a_large_graph():
    def f(x):
        for _ in range(1200):
            x = x + 1.0
        return x

    graph = dt.function(f).graph(dt.spec(()))
    for way in WAYS.values():
        assert len(way(graph)) == len(graph)


def test_pickles_hold_no_engine_and_no_program(engine):
    decorated(ops.constant([1.0]))
    for value in (ops.constant([1.0]), dt.Variable(1.0), decorated, ops.tanh, dt.Generator(1)):
        assert len(pickle.dumps(value)) < 1000


# other processes


def work(engine, model, function, x):
    """The results of a process that gets these objects."""
    with dt.engine(engine):
        done = float(model.step(x)), float(function(x))
        return x.engine, *done, model.w.read(), ops.random.normal(model.generator, ())


@pytest.fixture(scope="module")
def calls():
    return all_calls()


def all_calls():
    """For each engine, arguments for `work`, and its results; so this process has used the engine."""
    found = {}
    for engine in ENGINES:
        with dt.engine(engine):
            given = engine, Model(), decorated, ops.constant([1.0, 2.0])
            found[engine] = given, work(*copy.deepcopy(given))
    return found


def check(found, wanted):
    assert found[:3] == wanted[:3] and found[3].engine == wanted[3].engine
    assert found[3].numpy().tolist() == wanted[3].numpy().tolist()
    np.testing.assert_allclose(found[4].numpy(), wanted[4].numpy(), rtol=1e-5)


def test_a_spawned_process(calls):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        results = pool.starmap(work, [given for given, _ in calls.values()])
    for found, (_, wanted) in zip(results, calls.values(), strict=True):
        check(found, wanted)


def test_joblib(calls):
    joblib = pytest.importorskip("joblib")
    some = [calls[name] for name in ("numpy", "torch") if name in calls]
    results = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(work)(*given) for given, _ in some)
    for found, (_, wanted) in zip(results, some, strict=True):
        check(found, wanted)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_a_forked_process():
    """Check that NumPy and torch work there, and that the others raise an error instead of a deadlock."""
    program = "from tests.test_copies import check_forked, all_calls; check_forked(all_calls())"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


def check_forked(calls):
    context = multiprocessing.get_context("fork")
    for (engine, *rest), wanted in calls.values():
        pipe, end = context.Pipe()
        process = context.Process(target=_send_work, args=(end, engine, *rest))
        process.start()
        assert pipe.poll(60)
        found = pipe.recv()
        process.join(60)
        if get_engine(engine).forks:
            check(found, wanted)
        else:
            assert f"the engine '{engine}' was used before this process was forked" in found


class Garbage:
    """An object that only the garbage collector frees, and that records this."""

    told: ClassVar[list] = []

    def __init__(self):
        self.itself = self

    def __del__(self):
        self.told.append(self)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_a_forked_process_lets_nothing_go_that_was_made_before(calls):
    """Check this since a library could wait forever for its threads, which the child lacks, to free an array."""
    context = multiprocessing.get_context("fork")
    pipe, end = context.Pipe()
    gc.collect()
    Garbage()
    process = context.Process(target=lambda: end.send((gc.collect(), len(Garbage.told))))
    process.start()
    assert pipe.poll(60)
    frozen = any(not engine.forks for engine in engine_registry._loaded.values())  # other tests may have loaded some
    assert pipe.recv()[1] == (0 if frozen else 1)
    process.join(60)


def _send_work(end, engine, *rest):
    try:
        end.send(work(engine, *rest))
    except RuntimeError as error:
        try:
            rest[2] + rest[2]
        except RuntimeError as same:
            assert str(same) == str(error)
        with dt.engine("numpy"):
            assert float(ops.sum(ops.constant([1.0, 2.0]))) == 3
        assert rest[2].numpy().tolist() == [1, 2]
        end.send(str(error))
