"""Arguments with effects, against TensorFlow: of control flow, checks and assignments, and names of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as compat

from tests.libraries import Library, require

tensorflow = Library("tensorflow")
ERRORS = (TypeError, ValueError, NotImplementedError)

# run(tf, session) in its own graph: a list of values and texts
PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {}


def program(run: Callable[[Any, Any], list[Any]]) -> Callable[[Any, Any], list[Any]]:
    PROGRAMS[run.__name__] = run
    return run


def started(tf: Any, session: Any) -> None:
    session.run(tf.global_variables_initializer())


# -- control dependencies ---------------------------------------------------------------------------------------------


@program
def a_tuple_behind_an_assignment(tf, session):
    v = tf.get_variable("v", initializer=1.0)
    (x,) = tf.tuple([tf.constant(2.0)], control_inputs=[tf.assign(v, 5.0).op])
    started(tf, session)
    return [session.run(x), session.run(v), x.name]


@program
def a_tuple_behind_a_tensor_and_a_group(tf, session):
    v, u = (tf.get_variable(name, initializer=1.0) for name in "vu")
    steps = [tf.identity(tf.assign_add(v, 1.0)), tf.group(tf.assign(u, 7.0))]
    x, none, y = tf.tuple([v * 0.0, None, u * 0.0], name="both", control_inputs=steps)
    started(tf, session)
    return [session.run(y), session.run([v, u]), none, x.name, y.name]


@program
def a_tuple_computes_all_of_its_tensors(tf, session):
    v = tf.get_variable("v", initializer=1.0)
    x, _ = tf.tuple([tf.constant(1.0), tf.identity(tf.assign_add(v, 3.0))])
    started(tf, session)
    return [session.run(x), session.run(v)]


@program
def a_tuple_of_nothing(tf, session):
    return tf.tuple([None])


@program
def a_tuple_behind_what_is_no_operation(tf, session):
    return tf.tuple([tf.constant(1.0)], control_inputs=["v"])


# -- gradients of loops -----------------------------------------------------------------------------------------------


def slopes(back_prop: bool) -> Callable[[Any, Any], list[Any]]:
    def run(tf: Any, session: Any) -> list[Any]:
        x = tf.constant([1.0, 2.0])
        found = [
            tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=back_prop)[1],
            tf.map_fn(lambda a: a * a, x, back_prop=back_prop),
            tf.foldl(lambda a, b: a * b, x, back_prop=back_prop),
            tf.foldr(lambda a, b: a * b, x, tf.constant(2.0), back_prop=back_prop),
            tf.scan(lambda a, b: a * b, x, back_prop=back_prop),
        ]
        values = [y if back_prop else tf.stop_gradient(y) for y in found]
        gradients = [tf.gradients(y, x)[0] for y in (found if tf is compat else values)]
        return [
            *(v.tolist() for v in session.run(found)),
            *(g if g is None else session.run(g).tolist() for g in gradients),
        ]

    return run


PROGRAMS["loops with gradients"] = slopes(True)
PROGRAMS["loops without gradients"] = slopes(False)


def invariants(*shapes: Any) -> Callable[[Any, Any], list[Any]]:
    def run(tf: Any, session: Any) -> list[Any]:
        made = [tf.TensorShape(shape) for shape in shapes]
        _, y = tf.while_loop(
            lambda i, y: i < 2, lambda i, y: (i + 1, tf.concat([y, y], 0)), [0, tf.zeros([1, 2])], shape_invariants=made
        )
        return [y.shape.as_list(), session.run(y).tolist()]

    return run


PROGRAMS["an invariant that the end has not"] = invariants([], [1, 2])
PROGRAMS["too few invariants"] = invariants([None, 2])


# -- conditions that exclude each other -------------------------------------------------------------------------------


def cases(tf: Any, session: Any, exclusive: bool, *fed: bool) -> Any:
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    pairs = [(p, lambda: tf.constant(1.0)), (q, lambda: tf.constant(2.0))]
    chosen = tf.case(pairs, default=lambda: tf.constant(3.0), exclusive=exclusive)
    try:
        return session.run(chosen, dict(zip((p, q), fed, strict=True)))
    except tf.errors.InvalidArgumentError:
        return "refused"


PROGRAMS["one condition holds"] = lambda tf, session: [cases(tf, session, True, False, True)]
PROGRAMS["no condition holds"] = lambda tf, session: [cases(tf, session, True, False, False)]
PROGRAMS["both conditions hold"] = lambda tf, session: [cases(tf, session, True, True, True)]
PROGRAMS["both conditions may hold"] = lambda tf, session: [cases(tf, session, False, True, True)]


# -- names ------------------------------------------------------------------------------------------------------------

NAMED = {
    "zeros": lambda tf: tf.zeros([2], name="n"),
    "ones": lambda tf: tf.ones([2, 1], name="n"),
    "fill": lambda tf: tf.fill([2], 3.0, name="n"),
    "constant": lambda tf: tf.constant([1.0], name="n"),
    "reduce_mean": lambda tf: tf.reduce_mean(tf.constant([1.0]), name="n"),
    "softplus": lambda tf: tf.nn.softplus(tf.constant([1.0]), name="n"),
    "rank": lambda tf: tf.rank(tf.constant([1.0]), name="n"),
    "exponential_decay": lambda tf: tf.train.exponential_decay(0.1, tf.constant(1), 10, 0.9, name="n"),
    "a scope's name": lambda tf: scoped(tf),
    "a name that is taken": lambda tf: (tf.constant(1.0, name="n"), tf.reduce_sum(tf.constant([1.0]), name="n"))[1],
    "assign": lambda tf: tf.assign(tf.get_variable("v", initializer=1.0, use_resource=False), 2.0, name="n"),
    "assign_add": lambda tf: tf.assign_add(tf.get_variable("v", initializer=1.0, use_resource=False), 2.0, name="n"),
    "minimize": lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(
        tf.square(tf.get_variable("v", initializer=1.0)), name="n"
    ),
    "apply": lambda tf: tf.train.ExponentialMovingAverage(0.9, name="n").apply([tf.get_variable("v", initializer=1.0)]),
}


def scoped(tf: Any) -> Any:
    with tf.name_scope("n") as scope:
        return tf.add(tf.constant(1.0), 2.0, name=scope)


@pytest.mark.parametrize("name", NAMED)
def test_the_result_has_the_name(name):
    require("tensorflow", "the oracle")
    found = []
    for tf in (compat, tensorflow.compat.v1):
        with tf.Graph().as_default():
            made = NAMED[name](tf)
            found.append(made.name.partition(":")[0])
    assert found[0] == found[1]


# -- assignments ------------------------------------------------------------------------------------------------------


@program
def an_assignment_without_a_value(tf, session):
    v = tf.Variable([1.0, 2.0], use_resource=True)
    done = [v.assign([3.0, 4.0], read_value=False), v.assign_add([1.0, 1.0], name="more", read_value=False)]
    started(tf, session)
    return [session.run(done[0]), session.run(v).tolist(), session.run(done[1]), session.run(v).tolist(), done[1].name]


@program
def a_slot_has_a_name(tf, session):
    v = tf.get_variable("v", initializer=1.0)
    tf.train.FtrlOptimizer(0.1, accum_name="sum", linear_name="line").minimize(v * v)
    return sorted(x.op.name for x in tf.global_variables())


@program
def slots_without_names(tf, session):
    v = tf.get_variable("v", initializer=1.0)
    tf.train.FtrlOptimizer(0.1).minimize(v * v)
    return sorted(x.op.name for x in tf.global_variables())


# -- checks ----------------------------------------------------------------------------------------------------------

CHECKED = {
    "constant, another shape": lambda tf: tf.constant([1.0, 2.0], shape=[2, 1], verify_shape=True),
    "constant, its shape": lambda tf: tf.constant([1.0, 2.0], shape=[2], verify_shape=True),
    "initializer, another shape": lambda tf: tf.constant_initializer([1.0, 2.0], verify_shape=True)([2, 1]),
    "initializer, its shape": lambda tf: tf.constant_initializer([1.0, 2.0], verify_shape=True)([2]),
    "variable, another shape": lambda tf: tf.Variable([1.0, 2.0], shape=[3], use_resource=True).read_value(),
    "variable, its shape": lambda tf: tf.Variable([1.0, 2.0], shape=[2], use_resource=True).read_value(),
    "accumulate_n, another shape": lambda tf: tf.math.accumulate_n([tf.zeros([2])] * 2, shape=[3]),
    "accumulate_n, another dtype": lambda tf: tf.math.accumulate_n([tf.zeros([2])] * 2, tensor_dtype=tf.int32),
    "accumulate_n, as said": lambda tf: tf.math.accumulate_n([tf.ones([2])] * 2, [2], tf.float32),
    "gradients, no such aggregation": lambda tf: tf.gradients(tf.ones([]), tf.ones([]), aggregation_method=7),
    "minimize, no such gate": lambda tf: tf.train.AdamOptimizer().minimize(
        tf.get_variable("v", initializer=1.0) * 2.0, gate_gradients=5
    ),
    "optimizer, no such argument": lambda tf: tf.train.AdamOptimizer(0.1, nothing=3),
    "hessians, no such argument": lambda tf: tf.hessians(tf.ones([]), tf.ones([]), nothing=3),
    "stateless numbers, no such algorithm": lambda tf: tf.random.stateless_uniform([2], [1, 2], alg="dice"),
    "assert_rank, another rank": lambda tf: tf.assert_rank(tf.ones([2]), 2, data=["x"], summarize=2, message="hm"),
    "lstsq of a matrix that has no full rank": lambda tf: tf.linalg.lstsq(
        tf.constant([[1.0, 1.0], [1.0, 1.0]]), tf.constant([[2.0], [2.0]]), fast=False
    ),
    "split by sizes, their number said": lambda tf: tf.split(
        tf.constant([1.0, 2.0, 3.0]), tf.placeholder_with_default([1, 2], [None]), num=2
    )[1],
    "split by sizes, their number unknown": lambda tf: tf.split(
        tf.constant([1.0, 2.0, 3.0]), tf.placeholder_with_default([1, 2], [None])
    ),
}


def checked(tf: Any, make: Any) -> Any:
    """The value, or a word for an error."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            made = make(tf)
            session.run(tf.global_variables_initializer())
            return np.asarray(session.run(made)).round(5).tolist()
        except ERRORS:
            return "refused"


@pytest.mark.parametrize("name", CHECKED)
def test_what_is_checked_is_refused_where_tensorflow_refuses_it(name, engine):
    require("tensorflow", "the oracle")
    assert checked(compat, CHECKED[name]) == checked(tensorflow.compat.v1, CHECKED[name])


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "variable_def": (lambda tf: tf.Variable(1.0, variable_def=3), "leave variable_def out"),
    "var": (lambda tf: tf.strided_slice(tf.ones([2]), [0], [1], var=tf.get_variable("v", [2])), "leave var out"),
    "handle": (lambda tf: tf.TensorArray(tf.float32, 2, handle=tf.ones([])), "leave them out"),
    "flow": (lambda tf: tf.TensorArray(tf.float32, 2, flow=tf.ones([])), "leave them out"),
    "saver_def": (lambda tf: tf.train.Saver([tf.get_variable("v", [2])], saver_def=3), "leave saver_def and builder"),
    "session": (lambda tf: tf.summary.FileWriter("nowhere", session=tf.Session()), "leave session out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_offered_is_refused(name):
    make, words = REFUSED[name]
    with compat.Graph().as_default(), pytest.raises(NotImplementedError, match=words):
        make(compat)


def test_an_invariant_of_a_dimension_that_grows(engine):
    require("tensorflow", "the oracle")
    grown = [outcome(tf, invariants([], [None, 2])) for tf in (compat, tensorflow.compat.v1)]
    assert grown[0] == grown[1] == [[None, 2], [[0.0, 0.0]] * 4]


def test_arguments_that_tensorflow_takes_without_a_look_are_refused():
    with compat.Graph().as_default(), compat.Session() as session:
        with pytest.raises(TypeError, match=r"tf\.Variable.*no argument 'nothing'"):
            compat.Variable(1.0, nothing=3)
        with pytest.raises(ValueError, match=r"shape invariant .* enters the loop with the shape \(1, 2\)"):
            invariants([], [None, 3])(compat, session)


def outcome(tf: Any, run: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            return [np.asarray(x).tolist() for x in run(tf, session)]
        except ERRORS as error:
            return next(kind for kind in ERRORS if isinstance(error, kind))


@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments_act_as_in_tensorflow(name, engine):
    require("tensorflow", "the oracle")
    assert outcome(compat, PROGRAMS[name]) == outcome(tensorflow.compat.v1, PROGRAMS[name])


@pytest.mark.parametrize("name", ["fft2d", "regex_replace", "betainc", "string_strip"])
def test_a_missing_argument_is_named_at_the_users_line(name):
    with pytest.raises(TypeError, match=r"^tf\.\w+ at test_arguments.py:\d+: missing a required argument.*; it takes "):
        getattr(compat, name)()


@pytest.mark.parametrize("axis", [0, -1])
def test_concat_in_the_order_before_tensorflow_1_is_an_error_with_the_right_call(axis):
    import dovetail.compat.tensorflow as tf

    with pytest.raises(TypeError, match=rf"test_arguments\.py:.*write tf\.concat\(values, {axis}\)"):
        tf.concat(axis, [tf.ones((2, 3)), tf.ones((2, 3))])
