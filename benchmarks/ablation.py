"""The gain of each ingredient alone: time, page faults and peak memory of Keras' steps with and without it.

Two processes for each row hold the same model on the same engine: Dovetail as it is, and without one ingredient.  They
take turns of a second.

    python benchmarks/ablation.py [--rounds 7] [memory groups joining convolutions optimizer recurrent buffers
                                                  onnxruntime]
"""

from __future__ import annotations

import functools
import os
import resource
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any, NamedTuple

from auto import AGAIN, COUNTED, NAMES, function_of, is_settled, settle
from processes import Server, answer, command_line
from timing import repeated, seconds_per_call, table
from tqdm import tqdm

from dovetail.core.engines.engine_registry import AUTO, list_candidates

WITHOUT = "DOVETAIL_WITHOUT"  # names the ingredient that a process lacks


def _replaced(module: str, name: str, value: Any) -> Callable[[], None]:
    def replace() -> None:
        found = import_module(module)
        if not hasattr(found, name):
            raise AttributeError(f"{module} has no {name} any more; mend the ingredient that replaces it")
        setattr(found, name, value)

    return replace


def _others() -> list[str]:
    return [name for name in list_candidates() if name != "onnxruntime"]


def _refused(*args: Any) -> None:
    raise NotImplementedError("Keras runs the layer step by step")


class Ingredient(NamedTuple):
    """An ingredient that can be left out.

    Attributes:
        what: its name in the table.
        leave_out: is called before a model is made.
        rows: of the table: model, engine, "fit" or "predict".
    """

    what: str
    leave_out: Callable[[], None]
    rows: tuple[tuple[str, str, str], ...]


INGREDIENTS = {
    "memory": Ingredient(
        "memory stays with the process",
        lambda: None,  # the environment switches it, before any import
        (
            *((model, engine, "fit") for model in ("CNN", "LSTM", "ResNet") for engine in ("numpy", "torch", "jax")),
            ("MLP", "jax", "fit"),
            ("Transformer", "torch", "fit"),
            ("Transformer", "jax", "fit"),
            ("CNN", "tensorflow", "fit"),
        ),
    ),
    "groups": Ingredient(
        "short steps in groups",
        _replaced("keras_dovetail.src.steps", "SIZE", 1),
        (("MLP", "jax", "fit"), ("MLP", "torch", "fit"), ("MLP", "tensorflow", "fit")),
    ),
    "joining": Ingredient(
        "predictions of several batches as one",
        _replaced("keras_dovetail.src.steps", "LARGEST", 0),
        (
            ("MLP", AUTO, "predict"),
            ("CNN", AUTO, "predict"),
            ("GRU", AUTO, "predict"),
            ("Transformer", AUTO, "predict"),
        ),
    ),
    "convolutions": Ingredient(
        "convolutions with what follows",
        _replaced("dovetail.execute.optimize", "fuse_convolutions", lambda graph, claimed: 0),
        (("CNN", "torch", "predict"), ("ResNet", "torch", "predict"), ("MobileNet", "torch", "predict")),
    ),
    "optimizer": Ingredient(
        "an optimizer's step as one operation",
        _replaced("keras_dovetail.src.optimizer", "_steps_as_one_op", dict),
        (
            ("MLP", "numpy", "fit"),
            ("Transformer", "numpy", "fit"),
            ("MLP", "torch", "fit"),
            ("Transformer", "torch", "fit"),
        ),
    ),
    "recurrent": Ingredient(
        "recurrent layers as one operation",
        _replaced("keras_dovetail.src.rnn", "_check_fused", _refused),
        (("LSTM", "torch", "fit"), ("GRU", "torch", "fit")),
    ),
    "buffers": Ingredient(
        "planned buffers",
        _replaced("dovetail.execute.buffers", "_plannable", lambda op, engine: False),
        (
            ("Transformer", "numpy", "fit"),
            ("CNN", "numpy", "fit"),
            ("Transformer", "torch", "fit"),
            ("CNN", "torch", "fit"),
        ),
    ),
    "onnxruntime": Ingredient(
        "ONNX Runtime as a choice",
        _replaced("dovetail.choose.measured_plan", "list_candidates", _others),
        tuple((model, AUTO, "predict") for model in NAMES),
    ),
}


# -- a process with one model -----------------------------------------------------------------------------------------


def serve(engine: str) -> None:
    """Make a model, then work for a turn for each line: seconds and faults a step, and peak bytes."""
    from keras_models import TASKS, compiled

    import dovetail
    import keras_dovetail  # noqa: F401  before Keras

    dovetail.set_engine(engine)
    if os.environ.get(WITHOUT):
        INGREDIENTS[os.environ[WITHOUT]].leave_out()
    task = TASKS[sys.stdin.readline().strip()]
    model, x, y = compiled(task)
    actions = {
        "fit": functools.partial(model.fit, x, y, batch_size=task.batch, verbose=0, shuffle=False),
        "predict": functools.partial(model.predict, x, batch_size=task.batch, verbose=0),
    }
    answer("made")
    for line in sys.stdin:
        action, run = line.strip(), actions[line.strip()]
        repeated(run, AGAIN)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        times = repeated(functools.partial(seconds_per_call, run, 1), COUNTED)
        used = resource.getrusage(resource.RUSAGE_SELF)
        steps = len(times) * task.steps
        seconds, faults = statistics.median(times) / task.steps, used.ru_minflt - faults
        is_done = is_settled(function_of(model, action), task.steps)
        answer([seconds, used.ru_maxrss * 1024, is_done, faults / steps])


# -- all of them ------------------------------------------------------------------------------------------------------


def measure(name: str, model: str, engine: str, action: str, rounds: int) -> list[str]:
    """A row of the table."""
    with ExitStack() as stack:
        servers = []
        for without in (name, ""):
            more = {WITHOUT: without, "DOVETAIL_CACHE": ""} | (
                {"DOVETAIL_KEEP_MEMORY": "0"} if without == "memory" else {}
            )
            servers.append(stack.enter_context(Server("dovetail", engine, __file__, more)))
            servers[-1].ask(model)
        for server in servers:
            settle(server, action)
        found: list[list[list[float]]] = [[], []]
        for round_ in range(rounds):
            for i in (0, 1) if round_ % 2 else (1, 0):
                found[i].append(servers[i].ask(action))
    times, faults = ([statistics.median(turn[k] for turn in turns) for turns in found] for k in (0, 3))
    ratio = statistics.median(without[0] / with_[0] for without, with_ in zip(*found, strict=True))
    peaks = [max(turn[1] for turn in turns) / 1e6 for turns in found]
    row = [
        *(f"{t * 1e3:.3g}" for t in times),
        f"{ratio:.2f}",
        *(f"{f:,.0f}" for f in faults),
        *(f"{p:,.0f}" for p in peaks),
    ]
    return [INGREDIENTS[name].what, model, engine, {"fit": "training"}.get(action, "prediction"), *row]


def main(names: list[str], rounds: int) -> None:
    asked = [(name, *row) for name in names or INGREDIENTS for row in INGREDIENTS[name].rows]
    rows = [measure(*each, rounds) for each in tqdm(asked, desc="ablation", file=sys.stderr)]
    header = ["ingredient", "model", "engine", "", "ms without", "with", "faster by", "faults without", "with"]
    print(table("Each ingredient alone, a step", [*header, "peak MB without", "with"], rows))


if __name__ == "__main__":
    command_line(__doc__, INGREDIENTS, ("--rounds", 7, "turns of each process"), main, serve, "the ingredients")
