"""Tables from configurations of Keras 1 and 2 to configurations of Keras 3.

`CLASSES` has the names of classes, `ARGUMENTS` words for the arguments of a class, by its new name:

    old:new       the argument has another name
    -old          Keras 3 does not need it
    old=literal   Keras 3 always computes so; other values are refused
    +new=literal  the value if the file has none

`VALUES` converts values by the ends of the names of arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

# -- classes ----------------------------------------------------------------------------------------------------------

CLASSES = {
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Convolution3DTranspose": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "SyncBatchNormalization": "BatchNormalization",
    "CuDNNLSTM": "LSTM",
    "CuDNNGRU": "GRU",
    "Container": "Functional",
    "Network": "Functional",
    "Model": "Functional",
}
MODELS = "Functional", "Sequential"
INNER = "layer", "backward_layer", "forward_layer", "cell"  # arguments that are layers
RECURRENT = "SimpleRNN", "LSTM", "GRU", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Bidirectional"

# The modes of Keras 1's layer Merge → the class, and its further arguments.
MERGES: dict[str, tuple[str, dict[str, Any]]] = {
    "sum": ("Add", {}),
    "mul": ("Multiply", {}),
    "ave": ("Average", {}),
    "max": ("Maximum", {}),
    "concat": ("Concatenate", {}),
    "dot": ("Dot", {}),
    "cos": ("Dot", {"normalize": True}),
}

# -- arguments --------------------------------------------------------------------------------------------------------

# of every layer
ANY = "-batch_input_shape -input_shape -input_dim -input_dtype -input_length -batch_size -build_input_shape -rng_type"

KERNEL = "init:kernel_initializer W_regularizer:kernel_regularizer W_constraint:kernel_constraint"
BIAS = "bias:use_bias b_regularizer:bias_regularizer b_constraint:bias_constraint"
FORMAT = "dim_ordering:data_format"
CONV = f"{KERNEL} {BIAS} {FORMAT} nb_filter:filters border_mode:padding subsample:strides atrous_rate:dilation_rate"
NO_KERNEL = "-kernel_initializer -kernel_regularizer -kernel_constraint groups=1"  # which the base class had
POOL = f"{FORMAT} border_mode:padding"
CELL = (
    f"{KERNEL} {BIAS} output_dim:units inner_init:recurrent_initializer inner_activation:recurrent_activation "
    "U_regularizer:recurrent_regularizer U_constraint:recurrent_constraint "
    "dropout_W:dropout dropout_U:recurrent_dropout -implementation -consume_less"
)
RECUR = f"{CELL} time_major=False"
NORM = (
    f"{FORMAT} beta_init:beta_initializer gamma_init:gamma_initializer mode=0 renorm=False -renorm_clipping "
    "-renorm_momentum -fused virtual_batch_size=None -adjustment -trainable_statistics"
)

FORMATTED = "GlobalMaxPooling", "GlobalAveragePooling", "ZeroPadding", "Cropping", "UpSampling"

ARGUMENTS: dict[str, str] = {
    "InputLayer": "batch_input_shape:batch_shape input_dtype:dtype ragged=False type_spec=None",
    "Dense": f"{KERNEL} {BIAS} output_dim:units",
    "Embedding": "output_dim:output_dim input_dim:input_dim init:embeddings_initializer dropout=0.0 "
    "W_regularizer:embeddings_regularizer W_constraint:embeddings_constraint sparse=False",
    "Dropout": "p:rate",
    "SpatialDropout1D": "p:rate -trainable -noise_shape",
    "SpatialDropout2D": f"p:rate -trainable -noise_shape {FORMAT}",
    "SpatialDropout3D": f"p:rate -trainable -noise_shape {FORMAT}",
    "GaussianDropout": "p:rate",
    "AlphaDropout": "p:rate",
    "GaussianNoise": "sigma:stddev",
    "LeakyReLU": "alpha:negative_slope",
    "PReLU": "init:alpha_initializer -weights",
    "Conv1D": f"{CONV} filter_length:kernel_size subsample_length:strides",
    "Conv2D": CONV,
    "Conv3D": CONV,
    "Conv1DTranspose": f"{CONV} groups=1",
    "Conv2DTranspose": f"{CONV} groups=1 -output_shape",
    "Conv3DTranspose": f"{CONV} groups=1 -output_shape",
    "SeparableConv1D": f"{CONV} {NO_KERNEL}",
    "SeparableConv2D": f"{CONV} {NO_KERNEL} depthwise_init:depthwise_initializer pointwise_init:pointwise_initializer",
    "DepthwiseConv1D": f"{CONV} {NO_KERNEL} -filters",
    "DepthwiseConv2D": f"{CONV} {NO_KERNEL} -filters",
    "MaxPooling1D": f"{POOL} pool_length:pool_size stride:strides",
    "AveragePooling1D": f"{POOL} pool_length:pool_size stride:strides",
    **dict.fromkeys(("MaxPooling2D", "MaxPooling3D", "AveragePooling2D", "AveragePooling3D"), POOL),
    **dict.fromkeys(
        (
            f"{name}{n}D"
            for name in ("GlobalMaxPooling", "GlobalAveragePooling", "ZeroPadding", "Cropping")
            for n in (1, 2, 3)
        ),
        FORMAT,
    ),
    **dict.fromkeys(("UpSampling2D", "UpSampling3D"), FORMAT),
    "BatchNormalization": NORM,
    "SimpleRNN": RECUR,
    "LSTM": RECUR,
    "GRU": f"{RECUR} +reset_after=False",
    "SimpleRNNCell": CELL,
    "LSTMCell": CELL,
    "GRUCell": f"{CELL} +reset_after=False",
    "RNN": "-implementation time_major=False",
    "StackedRNNCells": "-reverse_state_order",
    **dict.fromkeys((f"ConvLSTM{n}D" for n in (1, 2, 3)), f"{FORMAT} -implementation time_major=False"),
    "Bidirectional": "-num_constants",
    "Attention": "causal=False",
    "AdditiveAttention": "causal=False",
    "MultiHeadAttention": "-query_shape -key_shape -value_shape -softmax_robust_masking",
    "Concatenate": "concat_axis:axis",
    "Dot": "dot_axes:axes",
    "Lambda": "-function_type -module -output_shape_type -output_shape_module",
}

# Arguments that the old name of a class implies.
IMPLIED: dict[str, dict[str, Any]] = {
    "CuDNNLSTM": {"activation": "tanh", "recurrent_activation": "sigmoid"},
    "CuDNNGRU": {"activation": "tanh", "recurrent_activation": "sigmoid", "reset_after": True},
    "SyncBatchNormalization": {"synchronized": True},
}

# Several old arguments that are one new argument.
JOINED: dict[str, tuple[str, ...]] = {
    "Conv2D": ("nb_row", "nb_col"),
    "Conv2DTranspose": ("nb_row", "nb_col"),
    "SeparableConv2D": ("nb_row", "nb_col"),
    "LocallyConnected2D": ("nb_row", "nb_col"),
    "Conv3D": ("kernel_dim1", "kernel_dim2", "kernel_dim3"),
}  # fmt: skip  # → kernel_size


class Words(NamedTuple):
    """The words for the arguments of a class, parsed."""

    renamed: dict[str, str]
    dropped: set[str]
    fixed: dict[str, Any]
    defaults: dict[str, Any]


class Refused(ValueError):
    """An argument of which Keras 3 takes one value only.

    Attributes:
        found: the argument and its value.
        needed: the value that Keras 3 takes.
    """

    def __init__(self, name: str, value: Any, needed: Any) -> None:
        self.found, self.needed = f"{name}={value!r}", f"{name}={needed!r}, as Keras 3 computes"
        super().__init__(f"{self.found}: it needs {self.needed}.")


def words(cls: str) -> Words:
    """The parsed words of a class and of every layer.

    Example:
        >>> words("GaussianNoise").renamed
        {'sigma': 'stddev'}
    """
    return parsed(f"{ANY} {ARGUMENTS.get(cls, '')}")


@cache
def parsed(text: str) -> Words:
    """Words for arguments, in the language of this table."""
    rows = Words({}, set(), {}, {})
    for word in text.split():
        if word[0] == "-":
            rows.dropped.add(word[1:])
        elif "=" in word:
            name, _, literal = word.partition("=")
            (rows.defaults if name[0] == "+" else rows.fixed)[name.lstrip("+")] = ast.literal_eval(literal)
        else:
            old, _, new = word.partition(":")
            rows.renamed[old] = new
    return rows


def renamed(cls: str, rows: Words, given: dict[str, Any], value_of: Callable[[str, Any], Any]) -> dict[str, Any]:
    """The arguments of a class under Keras 3's names.

    Args:
        cls: its name in Keras 3.
        rows: the words for its arguments.
        given: the arguments of Keras 1 or 2.
        value_of: the conversion of a value, by the argument's new name.

    Raises:
        Refused: Keras 3 computes something else.

    Example:
        >>> renamed("Dense", words("Dense"), {"output_dim": 2, "init": "one"}, value_of)
        {'units': 2, 'kernel_initializer': 'ones'}
    """
    arguments = dict[str, Any]()
    for name, value in given.items():
        if name in rows.fixed:
            if value != rows.fixed[name] and value is not None:
                raise Refused(name, value, rows.fixed[name])
        elif name in rows.renamed or name not in rows.dropped:
            new = rows.renamed.get(name, name)
            arguments[new] = value_of(new, value)
    if (parts := JOINED.get(cls)) and all(part in arguments for part in parts):
        arguments["kernel_size"] = [arguments.pop(part) for part in parts]
    if "forget_bias_init" in arguments:
        arguments["unit_forget_bias"] = arguments.pop("forget_bias_init") in ("one", "ones")
    return arguments


# -- values -----------------------------------------------------------------------------------------------------------

FORMATS = {"th": "channels_first", "tf": "channels_last", "default": "channels_last", None: None}
INITIALIZERS = {
    "zero": "zeros",
    "one": "ones",
    "uniform": {"class_name": "RandomUniform", "config": {"minval": -0.05, "maxval": 0.05}},
    "normal": {"class_name": "RandomNormal", "config": {"mean": 0.0, "stddev": 0.05}},
}
ACTIVATIONS = {"hard_sigmoid": "keras2_hard_sigmoid"}  # Keras 3's has another slope
FUNCTIONAL = "activation", "_initializer", "_regularizer", "_constraint"  # ends of arguments that are functions
POLICIES = "Policy", "PolicyV1", "DTypePolicy"


def _data_format(value: Any) -> Any:
    return FORMATS.get(value, value) if isinstance(value, str) else value


def _policy(value: Any) -> Any:
    """The name of a dtype policy."""
    if isinstance(value, dict) and value.get("class_name") in POLICIES:
        name = value["config"].get("name") if isinstance(value.get("config"), dict) else None
        return None if name in ("_infer", "infer") else name
    return value


def _initializer(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        return _plain(value, {k: v for k, v in value["config"].items() if k not in ("dtype", "partition_info")})
    return INITIALIZERS.get(value, value) if isinstance(value, str) else value


def _regularizer(value: Any) -> Any:
    """A regularizer; Keras 1 has its coefficients beside its name."""
    if isinstance(value, dict) and "name" in value and "class_name" not in value:
        return {"class_name": "L1L2", "config": {k: value[k] for k in ("l1", "l2") if k in value}}
    return _plain(value)


def _constraint(value: Any) -> Any:
    """A constraint; Keras 1 has its arguments beside its name."""
    if isinstance(value, dict) and "name" in value and "class_name" not in value:
        names = {"m": "max_value", "low": "min_value", "high": "max_value"}
        return {"class_name": value["name"], "config": {names.get(k, k): v for k, v in value.items() if k != "name"}}
    return _plain(value)


def _activation(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, dict) and value.get("class_name") == "function":
        return value.get("config")
    return value


def _axis(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _plain(value: Any, config: Any = None) -> Any:
    """A configuration of a class without its module, which Keras 2 names otherwise."""
    if isinstance(value, dict) and "class_name" in value:
        name = value["class_name"]
        return {"class_name": name, "config": value.get("config") if config is None else config}
    return value


VALUES: dict[str, Callable[[Any], Any]] = {  # end of the argument's name → its conversion
    "data_format": _data_format,
    "dtype": _policy,
    "_initializer": _initializer,
    "_regularizer": _regularizer,
    "_constraint": _constraint,
    "activation": _activation,
    "axis": _axis,
}


def value_of(name: str, value: Any) -> Any:
    """The value of an argument, as Keras 3 takes it.

    Example:
        >>> value_of("data_format", "th"), value_of("kernel_initializer", "one")
        ('channels_first', 'ones')
    """
    if isinstance(value, dict) and value.keys() == {"type", "value"}:  # an array of NumPy, in Keras 2.0
        value = value["value"]
    return next((convert(value) for end, convert in VALUES.items() if name.endswith(end)), value)
