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

# Types with several outputs, which functions name: `TopKV2:indices:0` is the second one.
OUTPUTS = """
BatchSelfAdjointEigV2: e v
Eig: e v
FusedBatchNorm: y batch_mean batch_variance reserve_space_1 reserve_space_2
FusedBatchNormV2: y batch_mean batch_variance reserve_space_1 reserve_space_2
FusedBatchNormV3: y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3
LogMatrixDeterminant: sign log_abs_determinant
Lu: lu p
MaxPoolWithArgmax: output argmax
Merge: output value_index
NonMaxSuppressionV4: selected_indices valid_outputs
NonMaxSuppressionV5: selected_indices selected_scores valid_outputs
Qr: q r
SelfAdjointEigV2: e v
SoftmaxCrossEntropyWithLogits: loss backprop
SparseSoftmaxCrossEntropyWithLogits: loss backprop
Svd: s u v
Switch: output_false output_true
TensorArrayV3: handle flow
TensorArrayConcatV3: value lengths
TensorListConcatV2: tensor lengths
TopKV2: values indices
ApproxTopK: values indices
BlockLSTMV2: i cs f o ci co h
CombinedNonMaxSuppression: nmsed_boxes nmsed_scores nmsed_classes valid_detections
CudnnRNNV2: output output_h output_c reserve_space host_reserved
FakeQuantWithMinMaxVarsGradient: backprops_wrt_input backprop_wrt_min backprop_wrt_max
FakeQuantWithMinMaxVarsPerChannelGradient: backprops_wrt_input backprop_wrt_min backprop_wrt_max
FusedBatchNormGrad: x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4
FusedBatchNormGradV2: x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4
FusedBatchNormGradV3: x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5
GRUBlockCellGrad: d_x d_h_prev d_c_bar d_r_bar_u_bar
LSTMBlockCellGrad: cs_prev_grad dicfo wci_grad wcf_grad wco_grad
ListDiff: out idx
CTCGreedyDecoder: decoded_indices decoded_values decoded_shape log_probability
QuantizeAndDequantizeV4Grad: input_backprop input_min_backprop input_max_backprop
RefMerge: output value_index
SparseReorder: output_indices output_values
StatelessRandomGetKeyCounter: key counter
StatelessRandomGetKeyCounterAlg: key counter alg
UniqueWithCountsV2: y idx count
TopK: values indices
Unique: y idx
UniqueV2: y idx
UniqueWithCounts: y idx count
CudnnRNN: output output_h output_c reserve_space
CudnnRNNV3: output output_h output_c reserve_space host_reserved
LSTMBlockCell: i cs f o ci co h
BlockLSTM: i cs f o ci co h
GRUBlockCell: r u c h
TensorListPopBack: output_handle tensor
LookupTableExportV2: keys values
SparseReshape: output_indices output_shape
StringSplit: indices values shape
StringSplitV2: indices values shape
StringNGrams: ngrams ngrams_splits
UnicodeDecode: row_splits char_values
UnicodeDecodeWithOffsets: row_splits char_values char_to_byte_starts
BroadcastGradientArgs: r0 r1
RaggedTensorToSparse: sparse_indices sparse_values sparse_dense_shape
RaggedTensorFromVariant: output_nested_splits output_dense_values
SparseFillEmptyRows: output_indices output_values empty_row_indicator reverse_index_map
RaggedRange: rt_nested_splits rt_dense_values
RaggedGather: output_nested_splits output_dense_values
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
NAMES: Mapping[str, list[str]] = {
    name: names.split() for name, _, names in (line.partition(": ") for line in OUTPUTS.strip().splitlines())
}
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
