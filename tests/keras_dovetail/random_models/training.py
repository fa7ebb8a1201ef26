"""Random losses, metrics, optimizers, callbacks and calls of a model, as data."""

from __future__ import annotations

from typing import Any

from tests.keras_dovetail.random_models.data import Data, Draw, named, new, some

REDUCTIONS = ("sum_over_batch_size", "sum", "mean_with_sample_weight")


class Task:
    """A kind of target: the layer before it, losses, metrics.

    Args:
        units: the size of the last layer.
        activations: of the last layer; its losses have the same index.
        losses: lists of losses, one list for each activation.
        metrics: for each activation.
    """

    def __init__(self, units: int, activations: tuple[str | None, ...], losses: Any, metrics: Any) -> None:
        self.units, self.activations, self.losses, self.metrics = units, activations, losses, metrics


_CLASS_METRICS = [new("metrics.CategoricalAccuracy"), new("metrics.TopKCategoricalAccuracy", k=2)]
TASKS = {
    "numbers": Task(
        2,
        (None, "softplus"),
        (
            [
                "mse",
                "mean_absolute_error",
                "huber",
                new("losses.Huber", delta=0.5),
                new("losses.LogCosh"),
                "cosine_similarity",
                new("losses.CosineSimilarity", axis=-1),
                named("own.cubed"),
                new("losses.MeanSquaredError"),
                "log_cosh",
            ],
            ["mse", "msle", "mape", "poisson", new("losses.MeanSquaredLogarithmicError"), new("losses.Poisson")],
        ),
        (
            [
                "mae",
                "mse",
                new("metrics.RootMeanSquaredError"),
                new("own.Spread"),
                new("metrics.CosineSimilarity"),
                new("metrics.R2Score"),
                named("own.cubed"),
                new("metrics.MeanAbsoluteError", name="renamed"),
            ],
            ["mae", "mape", new("metrics.Poisson"), new("metrics.MeanSquaredLogarithmicError"), new("own.Spread")],
        ),
    ),
    "yes or no": Task(
        1,
        ("sigmoid", None),
        (
            [
                "binary_crossentropy",
                new("losses.BinaryCrossentropy", label_smoothing=0.1),
                "mse",
                "binary_focal_crossentropy",
                new("losses.BinaryFocalCrossentropy", apply_class_balancing=True),
                new("losses.Dice"),
                new("losses.Tversky"),
            ],
            [new("losses.BinaryCrossentropy", from_logits=True), "hinge", new("losses.SquaredHinge")],
        ),
        (
            [
                "accuracy",
                "acc",
                new("metrics.AUC", num_thresholds=20),
                new("metrics.Precision"),
                new("metrics.Recall"),
                new("metrics.BinaryAccuracy", threshold=0.4),
                new("metrics.F1Score", threshold=0.5),
                "mae",
                new("metrics.FalsePositives"),
                new("metrics.TruePositives", thresholds=[0.3, 0.6]),
                new("metrics.SensitivityAtSpecificity", specificity=0.5, num_thresholds=10),
                "binary_crossentropy",
            ],
            [
                new("metrics.BinaryAccuracy", threshold=0.0),
                "hinge",
                new("metrics.AUC", from_logits=True, num_thresholds=20),
            ],
        ),
    ),
    "classes": Task(
        3,
        ("softmax", None),
        (
            ["sparse_categorical_crossentropy", new("losses.SparseCategoricalCrossentropy", ignore_class=1)],
            [new("losses.SparseCategoricalCrossentropy", from_logits=True)],
        ),
        (
            [
                "accuracy",
                "sparse_categorical_crossentropy",
                new("metrics.SparseTopKCategoricalAccuracy", k=2),
                "acc",
                new("metrics.SparseCategoricalAccuracy", name="hits"),
            ],
            ["accuracy", new("metrics.SparseCategoricalCrossentropy", from_logits=True)],
        ),
    ),
    "one hot": Task(
        3,
        ("softmax", None),
        (
            [
                "categorical_crossentropy",
                new("losses.CategoricalCrossentropy", label_smoothing=0.2),
                "kl_divergence",
                new("losses.CategoricalFocalCrossentropy"),
                "categorical_hinge",
                new("losses.KLDivergence"),
            ],
            [new("losses.CategoricalCrossentropy", from_logits=True)],
        ),
        (
            [
                "accuracy",
                "categorical_crossentropy",
                new("metrics.KLDivergence"),
                *_CLASS_METRICS,
                new("metrics.F1Score", average="macro"),
                new("metrics.CategoricalHinge"),
                new("metrics.OneHotMeanIoU", num_classes=3),
            ],
            ["accuracy", *_CLASS_METRICS],
        ),
    ),
}


def loss(draw: Draw, task: str, activation: str | None) -> Any:
    """A loss for a task, by name or as an object, sometimes reduced in its own way."""
    of = TASKS[task]
    found = draw.choice(of.losses[of.activations.index(activation)])
    if isinstance(found, dict) and "new" in found:
        return new(found["new"], **found["with"], **some(draw, 0.3, reduction=REDUCTIONS))
    return found


def metrics(draw: Draw, task: str, activation: str | None) -> list[Any]:
    """Up to three different metrics for a task."""
    of = TASKS[task]
    found = of.metrics[of.activations.index(activation)]
    chosen = draw.sample(found, min(len(found), draw.choice([0, 1, 1, 2, 3])))
    return chosen[:1] if {"accuracy", "acc"} <= {x for x in chosen if isinstance(x, str)} else chosen


# -- optimizers -------------------------------------------------------------------------------------------------------

_SCHEDULES = (
    new("optimizers.schedules.ExponentialDecay", initial_learning_rate=0.05, decay_steps=3, decay_rate=0.7),
    new(
        "optimizers.schedules.ExponentialDecay",
        initial_learning_rate=0.05,
        decay_steps=2,
        decay_rate=0.5,
        staircase=True,
    ),
    new("optimizers.schedules.PiecewiseConstantDecay", boundaries=[2, 4], values=[0.05, 0.02, 0.01]),
    new(
        "optimizers.schedules.CosineDecay",
        initial_learning_rate=0.02,
        decay_steps=9,
        warmup_target=0.06,
        warmup_steps=3,
    ),
    new("optimizers.schedules.InverseTimeDecay", initial_learning_rate=0.05, decay_steps=2, decay_rate=0.5),
    new("optimizers.schedules.PolynomialDecay", initial_learning_rate=0.05, decay_steps=4, cycle=True),
    new("optimizers.schedules.CosineDecayRestarts", initial_learning_rate=0.05, first_decay_steps=3),
)
# With a small epsilon, rounding errors of gradients that should be 0 become steps. They differ on each machine.
_CALM = {"epsilon": 1e-3}
_OPTIMIZERS: dict[str, Data] = {
    "SGD": {"momentum": [0.0, 0.0, 0.9], "nesterov": [False, True]},
    "Adam": {**_CALM, "amsgrad": [False, False, True], "beta_1": [0.9, 0.8]},
    "AdamW": {**_CALM, "weight_decay": [0.004, 0.1]},
    "RMSprop": {**_CALM, "momentum": [0.0, 0.5], "centered": [False, True]},
    "Adagrad": {**_CALM, "initial_accumulator_value": [0.1, 0.5]},
    "Adadelta": {**_CALM},
    "Adamax": {**_CALM},
    "Nadam": {**_CALM},
    "Ftrl": {"l1_regularization_strength": [0.0, 0.01], "beta": [0.0, 0.1]},
    "Lamb": {**_CALM},
    "Adafactor": {"epsilon_1": 1e-6, "relative_step": [True, False]},
    "Lion": {},
    "Muon": {"epsilon": 1e-3, "adam_lr_ratio": [1.0, 0.5]},
}
_WEIGHTED = ("SGD", "Adam", "Adam", "Adam", "AdamW", "RMSprop", *_OPTIMIZERS)
_BY_NAME = ("sgd", "adam", "rmsprop", "adamw", "adagrad", "nadam")
UNSTEADY = ("Lion", "Muon", "Adafactor")  # these turn rounding errors into steps, if a gradient has nothing else


def optimizer(draw: Draw, has_noise: bool) -> Any:
    """An optimizer, by name or as an object.

    Args:
        draw: the random generator.
        has_noise: whether gradients of some weights are nothing but rounding errors.
    """
    if not has_noise and draw.random() < 0.15:
        return draw.choice(_BY_NAME)
    kind = draw.choice([name for name in _WEIGHTED if not (has_noise and name in UNSTEADY)])
    options = some(draw, 1.0, **_OPTIMIZERS[kind])
    options["learning_rate"] = draw.choice([0.01, 0.05, 0.1])
    if draw.random() < 0.25:
        options["learning_rate"] = draw.choice(_SCHEDULES)
    options |= draw.choice([{}, {}, {}, {"clipnorm": 0.3}, {"clipvalue": 0.1}, {"global_clipnorm": 0.5}])
    options |= some(draw, 0.15, weight_decay=[0.01, 0.1]) if "weight_decay" not in options else {}
    if draw.random() < 0.25:
        options |= {
            "use_ema": True,
            **some(draw, 1.0, ema_momentum=[0.5, 0.9], ema_overwrite_frequency=[None, 1, 2, 3]),
        }
    options |= some(draw, 0.25, gradient_accumulation_steps=[2, 3])
    options |= some(draw, 0.1, loss_scale_factor=[2.0, 16.0])
    found = new(f"optimizers.{kind}", **options)
    if draw.random() < 0.1 and "loss_scale_factor" not in options:
        scale = {"initial_scale": [64.0, 1024.0], "dynamic_growth_steps": [2, 3]}
        return new("optimizers.LossScaleOptimizer", inner_optimizer=found, **some(draw, 1.0, **scale))
    return found


# -- calls ------------------------------------------------------------------------------------------------------------


def callbacks(draw: Draw, has_schedule: bool) -> list[Data]:
    """Up to two callbacks of `fit`."""
    found = [
        new("own.Shrinks", factor=0.9, when=draw.choice(["epoch", "batch"])),
        new("own.Looks"),
        new("own.Predicts"),
        new("own.Stops", batch=draw.randint(0, 2)),
        new("callbacks.EarlyStopping", monitor="loss", patience=0, min_delta=10.0, restore_best_weights=True),
        new("callbacks.TerminateOnNaN"),
        new("own.Keeps"),
    ]
    if not has_schedule:
        rates = [new("callbacks.LearningRateScheduler", schedule=named("own.halved")), new("own.Rates", rate=0.02)]
        rates += [new("callbacks.ReduceLROnPlateau", monitor="loss", patience=0, factor=0.5, min_delta=10.0)]
        found += rates
    return draw.sample(found, draw.choice([0, 0, 1, 1, 2]))


def _rows(draw: Draw, sizes: Data) -> Data:
    """The samples of a batch: one of two sizes, since engines compile each."""
    size = draw.choice([sizes["batch"], sizes["batch"], sizes["rest"] or sizes["batch"]])
    return {"start": draw.randint(0, sizes["samples"] - size), "size": size}


def fit(draw: Draw, sizes: Data) -> Data:
    """A call of `fit`."""
    feed = draw.choice(["arrays", "arrays", "arrays", "sequence", "generator"])
    found: Data = {"do": "fit", "feed": feed, "epochs": 1 if feed == "generator" else draw.randint(1, 3)}
    found |= some(draw, 0.3, weighted=True)
    if feed == "arrays":
        found |= draw.choice([{}, {}, {"validation": "data"}, {"validation": "split"}, {"validation": "weighted"}])
        found |= some(draw, 0.15, steps_per_epoch=2)
    else:
        found |= draw.choice([{}, {}, {"validation": "data"}])
    if "validation" in found:
        found |= some(draw, 0.3, validation_freq=2)
    if sizes["has_classes"] and feed != "generator" and not found.get("weighted"):
        found |= some(draw, 0.3, class_weight=True)
    return {**found, "callbacks": callbacks(draw, sizes["has_schedule"])}


def train_on_batch(draw: Draw, sizes: Data) -> Data:
    """A call of `train_on_batch`."""
    found = {"do": "train_on_batch", **_rows(draw, sizes), **some(draw, 0.3, weighted=True)}
    if sizes["has_classes"] and "weighted" not in found:
        found |= some(draw, 0.3, class_weight=True)
    return {**found, **some(draw, 0.3, return_dict=True)}


def _one(do: str, **options: Any) -> Any:
    return lambda draw, sizes: {"do": do, **some(draw, 1.0, **options)}


def test_on_batch(draw: Draw, sizes: Data) -> Data:
    """A call of `test_on_batch`."""
    return {"do": "test_on_batch", **_rows(draw, sizes), **some(draw, 0.3, weighted=True)}


FEEDS = ["arrays", "arrays", "sequence", "generator"]
CALLS: dict[str, tuple[int, Any]] = {  # the weight in a random choice, and the function
    "fit": (6, fit),
    "train_on_batch": (4, train_on_batch),
    "test_on_batch": (2, test_on_batch),
    "evaluate": (3, _one("evaluate", weighted=[False, True], feed=FEEDS, return_dict=[False, True])),
    "predict": (3, _one("predict", feed=FEEDS)),
    "predict_on_batch": (1, lambda draw, sizes: {"do": "predict_on_batch", **_rows(draw, sizes)}),
    "call": (1, lambda draw, sizes: {"do": "call", "training": draw.choice([False, sizes["trains"], None])}),
    "freeze": (2, _one("freeze", layer=[0, 1, 2, 3], trainable=[False, False, True])),
    "compile_again": (1, _one("compile_again")),
    "rate": (1, _one("rate", rate=[0.005, 0.03])),
    "set": (1, _one("set", factor=[0.9, 1.1])),
    "apply": (1, _one("apply")),
    "save": (1, _one("save", kind=["keras", "weights", "weights"])),
    "copy": (2, _one("copy", kind=["clone", "clone", "config", "pickle", "deepcopy"])),
}


TRAINING = ("fit", "train_on_batch")


def calls(draw: Draw, sizes: Data) -> list[Data]:
    """Random calls of a model; the first trains, unless none may, and the last evaluates it."""
    names = list(CALLS) if sizes["trains"] else [name for name in CALLS if name not in TRAINING]
    chosen = draw.choices(names, [CALLS[name][0] for name in names], k=draw.randint(2, 5))
    first = draw.choice(TRAINING if sizes["trains"] else ("evaluate", "predict"))
    return [CALLS[name][1](draw, sizes) for name in (first, *chosen, draw.choice(["evaluate", "predict"]))]
