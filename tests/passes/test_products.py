"""Products of tensors as products of matrices."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.passes.products import multiply_matrices
from dovetail.passes.prune import prune
from dovetail.passes.simplify import simplify
from tests.passes.checks import optimized, types

# equation → the shapes of the factors, None where an axis is not known while the graph is made
EQUATIONS = {
    "abc,cde->abde": [(2, 3, 4), (4, 5, 6)],
    "abcd,cde->abe": [(2, 3, 4, 5), (4, 5, 6)],
    "aecd,abcd->acbe": [(2, 7, 3, 5), (2, 4, 3, 5)],
    "acbe,aecd->abcd": [(2, 3, 4, 7), (2, 7, 3, 5)],
    "ab,cb->ca": [(2, 3), (4, 3)],
    "ab,b->a": [(2, 3), (3,)],
    "b,ab->a": [(3,), (2, 3)],
    "ab,ab->": [(2, 3), (2, 3)],
    "ab,ab->a": [(2, 3), (2, 3)],
    "cab,dbc->da": [(4, 2, 3), (5, 3, 4)],
    "abc,cde->dabe": [(None, 3, 4), (4, 5, 6)],
    "abc,dc->abd": [(2, None, 4), (5, 4)],
}
OTHERS = {
    "ab,bc->ac, of integers": ("ab,bc->ac", [(2, 3), (3, 4)], "int32"),
    "nothing is summed over": ("ab,bc->abc", [(2, 3), (3, 4)], "float32"),
    "a letter of one factor is summed over": ("ab,cb->a", [(2, 3), (4, 3)], "float32"),
    "a diagonal": ("aab,bc->ac", [(2, 2, 3), (3, 4)], "float32"),
    "three factors": ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)], "float32"),
    "any axes": ("...b,bc->...c", [(2, 3), (3, 4)], "float32"),
    "two sizes are not known": ("abc,cd->abd", [(None, None, 4), (4, 5)], "float32"),
    "an empty axis": ("ab,bc->ac", [(2, 0), (0, 4)], "float32"),
}


def product_types(function, *specs):
    return types(optimized(function, *specs, by=[multiply_matrices, simplify, prune], unknown=1))


def specs_of(shapes, dtype="float32"):
    return [dt.spec(shape, dtype) for shape in shapes]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations(equation, engine, rng):
    shapes = EQUATIONS[equation]
    specs = specs_of(shapes)
    found = product_types(lambda *x: ops.einsum(equation, *x), *specs)
    assert "MatMul" in found and "Einsum" not in found
    values = [rng.normal(size=[dim or 2 for dim in shape]).astype("float32") for shape in shapes]
    made = dt.function(lambda *x: ops.einsum(equation, *x), input_signature=specs)(*values)
    np.testing.assert_allclose(made.numpy(), np.einsum(equation, *values), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_left_alone(name):
    equation, shapes, dtype = OTHERS[name]
    found = product_types(lambda *x: ops.einsum(equation, *x), *specs_of(shapes, dtype))
    assert "Einsum" in found and "MatMul" not in found


def test_no_axis_moves_where_none_must():
    assert product_types(lambda x, y: ops.einsum("abc,cd->abd", x, y), dt.spec((2, 3, 4)), dt.spec((4, 5))) == [
        "Reshape",
        "MatMul",
        "Reshape",
    ]
    assert product_types(lambda x, y: ops.einsum("ab,bc->ac", x, y), dt.spec((2, 3)), dt.spec((3, 5))) == ["MatMul"]


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_a_stack_times_a_matrix(transposed, engine, rng):
    x = rng.normal(size=(2, 3, 5, 4) if transposed[0] else (2, 3, 4, 5)).astype("float32")
    y = rng.normal(size=(6, 5) if transposed[1] else (5, 6)).astype("float32")

    def function(x, y):
        return ops.matmul(x, y, *transposed)

    found = product_types(function, dt.spec(x.shape), dt.spec(y.shape))
    assert found.count("MatMul") == 1 and found[-1] == "Reshape"
    expected = (x.mT if transposed[0] else x) @ (y.T if transposed[1] else y)
    np.testing.assert_allclose(dt.function(function)(x, y).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_stack_times_a_stack_stays():
    x, y = dt.spec((2, 3, 4)), dt.spec((2, 4, 5))
    assert product_types(lambda x, y: x @ y, x, y) == ["MatMul"]
