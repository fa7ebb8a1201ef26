"""The tables of ONNX's types.  The modules of `ops` fill them; readers and writers look types up in them.

Rows are in the language of `formats.nodes.rows`.

    Squeeze 1-12: x; axes:axis
    Squeeze 13: x axis!
    BitShift 11 = LeftShift: x y; direction=LEFT

Versions are those of the domain.  The ops of another domain have its name before theirs.  Each input may be missing at
the end or have an empty name: its parameter then has the default.  The first row of a type that has the version and the
values behind `=` is the one of a node.  The converters are in `attributes`.  A type that several ops compute has a row
at the function that calls them:

    @row("Gemm: a b c; alpha beta transA transB")
    def _(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0): ...

`special` marks functions that read nodes which no row can say.  `writes` marks functions that add nodes, and `body`
functions that compute one of Dovetail's ops by others, which ONNX has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from dovetail.formats.nodes.bodies import add_common
from dovetail.formats.nodes.rows import Row, rows_of
from dovetail.formats.nodes.ways import Table, adder

NEWEST = 28  # the last opset of the default domain that is known

ROWS = """
Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Identity Log Neg Reciprocal: x
Relu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh Mish: x
Round = Rint: x
Round < Round: x; +decimals=0
Not = LogicalNot: x
BitwiseNot = Invert: x
IsNaN = IsNan: x
IsInf = IsInf: x; detect_negative=1 detect_positive=1
Det = MatrixDeterminant: x
HardSwish = HardSilu: x
HardSigmoid < HardSigmoid: x; alpha=0.16666666666666666 beta=0.5
Elu Celu: x; alpha|1.0
LeakyRelu: x; alpha:negative_slope|0.01
Selu < Selu: x
Swish 24 = Silu: x; alpha=1.0
Gelu 20 = Gelu: x; approximate=none
Gelu 20 = ApproximateGelu: x; approximate=tanh
Identity < StopGradient: x

Add = AddV2: x y
Sub Mul: x y
Div < RealDiv: x y
Mod 10 = FloorMod: x y; fmod=0
Pow < Pow: x y
Equal: x y
Less Greater: x y
LessOrEqual 12 = LessEqual: x y
GreaterOrEqual 12 = GreaterEqual: x y
And = LogicalAnd: x y
Or = LogicalOr: x y
Xor = LogicalXor: x y
BitwiseAnd BitwiseOr BitwiseXor 18: x y
BitShift 11 = LeftShift: x y; direction=LEFT
BitShift 11 = RightShift: x y; direction=RIGHT
Max < Maximum: x y
Min < Minimum: x y
Where 9 = SelectV2: condition x y
Clip 6-10 > ClipByValue: x; min:x_min max:x_max
Clip 11 < ClipByValue: x x_min x_max

ReduceSum 1-12 < Sum: x; axes:axis keepdims@bool|1
ReduceSum 13 < Sum: x axis!; keepdims@bool|1
ReduceMean 1-17 < Mean: x; axes:axis keepdims@bool|1
ReduceMean 18 < Mean: x axis!; keepdims@bool|1
ReduceProd 1-17 < Prod: x; axes:axis keepdims@bool|1
ReduceProd 18 < Prod: x axis!; keepdims@bool|1
ReduceMax 1-17 < Max: x; axes:axis keepdims@bool|1
ReduceMax 18 < Max: x axis!; keepdims@bool|1
ReduceMin 1-17 < Min: x; axes:axis keepdims@bool|1
ReduceMin 18 < Min: x axis!; keepdims@bool|1
ReduceL2 1-17 < EuclideanNorm: x; axes:axis keepdims@bool|1
ReduceL2 18 < EuclideanNorm: x axis!; keepdims@bool|1
ReduceLogSumExp 1-17 < LogSumExp: x; axes:axis keepdims@bool|1
ReduceLogSumExp 18 < LogSumExp: x axis!; keepdims@bool|1
ArgMax ArgMin: x; axis|0 keepdims@bool|1 select_last_index=0 >0|int64
CumSum = Cumsum: x axis!; exclusive@bool reverse@bool
CumProd = Cumprod: x axis!; exclusive@bool reverse@bool
Softmax 13 = Softmax: x; axis|-1
LogSoftmax 13 = LogSoftmax: x; axis|-1

Cast = Cast: x; to:dtype@dtype saturate
BitCast = Bitcast: x; to:dtype@dtype
Concat = ConcatV2: xs*; axis
Shape < Shape: x; >0|int64
Reshape < Reshape: x shape?
Expand < BroadcastTo: x shape?
Transpose: x; perm:axes
Squeeze 1-12: x; axes:axis
Squeeze 13: x axis!
Unsqueeze 1-12 = ExpandDims: x; axes:axis
Unsqueeze 13 = ExpandDims: x axis!
Tile = Tile: x repeats?
Gather = GatherV2: x indices; axis|0
GatherElements < TakeAlongAxis: x indices; axis|0
GatherND 11 = GatherNd: x indices; batch_dims=0
ScatterND 11 < TensorScatterUpdate: x indices updates; reduction=none
ScatterND 16 < TensorScatterAdd: x indices updates; reduction=add
ScatterND 16 < TensorScatterMul: x indices updates; reduction=mul
ScatterND 18 < TensorScatterMax: x indices updates; reduction=max
ScatterND 18 < TensorScatterMin: x indices updates; reduction=min

MatMul < MatMul: x y
Einsum < Einsum: inputs*; equation
"""

UNUSED = {"saturate"}  # attributes that change nothing in Dovetail's ops

READ: dict[str, list[Row]] = {}  # by ONNX's types
WRITTEN: dict[str, list[Row]] = {}  # by Dovetail's types
SPECIAL: dict[str, Callable[[Any], Any]] = {}  # ONNX's type → a function that reads a node
WRITE: Table = {}  # Dovetail's type → functions, (place, *arguments of the op, with values for tensors) → results
BODIES: Table = {}  # Dovetail's type → bodies, (op, *its arguments) → results, by other ops
NO_WAY: dict[str, str] = {}  # Dovetail's type → the reason why ONNX cannot compute it


def _add(rows: Iterable[Row]) -> None:
    for one in rows:
        if one.is_read:
            READ.setdefault(one.type, []).append(one)
        if one.is_written:
            WRITTEN.setdefault(one.ours, []).append(one)


def rows(text: str) -> None:
    """Add rows of types that one op computes."""
    _add(rows_of(text.strip(), UNUSED))


rows(ROWS)
Body = TypeVar("Body", bound=Callable[..., Any])


def row(*texts: str) -> Callable[[Body], Body]:
    """Decorator of a function of tensors and static values that computes some types.

    Args:
        texts: rows, without an op.
    """

    def add(function: Body) -> Body:
        for text in texts:
            _add(rows_of(text, UNUSED, function))
        return function

    return add


def special(types: str) -> Callable[[Body], Body]:
    """Decorator of a function that reads the nodes of some types that no row can say."""

    def add(function: Body) -> Body:
        SPECIAL.update(dict.fromkeys(types.split(), function))
        return function

    return add


writes, body = adder(WRITE), adder(BODIES)
add_common(body)


def no_way(types: Iterable[str], reason: str) -> None:
    """Note the reason why ONNX cannot compute some types."""
    NO_WAY.update(dict.fromkeys(types, reason))


def row_of(type: str, version: int, attrs: Mapping[str, Any]) -> Row | None:
    """The row of a node; None if there is none.

    Args:
        type: with the domain before it, if that is not the default one.
        version: of the domain.
        attrs: the node's attributes.
    """
    for one in READ.get(type, ()):
        limits = (a for a in one.attributes if a.only is not None and a.theirs)
        if one.first <= version <= one.last and all(attrs.get(a.theirs, a.only) == a.only for a in limits):
            return one
    return None
