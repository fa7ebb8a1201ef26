"""The table of TensorFlow's ops, in the language of `formats.nodes.rows`.

    Sum Prod: x axis!; keep_dims:keepdims
    ArgMax: x axis!; output_type>0
    Conv2D: x kernel; strides@spatial padding@padding dilations@dilations data_format@layout

The converters are in `attributes`.  Types that several ops compute have a row at the function that calls them, in
`ops`:

    @row("Xdivy: x y")
    def _(x, y): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dovetail.formats.nodes.rows import Row, rows_of

ROWS = """
Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI1 Ceil Cos Cosh Digamma Elu Erf Erfc Erfinv Exp Expm1 Floor: x
IsFinite IsInf IsNan Lgamma Log Log1p LogSoftmax Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin: x
Sinh Softmax Softplus Softsign Sqrt Square Tan Tanh StopGradient Identity Invert Cholesky MatrixDeterminant: x
LogMatrixDeterminant MatrixSquareRoot ZerosLike OnesLike MatrixDiag MatrixDiagPart Conj: x
LogicalNot: x
Inv > Reciprocal: x
Copy CopyHost > Identity: x; tensor_name debug_ops_spec
Snapshot > Identity: x
DeepCopy > Identity: x
CheckNumerics PreventGradient: x; message:message
CheckNumericsV2 > CheckNumerics: x; message:message
EnsureShape: x; shape:shape@shape
LeakyRelu: x; alpha:negative_slope

AddV2 Sub Mul RealDiv FloorDiv FloorMod DivNoNan Maximum Minimum SquaredDifference Pow: x y
BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift: x y
Equal NotEqual: x y; incompatible_shape_error=True
Less LessEqual Greater GreaterEqual: x y
LogicalAnd LogicalOr: x y
Add > AddV2: x y
Atan2: y x
NextAfter: x toward
Igamma IgammaGradA: a x
Complex: x y; Tout>0
Real Imag: x; Tout>0
Angle: z; Tout>0
ComplexAbs > Abs: x; Tout>0

Sum Prod Max Min: x axis!; keep_dims:keepdims
Mean EuclideanNorm: x axis!; keep_dims:keepdims T>0
All Any: x axis!; keep_dims:keepdims
ArgMax ArgMin: x axis!; output_type>0
Cumsum Cumprod: x axis!; exclusive reverse
CumulativeLogsumexp: x axis!; exclusive reverse

Cast: x; DstT:dtype Truncate=False
Bitcast: x; type:dtype
Shape: x; out_type>0
Reshape: x shape?
BroadcastTo: x shape?
Transpose: x axes!
ExpandDims: x axis!
Squeeze: x; squeeze_dims:axis@axes
Fill: shape? fill_value
Tile: x repeats?
MirrorPad: x paddings!; mode@lower
ConcatV2: xs* axis!
Concat > ConcatV2: axis! xs*
Pack: xs*; axis
Unpack: x; num axis
SplitV: x sizes? axis!; num_split
Slice: x start? size?
GatherNd: x indices; bad_indices_policy=
TensorScatterUpdate TensorScatterAdd: x indices updates; bad_indices_policy=
TensorScatterMax TensorScatterMin: x indices updates; bad_indices_policy=
ReverseV2: x axis!
Roll: x shift! axis!
Where > Where: x; >0|int64
Unique: x; out_idx>1
TopKV2: x k!; sorted index_type>1
InTopK > InTopKV2: predictions targets; k
InTopKV2: predictions targets k!
LinSpace: start stop num!
SelectV2: condition x y
ClipByValue: x x_min x_max
InvertPermutation > ArgSort: x

MatMul: x y; transpose_a transpose_b grad_a grad_b
Einsum: inputs*; equation
MatrixInverse: x; adjoint=False
MatrixSolve: matrix rhs; adjoint
MatrixTriangularSolve: matrix rhs; lower adjoint
SelfAdjointEigV2: x; compute_v
FFT FFT2D IFFT IFFT2D: x

BiasAdd: x bias; data_format@layout
Conv2D Conv3D: x kernel; strides@spatial padding@padding dilations@dilations data_format@layout
Conv2DBackpropInput: input_sizes? kernel g;
    strides@spatial padding@padding dilations@dilations data_format@layout
Conv3DBackpropInputV2 = Conv3DBackpropInput: input_sizes? kernel g;
    strides@spatial padding@padding dilations@dilations data_format@layout
Conv2DBackpropFilter: x filter_sizes? g;
    strides@spatial padding@padding dilations@dilations data_format@layout
AvgPool MaxPool3D AvgPool3D: x; ksize:size@spatial strides@spatial padding@padding data_format@layout
MaxPool: x; ksize:size@spatial strides@spatial padding@padding data_format@layout T>0
Conv3DBackpropFilterV2 = Conv3DBackpropFilter: x filter_sizes? g;
    strides@spatial padding@padding dilations@dilations data_format@layout
ReluGrad Relu6Grad: g y; T>0
LeakyReluGrad: g x; alpha:negative_slope
"""


# Attributes that a row names since TensorFlow's op has them, and that change nothing in Dovetail's.
UNUSED = {
    "tensor_name",
    "debug_ops_spec",
    "a_is_sparse",
    "b_is_sparse",
    "message",
    "shape",
    "num_split",
    "validate_indices",
    "validate_shape",
    "use_locking",
    "sorted",
    "sparse_gradient",
    "grad_a",
    "grad_b",
    "grad_x",
    "grad_y",
}

READ: dict[str, Row] = {row.type: row for row in rows_of(ROWS.strip(), UNUSED)}  # by TensorFlow's types
WRITTEN: Mapping[str, Row] = {row.ours: row for row in READ.values() if row.is_written}  # by Dovetail's types
Body = TypeVar("Body", bound=Callable[..., Any])


def row(*texts: str) -> Callable[[Body], Body]:
    """Decorator of a function of tensors and static values that computes some types.

    Args:
        texts: rows, without an op.
    """

    def add(body: Body) -> Body:
        READ.update((one.type, one) for text in texts for one in rows_of(text, UNUSED, body))
        return body

    return add
