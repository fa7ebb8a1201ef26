"""The dtypes that the ops of another format have, and the casts around a node that has other ones.

The lists are files beside the format's tables, which `tests.formats.type_lists` makes of the libraries themselves:

    Pow 15: T T1 > T; T=dfil/E T1=dfil/BE

A line has a type, its first version, the variable of the dtype of each input and of each result, and the dtypes of each
variable.  `*` marks inputs of which there may be several.  Dtypes are letters; behind `/` are those that the format has
and its library does not compute.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

LETTERS = {
    **dict(zip(("float16", "bfloat16", "float32", "float64", "bool"), "eEfd?", strict=True)),
    **dict(zip(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "bhilBHIL", strict=True)),
    "complex64": "F",
    "complex128": "D",
}
NAMES = {letter: name for name, letter in LETTERS.items()}
WIDER = {  # dtype → dtypes that hold all its values, the first choice first
    "?": "iBblfde",
    "b": "ihlfd",
    "B": "ihHIlLfd",
    "h": "ilfd",
    "H": "iIlLfd",
    "i": "ld",
    "I": "lLd",
    "e": "fd",
    "E": "fd",
    "f": "d",
    "F": "D",
}
NEAR = {"d": "f", "D": "F", "l": "id", "L": "lid", "i": "f", "I": "if"}  # dtype → dtypes that hold most of its values
EXACT = {"BitCast", "Bitcast", "Cast", "NextAfter"}  # types whose results depend on the dtype itself
# Types whose results are right modulo the size of an integer, so that unsigned ones may wrap around in signed ones.
MODULAR = {"Add", "CumSum", "Einsum", "MatMul", "Mul", "Neg", "Pad", "Pow", "ReduceProd", "ReduceSum", "Sub", "Where"}
MODULAR |= {"SquaredDifference"}


class Line(NamedTuple):
    """A type from a version on.

    Attributes:
        first: the version.
        inputs, results: the variables.
        lists: variable → the letters of its dtypes, and of the dtypes that the library does not compute.
    """

    first: int
    inputs: list[str]
    results: list[str]
    lists: dict[str, tuple[str, str]]

    def of(self, number: int) -> str:
        """The variable of an input; those behind the last are like it."""
        return self.inputs[min(number, len(self.inputs) - 1)].rstrip("*") if self.inputs else ""


class Casts(NamedTuple):
    """The casts around a node.

    Attributes:
        inputs, results: number of an input or a result → the dtype that the node takes or makes.
        are_exact: whether the dtypes hold all values.
    """

    inputs: dict[int, str]
    results: dict[int, str]
    are_exact: bool


@functools.cache
def lists_of(format: str) -> Mapping[str, list[Line]]:
    """The lists of a format, by types."""
    lines: dict[str, list[Line]] = {}
    for text in (Path(__file__).parents[1] / format / "type_lists.txt").read_text().splitlines():
        head, _, rest = text.partition(":")
        (type, first), (variables, _, said) = head.split(), rest.partition(";")
        inputs, _, results = variables.partition(">")
        pairs = (item.partition("=")[::2] for item in said.split())
        lists = {var.rstrip("*"): letters.partition("/")[::2] for var, letters in pairs}
        lines.setdefault(type, []).append(Line(int(first), inputs.split(), results.split(), lists))
    return lines


def casts(format: str, type: str, dtypes: Sequence[str | None], version: int = 0) -> Casts:
    """The casts that a node needs.

    Args:
        format: "onnx" or "tensorflow".
        type: of the node.
        dtypes: the names of the dtypes of its inputs; others than numbers stay.
        version: of the format's operators.
    """
    line = next((one for one in reversed(lists_of(format).get(type, [])) if one.first <= version), None)
    if line is None or type in EXACT:
        return Casts({}, {}, True)
    wanted: dict[str, str] = {}
    are_exact = True
    for number, dtype in enumerate(dtypes):
        letter, variable = LETTERS.get(dtype or "", ""), line.of(number)
        has, more = line.lists.get(variable, ("", ""))
        if not has or not letter or letter in has or variable in wanted:
            continue
        exact = next((other for other in WIDER.get(letter, "") if other in has), "")
        near = "" if letter in more and type not in MODULAR else NEAR.get(letter, "")
        other_dtype = exact or next((other for other in near if other in has), "")
        stays_right = bool(exact) or (letter in more and not other_dtype) or (letter in "IL" and type in MODULAR)
        are_exact = are_exact and stays_right
        if other_dtype:
            wanted[variable] = NAMES[other_dtype]
    given = {number: wanted[line.of(number)] for number in range(len(dtypes)) if line.of(number) in wanted}
    made = {number: wanted[one.rstrip("*")] for number, one in enumerate(line.results) if one.rstrip("*") in wanted}
    return Casts(given, made, are_exact)
