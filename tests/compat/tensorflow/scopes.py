"""Programs that open scopes and name variables and operations: run(tf, note) notes the names in order.

`tf` is `tensorflow.compat.v1` or Dovetail's.  Operations get explicit names, since the default ones differ.
"""

from __future__ import annotations

import contextlib
from typing import Any


def op(tf: Any, name: str) -> str:
    """The name of an operation that is made with a name."""
    return tf.identity(tf.constant(1.0, name="c"), name=name).op.name


def default_reused(tf, note):
    for reuse in (False, True):
        with tf.variable_scope("d", reuse=reuse):
            for _ in range(2):
                with tf.variable_scope(None, "dense") as s:
                    note(s.name, s.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))


def default_auto_reused(tf, note):
    for _ in range(3):
        with tf.variable_scope("d", reuse=tf.AUTO_REUSE):
            with tf.variable_scope(None, "dense") as s:
                note(s.name, tf.get_variable("k", [1]), op(tf, "y"))
            with tf.variable_scope(None, "dense") as s:
                note(s.name, tf.get_variable("k", [1]), op(tf, "y"))
            with tf.variable_scope(None, "other") as s:
                note(s.name, tf.get_variable("k", [1]), op(tf, "y"))


def default_at_root(tf, note):
    for _ in range(3):
        with tf.variable_scope(None, "dense") as s:
            note(s.name, s.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))


def default_beside_given(tf, note):
    with tf.variable_scope("dense") as s:
        note(s.name, s.original_name_scope, tf.get_variable("k", [1]))
    with tf.variable_scope(None, "dense") as s:
        note(s.name, s.original_name_scope, tf.get_variable("k", [1]))
    with tf.variable_scope("dense", reuse=True) as s:
        note(s.name, s.original_name_scope, tf.get_variable("k", [1]))
    with tf.variable_scope(None, "dense") as s:
        note(s.name, s.original_name_scope, tf.get_variable("k", [1]))


def default_after_numbered(tf, note):
    with tf.variable_scope("dense_1") as s:
        note(s.name, tf.get_variable("k", [1]))
    for _ in range(3):
        with tf.variable_scope(None, "dense") as s:
            note(s.name, s.original_name_scope, tf.get_variable("k", [1]))


def scope_object(tf, note):
    with tf.variable_scope("a") as a:
        note(tf.get_variable("k", [1]), op(tf, "y"), a.original_name_scope)
        with tf.variable_scope(None, "in") as s:
            note(s.name, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.variable_scope(a, reuse=True) as again:
        note(again.name, again.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
        with tf.variable_scope(None, "in") as s:
            note(s.name, s.original_name_scope, op(tf, "y"))
    with tf.variable_scope("b"), tf.variable_scope(a, reuse=True) as again:
        note(again.name, again.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.variable_scope(a), tf.variable_scope(None, "in") as s:
        note(s.name, s.original_name_scope)


def scope_object_twice(tf, note):
    with tf.variable_scope("a") as a:
        pass
    for _ in range(2):
        with tf.variable_scope(a, reuse=tf.AUTO_REUSE):
            for _ in range(2):
                with tf.variable_scope(None, "in") as s:
                    note(s.name, s.original_name_scope, tf.get_variable("k", [1]))


def reentered_names(tf, note):
    for _ in range(3):
        with tf.variable_scope("a", reuse=tf.AUTO_REUSE) as a:
            note(a.name, a.original_name_scope, op(tf, "y"), tf.get_variable("k", [1]))


def reentered_original(tf, note):
    with tf.variable_scope("a") as a:
        note(op(tf, "y"))
    with tf.variable_scope(a, auxiliary_name_scope=False), tf.name_scope(a.original_name_scope):
        note(op(tf, "y"), op(tf, "z"), tf.get_variable("k", [1]))
    with tf.variable_scope(a, auxiliary_name_scope=False) as b:
        note(b.original_name_scope, op(tf, "y"))


def nested(tf, note):
    with tf.variable_scope("a"), tf.variable_scope("b"), tf.name_scope("c"), tf.variable_scope("d") as d:
        note(
            d.name,
            d.original_name_scope,
            tf.get_variable("k", [1]),
            op(tf, "y"),
            tf.Variable(1.0),
            tf.Variable(1.0, name="v"),
        )
    with tf.variable_scope("a/b/d", reuse=True) as d:
        note(d.name, d.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))


def name_scopes(tf, note):
    for i in range(2):
        with tf.name_scope("n") as n:
            note(n, op(tf, "y"), op(tf, "y"), tf.Variable(1.0, name="v"), tf.get_variable(f"k{i}", [1]))
    with tf.name_scope("n/"):
        note(op(tf, "y"), op(tf, "z"))
    with tf.name_scope(""):
        note(op(tf, "y"))
    with tf.name_scope("n"), tf.name_scope(None) as n:
        note(n, op(tf, "z"))
    with tf.name_scope("m"), tf.name_scope("n/") as n:
        note(n, op(tf, "z"))
    with tf.name_scope("m/inner") as n:
        note(n, op(tf, "z"))
    with tf.name_scope(None, "default") as n:
        note(n, op(tf, "z"))
    with tf.name_scope(None, "default", []) as n:
        note(n, op(tf, "z"))


def scopes_and_operations(tf, note):
    note(op(tf, "a"))
    with tf.name_scope("a") as a:
        note(a, op(tf, "y"))
    with tf.name_scope("b") as b:
        note(b)
    note(op(tf, "b"), op(tf, "b"))
    with tf.name_scope("b") as b:
        note(b)
    with tf.variable_scope("b") as b:
        note(b.name, b.original_name_scope)


def cases(tf, note):
    note(op(tf, "x"), op(tf, "X"), op(tf, "x"))
    with tf.name_scope("S") as s:
        note(s)
    with tf.name_scope("s") as s:
        note(s)
    note(tf.Variable(1.0, name="W"), tf.Variable(1.0, name="w"), tf.get_variable("B", [1]), tf.get_variable("b", [1]))


def variables(tf, note):
    note(tf.Variable(1.0), tf.Variable(1.0), tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v"))
    with tf.name_scope("n"):
        note(tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v"))
    with tf.name_scope("n"):
        note(tf.Variable(1.0, name="v"))
    with tf.variable_scope("s"):
        note(tf.Variable(1.0, name="v"), tf.get_variable("v", [1]))
    with tf.variable_scope("s", reuse=True):
        note(tf.Variable(1.0, name="v"), tf.get_variable("v", [1]))
    with tf.variable_scope("t"):
        note(tf.get_variable("v", [1]), tf.Variable(1.0, name="v"))


def variables_and_operations(tf, note):
    note(op(tf, "v"), tf.Variable(1.0, name="v"), op(tf, "v"))
    with tf.name_scope("s"):
        note(op(tf, "k"))
    with tf.variable_scope("s"):
        note(tf.get_variable("k", [1]), op(tf, "k"))
    note(tf.get_variable("g", [1]), op(tf, "g"), tf.Variable(1.0, name="g"))
    with tf.name_scope("g") as g:
        note(g)


def numbered(tf, note):
    note(op(tf, "a"), op(tf, "a_1"), op(tf, "a"), op(tf, "a"), op(tf, "a_1"))
    with tf.name_scope("n_1") as n:
        note(n)
    with tf.name_scope("n") as n:
        note(n)
    with tf.name_scope("n") as n:
        note(n)
    note(tf.Variable(1.0, name="v_1"), tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v"))


def inherited(tf, note):
    with tf.variable_scope("a") as a:
        note(a.reuse, tf.get_variable("k", [1]))
        with tf.variable_scope("b") as b:
            note(b.reuse, tf.get_variable("k", [1]))
    with tf.variable_scope("a", reuse=True):
        with tf.variable_scope("b") as b:
            note(b.reuse, tf.get_variable("k", [1]))
        with tf.variable_scope("b", reuse=False) as b:
            note(b.reuse, tf.get_variable("k", [1]))
        with tf.variable_scope(a) as b:
            note(b.reuse)
        with tf.variable_scope("b", reuse=tf.AUTO_REUSE) as b:
            note(str(b.reuse), tf.get_variable("k", [1]))
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        with tf.variable_scope("b") as b:
            note(str(b.reuse), tf.get_variable("k", [1]), tf.get_variable("new", [1]))
        with tf.variable_scope("b", reuse=True) as b:
            note(str(b.reuse), tf.get_variable("k", [1]))


def reuse_variables(tf, note):
    with tf.variable_scope("a") as a:
        v = tf.get_variable("k", [1])
        a.reuse_variables()
        note(v, tf.get_variable("k", [1]) is v, tf.get_variable_scope().reuse)
        with tf.variable_scope("b") as b:
            note(b.reuse)
    with tf.variable_scope("a") as a:
        note(a.reuse)


def root(tf, note):
    r = tf.get_variable_scope()
    note(r.name, r.original_name_scope, r.reuse)
    with tf.variable_scope("a"), tf.variable_scope(r) as again:
        note(again.name, again.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.variable_scope("a"), tf.variable_scope("") as again:
        note(again.name, again.original_name_scope, op(tf, "y"), tf.get_variable("k", [1]))


def without_name_scope(tf, note):
    with tf.variable_scope("a", auxiliary_name_scope=False) as a:
        note(a.name, a.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.name_scope("n"), tf.variable_scope("b", auxiliary_name_scope=False) as a:
        note(a.name, a.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.name_scope("n"), tf.variable_scope(None, "b", auxiliary_name_scope=False) as a:
        note(a.name, a.original_name_scope, op(tf, "y"))


def slashes(tf, note):
    with tf.variable_scope("a/b") as a:
        note(a.name, a.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))
    with tf.variable_scope("a"):
        with tf.variable_scope("b", reuse=True) as a:
            note(a.name, a.original_name_scope, tf.get_variable("k", [1]))
        with tf.variable_scope(None, "b") as a:
            note(a.name, a.original_name_scope)
    with tf.variable_scope(None, "a/b") as a:
        note(a.name, a.original_name_scope)
    note(tf.get_variable("c/k", [1]), op(tf, "c/y"))


def layers(tf, note):
    def dense(name=None, reuse=None):
        with tf.variable_scope(name, "dense", reuse=reuse) as s:
            note(s.name, s.original_name_scope, tf.get_variable("k", [1]), op(tf, "MatMul"))
            return s

    found = [dense(name, reuse) for name, reuse in ((None, None), (None, None), ("mine", None), ("mine", True))]
    dense(found[1], True)
    for reuse in (None, True):
        with tf.variable_scope("net", reuse=reuse):
            for name in (None, None, "mine"):
                dense(name)


def siamese(tf, note):
    def tower():
        for _ in range(2):
            with tf.variable_scope(None, "conv") as s:
                note(s.name, tf.get_variable("w", [1]), op(tf, "y"))
                with tf.variable_scope(None, "norm") as s:
                    note(s.name, tf.get_variable("w", [1]), op(tf, "y"))

    with tf.variable_scope("tower") as s:
        tower()
    with tf.variable_scope(s, reuse=True):
        tower()
    with tf.variable_scope("tower", reuse=True):
        tower()


def template(tf, note):
    def f():
        with tf.variable_scope(None, "in") as s:
            note(s.name, s.original_name_scope, tf.get_variable("k", [1]), op(tf, "y"))

    t = tf.make_template("t", f)
    for _ in range(2):
        t()
    u = tf.make_template("t", f)
    for _ in range(2):
        u()
    with tf.variable_scope("s"):
        v = tf.make_template("t", f)
        v()
    v()
    w = tf.make_template("w", f, unique_name_="whole")
    for _ in range(2):
        w()


def op_scope_in_scopes(tf, note):
    with tf.variable_scope("a"):
        for _ in range(2):
            with tf.name_scope("n") as n:
                note(n, op(tf, "y"))
            with tf.variable_scope("b", reuse=tf.AUTO_REUSE) as b:
                note(b.name, b.original_name_scope, op(tf, "y"))
    with tf.variable_scope("a", reuse=True):
        with tf.name_scope("n") as n:
            note(n, op(tf, "y"))
        with tf.variable_scope("b") as b:
            note(b.name, b.original_name_scope, op(tf, "y"))


def exception(tf, note):
    with contextlib.suppress(KeyError), tf.variable_scope("a"), tf.variable_scope(None, "in"):
        raise KeyError("x")
    with tf.variable_scope("a"), tf.variable_scope(None, "in") as s:
        note(s.name, s.original_name_scope, tf.get_variable_scope().name)
    note(tf.get_variable_scope().name, op(tf, "y"))


def getters(tf, note):
    def outer(getter, name, *args, **kwargs):
        note("outer " + name)
        return getter(name, *args, **kwargs)

    def inner(getter, *args, **kwargs):
        note("inner " + kwargs["name"], sorted(kwargs))
        return getter(*args, **kwargs)

    with tf.variable_scope("a", custom_getter=outer) as a:
        note(tf.get_variable("k", [1]))
        with tf.variable_scope("b", custom_getter=inner):
            note(tf.get_variable("k", [1]))
    with tf.variable_scope(a, custom_getter=inner):
        note(tf.get_variable("m", [1]))
    with tf.variable_scope(a):
        note(tf.get_variable("n", [1]))
    note(tf.get_variable("o", [1], custom_getter=inner))


def properties(tf, note):
    with tf.variable_scope(
        "a",
        initializer=tf.ones_initializer(),
        dtype=tf.float64,
        use_resource=True,
        regularizer=lambda v: tf.reduce_sum(v, name="loss"),
    ) as a:
        note(tf.get_variable("k", [1]).dtype.base_dtype.name)
        with tf.variable_scope("b") as b:
            note(
                tf.get_variable("k", [1]).dtype.base_dtype.name,
                b.use_resource,
                b.dtype.name,
                a.partitioner,
                a.caching_device,
            )
        a.set_dtype(tf.float16)
        for default in ("partitioner", "caching_device", "custom_getter", "initializer", "regularizer"):
            getattr(a, f"set_{default}")(None)
        a.set_use_resource(False)
        note(
            a.use_resource,
            tf.get_variable("m", [1]).dtype.base_dtype.name,
            len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
        )
    note([x.name.partition("/loss")[0] for x in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
    note(a.local_variables(), *a.global_variables(), *a.trainable_variables(), a.constraint)


def refused(tf, note):
    calls = [
        lambda: tf.variable_scope(None),
        lambda: tf.variable_scope(None, "d", reuse=True),
        lambda: tf.variable_scope(3),
        lambda: tf.name_scope("a b"),
        lambda: tf.variable_scope("a b"),
        lambda: tf.name_scope("_x"),
        lambda: tf.name_scope(3),
        lambda: tf.variable_scope("s", reuse=3),
        lambda: tf.name_scope("ok.-/\\>x"),
        lambda: tf.variable_scope(None, "a b"),
    ]
    for call in calls:
        try:
            with call():
                note("fine")
        except (TypeError, ValueError) as error:
            note(type(error).__name__)
    with tf.name_scope("x"), tf.name_scope("_y") as inside:
        note(inside)
    tf.get_variable("q", [1])
    calls = [
        lambda: tf.get_variable("q", [1]),
        lambda: tf.get_variable("a b", [1]),
        lambda: tf.get_variable(3, [1]),
        lambda: tf.Variable(1.0, name="a b"),
        lambda: tf.Variable(1.0, name="_a"),
    ]
    for call in calls:
        try:
            note(call())
        except (TypeError, ValueError) as error:
            note(type(error).__name__)


def names_of_constants(tf, note):
    note(
        tf.constant(1.0).op.name,
        tf.identity(1.0).op.name,
        tf.no_op().name,
        tf.group().name,
        tf.placeholder(tf.float32).op.name,
        tf.placeholder(tf.float32).op.name,
    )
    with tf.name_scope("s"):
        note(
            tf.constant(1.0).op.name,
            tf.identity(tf.constant(2.0), name="a/b").op.name,
            tf.constant(1.0, name="s/c/").op.name,
        )
    with tf.name_scope("s") as s:
        note(tf.identity(tf.constant(2.0, name="c"), name=s).op.name)
        try:
            tf.identity(tf.constant(2.0, name="c"), name=s)
        except ValueError:
            note("the name is taken")


def unique(tf, note):
    g = tf.get_default_graph()
    note(
        g.unique_name("u"), g.unique_name("u"), op(tf, "u"), g.unique_name("w", mark_as_used=False), g.unique_name("w")
    )
    with tf.name_scope("s"):
        note(g.unique_name("u"), g.get_name_scope(), tf.get_default_graph().get_name_scope())
    with g.name_scope("s") as s:
        note(s, op(tf, "y"))
    with g.name_scope("s") as s:
        note(s, op(tf, "y"))
    with g.name_scope(None) as s:
        note(s)


def variable_op_scope(tf, note):
    with tf.variable_op_scope([], "a") as s:
        note(s.name, s.original_name_scope)
    with tf.variable_op_scope([], None, "a") as s:
        note(s.name, s.original_name_scope)
    with tf.op_scope([], "a") as s:
        note(s)
    with tf.op_scope([], None, "b") as s:
        note(s)


def entered_again(tf, note):
    for scope in (
        tf.variable_scope("a", reuse=tf.AUTO_REUSE),
        tf.variable_scope(None, "b", reuse=None),
        tf.name_scope("n"),
    ):
        for _ in range(2):
            with scope as s:
                note(s, op(tf, "y"))


def of_other_graphs(tf, note):
    x, other = tf.placeholder(tf.float32, name="x"), tf.Graph()
    with other.as_default():
        with tf.variable_scope("s", values=[x]) as s:
            note(s.name, tf.get_default_graph() is x.graph)
        with tf.name_scope("n", None, [x]) as n:
            note(n, tf.get_default_graph() is x.graph)
        y = tf.placeholder(tf.float32, name="y")
        with tf.name_scope(None, "n", [y, 1.0]) as n:
            note(n, tf.get_default_graph() is other)
        try:
            with tf.name_scope("n", None, [x, y]):
                note("fine")
        except ValueError as error:
            note(type(error).__name__)


def variables_in_a_loop_that_grows(tf, note):
    def body(x):
        with tf.variable_scope(None, "step"):
            return tf.concat([x, tf.get_variable("w", [1, 2])], 0)

    shapes = [tf.TensorShape([None, 2])]
    tf.while_loop(lambda x: tf.shape(x)[0] < 4, body, [tf.zeros([1, 2])], shape_invariants=shapes)
    with tf.variable_scope(None, "step"):
        tf.get_variable("w", [2])
    note(*tf.trainable_variables())


PROGRAMS = [
    run for name, run in list(globals().items()) if callable(run) and run.__module__ == __name__ and run is not op
]
