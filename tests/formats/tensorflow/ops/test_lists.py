"""Lists of tensors that grow, and results whose sizes are inputs, against TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.formats.tensorflow.saved_model import SavedGraph, Signature
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.calling import tf
from tests.libraries import require

require("tensorflow", "lists are compared with it")


def collected(element_shape: Any) -> Any:
    """A function of TensorFlow whose loop appends to a list."""

    def function(x: Any, n: Any) -> Any:
        raw = tf.raw_ops
        start = raw.EmptyTensorList(element_shape=element_shape, max_num_elements=-1, element_dtype=tf.float32)

        def body(i: Any, found: Any) -> Any:
            return i + 1, raw.TensorListPushBack(input_handle=found, tensor=x * tf.cast(i, "float32"))

        _, found = tf.while_loop(lambda i, found: i < n, body, (0, start))
        found, last = raw.TensorListPopBack(input_handle=found, element_shape=[2], element_dtype=tf.float32)
        found = raw.TensorListResize(input_handle=found, size=n + 1)
        rows = raw.TensorListStack(input_handle=found, element_shape=[2], element_dtype=tf.float32)
        return rows, last, raw.TensorListLength(input_handle=found)

    return function


def opened(graph: Any, results: Any) -> Any:
    """The function of a graph of TensorFlow with the placeholders `x` and `n`."""
    definition = TENSORFLOW.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    outputs = {str(number): y.name for number, y in enumerate(results)}
    read = SavedGraph(Path("a file"), definition, {"f": Signature({"x": "x:0", "n": "n:0"}, outputs)}).read("f")
    assert read.opaque == {}
    return dt.function(read.graph)


@pytest.mark.parametrize("sorts", [np.float32, np.int32])
def test_the_largest_elements_of_a_number_that_is_an_input(sorts: Any):
    with tf.Graph().as_default() as graph:
        x, n = (tf.compat.v1.placeholder(*one) for one in ((sorts, [2, None], "x"), ("int32", [], "n")))
        results = tf.raw_ops.TopKV2(input=x, k=n, sorted=True)
    run, values = opened(graph, results), np.array([[1, 3, 1, 3, -5], [0, 0, -1, 0, 2]], sorts)
    with tf.compat.v1.Session(graph=graph) as session:
        for count in (0, 3, 5):
            expected = session.run(list(results), {"x:0": values, "n:0": count})
            with dt.engine("numpy"):
                found = run(values, np.int32(count))
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours.numpy(), theirs)
                assert ours.numpy().dtype == theirs.dtype


@pytest.mark.parametrize("element_shape", [[2], -1], ids=["known", "unknown"])
def test_a_list_grows_in_a_loop(element_shape: Any):
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", [2], "x")
        n = tf.compat.v1.placeholder("int32", [], "n")
        results = collected(element_shape)(x, n)
    run = opened(graph, results)
    with tf.compat.v1.Session(graph=graph) as session:
        for count in (1, 4):
            given = np.array([1, 2], "float32"), np.int32(count)
            expected = session.run(list(results), {"x:0": given[0], "n:0": given[1]})
            with dt.engine("numpy"):
                found = run(*given)
            for ours, theirs in zip(found, expected, strict=True):
                np.testing.assert_array_equal(ours.numpy(), theirs)


def test_loops_over_no_rows(engine: str):
    """The elements' shape is not in the lists' nodes, and no round of the loop tells it."""
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder("float32", [None, 2], "x")
        n = tf.compat.v1.placeholder("float32", [], "n")
        first = tf.stack([n, n])
        results = tf.map_fn(lambda row: tf.tanh(row) * n, x), tf.scan(lambda a, row: a + row, x, initializer=first)
    run = opened(graph, results)
    for size in (0, 3):
        given = np.ones((size, 2), "float32"), np.float32(2)
        with tf.compat.v1.Session(graph=graph) as session:
            expected = session.run(list(results), {"x:0": given[0], "n:0": given[1]})
        for ours, theirs in zip(run(*given), expected, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-6)


def array(size: Any, **settings: Any) -> Any:
    return tf.TensorArray(tf.float32, size, infer_shape=False, **settings)


def written(x: Any) -> Any:
    items = array(2).write(0, x).write(1, x[:1])
    return items.concat(), items.read(0), items.read(1)


def smaller_first(x: Any) -> Any:
    items = array(2, element_shape=[None, 2]).write(0, x[:1]).write(1, x)
    return items.concat() @ tf.ones([2, 2]), items.read(0)


def of_ranks(x: Any) -> Any:
    items = array(3).write(0, x).write(1, x[0]).write(2, x[0, 0])
    return items.read(0), items.read(1), items.read(2)


def in_a_loop(x: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, x[: i + 1] * 2))  # noqa: E731
    _, items = tf.while_loop(lambda i, items: i < tf.shape(x)[0], body, (0, array(tf.shape(x)[0])))
    return items.concat(), items.read(1)


def growing(x: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, x[i:]))  # noqa: E731
    _, items = tf.while_loop(lambda i, items: i < 3, body, (0, array(0, dynamic_size=True)))
    return items.concat(), items.read(2)


def in_a_branch(x: Any) -> Any:
    items = array(2).write(0, x)
    items = tf.cond(tf.reduce_sum(x) > 0, lambda: items.write(1, x[:1]), lambda: items.write(1, x[:2]))
    return items.concat(), items.read(1)


def divided(x: Any) -> Any:
    items = array(2).split(tf.concat([x, x[:1]], 0), [tf.shape(x)[0], 1])
    return items.read(0), items.read(1), items.concat()


def numbers(x: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, x[i, 0]))  # noqa: E731
    _, items = tf.while_loop(lambda i, items: i < 3, body, (0, array(3)))
    return items.read(1), items.read(2)


SEVERAL_SHAPES = [written, smaller_first, of_ranks, in_a_loop, growing, in_a_branch, divided, numbers]
ROWS = np.arange(8, dtype="float32").reshape(4, 2)


def keyed(build: Any) -> Any:
    return lambda x: {f"y{i}": y for i, y in enumerate(build(x))}


@pytest.fixture(scope="module")
def several_shapes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a model of TensorFlow, and its results: lists of tensors of several shapes."""
    folder, module = str(tmp_path_factory.mktemp("lists")), tf.Module()
    for build in SEVERAL_SHAPES:
        signature = [tf.TensorSpec([None, 2], tf.float32)]
        setattr(module, build.__name__, tf.function(keyed(build), input_signature=signature))
    signatures = {build.__name__: getattr(module, build.__name__) for build in SEVERAL_SHAPES}
    tf.saved_model.save(module, folder, signatures=signatures)
    return folder, {name: [y.numpy() for y in call(tf.constant(ROWS)).values()] for name, call in signatures.items()}


def check_equal(found: Any, right: list[np.ndarray]) -> None:
    for ours, theirs in zip(found, right, strict=True):
        assert np.shape(ours) == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_lists_of_tensors_of_several_shapes(several_shapes: Any, engine: str):
    folder, right = several_shapes
    model = dt.saved_model.load(folder)
    for name in right:
        check_equal([y.numpy() for y in model.signatures[name](ROWS).values()], right[name])


@pytest.mark.parametrize("build", SEVERAL_SHAPES)
def test_lists_of_tensors_of_several_shapes_are_written(several_shapes: Any, build: Any, tmp_path: Path):
    folder, right = several_shapes
    run = dt.saved_model.load(folder).signatures[build.__name__].as_function()
    dt.saved_model.save(run, tmp_path / "model")
    again = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](tf.constant(ROWS))
    check_equal([again[key].numpy() for key in sorted(again)], right[build.__name__])
    runtime = pytest.importorskip("onnxruntime")
    dt.onnx.save(run, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    check_equal(session.run(None, {session.get_inputs()[0].name: ROWS}), right[build.__name__])


def looped(items: Any, first: int, n: Any, step: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, step(i, items)))  # noqa: E731
    return tf.compat.v1.while_loop(lambda i, items: i < n, body, (first, items))[1]


GROWING = {  # results of x and n by arrays of TensorFlow 1 that grow in a loop
    "stack": lambda x, n: looped(tf.TensorArray("float32", 0, dynamic_size=True), 0, n, lambda i, _: x * 2.0).stack(),
    "read": lambda x, n: looped(
        tf.TensorArray("float32", 1, dynamic_size=True, clear_after_read=False).write(0, x),
        1,
        n,
        lambda i, items: items.read(i - 1) + 1.0,
    ).stack(),
    "concat": lambda x, n: looped(array(0, dynamic_size=True), 0, n, lambda i, _: x[: i + 1]).concat(),
    "size": lambda x, n: looped(tf.TensorArray("float32", 0, dynamic_size=True), 0, n, lambda i, _: x).size(),
}


def test_arrays_grow_in_loops_of_tensorflow_1(tmp_path: Path, engine: str):
    v1, given = tf.compat.v1, np.float32([1, 2, 3, 4])
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x, n = v1.placeholder("float32", [None], "x"), v1.placeholder("int32", [], "n")
            for name, build in GROWING.items():
                tf.identity(build(x, n), name=name)
            right = {name: session.run(f"{name}:0", {x: given, n: 3}) for name in GROWING}
    finally:
        v1.enable_control_flow_v2()
    (tmp_path / "x.pb").write_bytes(graph.as_graph_def().SerializeToString())
    model = dt.saved_model.load(tmp_path / "x.pb")
    for name, value in right.items():
        check_equal([model.results(name)(n=np.int32(3), x=given)[name].numpy()], [value])


IN_LOOPS = {  # arrays that loops of TensorFlow 1 write and read
    "written": lambda x: looped(tf.TensorArray("float32", 3), 0, 3, lambda i, _: x * x * tf.cast(i, x.dtype)).stack(),
    "map": lambda x: tf.compat.v1.map_fn(lambda row: row * row, x),
    "scan": lambda x: tf.compat.v1.scan(lambda a, row: a * row + tf.sin(a), x),
    "fold": lambda x: tf.compat.v1.foldl(lambda a, row: a * row + row, x),
}


@pytest.mark.parametrize("name", IN_LOOPS)
def test_gradients_of_arrays_in_loops_of_tensorflow_1(name: str, tmp_path: Path, engine: str):
    v1, rows = tf.compat.v1, np.arange(1, 7, dtype="float32").reshape(3, 2) / 4
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder("float32", [None, 2], "x")
            y = tf.identity(IN_LOOPS[name](x), name="y")
            tf.identity(v1.gradients(y * y, x)[0], name="gradient")
            right = session.run({key: f"{key}:0" for key in ("y", "gradient")}, {x: rows})
    finally:
        v1.enable_control_flow_v2()
    (tmp_path / "x.pb").write_bytes(graph.as_graph_def().SerializeToString())
    model = dt.saved_model.load(tmp_path / "x.pb")
    for key, value in right.items():
        found = model.results(key)(x=rows)[key]
        assert found.shape == value.shape
        np.testing.assert_allclose(found, value, rtol=1e-5, err_msg=key)


def test_a_result_without_a_value_is_refused(tmp_path: Path):
    with tf.Graph().as_default() as graph:
        tf.raw_ops.TensorArrayV3(size=2, dtype=tf.float32, name="array")
    (tmp_path / "x.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with pytest.raises(NotImplementedError, match="no value of 'array'"):
        dt.saved_model.load(tmp_path / "x.pb").results("array")


def gradient(build: Any) -> Any:
    def by(*xs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = build(*xs)
        return tape.gradient(y, xs)

    return by


def scattered(x: Any) -> Any:
    raw = tf.raw_ops
    items = raw.TensorListReserve(element_shape=[2], num_elements=6, element_dtype=tf.float32)
    cases = [
        raw.TensorListScatterIntoExistingList(input_handle=items, tensor=x, indices=[2, 0, 1, 3]),
        raw.TensorListScatter(tensor=x, indices=[1, 4, 0, 2], element_shape=[2]),
        raw.TensorListScatterV2(tensor=x, indices=[1, 3, 0, 2], element_shape=[2], num_elements=5),
    ]
    return [raw.TensorListStack(input_handle=one, element_shape=[2], element_dtype=tf.float32) for one in cases]


def wholly_written(x: Any) -> Any:
    body = lambda i, items: (i + 1, items.write(i, tf.sin(x[i])))  # noqa: E731
    items = tf.TensorArray(tf.float32, tf.shape(x)[0])
    return tf.while_loop(lambda i, items: i < tf.shape(x)[0], body, (0, items))[1].stack()


def branched(is_taken: bool) -> Any:
    """The second gradient of a branch."""

    def build(x: Any) -> Any:
        condition = tf.reduce_sum(x) > 0 if is_taken else tf.reduce_sum(x) < 0
        return tf.cond(condition, lambda: x**3, lambda: tf.sin(x))

    return gradient(lambda x: gradient(build)(x)[0])


WITH_GRADIENTS = {  # functions of TensorFlow whose gradients are in the file, of numbers of any sizes
    "concat": gradient(lambda x: tf.concat([x, x[:1] * 2, tf.sin(x)], 0) ** 2),
    "last axis": gradient(lambda x: tf.concat([x[:, :1], x], -1) ** 2),
    "product": gradient(lambda x: tf.reduce_prod(x + 1, -1) ** 2),
    "product of all": gradient(lambda x: tf.reduce_prod(x + 1)),
    "map": gradient(lambda x: tf.map_fn(lambda row: row * row, x)),
    "scan": gradient(lambda x: tf.scan(lambda state, row: state * row, x + 1)),
    "loop": gradient(wholly_written),
    "gather": gradient(lambda x: tf.TensorArray(tf.float32, 4).unstack(x).gather([1, 0]) ** 2),
    "scatter": scattered,
    "branch": branched(True),
    "other branch": branched(False),
}


def test_gradients_that_tensorflow_wrote_compute_its_numbers(tmp_path: Path, engine: str):
    module = tf.Module()
    for name, build in WITH_GRADIENTS.items():
        setattr(module, name, tf.function(keyed(build), input_signature=[tf.TensorSpec([None, None], tf.float32)]))
    tf.saved_model.save(module, str(tmp_path / "model"), signatures={n: getattr(module, n) for n in WITH_GRADIENTS})
    model = dt.saved_model.load(tmp_path / "model")
    for name in WITH_GRADIENTS:
        expected = getattr(module, name)(tf.constant(ROWS))
        found = model.signatures[name](ROWS)
        for key, value in expected.items():
            np.testing.assert_allclose(found[key].numpy(), value, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "selu", "leaky_relu"])
def test_gradients_at_nan(engine: str, name: str, tmp_path: Path):
    module, x = tf.Module(), np.float32([np.nan, -1, 0, 2, 7, np.inf, -np.inf])
    module.f = tf.function(keyed(gradient(getattr(tf.nn, name))), input_signature=[tf.TensorSpec([None], tf.float32)])
    tf.saved_model.save(module, str(tmp_path), signatures=module.f)
    found = dt.saved_model.load(tmp_path).signatures["serving_default"](x)
    np.testing.assert_allclose(found["y0"].numpy(), module.f(x)["y0"], rtol=1e-5)


SEVERAL_STACKED = {
    "at once": lambda x: array(2).write(0, x).write(1, x[:1]).stack(),
    "in a loop": lambda x: looped(array(3), 0, 3, lambda i, _: x[: i + 1]).stack(),
    "known": lambda x: array(2).write(0, x[:2, 0]).write(1, x[0, :1]).stack(),
    "gathered": lambda x: array(2).write(0, x).write(1, x[1:]).gather([0, 1]),
}


@pytest.mark.parametrize("name", SEVERAL_STACKED)
def test_tensors_of_several_shapes_are_not_stacked(name: str, tmp_path: Path):
    signature, module = [tf.TensorSpec([None, 2], tf.float32)], tf.Module()
    module.f = tf.function(keyed(lambda x: [SEVERAL_STACKED[name](x)]), input_signature=signature)
    with pytest.raises(tf.errors.OpError):
        module.f(tf.constant(ROWS))
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.f)
    with pytest.raises(Exception, match="pad the tensors to one shape, or concatenate them"):
        dt.saved_model.load(tmp_path / "model").f(ROWS)


def empty(shape: Any = -1) -> Any:
    return tf.raw_ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=tf.float32)


def pushed(items: Any, *tensors: Any) -> Any:
    for tensor in tensors:
        items = tf.raw_ops.TensorListPushBack(input_handle=items, tensor=tensor)
    return items


def popped(items: Any, count: int) -> list[Any]:
    """The last elements of a list, and the number of those that are left."""
    found = []
    for _ in range(count):
        items, last = tf.raw_ops.TensorListPopBack(input_handle=items, element_shape=-1, element_dtype=tf.float32)
        found.append(last)
    return [*found, tf.raw_ops.TensorListLength(input_handle=items)]


def pushed_in_a_loop(x: Any) -> Any:
    body = lambda i, items: (i + 1, pushed(items, x[i:] * 2))  # noqa: E731
    return popped(tf.while_loop(lambda i, items: i < 3, body, (0, empty([-1, 2])))[1], 2)


def resized(x: Any) -> Any:
    items = tf.raw_ops.TensorListResize(input_handle=pushed(empty([-1, 2]), x, x[:1]), size=tf.shape(x)[0] - 3)
    return popped(pushed(items, x[:3]), 2)


def joined(x: Any) -> Any:
    pair = {"input_a": pushed(empty([-1, 2]), x), "input_b": pushed(empty([-1, 2]), x[:1], x[:2])}
    return popped(tf.raw_ops.TensorListConcatLists(**pair, element_dtype=tf.float32), 2)


def in_a_loop_of_several_shapes(step: Any) -> Any:
    """The sum of numbers that each round of a loop makes more or fewer."""

    def build(x: Any) -> Any:
        shapes = (tf.TensorShape([]), tf.TensorShape([None, 2]))
        return tf.reduce_sum(tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, step(v)), (0, x), shapes)[1])

    return build


def by_parts(x: Any) -> Any:
    step = lambda i, s: (i + 1, s + s * tf.reduce_sum(tf.sin(x[: i + 1]) ** 2))  # noqa: E731
    return tf.while_loop(lambda i, s: i < 3, step, (0, tf.reduce_sum(x) / 10))[1]


def in_loops_in_each_other(x: Any) -> Any:
    def outer(i: Any, s: Any) -> Any:
        inner = lambda j, t: (j + 1, t * tf.reduce_sum(tf.cos(x[: j + 1] * t)))  # noqa: E731
        return i + 1, tf.while_loop(lambda j, t: j <= i, inner, (0, s))[1]

    return tf.while_loop(lambda i, s: i < 3, outer, (0, tf.reduce_sum(x) / 10))[1]


SHRINKING = in_a_loop_of_several_shapes(lambda v: tf.sin(v[1:] * v[:-1]))
GROWN = {  # lists that grow by several shapes, and gradients of loops that keep such tensors in lists
    "several ranks": lambda x: popped(pushed(empty(), x, x[:1], x[:, 0]), 3),
    "appended in a loop": pushed_in_a_loop,
    "appended in a branch": lambda x: popped(
        tf.cond(tf.reduce_sum(x) > 0, lambda: pushed(empty([-1, 2]), x[:1]), lambda: pushed(empty([-1, 2]), x)), 1
    ),
    "resized": resized,
    "joined": joined,
    "shrinking": gradient(SHRINKING),
    "second gradient": gradient(lambda x: tf.reduce_sum(gradient(SHRINKING)(x)[0])),
    "longer": gradient(in_a_loop_of_several_shapes(lambda v: tf.concat([v * v, tf.sin(v[:1])], 0))),
    "parts": gradient(by_parts),
    "loops in each other": gradient(in_loops_in_each_other),
    "a branch in a loop": gradient(
        in_a_loop_of_several_shapes(
            lambda v: tf.cond(tf.shape(v)[0] > 3, lambda: tf.sin(v[1:]) * v[1:], lambda: tf.concat([v, v * v], 0))
        )
    ),
    "a loop in a branch": gradient(lambda x: tf.cond(x[0, 0] < 1, lambda: SHRINKING(x), lambda: tf.reduce_sum(x * x))),
    "a loop in the other branch": gradient(
        lambda x: tf.reduce_sum(tf.cond(x[0, 0] > 1, lambda: SHRINKING(x) * x, lambda: x * x))
    ),
    "array": gradient(lambda x: tf.reduce_sum(in_a_loop(x)[0] ** 2)),
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The folder of a model of TensorFlow with a signature for each function, and their results."""
    folder, module = str(tmp_path_factory.mktemp("grown")), tf.Module()
    signature = [tf.TensorSpec([None, 2], tf.float32)]
    module.calls = {name: tf.function(keyed(build), signature, autograph=False) for name, build in GROWN.items()}
    tf.saved_model.save(module, folder, signatures={f"s{i}": one for i, one in enumerate(module.calls.values())})
    return folder, [[y.numpy() for y in call(tf.constant(ROWS)).values()] for call in module.calls.values()]


def test_lists_grow_by_tensors_of_several_shapes(grown: Any, engine: str):
    folder, right = grown
    signatures = dt.saved_model.load(folder).signatures
    for number, values in enumerate(right):
        check_close(signatures[f"s{number}"](ROWS), values)


def check_close(found: Any, right: list[np.ndarray]) -> None:
    assert len(found) == len(right)
    for number, value in enumerate(right):
        np.testing.assert_allclose(found[f"y{number}"].numpy(), value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", GROWN)
def test_lists_that_grow_are_written(grown: Any, name: str, tmp_path: Path):
    folder, right = grown
    number = [*GROWN].index(name)
    dt.saved_model.save(dt.saved_model.load(folder).signatures[f"s{number}"].as_function(), tmp_path / "model")
    again = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"](tf.constant(ROWS))
    check_close(again, right[number])
