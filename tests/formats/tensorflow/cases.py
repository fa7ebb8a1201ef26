"""Calls of TensorFlow's ops, by which rows and special nodes are compared with TensorFlow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A call: a type, its inputs in order, and its attributes; `static` inputs are constants of the graph."""

    type: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.type} {self.attrs}" if self.attrs else self.type


class Static(NamedTuple):
    """An input that is a constant of the graph."""

    array: np.ndarray


class Var(NamedTuple):
    """An input that is a variable."""

    array: np.ndarray


def static(*values: Any, dtype: str = "int32") -> Static:
    return Static(np.array(values[0] if len(values) == 1 and not np.isscalar(values[0]) else values, dtype))


def scalar(value: Any, dtype: str = "int32") -> Static:
    return Static(np.array(value, dtype))


def array(*shape: int, low: float = -2, high: float = 2, dtype: str = "float32") -> np.ndarray:
    count = int(np.prod(shape))
    return (np.random.RandomState(count).uniform(low, high, shape)).astype(dtype)


def ints(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32") -> np.ndarray:
    return np.random.RandomState(int(np.prod(shape))).randint(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    return ints(*shape) > 0


def case(type: str, /, *inputs: Any, **attrs: Any) -> Case:
    return Case(type, inputs, attrs)


def each(types: str, /, *inputs: Any, **attrs: Any) -> list[Case]:
    return [Case(type, inputs, attrs) for type in types.split()]


X, Y = array(2, 3), array(3, 2, 3)
IMAGE, KERNEL = array(2, 6, 6, 3), array(3, 3, 3, 4)
NAN = np.where(ints(2, 6, 6, 3) > 4, np.float32("nan"), IMAGE)
NAN[0, :3, :3], NAN[1, 2:, 2:] = float("nan"), -np.inf
OUTLIERS = np.array([np.nan, np.inf, -np.inf, 3e9, 1.3], "float32")
NAN_POOLED = np.fmax(NAN, np.finfo("float32").min).reshape(2, 3, 2, 3, 2, 3).max((2, 4))
TIES = np.round(array(1, 4, 4, 4, 2))
AROUND = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
CONV = {"strides": [1, 2, 2, 1], "padding": "SAME"}
DEEP = {"strides": [1, 1, 1, 1, 1], "padding": "VALID"}
COMPLEX = (array(2, 4) + 1j * array(2, 4, low=-1)).astype("complex64")
POOLED = IMAGE.reshape(2, 3, 2, 3, 2, 3).max((2, 4))
DEEP_IMAGE = array(1, 4, 4, 4, 2)
TIES_POOLED = TIES.reshape(1, 2, 2, 2, 2, 2, 2, 2).max((2, 4, 6))
DEEP_POOLED = DEEP_IMAGE.reshape(1, 2, 2, 2, 2, 2, 2, 2).max((2, 4, 6))
NORMALIZED = array(1, 1, 1, 3) * 2 / np.sqrt(1 + 0.5 * array(1, 1, 1, 3) ** 2 * 4)
POOL3 = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
SQUARE = array(2, 3, 3) + 3 * np.eye(3, dtype="float32")
V, SLOT, RATE = Var(array(4, 2)), Var(array(4, 2, low=0.1)), np.float32(0.1)
ROWS = np.array([2, 0], "int32")

# The optimizers' inputs: variable and slots, then numbers, then the gradient and what follows it.
OPTIMIZERS = {
    "GradientDescent": (1, 1, 0),
    "ProximalGradientDescent": (1, 3, 0),
    "Momentum": (2, 1, 1),
    "KerasMomentum": (2, 1, 1),
    "Adadelta": (3, 3, 0),
    "Adagrad": (2, 1, 0),
    "AdagradV2": (2, 2, 0),
    "ProximalAdagrad": (2, 3, 0),
    "Adam": (3, 6, 0),
    "AdamWithAmsgrad": (4, 6, 0),
    "AdaMax": (3, 5, 0),
    "AddSign": (2, 4, 0),
    "PowerSign": (2, 4, 0),
    "RMSProp": (3, 4, 0),
    "CenteredRMSProp": (4, 4, 0),
    "Ftrl": (3, 0, 4),
    "FtrlV2": (3, 0, 5),
}
DENSE = ("GradientDescent", "Adam", "AdamWithAmsgrad", "AdaMax", "AddSign", "PowerSign")  # without sparse twins
OPTIONS = {
    "Momentum": {"use_nesterov": True},
    "KerasMomentum": {"use_nesterov": True},
    "Adam": {"use_nesterov": True},
    "Ftrl": {"multiply_linear_by_lr": True},
}


def optimizer_cases() -> list[Case]:
    found = []
    for name, (slots, numbers, after) in OPTIMIZERS.items():
        given = [V, *[SLOT] * (slots - 1), *(np.float32(0.1 + 0.1 * i) for i in range(numbers))]
        rest = [np.float32(0.1 * i - 0.5 * (i == after)) for i in range(1, after + 1)]
        kinds = ["Resource"] if name in ("KerasMomentum", "AdamWithAmsgrad") else ["Resource", ""]
        for kind in kinds:
            for options in ({}, OPTIONS[name]) if name in OPTIONS else ({},):
                found.append(case(f"{kind}Apply{name}", *given, array(4, 2), *rest, **options))
                if name not in DENSE:
                    found.append(case(f"{kind}SparseApply{name}", *given, array(2, 2), ROWS, *rest, **options))
    step = [np.float32(0.1), np.float32(0.2), np.float32(0.3), np.int64(3)]
    for kind in ("Resource", ""):
        found.append(case(f"{kind}ApplyAdagradDA", V, V, SLOT, array(4, 2), *step))
        found.append(case(f"{kind}SparseApplyAdagradDA", V, V, SLOT, array(2, 2), ROWS, *step))
    return found


VARIABLES = [
    *optimizer_cases(),
    *each("ReadVariableOp VarIsInitializedOp VariableShape DisableCopyOnRead", V),
    case("IsVariableInitialized", V),
    *each("ResourceGather", V, ROWS),
    case("ResourceGatherNd", V, ROWS[:, None]),
    *each("AssignVariableOp AssignAddVariableOp AssignSubVariableOp Assign AssignAdd AssignSub", V, array(4, 2)),
    *(
        case(f"{kind}Scatter{change}", V, ROWS, array(2, 2, low=0.5))
        for kind in ("Resource", "")
        for change in ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min")
    ),
    case("ResourceScatterAdd", V, ROWS, np.float32(2)),
    *(
        case(f"{kind}ScatterNd{change}", V, ROWS[:, None], array(2, 2))
        for kind in ("Resource", "")
        for change in ("Update", "Add", "Sub", "Max", "Min")
    ),
    case("ScatterNdNonAliasingAdd", array(4, 2), ROWS[:, None], array(2, 2)),
    case("ScatterNdNonAliasingAdd", bools(4, 2), ROWS[:, None], bools(2, 2)),
    *(
        case(type, value, static(0, 1), static(2, 0), static(1, 1), array(2, 1), end_mask=2)
        for type, value in (
            ("ResourceStridedSliceAssign", V),
            ("StridedSliceAssign", V),
            ("TensorStridedSliceUpdate", V.array),
        )
    ),
]

DILATION = {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "SAME"}
BOXES = np.array([[0, 0, 1, 1], [0.2, 0.7, 0.6, -0.4], [0.5, 0.3, 1.4, 0.9]], "float32")
TRANSFORM = np.array([[1.1, 0.2, -1.3, -0.1, 0.9, 0.7, 0.01, 0.02]], "float32")
CORNERS = np.concatenate([array(9, 2, low=0, high=0.4), array(9, 2, low=0.5, high=1)], 1)
SCORES = array(9, low=0, high=1)
INDICES = np.array([[0, 1], [2, 0], [3, 2]], "int64")
LSTM = [array(2, 3), array(2, 4), array(2, 4) / 2, array(7, 16), array(4), array(4) / 2, array(4) / 3, array(16)]
GRU = [array(2, 3), array(2, 4), array(7, 8), array(7, 4), array(8), array(4)]
SMALL = [one / 3 for one in LSTM]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x))).astype("float32")


def states_of(inputs: list[np.ndarray], peephole: bool) -> list[np.ndarray]:
    """The gates and states i, cs, f, o, ci, co, h of a cell, which the op of its gradient takes."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    i, ci, f, o = np.split(np.concatenate([x, h_prev], 1) @ w + b, 4, 1)
    wci, wcf, wco = (one * peephole for one in (wci, wcf, wco))
    i, f, ci = sigmoid(i + cs_prev * wci), sigmoid(f + 1 + cs_prev * wcf), np.tanh(ci)
    cs = ci * i + cs_prev * f
    o, co = sigmoid(o + cs * wco), np.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def gates_of(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The gates r, u and the candidate c of a cell."""
    x, h, w_ru, w_c, b_ru, b_c = inputs
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w_ru + b_ru), 2, 1)
    return [r, u, np.tanh(np.concatenate([x, r * h], 1) @ w_c + b_c)]


GATES = gates_of(GRU)

CASES = [
    *each("Abs Asinh Atan Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Neg Relu Relu6 Rint Round Selu", X),
    *each("Sigmoid Sign Sin Sinh Softplus Softsign Square Tan Tanh StopGradient Identity LogSoftmax Softmax", X),
    *each("ZerosLike OnesLike MatrixDiag Snapshot IsFinite IsInf IsNan", X),
    *each("Acos Asin Atanh Erfinv", array(2, 3, low=-0.9, high=0.9)),
    *each("Acosh Log Sqrt Rsqrt Lgamma Reciprocal Inv Log1p", array(2, 3, low=1.1, high=4)),
    *each("BesselI0 BesselI1", X),
    *each("CheckNumerics CheckNumericsV2", X, message="x"),
    case("DeepCopy", X),
    case("EnsureShape", X, shape=[2, None]),
    case("PlaceholderWithDefault", X, shape=[2, 3]),
    case("LeakyRelu", X, alpha=0.3),
    case("LeakyRelu", X),
    case("Invert", ints(4)),
    case("LogicalNot", bools(4)),
    *each("Cholesky", np.matmul(SQUARE, SQUARE.transpose(0, 2, 1))),
    *each("MatrixDeterminant LogMatrixDeterminant MatrixInverse MatrixDiagPart", SQUARE),
    *each("Conj Real Imag Angle ComplexAbs", COMPLEX),
    *each("FFT IFFT FFT2D IFFT2D", COMPLEX),
    case("Complex", X, X * 2),
    case("RFFT", array(2, 6), static(6, dtype="int32")),
    case("IRFFT", COMPLEX, static(6, dtype="int32")),
    *each("AddV2 Add Sub Mul RealDiv Div Maximum Minimum SquaredDifference DivNoNan MulNoNan FloorDiv FloorMod", X, Y),
    *each("Mod Div FloorDiv FloorMod TruncateDiv TruncateMod", ints(6), ints(6, low=1, high=5)),
    case("DivNoNan", X, np.zeros_like(X)),
    case("MulNoNan", X * np.inf, Static(np.zeros_like(X))),
    *each("FloorDiv", np.float32([-0.5, 0.5, np.inf, 1, -7]), np.float32([np.inf, -np.inf, 2, 0, 2])),
    case("Pow", array(2, 3, low=0.5), X),
    *each("Xlogy Xlog1py Xdivy", np.array([0.0, 1.0, 2.0], "float32"), np.array([0.0, 1.5, 3.0], "float32")),
    *each("BitwiseAnd BitwiseOr BitwiseXor", ints(4), ints(4, low=-5)),
    *each("LeftShift RightShift", ints(4), ints(4, low=0, high=4)),
    *each("Equal NotEqual", ints(3, 4), ints(4), incompatible_shape_error=False),
    *each("Equal NotEqual", ints(3, 4), ints(3), incompatible_shape_error=False),
    *each("Equal NotEqual Less LessEqual Greater GreaterEqual", ints(3, 4), ints(4)),
    *each("LogicalAnd LogicalOr", bools(4), bools(3, 4)),
    *each("Atan2 NextAfter", X, X + 1),
    *each("Igamma Igammac", array(2, 3, low=0.5), array(2, 3, low=0.5)),
    *each("IgammaGradA", array(2, 3, low=0.5), array(2, 3, low=0.5)),
    *each("Sum Prod Max Min Mean EuclideanNorm", Y, static(0, 2), keep_dims=True),
    *each("Sum Max", Y, scalar(1)),
    *each("All Any", bools(2, 3), scalar(1)),
    *each("ArgMax ArgMin", Y, scalar(1)),
    case("ArgMax", Y, scalar(1), output_type="int32"),
    *each("Cumsum Cumprod CumulativeLogsumexp", Y, scalar(1), exclusive=False, reverse=True),
    case("Cast", X, DstT="int32"),
    case("Cast", bools(4), DstT="float32"),
    case("Bitcast", X, type="int32"),
    case("Shape", X),
    case("Shape", X, out_type="int64"),
    *each("Size Rank", X),
    case("ShapeN", [X, Y]),
    case("Reshape", X, static(3, -1)),
    case("Reshape", X, ints(2, low=-1, high=0) * 0 + np.array([-1, 2], "int32")),
    case("BroadcastTo", X, static(4, 2, 3)),
    case("Transpose", Y, static(2, 0, 1)),
    case("ExpandDims", X, scalar(1)),
    case("Squeeze", array(1, 2, 1), squeeze_dims=[2]),
    case("Squeeze", array(1, 2, 1)),
    case("Fill", static(2, 3), np.float32(2)),
    case("Tile", X, static(2, 1)),
    *(case("MirrorPad", X, static([[1, 0], [1, 1]]), mode=mode) for mode in ("REFLECT", "SYMMETRIC")),
    case("Pad", X, static([[1, 0], [2, 1]])),
    case("PadV2", X, static([[1, 0], [2, 1]]), scalar(5, "float32")),
    case("ConcatV2", [X, X * 2], scalar(1)),
    case("Concat", scalar(1), [X, X * 2]),
    case("Pack", [X, X * 2], axis=1),
    case("Unpack", X, num=3, axis=1),
    case("Split", scalar(1), array(2, 6), num_split=3),
    case("SplitV", array(2, 6), static(1, 2, 3), scalar(1), num_split=3),
    case("SplitV", array(2, 6), static(1, -1, 3), scalar(1), num_split=3),
    case("Slice", Y, static(1, 0, 0), static(-1, 1, 2)),
    case("Slice", Y, ints(3) * 0 + 1, static(1, 1, 2)),
    case("StridedSlice", Y, static(0, 1), static(2, 0), static(1, 1), begin_mask=1, end_mask=2, shrink_axis_mask=0),
    case("StridedSlice", Y, static(0, 1), static(2, 0), static(1, 1), shrink_axis_mask=1, end_mask=2),
    case("StridedSlice", Y, static(0, 0, 1), static(0, 0, 2), static(1, 1, 1), ellipsis_mask=1, new_axis_mask=2),
    case("StridedSlice", Y, static(-1, 0), static(0, 2), static(-1, 1)),
    case("GatherNd", Y, ints(2, 2, low=0, high=2)),
    case("GatherV2", Y, ints(2, low=0, high=2), scalar(1)),
    case("GatherV2", Y, ints(3, 2, low=0, high=2), scalar(1), batch_dims=1),
    case("Gather", Y, ints(2, low=0, high=2)),
    *each("TensorScatterUpdate TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub", X,
          np.array([[1]], "int32"), array(1, 3)),
    case("ScatterNd", np.array([[1], [3]], "int32"), array(2, 3), static(5, 3)),
    case("ScatterNd", np.array([[1], [3], [1]], "int32"), np.array([True, False, True]), static(np.array([5]))),
    case("ReverseV2", Y, static(0, 2)),
    case("ReverseSequence", array(2, 4, 3), np.array([3, 2], "int32"), seq_dim=1, batch_dim=0),
    case("ReverseSequence", array(4, 2, 3), np.array([3, 2], "int64"), seq_dim=0, batch_dim=1),
    case("Roll", Y, static(1, -1), static(0, 2)),
    case("Where", bools(2, 3)),
    case("Unique", np.array([3, 1, 3, 2], "int32")),
    case("Unique", np.array([3, 1, 3, 2], "int32"), out_idx="int64"),
    case("TopKV2", array(2, 5), scalar(2)),
    case("TopKV2", array(2, 5), scalar(1), sorted=False),
    case("ApproxTopK", array(2, 5), k=2),
    case("InTopKV2", array(2, 5), np.array([1, 3], "int32"), scalar(2)),
    case("OneHot", np.array([0, 2, -1], "int32"), scalar(3), np.float32(2), np.float32(-1), axis=0),
    case("LinSpace", np.float32(1), np.float32(3), scalar(5)),
    case("Range", scalar(1), scalar(9), scalar(3)),
    case("Range", np.int32(1), np.int32(9), np.int32(3)),
    case("SelectV2", bools(3), X, X * 2),
    case("Select", bools(2), X, X * 2),
    case("ClipByValue", X, np.float32(-1), np.float32(1)),
    case("InvertPermutation", np.array([2, 0, 1], "int32")),
    case("MatrixBandPart", SQUARE, scalar(1, "int64"), scalar(-1, "int64")),
    *(case("MatrixBandPart", SQUARE, np.int64(low), np.int64(high)) for low, high in ((0, -1), (-1, 1))),
    *each("Diag", X),
    case("DiagPart", array(2, 3, 2, 3)),
    case("DepthToSpace", array(2, 2, 3, 8), block_size=2),
    case("SpaceToDepth", array(2, 4, 6, 2), block_size=2),
    case("SpaceToBatchND", array(2, 4, 5, 2), static(2, 3), static([[1, 1], [0, 1]])),
    case("BatchToSpaceND", array(12, 3, 2, 2), static(2, 3), static([[1, 1], [0, 1]])),
    case("AddN", [X, X * 2, X]),
    case("L2Loss", X),
    case("Cross", X, X[::-1].copy()),
    case("BroadcastArgs", static(2, 1), static(1, 3)),
    case("BroadcastArgs", np.array([4, 2, 1], "int32"), np.array([1, 3], "int32")),
    case("ConcatOffset", scalar(-1), [*(np.array([2, n], "int32") for n in (3, 1, 4))]),
    *(case("MatMul", array(3, 4), array(3, 5), transpose_a=True, transpose_b=b) for b in (False,)),
    case("BatchMatMulV2", array(2, 3, 4), array(5, 4), adj_y=True),
    case("BatchMatMul", COMPLEX.reshape(2, 2, 2), COMPLEX.reshape(2, 2, 2), adj_x=True),
    case("BatchMatMulV3", array(2, 3, 4), array(4, 5), Tout="float32"),
    case("ConjugateTranspose", array(2, 3, 4), static(2, 0, 1)),
    case("ConjugateTranspose", COMPLEX.reshape(2, 4), static(1, 0)),
    case("Einsum", [array(2, 3, 4), array(4, 5)], equation="abc,cd->abd"),
    case("MatrixSolve", SQUARE, array(2, 3, 2), adjoint=True),
    case("MatrixTriangularSolve", SQUARE, array(2, 3, 2), lower=False, adjoint=True),
    case("Qr", array(2, 4, 3)),
    case("SelfAdjointEigV2", SQUARE + SQUARE.transpose(0, 2, 1)),
    case("Eig", np.triu(SQUARE[0]), Tout="complex64"),
    *each("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin", array(4, 2),
          np.array([1, 0, 1, -1], "int32"), scalar(3)),
    *each("SegmentSum SegmentProd", array(4, 2), np.array([0, 0, 1, 1], "int32")),
    case("BiasAdd", IMAGE, array(3)),
    case("BiasAddV1", IMAGE, array(3)),
    case("Conv2D", IMAGE, KERNEL, **CONV),
    case("Conv2D", IMAGE, KERNEL, strides=[1, 1, 1, 1], padding="VALID", dilations=[1, 2, 2, 1]),
    case("Conv2D", IMAGE, KERNEL, strides=[1, 1, 1, 1], padding="EXPLICIT",
         explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]),
    case("Conv3D", array(1, 4, 4, 4, 2), array(2, 2, 2, 2, 3), **DEEP),
    case("DepthwiseConv2dNative", IMAGE, array(3, 3, 3, 2), strides=[1, 1, 1, 1], padding="SAME"),
    case("Conv2DBackpropInput", static(2, 6, 6, 3), KERNEL, array(2, 3, 3, 4), **CONV),
    case("Conv2DBackpropFilter", IMAGE, static(3, 3, 3, 4), array(2, 3, 3, 4), **CONV),
    case("Conv3DBackpropInputV2", static(1, 4, 4, 4, 2), array(2, 2, 2, 2, 3), array(1, 3, 3, 3, 3), **DEEP),
    *each("MaxPool AvgPool", IMAGE, **POOL),
    case("MaxPool", IMAGE, **POOL | AROUND),
    *each("MaxPool3D AvgPool3D", array(1, 4, 4, 4, 2), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1],
          padding="VALID"),
    case("MaxPoolV2", IMAGE, static(1, 2, 2, 1), static(1, 2, 2, 1), padding="VALID"),
    *each("ReluGrad Relu6Grad SigmoidGrad TanhGrad SoftplusGrad SoftsignGrad EluGrad ReciprocalGrad InvGrad", X, X * 3),
    *each("SqrtGrad RsqrtGrad", array(2, 3, low=0.5), X),
    case("BiasAddGrad", IMAGE),
    *each("FusedBatchNorm", IMAGE, array(3), array(3), array(3), array(3, low=0.5), is_training=False),
    *each("FusedBatchNormV2 FusedBatchNormV3", IMAGE, array(3), array(3), array(3), array(3, low=0.5),
          is_training=False, epsilon=0.01),
    case("FusedBatchNormV3", IMAGE, array(3), array(3), array(0), array(0), is_training=True),
    case("SoftmaxCrossEntropyWithLogits", X, np.array([[0, 1, 0], [0.5, 0.5, 0]], "float32")),
    case("SparseSoftmaxCrossEntropyWithLogits", X, np.array([1, 2], "int32")),
    case("DynamicPartition", array(4, 2), np.array([1, 0, 1, 0], "int32"), num_partitions=3),
    *each("DynamicStitch ParallelDynamicStitch", [np.array([0, 2], "int32"), np.array([[1], [3]], "int32")],
          [array(2, 3), array(2, 1, 3)]),
    *each("SegmentMax SegmentMin SegmentMean", array(4, 2), np.array([0, 0, 2, 2], "int32")),
    *each("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN", array(5, 2), ints(4, low=0, high=5),
          np.array([0, 0, 2, 2], "int32")),
    *each("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments",
          array(5, 2), ints(4, low=0, high=5), np.array([0, 0, 2, 2], "int32"), scalar(4)),
    *each("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad", array(3, 2), ints(4, low=0, high=5),
          np.array([0, 0, 2, 2], "int32"), scalar(5)),
    case("SeluGrad", X, X * 3),
    case("LeakyReluGrad", X, X * 3, alpha=0.1),
    case("BroadcastGradientArgs", static(2, 1, 3), static(3)),
    case("BroadcastGradientArgs", static(2, 3), static(2, 1)),
    case("MaxPoolGrad", IMAGE, POOLED, array(2, 3, 3, 3), **POOL),
    case("MaxPoolGradGrad", IMAGE, POOLED, array(2, 6, 6, 3), **POOL),
    case("MaxPoolGradV2", IMAGE, POOLED, array(2, 3, 3, 3), static(1, 2, 2, 1), static(1, 2, 2, 1), padding="SAME"),
    case("MaxPoolGradGradV2", IMAGE, POOLED, array(2, 6, 6, 3), static(1, 2, 2, 1), static(1, 2, 2, 1), padding="SAME"),
    *each("AvgPoolGrad", static(2, 6, 6, 3), array(2, 3, 3, 3), **POOL),
    case("AvgPool3DGrad", static(1, 4, 4, 4, 2), array(1, 2, 2, 2, 2), **POOL3),
    case("MaxPool3DGrad", DEEP_IMAGE, DEEP_POOLED, array(1, 2, 2, 2, 2), **POOL3),
    case("MaxPool3DGradGrad", DEEP_IMAGE, DEEP_POOLED, array(1, 4, 4, 4, 2), **POOL3),
    case("DepthwiseConv2dNativeBackpropInput", static(2, 6, 6, 3), array(3, 3, 3, 2), array(2, 6, 6, 6),
         strides=[1, 1, 1, 1], padding="SAME"),
    case("DepthwiseConv2dNativeBackpropFilter", IMAGE, static(3, 3, 3, 2), array(2, 6, 6, 6),
         strides=[1, 1, 1, 1], padding="SAME"),
    case("Conv3DBackpropFilterV2", array(1, 4, 4, 4, 2), static(2, 2, 2, 2, 3), array(1, 3, 3, 3, 3), **DEEP),
    case("LRNGrad", array(1, 1, 1, 3), array(1, 1, 1, 3) * 2, NORMALIZED, depth_radius=0, alpha=0.5),
    *each("ResizeBilinearGrad ResizeBicubicGrad", array(2, 9, 4, 3), IMAGE, half_pixel_centers=True),
    case("ResizeBilinearGrad", array(2, 9, 4, 3), IMAGE),
    case("ResizeNearestNeighborGrad", array(2, 9, 4, 3), static(6, 6), half_pixel_centers=True),
    case("ResizeNearestNeighborGrad", array(2, 9, 4, 3), static(6, 6)),
    case("StridedSliceGrad", static(3, 2, 3), static(0, 1), static(2, 0), static(1, 1), array(1, 3),
         shrink_axis_mask=1, end_mask=2),
    case("StridedSliceGrad", static(3, 2, 3), static(0, 0, 1), static(0, 0, 2), static(1, 1, 1), array(3, 2, 1, 1),
         ellipsis_mask=1, new_axis_mask=2),
    *(case("MirrorPadGrad", array(3, 5), static([[1, 0], [1, 1]]), mode=mode) for mode in ("REFLECT", "SYMMETRIC")),
    *(case("FusedBatchNormGrad", IMAGE * 2, IMAGE, array(3), array(3), array(3, low=0.5), is_training=training)
      for training in (False,)),
    *(case(f"FusedBatchNormGradV{n}", IMAGE * 2, IMAGE, array(3), IMAGE.mean((0, 1, 2)), IMAGE.var((0, 1, 2)),
           *([np.zeros(0, "float32")] if n == 3 else []), is_training=True, epsilon=0.01) for n in (2, 3)),
    *VARIABLES,
    # images
    *each("RGBToHSV HSVToRGB", array(2, 3, 4, 3, low=0, high=1)),
    *each("AdjustContrastv2 AdjustSaturation AdjustHue", array(2, 3, 4, 3, low=0, high=1), np.float32(0.3)),
    case("ResizeArea", array(2, 6, 6, 3), static(3, 4)),
    *(case("CropAndResize", IMAGE, boxes, np.array([0, 1, 1], "int32"), static(3, 2), method=method,
           extrapolation_value=0.5) for method, boxes in (("bilinear", BOXES), ("nearest", Static(BOXES)))),
    case("CropAndResizeGradImage", array(3, 3, 2, 3), BOXES, np.array([0, 1, 1], "int32"), static(2, 6, 6, 3),
         T="float32"),
    case("CropAndResizeGradBoxes", array(3, 3, 2, 3), IMAGE, BOXES, np.array([0, 1, 1], "int32")),
    *(case("ImageProjectiveTransformV3", IMAGE, TRANSFORM, static(5, 7), np.float32(0.5), fill_mode=mode,
           interpolation=how) for mode, how in (("REFLECT", "BILINEAR"), ("WRAP", "NEAREST"), ("NEAREST", "BILINEAR"),
                                                ("CONSTANT", "BILINEAR"))),
    case("ImageProjectiveTransformV2", IMAGE, TRANSFORM, static(5, 7), interpolation="BILINEAR"),
    case("NonMaxSuppression", CORNERS, SCORES, scalar(4), iou_threshold=0.3),
    case("NonMaxSuppressionV2", CORNERS, SCORES, scalar(4), np.float32(0.3)),
    case("NonMaxSuppressionV3", CORNERS, SCORES, scalar(9), np.float32(0.3), np.float32(0.2)),
    *(case("NonMaxSuppressionV4", CORNERS, SCORES, scalar(9), np.float32(0.3), np.float32(0.2),
           pad_to_max_output_size=pad) for pad in (True, False)),
    *(case("NonMaxSuppressionV5", CORNERS, SCORES, scalar(9), np.float32(0.5), np.float32(0.2), np.float32(sigma),
           pad_to_max_output_size=bool(sigma)) for sigma in (0, 0.4)),
    case("NonMaxSuppressionWithOverlaps", array(9, 9, low=0, high=1), SCORES, scalar(4), np.float32(0.6),
         np.float32(0.2)),
    *(case("CombinedNonMaxSuppression", np.stack([CORNERS, CORNERS[::-1]])[:, :, None], array(2, 9, 3, low=0, high=1),
           scalar(2), scalar(total), np.float32(0.3), np.float32(0.4), pad_per_class=per_class)
      for total, per_class in ((4, False), (9, True), (9, False))),
    # windows
    case("ExtractImagePatches", IMAGE, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 2, 1, 1], padding="SAME"),
    case("ExtractVolumePatches", DEEP_IMAGE, ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 2, 1, 1], padding="VALID"),
    case("Dilation2D", IMAGE, array(2, 3, 3), **DILATION),
    case("Dilation2DBackpropInput", IMAGE, array(2, 3, 3), array(2, 6, 3, 3), **DILATION),
    case("Dilation2DBackpropFilter", IMAGE, array(2, 3, 3), array(2, 6, 3, 3), **DILATION),
    *(case("MaxPoolWithArgmax", IMAGE, include_batch_in_index=with_batch, **POOL) for with_batch in (True, False)),
    *(case("MaxPoolGradWithArgmax", IMAGE, array(2, 3, 3, 3), ints(2, 3, 3, 3, low=0, high=108, dtype="int64"),
           include_batch_in_index=with_batch, **POOL) for with_batch in (True, False)),
    case("DataFormatDimMap", np.array([0, 3, -1, 1], "int32")),
    case("DataFormatVecPermute", np.array([5, 6, 7, 8], "int32")),
    case("DataFormatVecPermute", np.array([5, 6], "int32"), src_format="NCHW", dst_format="NHWC"),
    # numbers that integers hold
    case("FakeQuantWithMinMaxArgs", array(4, 5, low=-8, high=8), min=-3.1, max=5.0, num_bits=4, narrow_range=True),
    case("FakeQuantWithMinMaxArgs", np.arange(-3, 4, dtype="float32"), min=-3.0, max=3.0),  # 1 is half a step
    case("FakeQuantWithMinMaxArgsGradient", array(4, 5), array(4, 5, low=-8, high=8), min=-3.1, max=5.0),
    case("FakeQuantWithMinMaxVars", array(4, 5), np.float32(-1), np.float32(1.5), num_bits=4),
    case("FakeQuantWithMinMaxVarsGradient", array(4, 5), array(4, 5) * 2, np.float32(-1), np.float32(1.5)),
    case("FakeQuantWithMinMaxVarsPerChannel", array(4, 3), array(3, high=-0.5), array(3, low=0.5)),
    case("FakeQuantWithMinMaxVarsPerChannelGradient", array(4, 3), array(4, 3) * 2, array(3, high=-0.5),
         array(3, low=0.5)),
    *(case(f"QuantizeAndDequantizeV{n}", array(4, 5), np.float32(-1), np.float32(1.5), num_bits=4, **how)
      for n in (2, 4) for how in ({"range_given": True, "round_mode": "HALF_UP"}, {"signed_input": False})),
    case("QuantizeAndDequantizeV3", array(4, 5), np.float32(-1), np.float32(1.5), scalar(4), narrow_range=True),
    case("QuantizeAndDequantizeV4Grad", array(4, 5), array(4, 5), np.float32(-1), np.float32(1.5)),
    # matrices
    *(case("Svd", array(2, 4, 3), compute_uv=uv) for uv in (True, False)),
    case("Svd", SQUARE, full_matrices=True),
    case("Lu", SQUARE[:, ::-1].copy()),
    case("Lu", SQUARE, output_idx_type="int64"),
    *(case(type, array(2, 3, 4), bounds, np.float32(7), **how) for bounds in (static(-1, 2), scalar(1))
      for type, how in (
        ("MatrixDiagPartV2", {}), ("MatrixDiagPartV3", {}), ("MatrixDiagPartV3", {"align": "LEFT_RIGHT"}))),
    *(case(type, array(2, 4, 3), static(-1, 2), scalar(rows), scalar(columns), np.float32(7))
      for type in ("MatrixDiagV2", "MatrixDiagV3") for rows, columns in ((-1, -1), (4, -1))),
    case("MatrixDiagV3", array(2, 3), scalar(1), scalar(-1), scalar(-1), np.float32(0)),
    *(case("MatrixDiagPartV3", array(2, 3, 4), np.array(bounds, "int32"), np.float32(7))
      for bounds in (1, [-2], [-1, 2], [1, 1])),
    *(case("MatrixDiagV3", array(2, 3), np.array(bounds, "int32"), scalar(-1), np.array(columns, "int32"),
           np.float32(7)) for bounds, columns in ((1, -1), ([-1, 0], 3), ([2, 2], 6))),
    case("MatrixSetDiagV3", array(2, 3, 4), array(2, 4, 3), np.array([-1, 2], "int32")),
    case("MatrixSetDiag", array(2, 3, 4), array(2, 3)),
    case("SobolSample", scalar(3), scalar(9), scalar(5)),
    case("SobolSample", scalar(40), scalar(5), scalar(0), dtype="float64"),
    *(case(type, array(2, 3, 4), array(2, 4, 3), static(-1, 2)) for type in ("MatrixSetDiagV2", "MatrixSetDiagV3")),
    case("SparseMatMul", array(3, 4), array(5, 4), transpose_b=True),
    *each("RFFT2D", array(2, 4, 6), static(4, 6)),
    case("RFFT2D", Static(array(2, 4, 6)), static(3, 4)),
    *(case("RFFT2D", Static(array(2, 4, 6)), np.array(length, "int32")) for length in ([4, 6], [3, 5])),
    *(case("IRFFT2D", COMPLEX.reshape(2, 2, 2), np.array(length, "int32")) for length in ([2, 3], [2, 2])),
    case("IRFFT2D", COMPLEX.reshape(2, 2, 2), static(2, 2)),
    case("RFFT3D", array(2, 3, 4, 6), static(3, 4, 6)),
    case("IRFFT3D", (array(2, 3, 4, 4) + 1j).astype("complex64"), static(3, 4, 6)),
    case("MatrixSquareRoot", SQUARE),
    case("TridiagonalSolve", array(2, 3, 4, low=1, high=3), array(2, 4, 2)),
    case("TridiagonalMatMul", array(2, 1, 4), array(2, 1, 4), array(2, 1, 4), array(2, 4, 3)),
    *(case("BandedTriangularSolve", array(2, 2, 4, low=1, high=3), array(2, 4, 2), lower=lower, adjoint=adjoint)
      for lower in (True, False) for adjoint in (True, False)),
    case("XlaEinsum", array(2, 3), array(3, 4), equation="ab,bc->ac"),
    *each("Copy CopyHost", X),
    *each("FFT3D IFFT3D", (array(2, 3, 4, 6) + 1j * array(2, 3, 4, 6)[::-1]).astype("complex64")),
    # search
    *each("UniqueV2 UniqueWithCountsV2", np.array([3, 1, 3, 2], "int32"), static(0)),
    case("UniqueWithCounts", np.array([3, 1, 3, 2], "int32"), out_idx="int64"),
    case("ListDiff", ints(6), ints(3)),
    case("ListDiff", static(0, 1, 2, 3), static(2, 0)),
    case("Bincount", ints(9, low=0, high=7), scalar(5), array(9)),
    case("Bincount", ints(9, low=0, high=7), scalar(5), Static(np.zeros(0, "float32"))),
    *(case("DenseBincount", ints(2, 9, low=0, high=7), scalar(5), array(2, 9, low=1), binary_output=binary)
      for binary in (False, True)),
    case("Bucketize", array(2, 3), boundaries=[-1.0, 0.0, 1.0]),
    *each("LowerBound UpperBound", np.sort(array(2, 5)), array(2, 3)),
    case("HistogramFixedWidth", array(20), static(-1, 1, dtype="float32"), scalar(5)),
    *(case("NthElement", array(2, 5), scalar(1), reverse=reverse) for reverse in (False, True)),
    case("UnravelIndex", ints(4, low=0, high=24), static(2, 3, 4)),
    *each("InplaceUpdate InplaceAdd InplaceSub", array(4, 2), ROWS, array(2, 2)),
    *each("PopulationCount", ints(9)),
    case("PopulationCount", ints(9, dtype="int64") << 40),
    case("InTopK", array(2, 5), np.array([1, 3], "int32"), k=2),
    # sparse
    case("SparseToDense", np.array([[1], [3]], "int32"), static(5), scalar(2, "float32"), scalar(-1, "float32")),
    case("SparseToDense", INDICES, static(4, 3, dtype="int64"), array(3), np.float32(-1)),
    *(case("SparseTensorDenseMatMul", INDICES, array(3), static(4, 3, dtype="int64"), array(*shape), **how)
      for shape, how in (
        ((3, 2), {}), ((2, 4), {"adjoint_a": True, "adjoint_b": True}))),
    *(case(f"SparseReduce{name}", INDICES, array(3), static(4, 3, dtype="int64"), static(axes), keep_dims=keep_dims)
      for name in ("Sum", "Max") for axes, keep_dims in (([1], False), ([0, -1], False), ([-2], True))),
    *each("SparseDenseCwiseAdd SparseDenseCwiseMul SparseDenseCwiseDiv", INDICES, array(3),
          static(4, 3, dtype="int64"), array(4, 1)),
    case("SparseDenseCwiseMul", INDICES, array(3), static(4, 3, dtype="int64"), array(3)),
    case("SparseReorder", INDICES[::-1].copy(), array(3), static(4, 3, dtype="int64")),
    case("SparseReshape", INDICES, static(4, 3, dtype="int64"), static(2, -1, dtype="int64")),
    case("SparseFillEmptyRows", INDICES, array(3), static(5, 3, dtype="int64"), np.float32(9)),
    case("RaggedRange", np.array([0, 5, 8], "int32"), np.array([3, 5, 0], "int32"), np.array([1, 1, -3], "int32")),
    *(case("CTCGreedyDecoder", array(6, 2, 4), np.array([6, 4], "int32"), merge_repeated=merged, blank_index=blank)
      for merged, blank in ((True, -1), (False, 0))),
    # special functions
    case("Zeta", array(2, 3, low=1.5, high=5), array(2, 3, low=0.5, high=4)),
    case("Polygamma", Static(np.array([[0, 1, 2], [1, 3, 4]], "float32")), array(2, 3, low=0.5, high=4)),
    case("Betainc", Static(array(3, 4, low=0.5, high=9)), Static(array(4, 3, low=0.5, high=9).T.copy()),
         array(12, low=0.05, high=0.95).reshape(3, 4)),
    *each("BesselI0e BesselI1e", array(4, low=-3, high=60)),
    *each("BesselJ0 BesselJ1 Dawsn FresnelCos FresnelSin", array(9, low=-9, high=9)),
    *each("BesselY0 BesselY1 BesselK0 BesselK1 BesselK0e BesselK1e Expint Spence", array(9, low=0.2, high=9)),
    case("Ndtri", array(4, low=0.05, high=0.95)),
    case("ApproximateEqual", array(4), array(4), tolerance=0.1),
    # recurrent layers
    *(case("LSTMBlockCell", *LSTM, use_peephole=peephole) for peephole in (True, False)),
    *(case(type, np.int64(4), array(4, 2, 3) / 4, *LSTM[1:], use_peephole=peephole)
      for type, peephole in (("BlockLSTM", True), ("BlockLSTMV2", False), ("BlockLSTM", False))),
    case("GRUBlockCellGrad", *GRU, *GATES, array(2, 4)),
    *(case("LSTMBlockCellGrad", *SMALL, *states_of(SMALL, peephole)[:6], array(2, 4), array(2, 4) * 2,
           use_peephole=peephole) for peephole in (True, False)),
    case("GRUBlockCell", *GRU),
    case("LRN", array(1, 2, 2, 7), depth_radius=2, bias=1.0, alpha=0.5, beta=0.75),
    *each("ResizeBilinear ResizeNearestNeighbor ResizeBicubic", IMAGE, static(9, 4), half_pixel_centers=True),
    *each("ResizeBilinear ResizeNearestNeighbor", IMAGE, static(9, 4)),
    *each("ResizeBilinear ResizeNearestNeighbor", IMAGE, static(9, 4), align_corners=True),
]  # fmt: skip

# NaN, and equal elements: TensorFlow's results differ from NumPy's, and often its gradients from those of the results.
UNUSUAL = [
    *each("ArgMax ArgMin", NAN, scalar(1)),
    *each("Unique UniqueWithCounts", np.array([3, np.nan, 3, 2, np.nan, 1], "float32")),
    case("QuantizeAndDequantizeV2", np.array([1, np.nan, -2, 0.3], "float32"), np.float32(-1), np.float32(1)),
    case("QuantizeAndDequantizeV2", OUTLIERS, np.float32(-4), np.float32(4), range_given=True),
    case("FakeQuantWithMinMaxArgs", OUTLIERS, min=-2.0, max=3.0),
    case("FakeQuantWithMinMaxArgsGradient", array(5), OUTLIERS, min=-2.0, max=3.0),
    case("MaxPoolGrad", IMAGE, array(2, 3, 3, 3), array(2, 3, 3, 3), **POOL | AROUND),
    case("MaxPoolGrad", NAN, array(2, 3, 3, 3), array(2, 3, 3, 3), **POOL),
    case("MaxPoolGrad", NAN, array(2, 6, 6, 3), array(2, 6, 6, 3), **POOL | {"strides": [1, 1, 1, 1]}),
    case("MaxPoolGrad", NAN, array(2, 3, 3, 3), array(2, 3, 3, 3), **POOL | AROUND),
    case("MaxPoolGradGrad", NAN, NAN_POOLED, array(2, 6, 6, 3), **POOL),
    case("MaxPool3DGrad", TIES, TIES_POOLED, array(1, 2, 2, 2, 2), **POOL3),
    *(case("MaxPoolWithArgmax", NAN, **POOL | more) for more in ({}, {"strides": [1, 1, 1, 1]})),
]
