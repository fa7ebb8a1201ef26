# ruff: noqa: B007, F821, RET503, RET505
"""Programs with Python's statements on tensors, for Dovetail and for TensorFlow; `tf` is set before the file runs.

`STATEMENTS` take a float, and give a tensor or a structure of them.  `ERRORS` are refused with the words that their
docstrings have.  `CONTEXTS` call them in different ways.
"""

import functools

STATEMENTS, ERRORS, CONTEXTS, GIVEN = {}, {}, {}, (-2.0, 0.5, 3.0)


def statement(function):
    STATEMENTS[function.__name__] = function
    return function


def refused(function):
    ERRORS[function.__name__] = function
    return function


def context(function):
    CONTEXTS[function.__name__] = function
    return function


# -- branches ---------------------------------------------------------------------------------------------------------


@statement
def if_else(x):
    if x > 0.0:
        y = x * 2.0
    else:
        y = -x
    return y


@statement
def if_alone(x):
    y = x
    if x > 0.0:
        y = y * 3.0
    return y


@statement
def elif_chain(x):
    if x > 2.0:
        y = x * 4.0
    elif x > 0.0:
        y = x * x
    else:
        y = -x
    return y


@statement
def nested_ifs(x):
    y = x
    if x > 0.0:
        if x > 2.0:
            y = y * 2.0
        else:
            z = y + 1.0
            y = z * z
    return y


@statement
def early_return(x):
    if x > 0.0:
        return x * 2.0
    y = x - 1.0
    return y * y


@statement
def returns_in_both(x):
    if x > 0.0:
        return x, x * 2.0
    else:
        return -x, x * 3.0


@statement
def several_returns(x):
    if x > 2.0:
        return x * 2.0
    if x > 0.0:
        return x * 3.0
    return x * 4.0


@statement
def structure_in_branches(x):
    if x > 0.0:
        parts = {"a": x, "b": [x * 2.0, (x, 1)]}
    else:
        parts = {"a": -x, "b": [x, (x * 3.0, 2)]}
    return parts["a"] + parts["b"][0] + parts["b"][1][0]


@statement
def local_name_in_one_branch(x):
    if x > 0.0:
        helper = x * 2.0
        y = helper + 1.0
    else:
        y = x
    return y


@statement
def name_only_in_a_lambda(x):
    if x > 0.0:
        factor = 2.0
        y = (lambda v: v * factor)(x)
    else:
        y = x
    return y


@statement
def condition_of_python(x):
    if isinstance(x, str) or x is None:
        y = 0.0
    else:
        y = x * 2.0
    return y


@statement
def condition_of_one_element(x):
    if tf.reshape(x, [1, 1]) > 0.0:
        y = x
    else:
        y = x * 2.0
    return y


@statement
def conditional_expression(x):
    return x * 2.0 if x > 0.0 else x * x


@statement
def shapes_that_differ(x):
    if x > 0.0:
        y = x * tf.ones([2])
    else:
        y = x * tf.ones([3])
    return tf.reduce_sum(y)


@statement
def attribute_in_a_branch(x):
    holder = Holder()
    holder.value = x
    if x > 0.0:
        holder.value = holder.value * 2.0
    return holder.value


@statement
def deleted_in_a_branch(x):
    y = x
    if x > 0.0:
        z = x * 2.0
        y = z
        del z
    return y


@statement
def numbers_of_python_in_branches(x):
    if x > 0.0:
        y = 1
    else:
        y = 2
    return x * tf.cast(y, tf.float32)


@statement
def in_a_with_block(x):
    with tf.name_scope("scope"):
        if x > 0.0:
            y = x * 2.0
        else:
            y = x
    return y


@statement
def in_try(x):
    try:
        if x > 0.0:
            y = x * 2.0
        else:
            y = x
    finally:
        z = 1.0
    return y + z


class Holder:
    """An object with attributes."""


# -- loops ------------------------------------------------------------------------------------------------------------


@statement
def while_loop(x):
    while x < 10.0:
        x = x * x + 1.0
    return x


@statement
def while_with_break(x):
    n = 0
    while x < 100.0:
        x = x + 2.5
        n += 1
        if x > 9.0:
            break
    return x * 2.0, n


@statement
def while_with_continue(x):
    i = tf.constant(0)
    total = x
    while i < 5:
        i += 1
        if i == 3:
            continue
        total = total * x
    return total


@statement
def while_that_never_runs(x):
    while x > 1000.0:
        x = x * 2.0
    return x


@statement
def nested_loops(x):
    total = 0.0
    for i in tf.range(3):
        j = 0
        while j < i:
            total += x * tf.cast(j + 1, tf.float32)
            j += 1
    return total


@statement
def for_over_a_tensor(x):
    total = 0.0
    for item in tf.stack([x, x * 2.0, x * x]):
        total += item * x
    return total


@statement
def for_over_rows(x):
    total = tf.zeros([2])
    for row in x * tf.constant([[1.0, 2.0], [3.0, 4.0]]):
        total += row
    return total


@statement
def for_over_a_range(x):
    for i in tf.range(2, 6, 2):
        x = x * tf.cast(i, tf.float32)
    return x


@statement
def for_over_a_range_of_python(x):
    for i in range(tf.cast(x, tf.int32) + 3):
        x = x + tf.cast(i, tf.float32) * 0.5
    return x


@statement
def for_with_break_and_continue(x):
    total = x
    for i in tf.range(10):
        if i % 2 == 0:
            continue
        if i > 6:
            break
        total += tf.cast(i, tf.float32) * x
    return total


@statement
def for_over_a_list(x):
    for factor in [1.0, 2.0, 3.0]:
        if x < 10.0:
            x = x * factor + 1.0
    return x


@statement
def for_with_break_of_python(x):
    for i in range(10):
        if i > 2:
            break
        x = x * 2.0
    return x


@statement
def for_over_a_data_set(x):
    for item in tf.data.Dataset.range(4):
        x += tf.cast(item, tf.float32) * x
    return x


@statement
def for_over_parts_of_a_data_set(x):
    data = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], {"k": [4.0, 5.0, 6.0]}))
    for i, (a, b) in enumerate(data):
        if i > 1:
            break
        x = x * a + b["k"]
    return x


@statement
def target_needed_after_the_loop(x):
    i = 0
    for i in tf.range(4):
        x += 1.0
    return x * tf.cast(i, tf.float32)


@statement
def name_made_in_the_loop(x):
    for i in tf.range(3):
        y = x * tf.cast(i, tf.float32)
    return y


@statement
def none_before_the_loop(x):
    best = None
    for i in tf.range(3):
        best = x * tf.cast(i, tf.float32)
    return best


@statement
def structure_in_a_loop(x):
    pair = (x, {"n": 1})
    while pair[0] < 10.0:
        pair = (pair[0] + 2.0, {"n": pair[1]["n"] + 1})
    return pair


@statement
def attribute_in_a_loop(x):
    holder = Holder()
    holder.value, holder.turns = x, 0
    while holder.value < 10.0:
        holder.value = holder.value + 3.0
        holder.turns += 1
    return holder.value, holder.turns


@statement
def item_in_a_loop(x):
    values, place = {"sum": x, 1: x}, 1
    for i in tf.range(3):
        values["sum"] = values["sum"] * 2.0
        values[place] += 1.0
    return values["sum"] + values[1]


@statement
def array_of_tensors(x):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(4):
        array = array.write(i, x * tf.cast(i, tf.float32))
    return tf.reduce_sum(array.stack() * x)


@statement
def shape_that_changes(x):
    y = tf.reshape(x, [1])
    for _ in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
        y = tf.concat([y, y[:1] * x], 0)
    return tf.reduce_sum(y)


@statement
def at_most_some_turns(x):
    while x < 100.0:
        tf.autograph.experimental.set_loop_options(maximum_iterations=3)
        x = x + 2.0
    return x


@statement
def inner_name_of_a_loop(x):
    total = x
    for i in tf.range(3):
        square = total * total
        if square > 50.0:
            step = 1.0
        else:
            step = square
        total = total + step
    return total


# -- expressions ------------------------------------------------------------------------------------------------------


@statement
def boolean_operators(x):
    y = x
    if x > 0.0 and x < 1.0:
        y = y * 2.0
    if x < 0.0 or x > 2.0:
        y = y * 3.0
    if not x > 1.0:
        y = y * 5.0
    return y


@statement
def operands_of_python(x):
    flag = None
    if (flag is None or flag > x) and (x > 0.0 or False) and not flag:
        return x * 2.0
    return x


@statement
def chained_comparison(x):
    if 0.0 < x < 1.0 <= x + 1.0:
        return x * 2.0
    return x * 3.0


@statement
def comprehension(x):
    return sum([v * 2.0 if v > 0.0 else -v for v in (x, x * 3.0, -x)])


@statement
def builtins_on_tensors(x):
    return tf.cast(int(x), tf.float32) + abs(x) + float(x) + tf.cast(len(tf.zeros([3, 2])), tf.float32)


@statement
def sorted_tensor(x):
    return sorted(tf.stack([x, x * x, -x]))[1] * x


# -- calls ------------------------------------------------------------------------------------------------------------


def doubled(x, limit=10.0, *, more=1.0):
    while x < limit:
        x = x * x + more
    return x


class Module:
    """A class with methods that call each other."""

    factor = 2.0

    def __call__(self, x):
        return self.first(x) * self.factor

    def first(self, x):
        if x > 0.0:
            return self.second(x)
        return -x

    def second(self, x):
        for _ in tf.range(2):
            x = x * self.factor
        return x

    @staticmethod
    def third(x):
        return x if x > 0.0 else -x


class Derived(Module):
    """A class whose method calls the one that it replaces."""

    def first(self, x):
        y = super().first(x)
        if y > 1.0:
            y = super().second(y) + 1.0
        return y


@statement
def called_with_defaults(x):
    return doubled(x) + doubled(x, 3.0) + doubled(x, more=2.0)


@statement
def object_that_is_called(x):
    return Module()(x) + Module.third(x)


@statement
def method_of_a_base_class(x):
    return Derived()(x)


@statement
def inner_function(x):
    factor = 3.0

    def inner(v):
        if v > 0.0:
            return v * factor
        return v

    return inner(x) + inner(-x)


@statement
def recursion_of_python(x):
    return power(x, 3)


def power(x, n):
    if n == 0:
        return tf.ones_like(x)
    if x > 0.0:
        y = x
    else:
        y = x * 0.5
    return y * power(x, n - 1)


def decorated(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        if result > 4.0:
            result = result * 0.5
        return result

    return call


@statement
def decorated_function(x):
    return decorated(doubled)(x)


@statement
def mapped_function(x):
    return tf.map_fn(Module.third, tf.stack([x, -x, x * 2.0]))


@statement
def function_in_a_function(x):
    return tf.function(doubled)(x) * x


# -- errors -----------------------------------------------------------------------------------------------------------


@refused
def only_in_the_main_branch(x):
    """'y' must also be initialized in the else branch"""
    if x > -100.0:
        y = x
    return y


@refused
def only_in_the_else_branch(x):
    """'y' must also be initialized in the main branch"""
    if x > -100.0:
        x = x * 2.0
    else:
        y = x
    return y


@refused
def returns_in_one_branch(x):
    """the else branch must also have a return statement"""
    if x > -100.0:
        return x


@refused
def returns_none(x):
    """'retval_' is None at the end of the main branch"""
    if x > -100.0:
        return None
    return x


@refused
def dtypes_of_branches(x):
    """'y' has dtype int32 in the main branch, but dtype float32 in the else branch"""
    if x > -100.0:
        y = 1
    else:
        y = x
    return y


@refused
def structures_of_branches(x):
    """'y' must have the same nested structure in the main and else branches"""
    if x > -100.0:
        y = (x, x)
    else:
        y = [x]
    return y


@refused
def none_in_a_branch(x):
    """'y' is None at the end of the else branch"""
    if x > -100.0:
        y = x
    else:
        y = None
    return y


@refused
def condition_that_is_no_bool(x):
    """expected to be `tf.bool` scalar"""
    if x:
        return x
    return -x


@refused
def condition_that_is_no_scalar(x):
    """expected to be `tf.bool` scalar"""
    if tf.stack([x, x]) > 0.0:
        return x
    return -x


@refused
def dtypes_of_expression(x):
    """has dtype int32 in the main branch, but dtype float32 in the else branch"""
    return 1 if x > -100.0 else x


@refused
def dtype_that_changes(x):
    """'y' has dtype int32 before the loop, but dtype float32 after one iteration"""
    y = 0
    while x < 10.0:
        y = x
        x += 1.0
    return y


@refused
def shape_that_changes_unsaid(x):
    """'y' has shape (1,) before the loop, but shape (2,) after one iteration"""
    y = tf.reshape(x, [1])
    while x < 10.0:
        y = tf.concat([y, y], 0)
        x += 1.0
    return y


@refused
def structure_that_changes(x):
    """'p' does not have the same nested structure after one iteration"""
    p = (x, 1)
    while x < 10.0:
        p = [x, 1]
        x += 1.0
    return p


@refused
def none_after_a_turn(x):
    """'y' is None at the end of the iteration"""
    y = x
    while x < 10.0:
        y = None
        x += 1.0
    return y


@refused
def undefined_before_the_loop(x):
    """'y' must be defined before the loop"""
    while x < 10.0:
        y = y + x
        x += 1.0
    return y


@refused
def return_in_a_loop(x):
    """a return statement cannot be placed inside this TensorFlow loop"""
    for i in tf.range(3):
        if i > 1:
            return x
        x += 1.0
    return x


@refused
def condition_that_becomes_a_tensor(x):
    """started as non-Tensor, then changed to Tensor"""
    while True:
        x += 1.0
        if x > 10.0:
            break
    return x


@refused
def break_of_a_loop_of_python(x):
    """break"""
    for i in [1.0, 2.0, 3.0]:
        if x > i:
            break
        x += 1.0
    return x


@refused
def scalar_as_a_sequence(x):
    """len requires a non-scalar tensor"""
    for i in x:
        x += i
    return x


@refused
def no_turn(x):
    """loop must iterate at least once to initialize y"""
    for _ in tf.range(tf.cast(x * 0.0, tf.int32)):
        y = x
    return y


# -- contexts ---------------------------------------------------------------------------------------------------------


@context
def function(f):
    return tf.function(f)


@context
def any_shape(f):
    return tf.function(f, input_signature=[tf.TensorSpec([], tf.float32)])


@context
def called(f):
    @tf.function
    def outer(x):
        return (lambda v: f(v))(x)

    return outer


@context
def closure(f):
    def outer(x):
        return f(x)

    return tf.function(outer)


@context
def partial(f):
    return tf.function(functools.partial(f))


@context
def method(f):
    class Owner:
        inner = staticmethod(f)

        @tf.function
        def call(self, x):
            return self.inner(x)

    owner = Owner()
    return lambda x: owner.call(x)


@context
def branch(f):
    @tf.function
    def outer(x):
        if x > -100.0:
            y = f(x)
        else:
            y = f(x + 1.0)
        return y

    return outer


# -- runs -------------------------------------------------------------------------------------------------------------


def flat(value):
    """The leaves of a result, as arrays or numbers."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def computed(name, way, has_gradient=True):
    """For each number given, the results of a statement, and the gradient of the sum of those that are floats."""
    f = CONTEXTS[way](STATEMENTS[name])
    return [_computed(f, tf.constant(x), has_gradient) for x in GIVEN]


def _computed(f, x, has_gradient):
    with tf.GradientTape() as tape:
        tape.watch(x)
        leaves = flat(f(x))
        floats = [leaf for leaf in leaves if hasattr(leaf, "dtype") and leaf.dtype == tf.float32]
        total = sum(tf.reduce_sum(leaf) for leaf in floats)
    gradient = tape.gradient(total, x) if has_gradient else None
    return [*leaves, float("nan") if gradient is None else gradient]


def problem(name, way):
    """The class and the text of the error of a program."""
    try:
        CONTEXTS[way](ERRORS[name])(tf.constant(1.0))
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error)
    return [], "it is computed"
