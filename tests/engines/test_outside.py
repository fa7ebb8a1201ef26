"""Engines of other packages: "boxed", whose arrays are of its own, opaque type; "whole", which only compiles.

The generated suite runs on them here.
DOVETAIL_TEST_ENGINES=boxed,whole runs other tests on them, too.
"""

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.engines import engine_registry
from dovetail.core.values import value_kinds
from tests.engines import boxed
from tests.engines.boxed import Box
from tests.ops import test_table, test_table_gradients
from tests.ops.table import CASES, draw, float_arrays, identifier, leaves, replace_arrays
from tests.packages import OUTSIDE, install


@pytest.fixture
def unknown(monkeypatch):
    """Restore the known engines and types of values after the test."""
    monkeypatch.setattr(engine_registry, "_loaded", dict(engine_registry._loaded))
    monkeypatch.setattr(engine_registry, "_owners", dict(engine_registry._owners))
    monkeypatch.setattr(value_kinds, "KINDS", dict(value_kinds.KINDS))


@pytest.fixture
def installed(unknown, monkeypatch):
    """The installed engines, which are not loaded yet."""
    monkeypatch.syspath_prepend(OUTSIDE)


@pytest.fixture(params=["boxed", "whole"])
def current(request, installed):
    """An engine as the current one."""
    with dt.engine(request.param):
        yield request.param


# -- the generated suite ----------------------------------------------------------------------------------------------

DIFFERENTIABLE, COMPLEX = test_table_gradients.DIFFERENTIABLE, test_table_gradients.COMPLEX
SUITE = {  # test → its module, and its cases
    "test_value_and_type": (test_table, CASES),
    "test_compiled_is_eager": (test_table, CASES),
    "test_gradient": (test_table_gradients, DIFFERENTIABLE),
    "test_second_order": (test_table_gradients, DIFFERENTIABLE),
    "test_complex_numbers": (test_table_gradients, COMPLEX),
    "test_halves": (test_table_gradients, DIFFERENTIABLE),
}
RANKLESS = [
    (check, "PlaceholderWithDefault", 2) for check in ("test_gradient", "test_second_order", "test_complex_numbers")
]
ROUNDS = [(check, op, number) for check, (_, cases) in SUITE.items() for op, number in cases]


@pytest.mark.parametrize(("check", "op", "number"), ROUNDS, ids=identifier)
def test_generated_suite(current, check, op, number, rng):
    if current == "whole" and (check, op.name, number) in RANKLESS:
        pytest.skip("the rank of its gradient is unknown, and this engine has to know it")
    test = getattr(SUITE[check][0], check)
    values = {"engine": current, "op": op, "number": number, "rng": rng}
    test(**{name: values[name] for name in inspect.signature(test).parameters})


# -- its own values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("op", "number"), [case for case in CASES if case[1] == 0], ids=identifier)
def test_every_op_takes_its_values_and_gives_them(installed, op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    given = float_arrays(args, kwargs)
    moved, named = replace_arrays(args, kwargs, [Box(x) for x in given])
    found = leaves(op(*moved, **named))
    with dt.engine("numpy"):
        expected = leaves(op(*args, **kwargs))
    for f, e in zip(found, expected, strict=True):
        assert not given or type(f) is Box
        test_table.check_close(f.held if given else f.numpy(), e.numpy(), op.samples[number].tolerance)


def image(x):
    return ops.reshape(x, (1, 2, 2, 1))


def rows(x):
    return ops.reshape(x, (1, 2, 2))


FUNCTIONS = {
    "diag": lambda x: ops.diag(x),
    "trace": lambda x: ops.trace(x),
    "norm": lambda x: ops.norm(x, 1, 0),
    "moveaxis": lambda x: ops.moveaxis(x, 0, 1),
    "swapaxes": lambda x: ops.swapaxes(x, 0, 1),
    "split": lambda x: ops.split(x, 2)[1],
    "unstack": lambda x: ops.unstack(x)[1],
    "repeat": lambda x: ops.repeat(x, 2, axis=0),
    "pad": lambda x: ops.pad(x, 1),
    "take": lambda x: ops.take(x, [1, 0], axis=0),
    "gather": lambda x: ops.gather(x, [1]),
    "getitem": lambda x: ops.getitem(x, (slice(None), 0)),
    "mask": lambda x: ops.boolean_mask(x, [True, False]),
    "tensordot": lambda x: ops.tensordot(x, x, 1),
    "solve": lambda x: ops.solve(x, x),
    "matrix_power": lambda x: ops.matrix_power(x, 2),
    "size": lambda x: ops.size(x),
    "ndim": lambda x: ops.ndim(x),
    "ravel": lambda x: ops.ravel(x),
    "outer": lambda x: ops.outer(x, x),
    "inner": lambda x: ops.inner(x, x),
    "dot": lambda x: ops.dot(x, x),
    "vdot": lambda x: ops.vdot(x, x),
    "einsum": lambda x: ops.einsum("ij,jk->ik", x, x),
    "matrix_transpose": lambda x: ops.matrix_transpose(x),
    "lstsq": lambda x: ops.lstsq(x, x),
    "cholesky_inverse": lambda x: ops.cholesky_inverse(x),
    "eigh": lambda x: ops.eigh(x)[0],
    "svd": lambda x: ops.svd(x)[1],
    "sort": lambda x: ops.sort(x),
    "argsort": lambda x: ops.argsort(x),
    "tril": lambda x: ops.tril(x),
    "nonzero": lambda x: ops.nonzero(x)[0],
    "meshgrid": lambda x: ops.meshgrid(ops.ravel(x), ops.ravel(x))[0],
    "multi_hot": lambda x: ops.multi_hot(ops.cast(x, "int32"), 5),
    "scatter_nd": lambda x: ops.scatter_nd([[0], [2]], x, (4, 2)),
    "slice": lambda x: ops.slice(x, (0, 1), (2, 1)),
    "slice_update": lambda x: ops.slice_update(x, (0, 0), ops.multiply(x, 2)),
    "take_along_axis": lambda x: ops.take_along_axis(x, ops.cast(ops.multiply(x, 0), "int32"), 1),
    "switch": lambda x: ops.switch(ops.greater(x, 1), x, ops.negative(x)),
    "relu": lambda x: ops.relu(x, 0.1, 3.0, 1.0),
    "gelu": lambda x: ops.gelu(x),
    "batch_normalization": lambda x: ops.batch_normalization(x, ops.ones(2), ops.ones(2)),
    "group_normalization": lambda x: ops.group_normalization(x, 1),
    "max_pool": lambda x: ops.max_pool(image(x), 2),
    "average_pool": lambda x: ops.average_pool(image(x), 1),
    "global_max_pool": lambda x: ops.global_max_pool(image(x)),
    "global_average_pool": lambda x: ops.global_average_pool(image(x)),
    "conv": lambda x: ops.conv(image(x), ops.reshape(x, (2, 2, 1, 1))),
    "conv_transpose": lambda x: ops.conv_transpose(image(x), ops.reshape(x, (2, 2, 1, 1))),
    "depthwise_conv": lambda x: ops.depthwise_conv(image(x), ops.reshape(x, (2, 2, 1, 1))),
    "separable_conv": lambda x: ops.separable_conv(
        image(x), ops.reshape(x, (2, 2, 1, 1)), ops.reshape(ops.sum(x), (1, 1, 1, 1))
    ),
    "resize": lambda x: ops.resize(image(x), (3, 3)),
    "rnn": lambda x: ops.rnn(lambda row, states: (row, [ops.add(states[0], row)]), rows(x), [ops.zeros((1, 2))])[0],
    "categorical": lambda x: ops.random.categorical(0, x, (2,)),
    "bernoulli": lambda x: ops.random.bernoulli(0, (2, 2), ops.divide(x, 4)),
    "foldl": lambda x: ops.foldl(lambda total, row: ops.add(total, row), x),
    "associative_scan": lambda x: ops.associative_scan(ops.add, x),
    "vectorized_map": lambda x: ops.vectorized_map(lambda row: ops.multiply(row, 2), x),
    "shuffle": lambda x: ops.random.shuffle(0, x),
    "dropout": lambda x: ops.random.dropout(0, x, 0.5),
    "cond": lambda x: ops.cond(ops.greater(ops.sum(x), 0), lambda: x, lambda: ops.negative(x)),
    "while_loop": lambda x: ops.while_loop(lambda y: ops.less(ops.sum(y), 50), lambda y: (ops.add(y, 9),), (x,))[0],
    "scan": lambda x: ops.scan(lambda c, row: (ops.add(c, row), row), ops.zeros((2,)), x)[0],
    "map_fn": lambda x: ops.map_fn(lambda row: ops.multiply(row, 2), x),
    "K.dot": lambda x: K.dot(x, x),
    "K.int_shape": lambda x: K.int_shape(x),
    "K.dtype": lambda x: K.dtype(x),
    "K.mean": lambda x: K.mean(x, -1),
    "K.get_value": lambda x: K.get_value(x),
    "K.flatten": lambda x: K.flatten(x),
    "K.categorical_crossentropy": lambda x: K.categorical_crossentropy(x, x),
    "K.map_fn": lambda x: K.map_fn(lambda row: K.square(row), x),
    "K.function": lambda x: K.function([y := K.placeholder((2, 2))], y * 2)(x),
    "variable": lambda x: dt.Variable(x).numpy(),
    "function": lambda x: dt.function(lambda y: ops.multiply(y, 2))(x),
    "signature": lambda x: dt.function(lambda y: ops.multiply(y, 2), input_signature=[dt.spec((2, 2))])(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_its_values(installed, name):
    x = np.array([[2.0, 1.0], [0.5, 4.0]], "float32")

    def plain(value):
        return value.held if type(value) is Box else np.asarray(value)

    found, expected = FUNCTIONS[name](Box(x)), FUNCTIONS[name](ops.convert(x))
    np.testing.assert_allclose(plain(found), plain(expected), rtol=1e-6) if name != "K.dtype" else None


def test_errors_describe_its_values(installed):
    with pytest.raises(ValueError, match=r"MatMul.*Given: .*float32\[2,3\]"):
        ops.matmul(Box(np.zeros((2, 3), "float32")), Box(np.zeros((2, 3), "float32")))


# -- before it is loaded ----------------------------------------------------------------------------------------------


def test_values_are_known_before_the_engine_is_loaded(unknown, monkeypatch, tmp_path):
    source = Path(boxed.__file__).read_text()
    array = source[source.index("class Box:") : source.index("def opened")]
    (tmp_path / "toy_lib.py").write_text(array)
    source = source.replace(array, "from toy_lib import Box\n").replace('"boxed"', '"toy"')
    (tmp_path / "toy_engine.py").write_text(source)
    points = {"dovetail.engines": {"toy": "toy_engine:engine"}, "dovetail.arrays": {"toy": "toy_lib:Box"}}
    install({"project": {"name": "toy", "version": "1.0", "entry-points": points}}, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import toy_lib

    assert not K.is_tensor(object()) and "toy" in dt.list_engines()
    assert "toy" not in engine_registry._loaded and "toy_engine" not in sys.modules
    for kind in (toy_lib.Box, type("Special", (toy_lib.Box,), {})):
        found = ops.add(kind(np.float32([1, 2])), 1.0)
        assert type(found) is toy_lib.Box and found.held.tolist() == [2, 3]
    assert "toy" in engine_registry._loaded


def test_a_type_that_nothing_says_is_known_once_its_engine_is_loaded(unknown, monkeypatch):
    class Later(Box):
        pass

    monkeypatch.setattr(engine_registry, "_arrays", lambda path: {})
    monkeypatch.delitem(engine_registry._loaded, "boxed", raising=False)  # another test may have loaded it
    monkeypatch.setattr(Later, "__module__", "another_library")
    assert not K.is_tensor(Later(np.float32([1])))
    monkeypatch.setitem(engine_registry._loaded, "boxed", boxed.engine)
    assert K.is_tensor(Later(np.float32([1])))
