"""Programs of TensorFlow's names that make variables in functions; Dovetail must run them as TensorFlow does.

Each is a function of `tf`, which is TensorFlow or Dovetail's names, and of an object that may keep a variable. It
returns calls, as pairs of a function and its argument.
"""

import numpy as np

ONE, ROW = np.float32(1), np.float32([1, 2])


class Holder:
    """An object that keeps one variable."""

    def __init__(self):
        self.v = None
        self.traces = 0

    def once(self, make):
        """The variable, which `make` makes the first time."""
        if self.v is None:
            self.v = make()
        return self.v


def in_each_call(tf, holder):
    @tf.function
    def f(x):
        v = tf.Variable(3.0)
        return v.assign_add(x)

    return [(f, ONE), (f, ONE)]


def held(tf, holder):
    @tf.function
    def f(x):
        holder.traces += 1
        return holder.once(lambda: tf.Variable(3.0)).assign_add(tf.reduce_sum(x))

    return [(f, ONE), (f, ONE), (f, ROW), (f, ONE)]


def held_in_a_closure(tf, holder):
    variables = []

    @tf.function
    def f(x):
        if not variables:
            variables.append(tf.Variable(3.0))
        return variables[0].assign_add(x)

    return [(f, ONE), (f, ONE), (f, ONE)]


def made_for_another_signature(tf, holder):
    @tf.function
    def f(x):
        if len(x.shape) == 1:
            return holder.once(lambda: tf.Variable(3.0)) * x
        return x * 2.0

    return [(f, ONE), (f, ROW), (f, ONE)]


def forgotten(tf, holder):
    @tf.function
    def f(x):
        return holder.once(lambda: tf.Variable(3.0)).assign_add(tf.reduce_sum(x))

    def forget(x):
        holder.v = None
        return x

    return [(f, ONE), (forget, ONE), (f, ONE), (f, ROW)]


def one_more_each_time(tf, holder):
    variables = []

    @tf.function
    def f(x):
        variables.append(tf.Variable(3.0))
        return tf.add_n([v * x for v in variables])

    return [(f, ONE), (f, ONE)]


def two_made_one_held(tf, holder):
    @tf.function
    def f(x):
        return holder.once(lambda: tf.Variable(3.0)) + tf.Variable(1.0) + x

    return [(f, ONE)]


def of_an_inner_function(tf, holder):
    @tf.function
    def inner(x):
        return holder.once(lambda: tf.Variable(2.0)).assign_add(x)

    @tf.function
    def outer(x):
        return inner(x) * 10.0

    return [(outer, ONE), (outer, ONE), (inner, ONE)]


def of_an_inner_function_in_a_later_trace(tf, holder):
    @tf.function
    def inner(x):
        return holder.once(lambda: tf.Variable(2.0)) * x

    @tf.function
    def outer(x):
        return inner(x) if len(x.shape) == 1 else x * 10.0

    return [(outer, ONE), (outer, ROW), (outer, ROW)]


def in_each_call_of_an_inner_function(tf, holder):
    @tf.function
    def inner(x):
        return tf.Variable(2.0) * x

    @tf.function
    def outer(x):
        return inner(x)

    return [(outer, ONE)]


def by_an_inner_function_that_was_called_before(tf, holder):
    @tf.function
    def inner(x):
        return holder.once(lambda: tf.Variable(2.0)) * x if len(x.shape) == 1 else x * 5.0

    @tf.function
    def outer(x):
        return inner(x)

    return [(inner, ONE), (outer, ROW)]


def in_a_branch(tf, holder):
    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: holder.once(lambda: tf.Variable(5.0)) + x, lambda: x)

    return [(f, ONE), (f, -ONE)]


def in_each_branch_taken(tf, holder):
    @tf.function
    def f(x):
        return tf.cond(x > 0.0, lambda: tf.Variable(5.0) + x, lambda: x)

    return [(f, ONE)]


def in_a_loop(tf, holder):
    @tf.function
    def f(x):
        body = lambda i, s: (i + 1, s + holder.once(lambda: tf.Variable(5.0)))  # noqa: E731
        return tf.while_loop(lambda i, s: i < 3, body, [tf.constant(0), x])[1]

    return [(f, ONE), (f, ONE)]


def in_each_iteration(tf, holder):
    @tf.function
    def f(x):
        body = lambda i, s: (i + 1, s + tf.Variable(5.0))  # noqa: E731
        return tf.while_loop(lambda i, s: i < 3, body, [tf.constant(0), x])[1]

    return [(f, ONE)]


def in_each_slice(tf, holder):
    @tf.function
    def f(x):
        return tf.map_fn(lambda part: part + tf.Variable(5.0), x)

    return [(f, ROW)]


def of_an_argument(tf, holder):
    @tf.function
    def f(x):
        return holder.once(lambda: tf.Variable(x * 2.0)) + x

    return [(f, ONE), (f, ONE * 5)]


def of_ops(tf, holder):
    @tf.function
    def f(x):
        return holder.once(lambda: tf.Variable(tf.ones(3) * 2.0)).assign_add(tf.ones(3) * x)

    return [(f, ONE), (f, ONE)]


def by_a_method(tf, holder):
    class Counter(Holder):
        @tf.function
        def add(self, x):
            return self.once(lambda: tf.Variable(1.0)).assign_add(x)

    first, second = holder.v = Counter(), Counter()  # they live as long as their calls
    return [(first.add, ONE), (second.add, ONE), (first.add, ONE)]


def a_generator_in_each_call(tf, holder):
    @tf.function
    def f(x):
        return tf.random.Generator.from_seed(1).uniform(()) * 0.0

    return [(f, ONE)]


def a_generator(tf, holder):
    @tf.function
    def f(x):
        return holder.once(lambda: tf.random.Generator.from_seed(1)).uniform(()) * 0.0 + x

    return [(f, ONE), (f, ONE)]


PROGRAMS = [
    in_each_call, held, held_in_a_closure, made_for_another_signature, forgotten, one_more_each_time, two_made_one_held,
    of_an_inner_function, of_an_inner_function_in_a_later_trace, in_each_call_of_an_inner_function,
    by_an_inner_function_that_was_called_before, in_a_branch, in_each_branch_taken, in_a_loop, in_each_iteration,
    in_each_slice, of_an_argument, of_ops, by_a_method, a_generator_in_each_call, a_generator,
]  # fmt: skip
