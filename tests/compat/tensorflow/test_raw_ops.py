"""`tf.raw_ops`: types by TensorFlow's own words, with TensorFlow's values; refusals; graphs, gradients, tables."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
import pytest

import dovetail.compat.tensorflow as tf
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.host import HOST
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.ops import READ, SPECIAL
from dovetail.formats.tensorflow.table import OF_FILES
from tests.formats.tensorflow.calling import SIGNS
from tests.formats.tensorflow.cases import CASES, Case, Static, Var
from tests.formats.tensorflow.host.cases import CASES as HOST_CASES
from tests.libraries import Library, require

require("tensorflow", "the oracle")

real, v1 = Library("tensorflow"), tf.compat.v1
ALIASING = ("InplaceAdd", "InplaceSub", "InplaceUpdate")  # TensorFlow changes the array that it is given
NO_FUNCTION = ("XlaEinsum",)  # types without a function in TensorFlow
FIRST = {
    one.type: one
    for one in reversed([*CASES, *HOST_CASES])
    if one.type not in (*ALIASING, *NO_FUNCTION) and not any(isinstance(value, Var) for value in one.inputs)
}


def arguments(case: Case) -> dict[str, Any]:
    """The arguments of a case, by TensorFlow's words."""
    known: Any = definition(case.type)
    words = {one.name: one.word for one in known.free}
    given = dict(zip((one.word for one in known.inputs), map(plain, case.inputs), strict=True))
    return given | {words[name]: value for name, value in case.attrs.items() if name in words}


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.array if isinstance(value, Static) else value


def arrays(found: Any) -> list[Any]:
    """The results, one behind the other."""
    if isinstance(found, (list, tuple)):
        return [array for one in found for array in arrays(one)]
    array = found.numpy() if hasattr(found, "numpy") else found
    return [np.asarray(array, object if isinstance(array, bytes) else None)]


def check(ours: Any, theirs: Any, type: str = "") -> None:
    assert getattr(ours, "_fields", None) == getattr(theirs, "_fields", None)
    for one, other in zip(arrays(ours), arrays(theirs), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.dtype == object:
            assert one.tolist() == other.tolist()
        else:
            one, other = (np.abs(x) if type in SIGNS else x for x in (one, other))
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", FIRST.values(), ids=str)
def test_a_type_by_keywords_gives_tensorflows_results(case: Case):
    given = arguments(case)
    check(getattr(tf.raw_ops, case.type)(**given), getattr(real.raw_ops, case.type)(**given), case.type)


def test_each_type_that_files_are_read_with_is_a_function_with_tensorflows_parameters():
    every = {*READ, *SPECIAL, *HOST} - OF_FILES
    offered = {*dir(tf.raw_ops)}
    assert sorted(every - offered) == []
    assert len(every) > 600 and set(OPS) <= offered
    for name in sorted(every - {*NO_FUNCTION}):
        assert [*inspect.signature(getattr(tf.raw_ops, name)).parameters] == [
            *inspect.signature(getattr(real.raw_ops, name)).parameters
        ], name


REFUSED = {
    "another word": (lambda raw: raw.AddV2(x=1.0, c=2.0), "AddV2.*no argument 'c'; the op takes x, y"),
    "one lacks": (lambda raw: raw.AddV2(x=1.0), "AddV2.*the argument 'y' is missing; the op takes x, y"),
    "one dtype": (
        lambda raw: raw.AddV2(x=np.float32(1), y=tf.constant(1)),
        "x is of 'float32'; it must be of 'int32', as the other tensors are",
    ),
    "a dtype of the type": (lambda raw: raw.Sqrt(x=[1]), "Sqrt.*x is of 'int32'; it must be one of bfloat16, float16"),
    "no list": (
        lambda raw: raw.MaxPool(input=np.ones((1, 2, 2, 1), "f"), ksize=2, strides=[1] * 4, padding="SAME"),
        "MaxPool.*ksize is 2; it must be a list, each an int",
    ),
    "too few": (
        lambda raw: raw.MaxPool(input=np.ones((1, 2, 2, 1), "f"), ksize=[1], strides=[1] * 4, padding="SAME"),
        "MaxPool.*ksize is .*; it needs at least 4 values",
    ),
    "a word of the type": (
        lambda raw: raw.BiasAdd(value=[[1.0]], bias=[1.0], data_format="CHWN"),
        "BiasAdd.*data_format is 'CHWN'; it must be one of NHWC, NCHW",
    ),
    "no dtype": (lambda raw: raw.Cast(x=1, DstT="nix"), "Cast.*DstT is 'nix'; it must be a dtype"),
    "no bool": (lambda raw: raw.MatMul(a=[[1.0]], b=[[1.0]], transpose_a=1), "transpose_a is 1; it must be a bool"),
    "no tensors": (lambda raw: raw.AddN(inputs=1.0), "AddN.*inputs is 1.0; it must be a list of tensors"),
    "no variable": (lambda raw: raw.ReadVariableOp(resource=1.0, dtype="float32"), "its input 0 is no variable"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_op_the_argument_and_what_is_needed(name: str):
    call, message = REFUSED[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call(tf.raw_ops)


def test_gradients_of_types(engine: str):
    x, bias = np.float32([[1, 2], [3, 4]]), np.float32([1, 2])
    found = []
    for library in (tf, real):
        pair = [library.constant(x), library.constant(bias)]
        with library.GradientTape() as tape:
            tape.watch(pair)
            y = library.raw_ops.BiasAdd(value=pair[0], bias=pair[1])
            loss = library.raw_ops.Sum(input=library.raw_ops.Square(x=y), axis=[0, 1])
        found.append(tape.gradient(loss, pair))
    check(*found)


def test_types_in_functions_and_in_graphs_of_sessions(engine: str):
    def compute(raw: Any, x: Any) -> Any:
        found = raw.TopKV2(input=x, k=2)
        return raw.Pack(values=[found.values, raw.Relu(features=-found.values)], axis=0, name="both")

    x = np.float32([3, -1, 2])
    expected = compute(real.raw_ops, x)
    check(tf.function(lambda x: compute(tf.raw_ops, x))(x), expected)
    with tf.Graph().as_default():
        fed = v1.placeholder(tf.float32, [3])
        both = compute(tf.raw_ops, fed)
        upper = tf.raw_ops.StringUpper(input=v1.placeholder(tf.string, [1], name="text"))
        with v1.Session() as session:
            assert both.op.name == "both"
            check(session.run(both, {fed: x}), expected.numpy())
            assert session.run(upper, {"text:0": ["a"]}).tolist() == [b"A"]


def test_variables_are_read_and_assigned(engine: str):
    v = tf.Variable([1.0, 2.0])
    assert tf.raw_ops.ResourceApplyGradientDescent(var=v, alpha=0.5, delta=[1.0, 2.0]) is None
    assert tf.raw_ops.ReadVariableOp(resource=v, dtype="float32").numpy().tolist() == [0.5, 1.0]
    tf.raw_ops.AssignAddVariableOp(resource=v, value=[1.0, 1.0])
    assert v.numpy().tolist() == [1.5, 2.0]
    with tf.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=[1.0, 2.0])
        step = tf.raw_ops.ResourceApplyGradientDescent(var=v, alpha=0.5, delta=[1.0, 2.0])
        session.run(v1.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [0.5, 1.0]
        check = tf.raw_ops.Assert(condition=v1.placeholder(tf.bool, [], name="good"), data=[v])
        session.run(check, {"good:0": True})
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(check, {"good:0": False})


def test_tables_and_lists():
    raw = tf.raw_ops
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    assert raw.LookupTableInsertV2(table_handle=table, keys=["a", "b"], values=np.int64([1, 2])) is None
    found = raw.LookupTableFindV2(table_handle=table, keys=["b", "c"], default_value=np.int64(-1))
    assert (found.numpy().tolist(), raw.LookupTableSizeV2(table_handle=table).numpy()) == ([2, -1], 2)
    items = raw.TensorListFromTensor(tensor=[[1.0], [2.0]], element_shape=[1])
    items = raw.TensorListSetItem(input_handle=items, index=1, item=[3.0])
    stacked = raw.TensorListStack(input_handle=items, element_shape=[1], element_dtype="float32")
    assert stacked.numpy().tolist() == [[1.0], [3.0]]


def test_functions_of_private_modules_have_tensorflows_values(engine: str):
    x = np.random.default_rng(0).permutation(96).reshape(2, 4, 4, 3).astype("float32")
    g, window = np.ones((2, 2, 2, 3), "float32"), {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}

    def results(module: Any) -> list[Any]:
        y = module.max_pool(x, **window)
        return [
            module.max_pool_grad(x, y, g, **window),
            module.avg_pool_grad(orig_input_shape=[2, 4, 4, 3], grad=g, data_format="NHWC", **window),
            module.relu_grad(g, y - 50),
            module.elu_grad(g, y / 90 - 0.5),
            module.bias_add_grad(g),
        ]

    theirs = importlib.import_module("tensorflow.python.ops.gen_nn_ops")
    found, wanted = results(v1.python.ops.gen_nn_ops), results(theirs)
    for ours, its in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours.numpy(), its.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(AttributeError, match="max_pool_gradient is not offered"):
        v1.python.ops.gen_nn_ops.max_pool_gradient  # noqa: B018  the look-up fails
