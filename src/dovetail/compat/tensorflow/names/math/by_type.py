"""TensorFlow's functions that are one type of its graphs: the row that reads the type computes them.

A row here has the names, the type, and TensorFlow's words for the row's inputs and attributes, in order; a word
may have a default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow.names.strings.moved import by_numbers
from dovetail.compat.tensorflow.table import arguments_of, row
from dovetail.core.errors import op_error
from dovetail.core.table import OPS
from dovetail.formats.constants import constant_of
from dovetail.formats.tensorflow import bodies as bodies  # fills the table of types
from dovetail.formats.tensorflow.attributes import value_of
from dovetail.formats.tensorflow.op_defs import op_def
from dovetail.formats.tensorflow.rows import READ
from dovetail.ops.shapes.shape import shaped

TYPES = """
cross linalg.cross: Cross a b
invert_permutation math.invert_permutation: InvertPermutation x
dynamic_partition: DynamicPartition data partitions num_partitions
dynamic_stitch: DynamicStitch indices data
betainc math.betainc: Betainc a b x
igamma math.igamma: Igamma a x
igammac math.igammac: Igammac a x
zeta math.zeta: Zeta x q
polygamma math.polygamma: Polygamma a x
angle math.angle: Angle input
math.ndtri: Ndtri x
math.sobol_sample: SobolSample dim num_results skip=0 dtype='float32'
math.xlogy: Xlogy x y
math.xlog1py: Xlog1py x y
math.xdivy: Xdivy x y
math.multiply_no_nan: MulNoNan x y
math.nextafter: NextAfter x1 x2
math.bessel_i0 math.special.bessel_i0: BesselI0 x
math.bessel_i1 math.special.bessel_i1: BesselI1 x
math.bessel_i0e math.special.bessel_i0e: BesselI0e x
math.bessel_i1e math.special.bessel_i1e: BesselI1e x
math.special.bessel_j0: BesselJ0 x
math.special.bessel_j1: BesselJ1 x
math.special.bessel_y0: BesselY0 x
math.special.bessel_y1: BesselY1 x
math.special.bessel_k0: BesselK0 x
math.special.bessel_k1: BesselK1 x
math.special.bessel_k0e: BesselK0e x
math.special.bessel_k1e: BesselK1e x
math.special.dawsn: Dawsn x
math.special.expint: Expint x
math.special.fresnel_cos: FresnelCos x
math.special.fresnel_sin: FresnelSin x
math.special.spence: Spence x
linalg.sqrtm: MatrixSquareRoot input
linalg.banded_triangular_solve: BandedTriangularSolve bands rhs lower=True adjoint=False
batch_to_space_nd manip.batch_to_space_nd: BatchToSpaceND input block_shape crops
space_to_batch_nd manip.space_to_batch_nd nn.space_to_batch: SpaceToBatchND input block_shape paddings
histogram_fixed_width: HistogramFixedWidth values value_range nbins=100 dtype='int32'
unravel_index: UnravelIndex indices dims
truncatediv: TruncateDiv x y
truncatemod: TruncateMod x y
realdiv: RealDiv x y
fft spectral.fft signal.fft: FFT input
fft2d spectral.fft2d signal.fft2d: FFT2D input
fft3d spectral.fft3d signal.fft3d: FFT3D input
ifft spectral.ifft signal.ifft: IFFT input
ifft2d spectral.ifft2d signal.ifft2d: IFFT2D input
ifft3d spectral.ifft3d signal.ifft3d: IFFT3D input
fake_quant_with_min_max_args quantization.fake_quant_with_min_max_args:
    FakeQuantWithMinMaxArgs inputs min=-6.0 max=6.0 num_bits=8 narrow_range=False
fake_quant_with_min_max_vars quantization.fake_quant_with_min_max_vars:
    FakeQuantWithMinMaxVars inputs min max num_bits=8 narrow_range=False
fake_quant_with_min_max_vars_per_channel quantization.fake_quant_with_min_max_vars_per_channel:
    FakeQuantWithMinMaxVarsPerChannel inputs min max num_bits=8 narrow_range=False
sparse_segment_sum sparse.segment_sum: SparseSegmentSum data indices segment_ids
sparse_segment_mean sparse.segment_mean: SparseSegmentMean data indices segment_ids
sparse_segment_sqrt_n sparse.segment_sqrt_n: SparseSegmentSqrtN data indices segment_ids
image.rgb_to_hsv: RGBToHSV images
bitwise.bitwise_and: BitwiseAnd x y
bitwise.bitwise_or: BitwiseOr x y
bitwise.bitwise_xor: BitwiseXor x y
bitwise.invert: Invert x
bitwise.left_shift: LeftShift x y
bitwise.right_shift: RightShift x y
image.hsv_to_rgb: HSVToRGB images
"""
OF_STRINGS = {"DynamicPartition": by_numbers("data")}  # the types that compute with the numbers of strings


def of_type(type: str) -> Callable[..., Any]:
    """The function of a type, with the parameters of its row.

    Raises (when it is called):
        ValueError: an argument that must be known in the graph is not.
    """
    found = READ[type]
    body = found.body or OPS[found.ours]
    fixed = {one.ours: one.only for one in found.attributes if one.ours and not one.theirs}
    given_ours = {one.ours: one.theirs for one in found.attributes if one.ours and one.theirs}
    typed = {ours: x.param for ours, theirs in given_ours.items() for x in found.inputs if x.dtype == theirs}

    def run(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(signature, args, kwargs, defaults=False)
        taken = {one.param: _TAKEN[one.way](given[one.param], type, one.param) for one in found.inputs}
        named = {name: given[name] for name in given_ours if name in given}
        named |= {name: shaped(given[param]).dtype for name, param in typed.items() if name not in given}
        return body(**taken, **named, **fixed)

    names = sorted([*(one.param for one in found.inputs), *given_ours], key=typed.__contains__)
    signature = inspect.Signature([_parameter(name, name in typed) for name in names])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = type, f"The results of TensorFlow's op {type}."
    return run


def raw(type: str) -> Callable[..., Any] | None:
    """The function of a type by TensorFlow's own words for its inputs and attributes; None if no row is for tensors."""
    found, known = READ.get(type), op_def(type)
    if found is None or known is None or any(one.way in ("&", "^") for one in found.inputs):
        return None
    function, taken = of_type(type), [one for one in found.attributes if one.ours and one.theirs]
    if any(one.converter or one.result is not None for one in found.attributes):
        return None
    words = {theirs.name: one.param for theirs, one in zip(known.input_arg, found.inputs, strict=True)}
    words |= {one.theirs: one.ours for one in taken}
    defaults = {
        words[one.name]: value_of(one.default_value)
        for one in known.attr
        if one.name in words and one.HasField("default_value")
    }

    def call(*, name: str | None = None, **given: Any) -> Any:
        if unknown := given.keys() - words.keys():
            raise TypeError(f"no argument {min(unknown)!r} is computed here; the op takes {', '.join(words)}.")
        return function(**defaults | {words[word]: argument for word, argument in given.items()})

    return call


def _parameter(name: str, may_lack: bool) -> inspect.Parameter:
    default = None if may_lack else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _static(given: Any, type: str, param: str) -> Any:
    found = constant_of(ops.convert(given))
    if found is None:
        raise op_error(ValueError, f"tf.raw_ops.{type}", f"{param} must be known when the graph is made.")
    return found.tolist()


_TAKEN: dict[str, Callable[[Any, str, str], Any]] = {
    "": lambda given, *_: shaped(given),
    "!": _static,
    "?": lambda given, *_: given,
    "*": lambda given, *_: [shaped(one) for one in given],
}
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # type → the function that programs call

for _line in TYPES.replace("\n    ", " ").strip().splitlines():
    _names, _, _rest = _line.partition(": ")
    _type, *_words = _rest.split()
    _function = of_type(_type)
    _ours = list(inspect.signature(_function).parameters)
    _parts = [word.partition("=") for word in _words]
    _mapped = [f"{w}:{mine}{eq}{value}" for (w, eq, value), mine in zip(_parts, _ours, strict=False)]
    _ways = [one.way for one in READ[_type].inputs]
    _is_alike = len(_ways) > 1 and not any(_ways)
    FUNCTIONS[_type] = row(_names, _function, " ".join(_mapped), alike=_is_alike, around=OF_STRINGS.get(_type))
