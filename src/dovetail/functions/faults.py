"""Faults: operations that make NaN or infinity, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dovetail.core.base.errors import Where, place
from dovetail.core.tensor import Tensor
from dovetail.functions.statistics import Statistics, numbers_of

MOST_SHOWN = 10  # faults in a message; further ones are counted
ADVICE = "Keep the inputs of the operation in its domain: clip them, add an epsilon, or choose others with ops.where."


class NumericsError(FloatingPointError, ValueError):
    """A NaN or an infinity in a value that a program returns or assigns.

    Attributes:
        faults: the operations that made the bad numbers, in the order in which they ran.
    """

    def __init__(self, faults: Sequence[Fault] = (), text: str = "") -> None:
        super().__init__(text or message(faults))
        self.faults = tuple(faults)
        self.dovetail = self.args[0]  # outer functions only add their names


class Fault(NamedTuple):
    """An operation that made NaN or infinity, or a value that came with it.

    Attributes:
        type: the type of the operation; "argument", "variable" or "constant" for a value.
        name: the name of the operation or of the value; "" for an eager call.
        where: the user's line.
        result: the statistics of the bad result.
        inputs: the names of the inputs, with their statistics.
        part_of: the type of the operation whose gradient it computes; "" for others.
        steps: the loops around it, the outermost first, with the number of the step from 0.
        number: orders faults by the time when they happened.
    """

    type: str
    name: str
    where: Where
    result: Statistics
    inputs: tuple[tuple[str, Statistics], ...] = ()
    part_of: str = ""
    steps: tuple[tuple[str, int], ...] = ()
    number: int = 0

    @property
    def is_given(self) -> bool:
        """Whether no operation made the numbers: the program was given them."""
        return self.type in GIVEN

    @property
    def is_meant(self) -> bool:
        """Whether the value came with infinities alone, as masks do."""
        return self.is_given and not self.result.nans

    def __str__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        if self.is_given:
            return f"The {self.type}{named} came with bad numbers: {self.result}."
        title = f"{self.type}{named}"
        title = f"{title} in the gradient of {self.part_of}" if self.part_of else title
        inputs = "; ".join(f"{name}: {statistics}" for name, statistics in self.inputs)
        steps = "".join(f", in step {step} of {loop} (the first step is 0)" for loop, step in self.steps)
        given = f" Its inputs: {inputs}." if inputs else ""
        return f"{title} at {place(self.where)}{steps} made {self.result}.{given}"


GIVEN = ("argument", "variable", "constant")


def message(faults: Sequence[Fault]) -> str:
    """The text of an error about faults."""
    first, *others = faults
    if not others:
        return f"{first} {'' if first.is_given else ADVICE}".rstrip()
    listed = "\n".join(f"  {number}. {fault}" for number, fault in enumerate(faults[:MOST_SHOWN], 1))
    more = len(faults) - MOST_SHOWN
    listed = f"{listed}\n  and {more} more" if more > 0 else listed
    return f"{len(faults)} operations made NaN or infinity, the first one first:\n{listed}\n{ADVICE}"


def named_inputs(op: Any, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The tensors among the arguments of an op, with the names of their parameters.

    Args:
        op: the op.
        values: the arguments in parameter order; lists of tensors are tuples.
    """
    for index, _ in op.tensor_positions:
        value = values[index]
        if isinstance(value, (tuple, list)):
            yield from ((f"{op.params[index].name}[{i}]", member) for i, member in enumerate(value))
        else:
            yield op.params[index].name, value


def statistics_of(named: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Statistics], ...]:
    """The statistics of those named values that are Tensors of floats."""
    arrays = ((name, numbers_of(value)) for name, value in named if type(value) is Tensor)
    return tuple((name, Statistics.of(array)) for name, array in arrays if array is not None)
