"""Elementwise math at its edges: NumPy is the oracle, and every engine gives the same."""

import ml_dtypes
import numpy as np
import pytest
from scipy import special

import dovetail as dt
from dovetail import ops
from dovetail.core.dtypes import FLOATS, INTEGERS

EDGES = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 0.1, 1e-20, 1e30], "float32"
)
LEFT, RIGHT = (grid.ravel() for grid in np.meshgrid(EDGES, EDGES))

SAME_NAME = [  # NumPy has the same name
    *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "cos", "cosh", "exp"),
    *("exp2", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "negative"),
    *("real", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
]
UNARY = {name: getattr(np, name) for name in SAME_NAME} | {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "lgamma": lambda x: special.gammaln(np.where(x == -np.inf, np.inf, x)),
}
SAME_NAME = [
    *("add", "arctan2", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal"),
    *("logaddexp", "maximum", "minimum", "mod", "multiply", "not_equal", "power", "subtract"),
]
BINARY = {name: getattr(np, name) for name in SAME_NAME}
BINARY["divide_no_nan"] = lambda x, y: np.where(y == 0, 0, x / y)


def check(found, expected, rtol=2e-6, atol=2e-38):
    """Check equality up to rounding, with NaN and infinities; subnormal numbers may have become 0."""
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", UNARY)
@np.errstate(all="ignore")
def test_unary_at_the_edges(engine, name):
    check(getattr(ops, name)(EDGES), UNARY[name](EDGES), **({"atol": 1e-6} if name == "lgamma" else {}))


@pytest.mark.parametrize("name", BINARY)
@np.errstate(all="ignore")
def test_binary_at_the_edges(engine, name):
    x, y = LEFT, RIGHT
    if name == "mod":  # libraries differ if the quotient is no float32
        x, y = (v[np.isfinite(LEFT / RIGHT) | ~np.isfinite(LEFT) | (RIGHT == 0)] for v in (x, y))
    check(getattr(ops, name)(x, y), BINARY[name](x, y))


def test_zeros_keep_their_sign(engine):
    x = ops.convert(0.0)
    for result in (-x, ops.trunc(-0.5), ops.ceil(-0.5), ops.rint(-0.2), ops.multiply(-1.0, 0.0), ops.sqrt(-0.0)):
        assert np.signbit(result.numpy())
    assert not np.signbit(ops.add(0.0, -0.0).numpy())
    x = ops.convert(1.0)
    assert (x / 0.0).item() == np.inf and (x / -0.0).item() == -np.inf and (x / 0.0).item() == np.inf


# -- integers ---------------------------------------------------------------------------------------------------------


def integers(dtype):
    info = np.iinfo(dtype)
    small = [v for v in (-7, -3, -1, 0, 1, 2, 3, 7, 100) if v >= info.min]
    values = [info.min, info.min + 1, *small, info.max - 1, info.max]
    return [grid.ravel() for grid in np.meshgrid(np.array(values, dtype), np.array(values, dtype))]


EXACT = ["add", "subtract", "multiply", "floor_divide", "mod", "maximum", "minimum", "less", "greater_equal", "equal"]
EXACT += ["bitwise_and", "bitwise_or", "bitwise_xor"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", EXACT)
@np.errstate(all="ignore")
def test_integers_are_exact(engine, dtype, name):
    """Check that overflow wraps around, and that a division by zero gives zero."""
    x, y = integers(dtype)
    found = getattr(ops, name)(x, y)
    expected = getattr(np, name)(x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
@np.errstate(all="ignore")
def test_integer_functions_keep_the_dtype(engine, dtype):
    x, y = integers(dtype)
    for name in ("negative", "absolute", "sign", "square", "invert"):
        np.testing.assert_array_equal(getattr(ops, name)(x).numpy(), getattr(np, name)(x), name)
        assert getattr(ops, name)(x).dtype == dtype
    np.testing.assert_array_equal(ops.clip(x, 1, 100).numpy(), np.clip(x, 1, 100))
    exponents = np.abs(y.astype("int8")) % 5
    assert ops.power(x, exponents.astype(dtype)).dtype == dtype
    np.testing.assert_array_equal(ops.power(x, exponents.astype(dtype)).numpy(), np.power(x, exponents.astype(dtype)))


def test_division_rules_are_pythons(engine):
    numbers = [-7, -3, -1, 1, 2, 5]
    x, y = np.array([(a, b) for a in numbers for b in numbers]).T
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    for kind in ("int32", "float32"):
        assert ops.floor_divide(x.astype(kind), y.astype(kind)).tolist() == [a // b for a, b in pairs]
        assert ops.mod(x.astype(kind), y.astype(kind)).tolist() == [a % b for a, b in pairs]


def test_reciprocals_of_integers_are_truncated(engine):
    assert ops.power([1, -1, -1, 2, 0, -5], [-3, -3, -2, -1, -1, -2]).tolist() == [1, -1, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(engine, dtype):
    bits = np.iinfo(dtype).bits
    x, y = integers(dtype)
    y = np.abs(y.astype("int16")).clip(0, bits + 3).astype(dtype)
    np.testing.assert_array_equal(ops.left_shift(x, y).numpy(), np.left_shift(x, y))
    np.testing.assert_array_equal(ops.right_shift(x, y).numpy(), np.right_shift(x, y))


# -- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [n for n in UNARY if not n.startswith("is")])
def test_floats_keep_their_dtype(engine, dtype, name):
    x = np.array([[0.25, 0.75, 1.0]]).astype(getattr(ml_dtypes, dtype, None) or dtype)
    found = getattr(ops, name)(x)
    assert found.dtype == dtype and found.shape == x.shape
    if x.itemsize == 2:  # nearly exact in this dtype
        wide = np.nan_to_num(np.asarray(getattr(ops, name)(x.astype("float32")), "float64"), posinf=0)
        np.testing.assert_allclose(np.nan_to_num(found.numpy().astype("float64"), posinf=0), wide, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (np.int8(3), np.int8(2), "int8"),
        (np.uint8(3), np.int8(2), "int16"),
        (np.int64(3), np.float16(2), "float16"),
        (np.float16(3), ml_dtypes.bfloat16(2), "float32"),
        (np.int32(3), 2.0, "float32"),
        (np.float16(3), 2.0, "float16"),
        (np.uint8(3), 2, "uint8"),
        (True, True, "int32"),
        (3, 2, "int32"),
        (np.float64(3), 2, "float64"),
        (np.complex64(3), 2.0, "complex64"),
    ],
)
def test_promotion(engine, x, y, expected):
    x, y = (v if isinstance(v, (int, float)) else np.array([v]) for v in (x, y))
    for first, second in ((x, y), (y, x)):
        product = ops.multiply(first, second)
        assert product.dtype == expected
        assert np.ravel(product.numpy())[0] == (1 if x is True else 6)
    assert ops.divide(np.array([3], "int8"), 2).dtype == "float32"
    assert ops.sqrt(np.array([4])).dtype == "float32"


# -- Python's operators -----------------------------------------------------------------------------------------------

OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators(engine, symbol):
    """Check operators of a tensor with a variable, a NumPy array and a number, on either side, eager and in a graph."""
    operator = OPERATORS[symbol]
    x, y = np.array([[7], [2]], "int32"), np.array([3, 2], "int32")
    tensor, other = ops.convert(x), ops.convert(y)
    pairs = [(tensor, other, x, y), (tensor, y, x, y), (x, other, x, y), (tensor, 2, x, 2), (2, other, 2, y)]
    pairs += [(dt.Variable(x), other, x, y), (tensor, dt.Variable(y), x, y), (2, dt.Variable(y), 2, y)]
    for a, b, left, right in pairs:
        found = operator(a, b)
        assert isinstance(found, dt.Tensor)
        np.testing.assert_array_equal(found.numpy(), operator(left, right))
    np.testing.assert_array_equal(dt.function(operator)(tensor, other).numpy(), operator(x, y))
    np.testing.assert_array_equal(dt.function(lambda a: operator(2, a))(other).numpy(), operator(2, y))


def test_operators_of_one_tensor_and_of_truth_values(engine):
    x = ops.convert([1, -2])
    assert (-x).tolist() == [-1, 2] and abs(x).tolist() == [1, 2] and (~x).tolist() == [-2, 1]
    p, q = ops.convert([True, True, False]), ops.convert([True, False, False])
    assert (p & q).tolist() == [True, False, False] and (p | q).tolist() == [True, True, False]
    assert (p ^ q).tolist() == [False, True, False] and (~p).tolist() == [False, False, True]
    assert (p & q).dtype == (~p).dtype == "bool"
    with pytest.raises(TypeError, match=r"BitwiseAnd.*integer or bool"):
        ops.convert(1.0) & 1.0


def test_equality_with_what_is_no_tensor(engine):
    x = ops.convert([1.0])
    assert (x == None) is False and (x != None) is True and x != "x"  # noqa: E711
    assert x in [None, x] and len({x, x, ops.convert([1.0])}) == 2

    @dt.function
    def f(a):
        assert (a == None) is False and a in [None, a]  # noqa: E711
        return a

    f(x)


@pytest.mark.parametrize("number", [2, -3, 0.5, -0.0, 0.0, 1e300, float("nan"), float("inf"), 2**40, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "int8", "complex64"])
@np.errstate(all="ignore")
def test_numbers_take_the_same_way_as_tensors(engine, number, dtype):
    """Check the fast path of `tensor * number` against the number as a tensor of the promoted dtype."""
    x = ops.cast([3.0, -1.0], dtype)
    promoted = dt.dtypes.promote([dtype, type(number)])
    try:
        other = ops.convert(np.asarray(number, promoted.numpy), promoted)
    except OverflowError:
        with pytest.raises(OverflowError):
            x * number
        return
    for operator in (OPERATORS["*"], OPERATORS["-"], OPERATORS["=="]):
        for found, expected in ((operator(x, number), operator(x, other)), (operator(number, x), operator(other, x))):
            assert found.dtype == expected.dtype
            assert found.numpy().tobytes() == expected.numpy().tobytes()


# -- gradients --------------------------------------------------------------------------------------------------------


def gradient(function, *arrays):
    tensors = [ops.convert(a) for a in arrays]
    with dt.GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return [g.numpy().tolist() for g in tape.gradient(y, tensors)]


def test_gradients_of_powers_are_finite_where_they_exist(engine):
    x, y = np.array([0.0, 0.0, 0.0, -2.0], "float32"), np.array([0.0, 1.0, 2.0, 3.0], "float32")
    assert gradient(ops.power, x, y) == [[0.0, 1.0, 0.0, 12.0], [0.0, 0.0, 0.0, 0.0]]


def test_gradients_at_ties_and_bounds(engine):
    one = np.ones(1, "float32")
    assert gradient(ops.maximum, one, one) == gradient(ops.minimum, one, one) == [[1.0], [0.0]]
    assert gradient(lambda x: ops.clip(x, 0.0, 1.0), np.array([-1, 0, 0.5, 1, 2], "float32")) == [[0, 1, 1, 1, 0]]
    bounds = [np.array(v, "float32") for v in ([-1, 0.5, 3], [0, 0, 0], [1, 1, 1])]
    assert gradient(ops.clip, *bounds) == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_gradients_at_the_origin(engine):
    zero = np.zeros(1, "float32")
    for f in (ops.hypot, ops.arctan2, ops.divide_no_nan):
        assert gradient(f, zero, zero) == [[0.0], [0.0]]


def test_gradient_of_a_complex_function(engine):
    """Check TensorFlow's and PyTorch's definition: the direction of steepest ascent of a real result."""
    (found,) = gradient(lambda z: ops.sum(ops.square(ops.absolute(z * (1 + 2j)))), np.array([1 + 1j, -2j], "complex64"))
    np.testing.assert_allclose(found, 2 * 5 * np.array([1 + 1j, -2j]), rtol=1e-6)


def test_clip_with_crossed_bounds_gives_the_lower(engine):
    assert ops.clip([1.0, 2.0, 9.0], 5.0, 3.0).tolist() == [5.0, 5.0, 5.0]


def test_keywords_go_to_the_parameters_of_their_name(engine):
    assert ops.arctan2(x=[1.0], y=[0.0]).item() == 0.0
    assert ops.subtract(y=1, x=3).item() == 2


def test_broadcasting_0d_and_empty(engine):
    assert ops.add(np.ones((0, 3), "float32"), np.ones(3, "float32")).shape == (0, 3)
    assert ops.add(np.float32(1), np.float32(2)).shape == ()
    with pytest.raises(ValueError, match=r"AddV2.*do not broadcast"):
        ops.add(np.ones(2), np.ones(3))


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
def test_round_is_numpys(engine, decimals):
    x = np.array([0.5, 1.5, 2.5, -0.5, 15.0, 25.0, 1.2345, 123.456, -0.05], "float32")
    np.testing.assert_allclose(ops.round(x, decimals).numpy(), np.round(x, decimals), rtol=1e-6)
    n = np.array([15, 25, -7, 1234])
    np.testing.assert_array_equal(ops.round(n, decimals).numpy(), np.round(n, decimals))


def test_squares_by_the_operator_have_the_dtype_of_powers(engine):
    for x in (np.array([3], "int8"), np.array([True]), np.array([3.0], "float16"), np.array([3 + 1j], "complex64")):
        for exponent in (2, 2.0):
            found, expected = ops.convert(x) ** exponent, ops.power(x, exponent)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_an_engines_own_values_and_differentiation():
    """Check that on a library's own values ops are the library's own calls, which its autodiff sees."""
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.5, -2.0, 0.25], requires_grad=True)
    y = ops.sum(ops.sign(x) * ops.square(x) + ops.mod(x, 2.0) + ops.clip(x, -1.0, 1.0)) + ops.prod(x) + ops.max(x)
    y.backward()
    np.testing.assert_allclose(x.grad, [1 + 1 + 1 - 0.5 + 1, 4 + 1 + 0 + 0.125, 0.5 + 1 + 1 - 1])
    jax = pytest.importorskip("jax")

    def f(x):
        return ops.logsumexp(ops.cumsum(x)) + ops.var(x) + ops.median(x) + ops.power(x, 3.0)[0]

    values = np.array([0.3, 1.0, 0.6], "float32")
    found = jax.jit(jax.grad(f))(values)
    tensor = ops.convert(values)
    with dt.GradientTape() as tape:
        tape.watch(tensor)
        y = f(tensor)
    np.testing.assert_allclose(found, tape.gradient(y, tensor).numpy(), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "x"), [("int8", -1), ("int32", 2), ("int64", 3), ("uint16", 3)])
def test_integer_powers_wrap_around(engine, dtype, x):
    exponents = np.array([0, 1, 63, 64, 65, 100], dtype)
    with np.errstate(over="ignore"):
        expected = np.power(np.array(x, dtype), exponents)
    np.testing.assert_array_equal(ops.power(np.array(x, dtype), exponents).numpy(), expected)


def test_poles_of_digamma(engine):
    np.testing.assert_array_equal(ops.digamma([0.0, -0.0, -1.0]).numpy(), [-np.inf, np.inf, np.nan])


def test_exp2_of_large_halves(engine):
    np.testing.assert_array_equal(ops.exp2(ops.cast([88.0, -88.0], "bfloat16")).numpy(), [2.0**88, 2.0**-88])


# -- complex numbers --------------------------------------------------------------------------------------------------


def slope(function, z):
    z = ops.convert(z)
    with dt.GradientTape() as tape:
        tape.watch(z)
        y = function(z)
    return tape.gradient(y, z, unconnected_gradients="zero")


def test_squared_difference_of_complex_numbers_is_that_of_the_modulus(engine):
    x, y = np.array([1 + 2j, 3 - 1j]), np.array([2j, 1])
    np.testing.assert_allclose(ops.squared_difference(x, y).numpy(), np.abs(x - y) ** 2)
    np.testing.assert_allclose(slope(lambda x: ops.real(ops.squared_difference(x, y)), x).numpy(), 2 * (x - y))


def test_second_derivative_of_the_modulus_a4(engine):
    found = slope(lambda z: ops.real(slope(ops.absolute, z)), np.array(3 + 4j))
    np.testing.assert_allclose(found.numpy(), 0.128 - 0.096j)


def test_gradient_of_a_complex_sign_a4(engine):
    z = np.array([3 + 4j, -1j, 0])
    found = slope(lambda z: ops.sum(ops.imag(ops.sign(z))), z).numpy()
    expected = slope(lambda z: ops.sum(ops.imag(z / ops.cast(ops.absolute(z), z.dtype))), z[:2]).numpy()
    np.testing.assert_allclose(found, [*expected, 0], atol=1e-12)
    assert slope(lambda x: ops.sum(ops.sign(x)), np.array([-2.0, 3.0])).tolist() == [0, 0]


@pytest.mark.parametrize("op", [ops.floor_divide, ops.mod, ops.relu6, ops.unique], ids=lambda op: op.name)
def test_what_has_no_order_is_refused(engine, op):
    with pytest.raises(TypeError, match=r"needs (integer or float|real) tensors, got complex"):
        op(*[np.ones(2, "complex64")] * len([p for p in op.params if p.kind]))
