"""Cases of placeholders, functions, the learning phase, gradients and printing."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import call, program

EAGER = ("eager",)
IN_GRAPHS = ("compiled", "symbolic")
A, B = array(2, 3), array(2, 3)
X = np.arange(6, dtype="float32").reshape(2, 3) - 2.0


# -- placeholders and functions ---------------------------------------------------------------------------------------


def shapes(K):
    """The static shapes of placeholders."""
    made = [
        K.placeholder((2, 3)), K.placeholder(shape=[None, 4]), K.placeholder(ndim=2), K.placeholder(()),
        K.placeholder((0, 2), dtype="float64"), K.placeholder(ndim=1, dtype="int32"), K.placeholder((), 3, "bool"),
        K.placeholder(5), K.placeholder((2,), name="named"),
    ]  # fmt: skip
    none = [[-1 if dim is None else dim for dim in K.int_shape(x)] for x in made]
    unknown = K.int_shape(K.placeholder()), K.ndim(K.placeholder(ndim=0))
    return [none, [K.dtype(x) for x in made], [x is None for x in unknown]]


def kinds(K):
    x, v = K.placeholder((2, 3)), K.variable([1.0])
    return [K.is_keras_tensor(t) for t in (x, x + 1.0, v, K.constant(1.0))]


def computed(K):
    """Results of functions with unknown dimensions: several outputs, nested ones, one in a list and one alone."""
    x, y = K.placeholder((None, 3)), K.placeholder((None,), dtype="float64")
    z = K.sum(x * 2.0, axis=1)
    found = K.function([x, y], {"b": [z, z + 1.0], "a": (K.cast(y, "float32") * z, K.square(y))})([X, np.array([1, 2])])
    return [
        found["b"], found["a"], K.function([x], [z])([X]), K.function([x], z)([X]), K.function(x, z)(X),
        K.function([x], [z])([X[:0]]), K.function([x], [z])(X),
    ]  # fmt: skip


def scalar_result(K):
    x = K.placeholder((None, 3))
    return K.function([x], K.sum(x))([X])


def updates_and_nothing(K):
    x, v = K.placeholder(()), K.variable(1.0)
    nothing, none = K.function([x], [], updates=[(v, v + x)]), K.function([x], [x * 2.0, None])
    return [*nothing([2.0]), K.get_value(v), none([3.0])[0]]


def inputs_missing(K):
    x, y = K.placeholder((2,)), K.placeholder((2,))
    return K.function([x, y], [x + y])([np.ones(2)])


def inputs_too_many(K):
    x = K.placeholder((2,))
    return K.function([x], [x + 1.0])([np.ones(2), np.ones(2)])


def input_of_another_shape(K):
    x = K.placeholder((None, 3))
    return K.function([x], [x + 1.0])([np.ones((2, 4))])


def placeholder_not_among_inputs(K):
    x, y = K.placeholder((2,)), K.placeholder((2,))
    return K.function([x], [x + y])


def option_of_sessions(K):
    x = K.placeholder((2,))
    return K.function([x], [x + 1.0], givens={})


def no_tensor(K):
    return K.is_keras_tensor(np.ones(2))


def refused(function):
    return program(f"{function.__name__} refused", function, ways=EAGER, raises=True)


# -- the learning phase -----------------------------------------------------------------------------------------------


def phases(K):
    found = [K.learning_phase()]
    K.set_learning_phase(1)
    found.append(K.learning_phase())
    with K.learning_phase_scope(0):
        found.append(K.learning_phase())
        found.append(K.in_train_phase(1, 2))
    found += [K.learning_phase(), K.in_train_phase(1, 2), K.in_test_phase(1, 2)]
    K.clear_session()
    return [*found, K.learning_phase()]


def phase_of(training):
    return lambda K, x, y: [K.in_train_phase(x, y, training=training), K.in_test_phase(x, y, training=training)]


def phase_in_a_tensor(K, x, y, training):
    return [K.in_train_phase(x, y, training=training), K.in_test_phase(lambda: x, lambda: -y, training=training)]


def only_one_is_called(K, x):
    def fails():
        raise AssertionError("not the one that was to be called")

    return [K.in_train_phase(lambda: x, fails, training=1), K.in_test_phase(lambda: -x, fails, training=False)]


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient(loss):
    return lambda K, *tensors: K.gradients(loss(K, *tensors), list(tensors))


def through_a_variable(K, x):
    w = K.variable([1.0, 2.0, 3.0])
    return K.gradients(K.sum(K.square(x * w)), [w])


def of_a_gradient(K, x):
    slope = K.gradients(K.sum(x**3.0), [x])[0]
    return K.gradients(K.sum(K.square(slope)), [x])


def not_connected(K, x, y):
    return [g is None for g in K.gradients(K.sum(x), [y, x])]


GRADIENTS = [
    program("gradients of_a_square", gradient(lambda K, x: K.sum(K.square(x))), A, expected=lambda x: 2 * x),
    program(
        "gradients of_a_product", gradient(lambda K, x, y: K.sum(K.dot(x, y))), array(2, 3), array(3, 4),
        expected=lambda x, y: [np.tile(y.sum(1), (2, 1)), np.tile(x.sum(0)[:, None], (1, 4))],
    ),
    program(
        "gradients of_doubles", gradient(lambda K, x: K.mean(K.exp(x))), array(5, dtype="float64"),
        expected=lambda x: np.exp(x) / 5,
    ),
    program(
        "gradients of_a_variable", through_a_variable, A,
        expected=lambda x: (2 * np.square(x) * [1, 2, 3]).sum(0).astype("float32"),
    ),
    program("gradients of_a_gradient", of_a_gradient, A, expected=lambda x: 36 * x**3, tolerance=10),
    program("gradients not_connected", not_connected, A, B, expected=lambda x, y: [True, False]),
    program(
        "gradients stop_gradient", gradient(lambda K, x: K.sum(x * K.stop_gradient(x))), A, expected=lambda x: x
    ),
]  # fmt: skip

CASES = [
    program("placeholder", shapes, ways=EAGER),
    program("is_keras_tensor", kinds, ways=EAGER),
    program("function placeholder", computed, ways=EAGER),
    program(
        "function placeholder scalar", scalar_result, ways=EAGER, differs="scalar results are NumPy's, not Python's",
        expected=lambda: np.float32(X.sum()),
    ),
    program(
        "function placeholder updates", updates_and_nothing, ways=EAGER,
        differs="updates, and empty or None outputs, work", expected=lambda: [np.float32(3.0), np.float32(6.0)],
    ),
    *map(refused, (
        inputs_missing, inputs_too_many, input_of_another_shape, placeholder_not_among_inputs, option_of_sessions,
        no_tensor,
    )),
    call("placeholder", (2,), sparse=True, ragged=True, ways=EAGER, raises=True),
    call("placeholder", (2, -1), ways=EAGER, raises=True),
    call("placeholder", ("a",), ways=EAGER, raises=True),
    call("placeholder", (2,), dtype="foo", ways=EAGER, raises=True),
    program("learning_phase set_learning_phase learning_phase_scope clear_session", phases, ways=EAGER),
    call("set_learning_phase", 2, ways=EAGER, raises=True),
    call("set_learning_phase", "train", ways=EAGER, raises=True),
    call("set_learning_phase", [1], ways=EAGER, raises=True),
    program("learning_phase_scope refused", lambda K: K.learning_phase_scope(3).__enter__(), ways=EAGER, raises=True),
    call("in_train_phase", A, B),
    call("in_test_phase", A, B),
    *(program(f"in_train_phase in_test_phase {t!r}", phase_of(t), A, B) for t in (0, 1, True, False, np.int64(1))),
    *(
        program("in_train_phase in_test_phase tensor", phase_in_a_tensor, A, B, np.array(t))
        for t in (True, False, 1, 0, 1.0)
    ),
    program("in_train_phase in_test_phase lazy", only_one_is_called, A),
    call("in_train_phase", A, B, training=3, ways=EAGER, raises=True),
    *(call("stop_gradient", x) for x in (A, ints(4), array(), array(0, 2), array(2, dtype="float16"))),
    program(
        "stop_gradient list", lambda K, x, y: K.stop_gradient([x, y]), A, B, differs="for a list there is a list",
        expected=lambda x, y: [x, y],
    ),
    call("print_tensor", A),
    call("print_tensor", ints(30), message="numbers", summarize=-1),
    call("print_tensor", array(0, 2), summarize=None),
    *(case.but(ways=IN_GRAPHS) for case in GRADIENTS),
]  # fmt: skip
