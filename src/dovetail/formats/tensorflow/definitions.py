"""The inputs and outputs of TensorFlow's ops that are written: attributes with dtypes, and names, as tables."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.formats.tensorflow.rows import NAMES, READ

# The attribute with the dtype of each input, for types without a row: `-` if it is fixed, `*` after it if the input is
# a list of several dtypes.
_INPUTS = """
Placeholder NoOp:
Identity: T
PlaceholderWithDefault: dtype
IdentityN: T*
ReadVariableOp: -
AssignVariableOp: - dtype
If StatelessIf: Tcond Tin*
While StatelessWhile: T*
PartitionedCall: Tin*
TensorListFromTensor: element_dtype shape_type
TensorListReserve: shape_type -
TensorListLength: -
TensorListGetItem: - - -
TensorListSetItem: - - element_dtype
TensorListStack: - -
Print: T U*
Assert: - T*
Range: Tidx Tidx Tidx
RandomUniformInt: T Tout Tout
BroadcastGradientArgs: T T
StridedSlice: T Index Index Index
StridedSliceGrad: Index Index Index Index T
PadV2: T Tpaddings T
GatherV2: Tparams Tindices Taxis
OneHot: TI - T T
UnsortedSegmentProd: T Tindices Tnumsegments
BatchMatMulV2: T T
ComplexAbs Qr Svd Eig Lu Where: T
RFFT: Treal -
IRFFT: Tcomplex -
Polygamma: T T
DepthwiseConv2dNative: T T
DepthwiseConv2dNativeBackpropInput: - T T
DepthwiseConv2dNativeBackpropFilter: T - T
Conv3DBackpropFilterV2: T - T
MaxPoolGrad MaxPoolGradGrad MaxPool3DGradGrad: T T T
MaxPool3DGrad: TInput TInput T
AvgPoolGrad AvgPool3DGrad: - T
FusedBatchNormV3: T U U U U
SoftmaxCrossEntropyWithLogits: T T
SparseSoftmaxCrossEntropyWithLogits: T Tlabels
SigmoidGrad LeakyReluGrad: T T
ResizeBilinear ResizeNearestNeighbor ResizeBicubic: T -
"""

# The names of single outputs, of which there may be several values; others are called `output`.
_OUTPUTS = """
activations: Elu LeakyRelu Relu Relu6 Selu Softplus Softsign
backprops: LeakyReluGrad Relu6Grad ReluGrad
diagonal: MatrixDiagPart
handle: TensorListReserve
index: Where
item: TensorListGetItem
length: TensorListLength
logsoftmax: LogSoftmax
out: Complex Cumprod Cumsum CumulativeLogsumexp
output_handle: TensorListFromTensor TensorListSetItem
precision: InTopKV2
product: MatMul
resized_images: ResizeBicubic ResizeBilinear ResizeNearestNeighbor
softmax: Softmax
tensor: TensorListStack
value: ReadVariableOp
y: Abs Acos Acosh Asin Asinh Atan Atanh BesselI0 BesselI1 Cast Ceil ComplexAbs Cos Cosh Digamma Erf Erfc Erfinv Exp
    Expm1 Floor Invert IsFinite IsInf IsNan Lgamma Log Log1p LogicalNot Neg OnesLike Reciprocal Rint Round Rsqrt
    Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh Transpose ZerosLike
z: AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Igamma IgammaGradA
    LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mul NotEqual Polygamma Pow RealDiv RightShift
    SigmoidGrad SquaredDifference Sub
"""


def _lines(text: str) -> list[tuple[list[str], list[str]]]:
    parts = (line.partition(":")[::2] for line in text.replace("\n    ", " ").strip().splitlines())
    return [(first.split(), second.split()) for first, second in parts]


INPUTS: Mapping[str, list[str]] = {
    **{row.type: [one.dtype for one in row.inputs] for row in READ.values()},
    **{type: [attr.replace("-", "") for attr in attrs] for types, attrs in _lines(_INPUTS) for type in types},
}
OUTPUTS: Mapping[str, list[str]] = {
    **{type: names for names, types in _lines(_OUTPUTS) for type in types},
    **NAMES,
}
