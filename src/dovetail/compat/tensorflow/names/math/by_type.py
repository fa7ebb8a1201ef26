"""TensorFlow's functions that are one type of its graphs: the row that reads the type computes them.

A row here has the names and the type.  TensorFlow's definition of the type has the words for its inputs and attributes,
in order, with their defaults; words follow the type if the function has others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.moved import by_numbers
from dovetail.compat.tensorflow.table import arguments_of, row
from dovetail.core.base.errors import op_error
from dovetail.core.base.table import OPS
from dovetail.formats.nodes.constants import constant_of
from dovetail.formats.tensorflow.op_defs import MISSING, definition
from dovetail.formats.tensorflow.ops import READ
from dovetail.ops.shapes.shape import shaped

TYPES = """
cross linalg.cross: Cross
invert_permutation math.invert_permutation: InvertPermutation
dynamic_partition: DynamicPartition
dynamic_stitch: DynamicStitch
betainc math.betainc: Betainc
igamma math.igamma: Igamma
igammac math.igammac: Igammac
zeta math.zeta: Zeta
polygamma math.polygamma: Polygamma
angle math.angle: Angle
math.ndtri: Ndtri
math.sobol_sample: SobolSample dim num_results skip=0 dtype='float32'
math.xlogy: Xlogy
math.xlog1py: Xlog1py
math.xdivy: Xdivy
math.multiply_no_nan: MulNoNan
math.nextafter: NextAfter
math.bessel_i0 math.special.bessel_i0: BesselI0
math.bessel_i1 math.special.bessel_i1: BesselI1
math.bessel_i0e math.special.bessel_i0e: BesselI0e
math.bessel_i1e math.special.bessel_i1e: BesselI1e
math.special.bessel_j0: BesselJ0
math.special.bessel_j1: BesselJ1
math.special.bessel_y0: BesselY0
math.special.bessel_y1: BesselY1
math.special.bessel_k0: BesselK0
math.special.bessel_k1: BesselK1
math.special.bessel_k0e: BesselK0e
math.special.bessel_k1e: BesselK1e
math.special.dawsn: Dawsn
math.special.expint: Expint
math.special.fresnel_cos: FresnelCos
math.special.fresnel_sin: FresnelSin
math.special.spence: Spence
linalg.sqrtm: MatrixSquareRoot
linalg.banded_triangular_solve: BandedTriangularSolve bands rhs lower=True adjoint=False
batch_to_space_nd manip.batch_to_space_nd: BatchToSpaceND
space_to_batch_nd manip.space_to_batch_nd nn.space_to_batch: SpaceToBatchND
histogram_fixed_width: HistogramFixedWidth values value_range nbins=100 dtype='int32'
unravel_index: UnravelIndex
truncatediv: TruncateDiv
truncatemod: TruncateMod
realdiv: RealDiv
fft spectral.fft signal.fft: FFT
fft2d spectral.fft2d signal.fft2d: FFT2D
fft3d spectral.fft3d signal.fft3d: FFT3D
ifft spectral.ifft signal.ifft: IFFT
ifft2d spectral.ifft2d signal.ifft2d: IFFT2D
ifft3d spectral.ifft3d signal.ifft3d: IFFT3D
fake_quant_with_min_max_args quantization.fake_quant_with_min_max_args: FakeQuantWithMinMaxArgs
fake_quant_with_min_max_vars quantization.fake_quant_with_min_max_vars: FakeQuantWithMinMaxVars
fake_quant_with_min_max_args_gradient quantization.fake_quant_with_min_max_args_gradient:
    FakeQuantWithMinMaxArgsGradient
fake_quant_with_min_max_vars_per_channel_gradient quantization.fake_quant_with_min_max_vars_per_channel_gradient:
    FakeQuantWithMinMaxVarsPerChannelGradient
fake_quant_with_min_max_vars_per_channel quantization.fake_quant_with_min_max_vars_per_channel:
    FakeQuantWithMinMaxVarsPerChannel
sparse_segment_sum sparse.segment_sum: SparseSegmentSum
sparse_segment_mean sparse.segment_mean: SparseSegmentMean
sparse_segment_sqrt_n sparse.segment_sqrt_n: SparseSegmentSqrtN
image.rgb_to_hsv: RGBToHSV
bitwise.bitwise_and: BitwiseAnd
bitwise.bitwise_or: BitwiseOr
bitwise.bitwise_xor: BitwiseXor
bitwise.invert: Invert
bitwise.left_shift: LeftShift
bitwise.right_shift: RightShift
image.hsv_to_rgb: HSVToRGB
"""
# the types that compute with the numbers of strings
OF_STRINGS = {"DynamicPartition": by_numbers("data"), "DynamicStitch": by_numbers("*data")}


def of_type(type: str) -> Callable[..., Any]:
    """The function of a type, with the parameters of its row.

    Raises (when it is called):
        ValueError: an argument that must be known in the graph is not.
    """
    known_row = READ[type]
    body = known_row.body or OPS[known_row.ours]
    fixed = {one.ours: one.only for one in known_row.attributes if one.ours and not one.theirs}
    given_ours = {one.ours: one.theirs for one in known_row.attributes if one.ours and one.theirs}
    known: Any = definition(type)
    pairs = list(zip(known.inputs, known_row.inputs, strict=True))
    typed = {ours: x.param for ours, theirs in given_ours.items() for arg, x in pairs if arg.attribute == theirs}

    def run(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(signature, args, kwargs, defaults=False)
        taken = {one.param: _TAKEN[one.way](given[one.param], type, one.param) for one in known_row.inputs}
        named = {name: given[name] for name in given_ours if name in given}
        named |= {name: shaped(given[param]).dtype for name, param in typed.items() if name not in given}
        return body(**taken, **named, **fixed)

    names = sorted([*(one.param for one in known_row.inputs), *given_ours], key=typed.__contains__)
    signature = inspect.Signature([_parameter(name, name in typed) for name in names])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = type, f"The results of TensorFlow's op {type}."
    return run


def words_of(type: str) -> list[str]:
    """TensorFlow's words for the inputs and attributes of a type, with their defaults.

    Example:
        >>> words_of("SparseSegmentSum")
        ['data', 'indices', 'segment_ids', 'sparse_gradient=False']
    """
    known: Any = definition(type)
    attrs = (one.word if one.default is MISSING else f"{one.word}={one.default!r}" for one in known.free)
    return [*(one.word for one in known.inputs), *attrs]


def _parameter(name: str, may_lack: bool) -> inspect.Parameter:
    default = None if may_lack else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _static(given: Any, type: str, param: str) -> Any:
    constant = constant_of(ops.convert(given))
    if constant is None:
        raise op_error(ValueError, f"tf.raw_ops.{type}", f"{param} must be known when the graph is made.")
    return constant.tolist()


_TAKEN: dict[str, Callable[[Any, str, str], Any]] = {
    "": lambda given, *_: shaped(given),
    "!": _static,
    "?": lambda given, *_: given,
    "*": lambda given, *_: [shaped(one) for one in given],
}
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # type → the function that programs call

for _line in TYPES.replace("\n    ", " ").strip().splitlines():
    _names, _, _rest = _line.partition(":")
    _type, *_words = _rest.split()
    _function = of_type(_type)
    _ours = list(inspect.signature(_function).parameters)
    _parts = [word.partition("=") for word in _words or words_of(_type)]
    _mapped = [f"{w}:{mine}{eq}{value}" for (w, eq, value), mine in zip(_parts, _ours, strict=False)]
    _ways = [one.way for one in READ[_type].inputs]
    _is_alike = len(_ways) > 1 and not any(_ways)
    FUNCTIONS[_type] = row(_names, _function, " ".join(_mapped), alike=_is_alike, around=OF_STRINGS.get(_type))
