"""The kind of program that sources are: of TensorFlow 1 or 2, or of Keras 2 or 3.

A name, a module or an argument that only one of them had decides.  Nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from dovetail.compat.source.names import names_of_version_1
from dovetail.compat.source.sources import Place, Source, starts
from dovetail.compat.source.uses import Use

KINDS = {"tf1": "TensorFlow 1", "keras2": "Keras 2", "tf2": "TensorFlow 2", "keras3": "Keras 3"}  # the first decides

TENSORFLOW = re.compile(r"tensorflow(?:_core)?(?:\.compat\.v2|\.python)?(?P<v1>\.compat\.v1)?(?:\.(?P<name>.+))?")
KERAS = re.compile(r"(?:tensorflow(?:_core)?\.(?:\w+\.)*?keras|tf_keras|keras)(?:\.(?P<name>.+))?")

# Names of TensorFlow 1 that its last version has no more, besides its marked public names.
GONE_FROM_1 = re.compile(
    r"(contrib|examples|models|slim|learn|app|flags|logging|layers|gfile|platform|nn\.(rnn_cell|rnn|seq2seq)"
    r"|mul|sub|neg|pack|unpack|inv|select|batch_matmul|complex_abs|(scalar|histogram|image|audio)_summary"
    r"|merge_(all_)?summar(y|ies)|train\.SummaryWriter|ops\.(rnn|rnn_cell|seq2seq))(\..+)?"
)
IN_BOTH = re.compile(r"(losses|metrics)\.(mean_(squared|absolute)_error|Reduction)(\..+)?|(initializers|compat)\..+")
# Programs of TensorFlow 2 reach for the rest of `tf.compat.v1`, too.
GRAPHS_IN_2 = re.compile(r"disable_(v2_behavior|eager_execution)|placeholder|get_variable|global_variables_init\w+")

# Names of Keras 1 and 2 that Keras 3 lacks, by their place in `keras`.
OLD_KERAS = re.compile(
    r"""backend\.(?!(?:backend|clear_session|epsilon|floatx|get_uid|image_data_format|is_float_dtype|is_int_dtype
                  |is_keras_tensor|result_type|set_epsilon|set_floatx|set_image_data_format|standardize_dtype)$).+
    | layers\.(?:core|containers|convolutional\w*|pooling|recurrent|normalization|embeddings|merge|noise|local|wrappers
                |advanced_activations|cudnn_recurrent|experimental|Merge|MaxoutDense|Highway|CuDNN\w+|LRN2D|Locally\w+
                |TimeDistributedDense|Atrous\w+|Deconvolution\w+|ThresholdedReLU|AbstractRNNCell|DenseFeatures
                |Random(?:Height|Width))(?:\..+)?
    | models\.(?:Input|Graph|model_from_config|model_from_yaml)
    | (?:engine|legacy|objectives|initializations|wrappers|estimator|experimental|preprocessing\.text)(?:\..+)?
    | utils\.(?:np_utils|generic_utils|data_utils|layer_utils|vis_utils|visualize_util|io_utils|training_utils
               |conv_utils|test_utils|multi_gpu\w+|HDF5Matrix|(?:Generator|Ordered|Sequence)Enqueuer)(?:\..+)?
    | preprocessing\.sequence\.(?:skipgrams|make_sampling_table|TimeseriesGenerator)
    | preprocessing\.image\.(?:\w*Iterator|ImageDataGenerator|apply_\w+|random_\w+)(?:\..+)?
    | callbacks\.(?:BaseLogger|callbacks|experimental)(?:\..+)?
    | (?:losses|metrics)\.(?:mse|mae|mape|msle|kld|MSE|MAE|MAPE|MSLE|KLD|logcosh|Reduction)(?:\..+)?
    | optimizers\.(?:legacy|experimental)\..+ | datasets\.data_utils(?:\..+)?""",
    re.VERBOSE,
)
# Calls, by their place in `keras` → arguments that Keras 3 lacks; the first row is for any call.
OLD_ARGUMENTS = {
    r".*": "nb_epoch nb_filter nb_row nb_col nb_worker nb_val_samples samples_per_epoch border_mode dim_ordering "
    "W_regularizer U_regularizer b_regularizer W_constraint U_constraint b_constraint dropout_W dropout_U inner_init "
    "inner_activation forget_bias_init consume_less batch_input_shape max_q_size pickle_safe filter_length "
    "subsample_length pool_length show_accuracy",
    r"layers\.(?!Embedding).+": "output_dim input_dim",
    r"layers\.(?!Random).+": "init subsample bias weights mode atrous_rate",
    r"optimizers\..+": "lr decay",
    r"models\.Model|Model": "input output",
    r"callbacks\..+": "period write_grads",
}
# Methods and attributes of models and layers that Keras 3 lacks.
OLD_ATTRIBUTES = re.compile(
    r"\.((fit|evaluate|predict)_generator|predict_classes|_make_\w+_function|get_(in|out)put_(shape_|mask_)?at"
    r"|(in|out)bound_nodes|(in|out)put_layers(_(node|tensor)_indices)?|uses_learning_phase|reset_states|metrics_tensors"
    r"|total_loss|output_shape|_keras_shape)"
)


class Sign(NamedTuple):
    """A place that shows what kind of program it is in; a weak one gives the reason if there is no other."""

    kind: str
    what: str
    place: Place
    is_weak: bool = False


class Decision(NamedTuple):
    """The kind of a program.

    Attributes:
        kind: one of `KINDS`.
        why: the reason, which follows "since".
        uses_keras_2: whether it has names of Keras 2, as a program of TensorFlow 1 may.
        is_shown: whether something in the program, or the user, says the kind.
    """

    kind: str
    why: str
    uses_keras_2: bool = False
    is_shown: bool = True

    def __str__(self) -> str:
        return f"{KINDS[self.kind]}, since {self.why}"


def decide(sources: Sequence[Source], uses: Iterable[Use], asked: str | None = None) -> Decision:
    """Decide what kind of program some sources are.

    Args:
        sources: the file that runs, then the files that it imports from its folder.
        uses: the dotted names in them.
        asked: the kind that the user names, which is obeyed; the decision tells if the sources show another.

    Example:
        >>> import ast
        >>> from dovetail.compat.source.uses import find
        >>> tree = ast.parse("import tensorflow as tf\\nx = tf.placeholder(tf.float32)")
        >>> source = Source("old.py", ("old",), "", ((None, tree),))
        >>> print(decide([source], find([source])))
        TensorFlow 1, since line 2 uses tf.placeholder
    """
    of_keras = {source.path for source in sources if "keras" in source.text}
    signs = [sign for use in uses if use.how != "asked" for sign in _signs(use, use.place.path in of_keras)]
    first = min(signs, key=lambda sign: ([*KINDS].index(sign.kind), sign.is_weak), default=None)
    kind = first.kind if first else "keras3"
    why = _said(first, sources) if first else "nothing in it is of TensorFlow or Keras"
    of_keras_2 = any(sign.kind == "keras2" for sign in signs)
    if asked in (None, kind):
        return Decision(kind, why, of_keras_2, first is not None)
    return Decision(asked, f"you say so; it looks like {KINDS[kind]}, since {why}", of_keras_2)


def _said(sign: Sign, sources: Sequence[Source]) -> str:
    place = sign.place
    cell = "" if place.cell is None else f" of cell {place.cell}"
    file = "" if place.path == sources[0].path else f" of {place.path}"
    return f"line {place.line}{cell}{file} {sign.what}"


def _signs(use: Use, is_beside_keras: bool) -> Iterator[Sign]:
    """The signs that one use is; unknown values count in a file that mentions Keras."""
    verb = "imports" if use.how == "imported" else "uses"
    of_tensorflow, of_keras = TENSORFLOW.fullmatch(use.name), KERAS.fullmatch(use.name)
    name = (of_keras["name"] or "") if of_keras else ""
    if of_tensorflow and not of_keras:
        yield from _signs_of_tensorflow(of_tensorflow, use, verb)
    if of_keras and OLD_KERAS.fullmatch(name) and (use.how, name) != ("starred", "models.Input"):  # it is of `layers`
        yield Sign("keras2", f"{verb} keras.{name}", use.place)
    if is_beside_keras:
        if OLD_ATTRIBUTES.fullmatch(use.name):
            yield Sign("keras2", f"uses {use.name}", use.place)
        if re.fullmatch(r"__future__\.(?!annotations).+", use.name):
            yield Sign("keras2", f"imports {use.name}, of the time of Python 2", use.place, True)
        for calls, words in OLD_ARGUMENTS.items():
            if use.arguments and re.fullmatch(calls, name):
                yield from (Sign("keras2", f"has {w}=", use.place) for w in use.arguments[1] if w in words.split())
    if of_tensorflow:
        yield Sign("tf2", f"{verb} {use.name}, and no line a name of TensorFlow 1 alone", use.place)
    elif of_keras:
        yield Sign("keras3", f"{verb} {use.name}, and no line a name that Keras 3 lacks", use.place)


def _signs_of_tensorflow(found: re.Match[str], use: Use, verb: str) -> Iterator[Sign]:
    name, through_v1 = found["name"] or "", found["v1"] is not None
    if through_v1 and use.how == "imported":
        yield Sign("tf1", "imports tensorflow.compat.v1", use.place)
    elif _is_of_version_1(name) and (not through_v1 or GRAPHS_IN_2.match(name)):
        yield Sign("tf1", f"{verb} tf.{'compat.v1.' * through_v1}{name}", use.place)


def _is_of_version_1(name: str) -> bool:
    """Whether TensorFlow 2 does not have a name, and TensorFlow 1 did."""
    if GONE_FROM_1.fullmatch(name):
        return True
    return not IN_BOTH.fullmatch(name) and not names_of_version_1().isdisjoint(starts(name))
