"""How a model was compiled, in files of Keras 1, 2 and 3: optimizers, losses and metrics as Keras 3 takes them."""

from __future__ import annotations

from typing import Any

from dovetail.formats.keras.config_rows import value_of

OPTIMIZERS = {  # names in files → Keras 3's
    "LossScaleOptimizerV1": "LossScaleOptimizer",
    "LossScaleOptimizerV3": "LossScaleOptimizer",
    "ExperimentalAdamW": "AdamW",
}
ARGUMENTS = {"lr": "learning_rate", "optimizer": "inner_optimizer", "initial_loss_scale": "initial_scale"}
DROPPED = {
    "jit_compile",
    "is_legacy_optimizer",
    "schedule_decay",
    "dynamic",
    "loss_scale",
    "increment_period",
    "multiplier",
}
LOSSES = {  # functions in files → Keras 3's
    "cosine": "cosine_similarity",
    "cosine_proximity": "cosine_similarity",
    "huber_loss": "huber",
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
}
WRAPPERS = "LossFunctionWrapper", "MeanMetricWrapper", "SumOverBatchSizeMetricWrapper"  # of a function `fn`


def base(name: Any) -> str:
    """The name of a class without its package, as "Custom>Adam" has one."""
    return str(name).rpartition(">")[2]


def optimizer(config: Any, *, takes_decay: bool = False) -> dict[str, Any]:
    """An optimizer's configuration; `decay` of Keras 2 becomes a schedule, unless optimizers take it.

    Example:
        >>> optimizer({"class_name": "SGD", "config": {"lr": 0.1, "decay": 0.0, "momentum": 0.9}})
        {'class_name': 'SGD', 'config': {'learning_rate': 0.1, 'momentum': 0.9}}
    """
    name, given = base(config["class_name"]), dict(config["config"])
    if isinstance(scale := given.get("loss_scale"), dict):
        given |= scale.get("config") or {}
    settings = {ARGUMENTS.get(key, key): value for key, value in given.items() if key not in DROPPED}
    decay = settings.pop("decay", 0)
    if name == "Nadam":
        settings.update(_decay_of_momentum(given) if takes_decay else {})
    elif decay and takes_decay:
        settings["decay"] = decay
    elif decay and isinstance(rate := settings.get("learning_rate"), (int, float)):
        settings["learning_rate"] = {
            "class_name": "InverseTimeDecay",
            "config": {"initial_learning_rate": rate, "decay_steps": 1, "decay_rate": decay},
        }
    if settings.get("epsilon", 0) is None:
        del settings["epsilon"]
    if isinstance(settings.get("inner_optimizer"), dict):
        settings["inner_optimizer"] = optimizer(settings["inner_optimizer"], takes_decay=takes_decay)
    return {"class_name": OPTIMIZERS.get(name, name), "config": settings}


def _decay_of_momentum(given: dict[str, Any]) -> dict[str, float]:
    """The decay of Nadam's momentum: it was `schedule_decay`, then `decay`; from TensorFlow 2.11 on it is 1."""
    known = [given[key] for key in ("schedule_decay", "decay") if key in given]
    known += [1.0] if given.get("is_legacy_optimizer") is False else []
    return {"schedule_decay": known[0]} if known else {}


def function(given: Any) -> Any:
    """A loss or a metric, or lists and dicts of them; functions come by name."""
    if isinstance(given, (list, tuple)):
        return [function(each) for each in given]
    if isinstance(given, str):
        return LOSSES.get(given, given)
    if not isinstance(given, dict):
        return given
    if "class_name" not in given:
        return {key: function(value) for key, value in given.items()}
    name = base(given["class_name"])
    if name == "function":
        return function(given["config"])
    config = {key: value_of(key, value) for key, value in (given.get("config") or {}).items()}
    if name not in WRAPPERS:
        config.pop("fn", None)
    else:
        config["fn"] = function(config.get("fn"))
    if config.get("reduction", "") in ("auto", None):
        del config["reduction"]
    return {"class_name": name, "config": config}
