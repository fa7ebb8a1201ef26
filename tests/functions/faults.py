"""Programs that make NaN or infinity, and programs that only seem to: a table for the checks of numbers.

A program's line with `# here` is the line that the error must name; several such lines are several faults.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dovetail as dt
from dovetail import ops


class Program(NamedTuple):
    """A program of the table.

    Attributes:
        function: (tensors) → tensors.
        given: its arguments, as arrays.
        types: the types of the operations at fault; () for a program that has no fault.
        of: the type of the operation whose gradient they are part of.
        step: the number of the step in which the first one happens; None outside of loops.
        eagerly: whether an eager run has the same faults; it stops at the first one.
    """

    function: Callable[..., Any]
    given: tuple[Any, ...]
    types: tuple[str, ...]
    of: str
    step: int | None
    eagerly: bool

    @property
    def lines(self) -> list[int]:
        """The lines that are at fault."""
        text, first = inspect.getsourcelines(self.function)
        return [first + number for number, line in enumerate(text) if "# here" in line]


PROGRAMS: dict[str, Program] = {}


def program(*given: Any, types: str = "", of: str = "", step: int | None = None, eagerly: bool = True) -> Any:
    """Add a function to the table."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        arrays = tuple(np.asarray(x, "float32") if type(x) is not np.ndarray else x for x in given)
        PROGRAMS[function.__name__] = Program(function, arrays, tuple(types.split()), of, step, eagerly)
        return function

    return add


# -- one operation ----------------------------------------------------------------------------------------------------


@program([1.0, 0.0], types="Log")
def log_of_zero(x):
    y = ops.log(x)  # here
    return ops.exp(y) + y


@program([1.0, 2.0], [0.0, 1.0], types="RealDiv")
def division_by_zero(x, y):
    return x / y  # here


@program([4.0, -1.0], types="Sqrt")
def root_of_a_negative_number(x):
    return ops.sum(ops.sqrt(x))  # here


@program([-8.0, 8.0], types="Pow")
def power_of_a_negative_number(x):
    return x**0.5  # here


@program([1.0, 200.0], types="Exp")
def overflow(x):
    high = ops.exp(x)  # here
    return high - high


@program(np.array([2.0, 300.0], "float16"), types="Square")
def overflow_of_half_precision(x):
    return ops.square(x) * 0.5  # here


@program([1e30, 1e30], types="MatMul")
def overflow_of_a_product(x):
    row = ops.reshape(x, (1, 2))
    return ops.matmul(row, ops.reshape(x, (2, 1)))  # here


@program([0.5, 2.0], types="Acos")
def angle_of_no_cosine(x):
    return ops.arccos(x)  # here


@program(np.zeros((0, 2), "float32"), types="Mean")
def mean_of_nothing(x):
    return ops.mean(x)  # here


@program([3.0, 0.0], types="Mul")
def masks_times_zero(x):
    mask = ops.convert([0.0, -float("inf")])  # an infinity that is written down is no fault
    return x * mask  # here


@program([1.0, float("nan")], types="argument", eagerly=False)
def bad_argument(x):
    return ops.log(x + 1.0)


# -- branches and loops -----------------------------------------------------------------------------------------------


@program([6.5, 100.0], types="Sqrt", step=7)
def loop(x):
    def body(i, x):
        return i + 1, x - 1.0 + 0.0 * ops.sqrt(x)  # here

    return ops.while_loop(lambda i, x: i < 9, body, (0, x))[1]


@program([3.0, 2.0, 1.0, 0.0, -1.0], types="RealDiv", step=3)
def steps_of_a_scan(xs):
    def body(total, x):
        y = 1.0 / x  # here
        return total + y, total

    return ops.scan(body, 0.0, xs)[0]


@program([-1.0, 4.0], types="Sqrt")
def branch(x):
    def rooted():
        return ops.sqrt(x)  # here

    return ops.cond(ops.sum(x) > 0, rooted, lambda: x)


@program([2.0, 1.0, 0.0], types="Log", step=2)
def branch_in_a_loop(xs):
    def body(total, x):
        y = ops.cond(x < 1.5, lambda: ops.log(x), lambda: x)  # here
        return total + y, y

    return ops.scan(body, 0.0, xs)[1]


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient(function, x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


@program([4.0, 0.0], types="RealDiv", of="Sqrt")
def gradient_of_a_root(x):
    return gradient(lambda x: ops.sum(ops.sqrt(x)), x)  # here


@program([1.0, 0.0], types="RealDiv", of="Log", eagerly=False)  # eagerly, the logarithm itself is not masked
def gradient_of_a_masked_logarithm(x):
    return gradient(lambda x: ops.sum(ops.where(x > 0, ops.log(x), 0.0)), x)  # here


@program([4.0, 1.0, 0.0, 9.0], types="RealDiv", of="Sqrt", step=2)
def gradient_in_a_scan(xs):
    def body(total, x):
        return total + ops.sqrt(x), total  # here

    return gradient(lambda xs: ops.scan(body, 0.0, xs)[0], xs)


# -- several at once --------------------------------------------------------------------------------------------------


@program([1.0, 0.0], types="Log Sqrt", eagerly=False)
def two_faults(x):
    y = ops.log(x)  # here
    z = ops.sqrt(x - 1.0)  # here
    return y, z * 2.0


@program([1.0, 0.0], types="Sqrt", eagerly=False)
def one_of_two_is_masked(x):
    y = ops.where(x > 0, ops.log(x), 0.0)
    z = ops.sqrt(x - 1.0)  # here
    return ops.where(x > 2.0, y, z)


# -- no fault ---------------------------------------------------------------------------------------------------------


@program([1.0, 0.0], eagerly=False)
def masked(x):
    return ops.where(x > 0, ops.log(x), 0.0)


@program([1.0, 0.0], eagerly=False)
def dead(x):
    ops.log(x)
    return x * 2.0


@program([-1.0, 4.0])
def branch_that_is_not_taken(x):
    return ops.cond(ops.sum(x) < 0, lambda: ops.sqrt(x), lambda: x)


@program([1.0, 0.0])
def masks(x):
    return ops.softmax(ops.where(x > 0, x, -float("inf"))), ops.max(ops.where(x > 5, x, -float("inf")))


@program([4.0, 0.0])
def gradient_of_a_masked_input(x):
    return gradient(lambda x: ops.sum(ops.where(x > 0, ops.sqrt(ops.where(x > 0, x, 1.0)), 0.0)), x)


@program([3.0, 0.0, -1.0], eagerly=False)
def masked_in_a_loop(xs):
    def body(total, x):
        y = ops.where(x > 0, ops.log(x), 0.0)
        return total + y, y

    return ops.scan(body, 0.0, xs)[1]
