"""Annotations of parameters that are no tensors; for every op, the values it refuses and their spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest

import dovetail as dt
from dovetail.core.base.domains import above, at_least, within
from dovetail.core.base.table import OPS
from dovetail.core.calls.static_types import (
    REFUSED,
    Axes,
    DTypeLike,
    GraphLike,
    Scalar,
    ShapeLike,
    VariableLike,
    static_of,
)
from dovetail.core.dtypes import as_dtype
from dovetail.core.op import composite
from dovetail.core.values.signature import static_key
from dovetail.core.values.value_kinds import is_tensor
from tests.ops.table import draw, leaves

NAN, GRAPH, VARIABLE = float("nan"), dt.Graph(), dt.Variable(1.0)


class Five:
    """An integer of another library."""

    def __index__(self) -> int:
        return 5


@pytest.mark.parametrize(
    ("hint", "good", "held", "bad"),
    [
        (int, [1, True, np.int64(3), np.bool_(True), Five()], [1, 1, 3, 1, 5], ["1", 1.0, None, [1], np.array([1])]),
        (int | None, [1, None], [1, None], ["1", 1.5]),
        (bool, [True, 0, np.True_], [True, False, True], ["yes", None, [], 0.5]),
        (float, [1, np.float32(0.5), -0.0, NAN, False], [1.0, 0.5, -0.0, NAN, 0.0], ["a", 1j, None, 10**400]),
        (str, ["a", np.str_("b")], ["a", "b"], [1, None]),
        (Axes, [2, (1, 2), [True, np.int8(3)], None], [2, (1, 2), (1, 3), None], ["ab", [1.5], 2.5, [[1]], [None]]),
        (Axes, [np.array(2), np.array([1, 2])], [2, (1, 2)], [np.array([[1]]), np.array(0.5), np.array([0.5])]),
        (Sequence[tuple[int, int]], [[[1, 2]], (), np.ones((1, 2), int)], [((1, 2),), (), ((1, 1),)], [(1, 2), [[1]]]),
        (Sequence[float], [(1, 0.5)], [(1.0, 0.5)], [0.5, ["a"]]),
        (Sequence[Any], [(1,), (None,)], [(1,), (None,)], [1, None, np.ones(()), np.ones((2, 2))]),
        (Callable[..., Any], [len], [len], [3, "len"]),
        (Literal["a", "b"], ["a", np.str_("b")], ["a", "b"], ["c", 3, None]),
        (Literal["a", "b"] | None, ["a", None], ["a", None], ["c"]),
        (Literal["a"] | Sequence[int], ["a", [1]], ["a", (1,)], ["c", 3, [1.5]]),
        (Annotated[float, within(0, 1)], [0, 1, 0.5], [0.0, 1.0, 0.5], [-0.1, 1.1, NAN, "a"]),
        (Annotated[Any, above(0)], [1, (1, 2), None, "a"], [1, (1, 2), None, "a"], [0, [1, -1], np.zeros(2)]),
        (Annotated[int, at_least(0)] | None, [0, None], [0, None], [-1, 0.5]),
        (
            DTypeLike,
            ["int8", np.float64, float],
            list(map(as_dtype, ("int8", "float64", "float32"))),
            [None, 3, "int7"],
        ),
        (Scalar, [1, True, 1j, np.float32(0.5)], [1, True, 1j, 0.5], ["1", None, [1]]),
        (ShapeLike, [None, [2, None], ()], [None, (2, None), ()], [2, (1.5,), "a"]),
        (GraphLike, [GRAPH], [GRAPH], [None, "graph"]),
        (VariableLike, [VARIABLE], [VARIABLE], [None, 1.0, np.ones(2)]),
        (Any, [1, None, "a", object], [1, None, "a", object], []),
    ],
)
def test_annotations(hint, good, held, bad):
    static = static_of(hint)
    for value, expected in zip(good, held, strict=True):
        found = static.normalize("x", value)
        assert static_key(found) == static_key(expected) == static_key(static.normalize("x", found))
        assert type(value) not in static.plain or static_key(found) == static_key(value)
    for value in bad:
        assert type(value) not in static.plain
        with pytest.raises((TypeError, ValueError, OverflowError), match=r"^x(: | must be .*, not )"):
            static.normalize("x", value)


def test_an_array_stays_what_it_is():
    array, static = np.ones(2), static_of(np.ndarray)
    assert static.normalize("x", array) is array
    assert type(static.normalize("x", np.float32(1))) is np.ndarray
    with pytest.raises(TypeError, match="x must be a NumPy array, not 1"):
        static.normalize("x", 1.0)


def test_what_has_items_is_iterable():
    static = static_of(Iterable[Any])
    for value in ([1], (), range(2), {"a": 1}, np.ones(2), dt.ops.ones(2)):
        assert static.normalize("x", value) is value
    for value in (1, "ab", b"ab", np.ones(()), dt.ops.ones(())):
        with pytest.raises(TypeError, match=r"^x must be a list, not "):
            static.normalize("x", value)


def test_what_is_needed_is_said():
    for hint, needed in [
        (Axes, "an int or a list of ints or None"),
        (Literal["a", "b"] | Sequence[tuple[int, int]], "one of 'a', 'b', a list of pairs"),
        (ShapeLike, "a list of ints and None"),
    ]:
        with pytest.raises(TypeError, match=rf"^mode must be {needed}, not 0\.5\.$"):
            static_of(hint).normalize("mode", 0.5)
    with pytest.raises(ValueError, match="one of 'a', 'b', not 'c'"):
        static_of(Literal["a", "b"]).normalize("mode", "c")
    with pytest.raises(TypeError, match=r"^dtype: 'flot32' is not a dtype\. Did you mean 'float32'"):
        static_of(DTypeLike).normalize("dtype", "flot32")
    with pytest.raises(TypeError, match=r"must be an int, not the tensor float32\[2\]"):
        static_of(int).normalize("axis", dt.ops.ones(2))


@pytest.mark.parametrize("annotation", [Any, object, int | list[int], Sequence[Any]])
def test_an_op_says_the_type_of_each_parameter(annotation):
    def loose(x, mode):
        """Without a type."""

    loose.__annotations__ = {"x": int, "mode": annotation}
    with pytest.raises(TypeError, match="parameter 'mode' of the op 'Loose' has no type that is known: annotate it"):
        composite("Loose")(loose)
    assert "Loose" not in OPS


# -- every op ---------------------------------------------------------------------------------------------------------


class Thing:
    """An object that no parameter takes."""


WRONG: dict[str, tuple[Any, set[str]]] = {  # values, and the types that take them
    "text": ("text", {"string"}),
    "a fraction": (1.5, {"float", "number"}),
    "fractions": ([1.5], set()),
    "words": (["a", "b"], {"strings", "strings or nones"}),
    "a set": ({1}, set()),
    "a thing": (Thing(), set()),
    "None": (None, {"none", "shape"}),
}
OTHERWISE: dict[str, Callable[[Any], list[Any]]] = {  # other spellings of a type's values
    "int": lambda v: [np.int64(v), np.array(v), *([bool(v)] if v in (0, 1) else [])],
    "bool": lambda v: [int(v), np.bool_(v), np.array(v)],
    "float": lambda v: [np.float64(v), np.array(v), *([int(v)] if v == v and v % 1 == 0 else [])],
    "number": lambda v: [np.array(v)],
    "string": lambda v: [np.str_(v)],
    "word": lambda v: [np.str_(v)],
    "ints": lambda v: [list(v), np.array(v, int), [np.int16(i) for i in v]],
    "pairs": lambda v: [list(map(list, v)), np.array(v, int)],
    "dtype": lambda v: [v.name, v.numpy, v.numpy.type],
}


def statics() -> Iterator[Any]:
    """Every (op, position) of a parameter that is no tensor."""
    for op in OPS.values():
        for index in (*(i for i, _ in op.static), *op.ints_positions):
            yield pytest.param(op, index, id=f"{op.name}.{op.params[index].name}")


def calls(op: Any) -> Iterator[list[Any]]:
    """The arguments of the op's samples."""
    for sample in op.samples:
        args, kwargs = draw(sample, np.random.default_rng(0))
        yield op.bind(args, kwargs)


@pytest.mark.parametrize(("op", "index"), list(statics()))
def test_a_wrong_value_is_refused(op, index):
    param, names = op.params[index], {t.name for t in op.params[index].static.types}
    valid = next(calls(op), None)
    said = rf"{param.name}(: | must be )"
    told = f"^{re.escape(op.title)} at .*: {said}"
    for wrong, taken_by in WRONG.values():
        if taken_by & names:
            continue
        with pytest.raises((TypeError, ValueError), match=f"^{said}"):
            op.normalize(param.name, wrong)
        if valid is not None:
            with (
                dt.engine("numpy"),
                pytest.raises((TypeError, ValueError), match=told),
            ):
                op(*valid[:index], wrong, *valid[index + 1 :])


@pytest.mark.parametrize(("op", "index"), list(statics()))
def test_each_spelling_is_the_same_value(op, index):
    param = op.params[index]
    for valid in calls(op):
        value = valid[index] if op.params[index].kind is None else op.normalize(param.name, valid[index])
        if is_tensor(value):
            continue
        for static_type in param.static.types:
            if static_type.normalize(value) is REFUSED:
                continue
            for spelling in OTHERWISE.get(static_type.name, lambda v: [])(value):
                assert static_key(op.normalize(param.name, spelling)) == static_key(value)
                with dt.engine("numpy"):
                    found, expected = (op(*valid[:index], v, *valid[index + 1 :]) for v in (spelling, value))
                for a, b in zip(leaves(found), leaves(expected), strict=True):
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a.numpy(), b.numpy())
            break
