"""The table of TensorFlow's ops, in the language of `formats.rows`.

    Sum Prod: x/T axis!/Tidx; keep_dims:keepdims
    ArgMax: x/T axis!/Tidx; output_type>0|int64
    Conv2D: x/T kernel/T; strides@spatial padding@padding dilations@dilations data_format@layout

The converters are in `attributes`.  Types that several ops compute have a row at the function that calls them, in
`bodies`:

    @row("Xdivy: x/T y/T")
    def _(x, y): ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dovetail.formats.rows import Row, rows_of

ROWS = """
Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI1 Ceil Cos Cosh Digamma Elu Erf Erfc Erfinv Exp Expm1 Floor: x/T
IsFinite IsInf IsNan Lgamma Log Log1p LogSoftmax Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin: x/T
Sinh Softmax Softplus Softsign Sqrt Square Tan Tanh StopGradient Identity Invert Cholesky MatrixDeterminant: x/T
LogMatrixDeterminant MatrixSquareRoot ZerosLike OnesLike MatrixDiag MatrixDiagPart Conj: x/T
LogicalNot: x/-
Inv > Reciprocal: x/T
Copy CopyHost > Identity: x/T; tensor_name debug_ops_spec
Snapshot > Identity: x/T
DeepCopy > Identity: x/T
CheckNumerics PreventGradient: x/T; message:message
CheckNumericsV2 > CheckNumerics: x/T; message:message
EnsureShape: x/T; shape:shape@shape
LeakyRelu: x/T; alpha:negative_slope|0.2

AddV2 Sub Mul RealDiv FloorDiv FloorMod DivNoNan Maximum Minimum SquaredDifference Pow: x/T y/T
BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift: x/T y/T
Equal NotEqual: x/T y/T; incompatible_shape_error=True
Less LessEqual Greater GreaterEqual: x/T y/T
LogicalAnd LogicalOr: x/- y/-
Add > AddV2: x/T y/T
Atan2: y/T x/T
NextAfter: x/T toward/T
Igamma IgammaGradA: a/T x/T
Complex: x/T y/T; Tout>0|complex64
Real Imag: x/T; Tout>0|float32
Angle: z/T; Tout>0|float32
ComplexAbs > Abs: x/T; Tout>0|float32

Sum Prod Max Min: x/T axis!/Tidx; keep_dims:keepdims
Mean EuclideanNorm: x/T axis!/Tidx; keep_dims:keepdims T>0
All Any: x/- axis!/Tidx; keep_dims:keepdims
ArgMax ArgMin: x/T axis!/Tidx; output_type>0|int64
Cumsum Cumprod: x/T axis!/Tidx; exclusive reverse
CumulativeLogsumexp: x/T axis!/Tidx; exclusive reverse

Cast: x/SrcT; DstT:dtype Truncate=False
Bitcast: x/T; type:dtype
Shape: x/T; out_type>0|int32
Reshape: x/T shape?/Tshape
BroadcastTo: x/T shape?/Tidx
Transpose: x/T axes!/Tperm
ExpandDims: x/T axis!/Tdim
Squeeze: x/T; squeeze_dims:axis@axes
Fill: shape?/index_type fill_value/T
Tile: x/T repeats?/Tmultiples
MirrorPad: x/T paddings!/Tpaddings; mode@lower
ConcatV2: xs*/T axis!/Tidx
Concat > ConcatV2: axis!/- xs*/T
Pack: xs*/T; axis|0
Unpack: x/T; num axis|0
SplitV: x/T sizes?/Tlen axis!/-; num_split
Slice: x/T start?/Index size?/Index
GatherNd: x/Tparams indices/Tindices; bad_indices_policy=
TensorScatterUpdate TensorScatterAdd: x/T indices/Tindices updates/T; bad_indices_policy=
TensorScatterMax TensorScatterMin: x/T indices/Tindices updates/T; bad_indices_policy=
ReverseV2: x/T axis!/Tidx
Roll: x/T shift!/Tshift axis!/Taxis
Where > Where: x/T; >0|int64
Unique: x/T; out_idx>1|int32
TopKV2: x/T k!/Tk; sorted index_type>1|int32
InTopK > InTopKV2: predictions/- targets/T; k
InTopKV2: predictions/- targets/T k!/T
LinSpace: start/T stop/T num!/Tidx
SelectV2: condition/- x/T y/T
ClipByValue: x/T x_min/T x_max/T
InvertPermutation > ArgSort: x/T

MatMul: x/T y/T; transpose_a transpose_b grad_a grad_b
Einsum: inputs*/T; equation
MatrixInverse: x/T; adjoint=False
MatrixSolve: matrix/T rhs/T; adjoint
MatrixTriangularSolve: matrix/T rhs/T; lower|True adjoint
SelfAdjointEigV2: x/T; compute_v|True
FFT FFT2D IFFT IFFT2D: x/Tcomplex

BiasAdd: x/T bias/T; data_format@layout
Conv2D Conv3D: x/T kernel/T; strides@spatial padding@padding dilations@dilations data_format@layout
Conv2DBackpropInput: input_sizes?/- kernel/T g/T;
    strides@spatial padding@padding dilations@dilations data_format@layout
Conv3DBackpropInputV2 = Conv3DBackpropInput: input_sizes?/Tshape kernel/T g/T;
    strides@spatial padding@padding dilations@dilations data_format@layout
Conv2DBackpropFilter: x/T filter_sizes?/- g/T;
    strides@spatial padding@padding dilations@dilations data_format@layout
AvgPool MaxPool3D AvgPool3D: x/T; ksize:size@spatial strides@spatial padding@padding data_format@layout
MaxPool: x/T; ksize:size@spatial strides@spatial padding@padding data_format@layout T>0|float32
Conv3DBackpropFilterV2 = Conv3DBackpropFilter: x/T filter_sizes?/- g/T;
    strides@spatial padding@padding dilations@dilations data_format@layout
ReluGrad Relu6Grad: g/T y/T; T>0
LeakyReluGrad: g/T x/T; alpha:negative_slope|0.2
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
