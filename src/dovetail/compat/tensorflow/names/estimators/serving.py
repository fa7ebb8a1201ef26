"""What a server feeds to an estimator, and the SavedModel of an estimator in a session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dovetail.compat.tensorflow.entries import named, value
from dovetail.compat.tensorflow.names.graph.graph import placeholder
from dovetail.compat.tensorflow.names.saving import saved_models as signatures
from dovetail.compat.tensorflow.table import in_v1
from dovetail.core.values.value_kinds import dtype_of, static_shape

DEFAULT = "serving_default"


class PredictOutput(NamedTuple):
    """Outputs of a model that is exported.

    Source: `tf.estimator.export.PredictOutput`.
    """

    outputs: Any


class ClassificationOutput(NamedTuple):
    """Outputs of a classifier that is exported.

    Source: `tf.estimator.export.ClassificationOutput`.
    """

    scores: Any = None
    classes: Any = None


class RegressionOutput(NamedTuple):
    """Outputs of a regression that is exported.

    Source: `tf.estimator.export.RegressionOutput`.
    """

    value: Any


class ServingInputReceiver(NamedTuple):
    """The features that a model takes, and the tensors that a server feeds.

    Source: `tf.estimator.export.ServingInputReceiver`.
    """

    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any = None


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that makes placeholders like some tensors, for any number of examples.

    Source: `tf.estimator.export.build_raw_serving_input_receiver_fn`.
    """
    kinds = {name: (dtype_of(x), [default_batch_size, *static_shape(x)[1:]]) for name, x in features.items()}

    def receive() -> ServingInputReceiver:
        fed = {name: in_v1(placeholder)(dtype, shape, name) for name, (dtype, shape) in kinds.items()}
        return ServingInputReceiver(dict(fed), fed)

    return receive


def exported(session: Any, spec: Any, fed: Any, base: str, as_text: bool) -> bytes:
    """The path of a new SavedModel of the graph of a session, for the spec of a model and the tensors that are fed."""
    folder = _new_folder(base)
    builder = named("saved_model.Builder")(folder)
    signatures_by_name = _signatures(spec, fed if isinstance(fed, dict) else {"input": fed})
    builder.add_meta_graph_and_variables(session, ["serve"], signatures_by_name)
    builder.save(as_text)
    return folder.encode()


def _new_folder(base: str) -> str:
    """A folder that is not there yet, named by the seconds since 1970."""
    seconds = int(time.time())
    while os.path.exists(os.path.join(base, str(seconds))):
        seconds += 1
    return os.path.join(base, str(seconds))


def _signatures(spec: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The signatures of a model by name; the only output is the default."""
    outputs = spec.export_outputs or {DEFAULT: PredictOutput(spec.predictions)}
    made = {name: _signature(output, inputs) for name, output in outputs.items()}
    return made if DEFAULT in made or len(made) > 1 else made | {DEFAULT: next(iter(made.values()))}


def _signature(output: Any, inputs: dict[str, Any]) -> Any:
    examples = next(iter(inputs.values()))
    if isinstance(output, ClassificationOutput) and len(inputs) == 1:
        return signatures.classification_signature_def(examples, output.classes, output.scores)
    if isinstance(output, RegressionOutput) and len(inputs) == 1:
        return signatures.regression_signature_def(examples, output.value)
    given = output.outputs if isinstance(output, PredictOutput) else output._asdict()
    named_outputs = given if isinstance(given, dict) else {"output": given}
    return signatures.predict_signature_def(inputs, {name: x for name, x in named_outputs.items() if x is not None})


for _part in (PredictOutput, ClassificationOutput, RegressionOutput, ServingInputReceiver):
    value(f"estimator.export.{_part.__name__}", _part, "v1")
value("estimator.export.build_raw_serving_input_receiver_fn", build_raw_serving_input_receiver_fn, "v1")
