"""Python's operators that consist of several ops: on tensors, variables, and in graphs."""

import numpy as np
import pytest

import dovetail as dt

X = np.array([7.6, -7.5, 2.5])
KINDS = {
    "tensor": lambda operator: operator(dt.ops.convert(X)),
    "variable": lambda operator: operator(dt.Variable(X)),
    "graph": lambda operator: dt.function(operator)(dt.ops.convert(X)),
}
OPERATORS = {
    "round": (lambda x: [round(x)], [np.round(X)]),
    "round to tenths": (lambda x: [round(x, 1)], [X]),
    "divmod": (lambda x: divmod(x, 2), divmod(X, 2)),
    "divmod of a number": (lambda x: divmod(20, x), divmod(20, X)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_round_and_divmod_b(engine, name, kind):
    operator, expected = OPERATORS[name]
    for f, e in zip(KINDS[kind](operator), expected, strict=True):
        np.testing.assert_allclose(f.numpy(), e, 1e-6)


def test_round_keeps_integers_b(engine):
    assert round(dt.ops.convert(16), -1).numpy().tolist() == 20
    assert round(dt.ops.convert(3)).dtype == "int32"
