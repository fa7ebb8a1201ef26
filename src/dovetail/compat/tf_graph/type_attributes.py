"""Type attributes: the dtypes of an operation's tensors under TensorFlow's names for them.

A row says for each attribute which tensor has the dtype: a parameter, or a result by its number.  A static parameter
that is an integer tensor in TensorFlow has int32.  An op without a row has `T`, the dtype of its first tensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dovetail.core.dtypes import as_dtype

if TYPE_CHECKING:
    from dovetail.graph.operation import Operation

SINGLE = -1  # as in `operation`
_INT32 = as_dtype("int32")
_ROWS = (
    ("LogicalAnd LogicalNot LogicalOr NoOp", ""),
    ("Const Placeholder ReadVariableOp", "dtype=0"),
    ("AssignVariableOp", "dtype=value"),
    ("PlaceholderWithDefault", "dtype=x"),
    ("Max Mean Min Prod Sum EuclideanNorm Cumprod Cumsum CumulativeLogsumexp ReverseV2", "T=x Tidx=axis"),
    ("BroadcastTo", "T=x Tidx=shape"),
    ("ConcatV2", "T=xs Tidx=axis"),
    ("All Any", "Tidx=axis"),
    ("ArgMax ArgMin", "T=x Tidx=axis output_type=0"),
    ("AvgPoolGrad AvgPool3DGrad Conv2DBackpropInput", "T=g"),
    ("ResizeBicubicGrad ResizeBilinearGrad", "T=0"),
    ("InTopKV2", "T=targets"),
    ("SelectV2", "T=x"),
    ("Angle", "T=z Tout=0"),
    ("Complex Eig Imag Real", "T=x Tout=0"),
    ("FFT FFT2D IFFT IFFT2D", "Tcomplex=x"),
    ("IRFFT", "Tcomplex=x Treal=0"),
    ("RFFT", "Tcomplex=0 Treal=x"),
    ("TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterUpdate", "T=x Tindices=indices"),
    ("EagerPyFunc PyFunc PyFuncStateless", "Tin=inputs* Tout=*"),
    ("IdentityN XlaOptimizationBarrier", "T=xs*"),
    ("While", "T=init*"),
    ("If", "Tcond=condition Tin=inputs* Tout=*"),
    ("SymbolicGradient", "Tin=inputs* Tout=*"),
    ("Assert", "T=data*"),
    ("StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformFullInt", "T=shape Tseed=key dtype=0"),
    ("StatelessRandomGammaV2", "T=shape Tseed=key dtype=alpha"),
    ("StatelessRandomBinomial", "S=shape T=counts Tseed=key dtype=0"),
    ("StatelessRandomPoisson", "Rtype=rate T=shape Tseed=key dtype=0"),
    ("MirrorPad", "T=x Tpaddings=paddings"),
    ("PadV2", "T=x Tpaddings=low"),
    ("Slice", "Index=start T=x"),
    ("StridedSlice", "Index=begin T=x"),
    ("StridedSliceGrad", "Index=shape T=g"),
    ("Bitcast", "T=x type=0"),
    ("Cast", "DstT=0 SrcT=x"),
    ("ExpandDims", "T=x Tdim=axis"),
    ("Fill", "T=fill_value index_type=shape"),
    ("GatherNd", "Tindices=indices Tparams=x"),
    ("GatherV2", "Taxis=axis Tindices=indices Tparams=x"),
    ("LinSpace", "T=start Tidx=num"),
    ("Lu", "T=x output_idx_type=1"),
    ("MatrixBandPart", "T=x Tindex=lower"),
    ("MaxPool3DGrad", "T=g TInput=x"),
    ("OneHot", "T=0 TI=x"),
    ("Print", "T=x U=x*"),
    ("Reshape", "T=x Tshape=shape"),
    ("Roll", "T=x Taxis=axis Tshift=shift"),
    ("Shape", "T=x out_type=0"),
    ("SparseSoftmaxCrossEntropyWithLogits", "T=logits Tlabels=labels"),
    ("SplitV", "T=x Tlen=sizes"),
    ("Tile", "T=x Tmultiples=repeats"),
    ("TopKV2", "T=x Tk=k index_type=1"),
    ("Transpose", "T=x Tperm=axes"),
    ("Unique", "T=x out_idx=1"),
    ("XlaDynamicUpdateSlice", "T=x Tindices=start"),
)
TYPES: Mapping[str, Mapping[str, str]] = {
    op: dict(pair.split("=") for pair in row.split()) for ops, row in _ROWS for op in ops.split()
}


def type_attributes(operation: Operation) -> dict[str, Any]:
    """TensorFlow's type attributes of an operation: name → dtype, or a list of dtypes.

    Example:
        >>> import dovetail as dt
        >>> x = dt.Graph().placeholder(dt.spec((2, 3)), "x")
        >>> [type_attributes(y.op) for y in (dt.ops.exp(x), dt.ops.cast(x, "int32"), dt.ops.sum(x, axis=1))]
        [{'T': 'float32'}, {'DstT': 'int32', 'SrcT': 'float32'}, {'T': 'float32', 'Tidx': 'int32'}]
    """
    row = TYPES.get(operation.type)
    if row is not None:
        return {name: _dtype(operation, where) for name, where in row.items()}
    tensors = operation.inputs or operation.outputs
    return {"T": tensors[0].dtype} if tensors else {}


def attributes(operation: Operation) -> dict[str, Any]:
    """The attributes of an operation that are not static arguments."""
    named = operation.overrides.get(operation.type)
    override = {} if named is None else {"_gradient_op_type": named}
    return {**type_attributes(operation), **operation.notes, **override}


def _dtype(operation: Operation, where: str) -> Any:
    if where.isdecimal():
        return operation.outputs[int(where)].dtype
    name, is_list = where.removesuffix("*"), where.endswith("*")
    tensors = _tensors(operation, name) if name else operation.outputs
    dtypes = [tensor.dtype for tensor in tensors]
    return dtypes if is_list else next(iter(dtypes), _INT32)


def _tensors(operation: Operation, parameter: str) -> list[Any]:
    """The tensors of a parameter; none if it is static."""
    number = operation.op.positions[parameter]
    count, first = operation.layout[number], operation.input_at(number)
    return [] if count is None else operation.inputs[first : first + (1 if count == SINGLE else count)]
