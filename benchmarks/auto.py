"""`auto` against all others: Keras' backends, `torch.compile`, and `jax.jit` by hand.

A process for each of them holds a model, and they take turns of a second.  Each of the others runs twice: as it is, and
with an environment that lets glibc keep memory, as Dovetail does.  The median epochs are compared, after the engine is
chosen.  Further columns are the time to the first step, peak memory, the share of the rate of a matrix product, and the
time of the nearest candidate.

    python benchmarks/auto.py [--rounds 3] [MLP CNN LSTM GRU Transformer ResNet MobileNet UNet Speech]
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
import timeit
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from processes import Server, answer, command_line
from timing import repeated, table
from tqdm import tqdm

from dovetail.core.base.memory import BLOCK

NAMES = ("MLP", "CNN", "LSTM", "GRU", "Transformer", "ResNet", "MobileNet", "UNet", "Speech")
PEERS = {  # name → (Keras' backend, how a step is made)
    "Keras, tensorflow": ("tensorflow", "keras"),
    "Keras, jax": ("jax", "keras"),
    "Keras, torch": ("torch", "keras"),
    "jax.jit by hand": ("jax", "by hand"),
    "torch.compile": ("torch", "by hand"),
}
OURS = "Dovetail, auto"
COUNTING = "jax.jit by hand"  # the peer that also counts operations
KEPT = {  # the settings of glibc and XLA that Dovetail makes, as environment variables
    "XLA_FLAGS": f"--xla_multiheap_size_constraint_per_heap={BLOCK}",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
    "MALLOC_TOP_PAD_": str(64 * 2**20),
}
PLANS = "plans of "  # before an action: asks for the times of its candidates
RIVALS = "rivals of "  # before an action: asks for the times of the chosen candidate and of the nearest ones
FLOPS = "operations of "  # before an action: asks for the floating-point operations of a step
LARGE = 2048  # rows of the matrices whose product measures the rate of the machine
AGAIN, COUNTED = 0.5, 1.0  # seconds of a turn: a warm-up, and the part that counts
NEAREST = 2  # candidates that are compared once more with the chosen one
TURNS = 3  # of each of them
SETTLED = 2000  # epochs within which a choice must be settled


# -- a process with one model -----------------------------------------------------------------------------------------


def serve(how: str) -> None:
    """Make a model, then train or predict for each line; answer with time, bytes, and whether it has settled."""
    if how == "dovetail":
        import keras_dovetail  # noqa: F401  before Keras
    from keras_models import TASKS, compiled

    task = TASKS[sys.stdin.readline().strip()]
    model, x, y = compiled(task)
    by_hand = {"by hand": BY_HAND.get(os.environ["KERAS_BACKEND"])}.get(how)
    actions = by_hand(model, task, x, y) if by_hand else _of_keras(model, task, x, y)
    answer("made")
    for line in sys.stdin:
        action = line.strip()
        if action.startswith(PLANS):
            answer(_plans(function_of(model, action.removeprefix(PLANS))))
            continue
        if action.startswith(RIVALS):
            action = action.removeprefix(RIVALS)
            answer(_rivals(function_of(model, action), actions[action]))
            continue
        if action.startswith(FLOPS):
            answer(actions[action]())
            continue
        answer([*_timed(actions[action]), is_settled(function_of(model, action), task.steps)])


def function_of(model: Any, action: str) -> Any:
    """The function that a model calls for each batch."""
    return getattr(model, "train_function" if action == "fit" else "predict_function", None)


def is_settled(function: Any, steps: int) -> bool:
    """Whether all plans of Dovetail have settled, except groups with more steps than an epoch."""
    return all(plan.is_settled or plan.group > steps for plan in _measured(function))


def _measured(function: Any) -> list[Any]:
    return [plan for plan in getattr(function, "plans", ()) if hasattr(plan, "measurer")]


def _plans(function: Any) -> list[tuple[str, list[str]]]:
    """The strategy that runs each graph, and the times of all its strategies."""
    return [(plan.chosen.strategy.name, [*map(str, plan.measurer.report.rows)]) for plan in _measured(function)]


def _rivals(function: Any, run: Callable[[], int]) -> dict[str, float]:
    """Seconds a step of the chosen strategy, first, and of the nearest other ones, in turns."""
    plan = max(_measured(function), key=lambda plan: (plan.group, plan.measurer.state.done))
    now = plan.chosen.strategy
    times = {s: statistics.median(a.times) for s, a in plan.measurer.state.arms.items() if a.times}
    others = sorted((s for s in times if s != now and s.group == now.group), key=lambda s: times[s])
    names = [strategy.name for strategy in [now, *others[:NEAREST]]]
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(TURNS):
        for name in names:
            plan.pin(name)
            found[name] += [seconds for seconds, _ in _turn(partial(_timed, run))]
    plan.pin(names[0])
    return {name: statistics.median(times) for name, times in found.items()}


def _timed(run: Callable[[], int]) -> tuple[float, int]:
    """Seconds a step of an epoch, and the peak memory of the process so far, in bytes."""
    start = time.perf_counter()
    steps = run()
    seconds = (time.perf_counter() - start) / steps
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _turn(epoch: Callable[[], Any]) -> list[Any]:
    """The results of the epochs of a turn, after a warm-up: other processes had the caches meanwhile."""
    repeated(epoch, AGAIN)
    return repeated(epoch, COUNTED)


def _of_keras(model: Any, task: Any, x: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], int]]:
    """Keras' own loops; each returns how many steps it made."""

    def fit(count: int) -> int:
        size = count * task.batch
        model.fit(x[:size], y[:size], batch_size=task.batch, verbose=0, shuffle=False)
        return count

    def predict() -> int:
        model.predict(x, batch_size=task.batch, verbose=0)
        return task.steps

    return {"first": lambda: fit(1), "fit": lambda: fit(task.steps), "predict": predict}


def _jax_by_hand(model: Any, task: Any, x: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], int]]:
    """A jitted step over the model's weights, and the loop around it; the body of a scan counts once."""
    import jax

    model.optimizer.build(model.trainable_variables)

    def loss_of(weights: Any, others: Any, x: Any, y: Any) -> Any:
        logits, others = model.stateless_call(weights, others, x, training=True)
        return model.loss(y, logits), others

    @jax.jit
    def step(state: Any, x: Any, y: Any) -> Any:
        weights, others, slots = state
        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, others, x, y)
        weights, slots = model.optimizer.stateless_apply(slots, gradients, weights)
        return loss, (weights, others, slots)

    forward = jax.jit(lambda weights, others, x: model.stateless_call(weights, others, x)[0])
    variables = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables)
    state = [tuple([v.value for v in group] for group in variables)]

    def fit(count: int) -> int:
        for i in range(count):
            part = slice(i * task.batch, (i + 1) * task.batch)
            loss, state[0] = step(state[0], x[part], y[part])
        loss.block_until_ready()
        return count

    def predict() -> int:
        found = [forward(*state[0][:2], x[i : i + task.batch]) for i in range(0, len(x), task.batch)]
        np.concatenate(found)
        return task.steps

    def operations(function: Any, *arguments: Any) -> int:
        return int(function.lower(*arguments).cost_analysis()["flops"])

    batch = x[: task.batch], y[: task.batch]
    return {
        "first": lambda: fit(1),
        "fit": lambda: fit(task.steps),
        "predict": predict,
        f"{FLOPS}fit": lambda: operations(step, state[0], *batch),
        f"{FLOPS}predict": lambda: operations(forward, *state[0][:2], batch[0]),
    }


def _torch_by_hand(model: Any, task: Any, x: np.ndarray, y: np.ndarray) -> dict[str, Callable[[], int]]:
    """A compiled model, and the usual loop of PyTorch around it."""
    import torch

    model_of_torch = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-7)
    loss_of = torch.nn.CrossEntropyLoss()
    inputs, labels = torch.from_numpy(x), torch.from_numpy(y)

    def fit(count: int) -> int:
        for i in range(count):
            part = slice(i * task.batch, (i + 1) * task.batch)
            optimizer.zero_grad()
            loss_of(model_of_torch(inputs[part], training=True), labels[part]).backward()
            optimizer.step()
        return count

    def predict() -> int:
        with torch.no_grad():
            found = [model_of_torch(inputs[i : i + task.batch]) for i in range(0, len(x), task.batch)]
        np.concatenate([each.numpy() for each in found])
        return task.steps

    return {"first": lambda: fit(1), "fit": lambda: fit(task.steps), "predict": predict}


BY_HAND = {"jax": _jax_by_hand, "torch": _torch_by_hand}


# -- the comparison ---------------------------------------------------------------------------------------------------


def places() -> dict[str, tuple[str, str, dict[str, str]]]:
    """The peers: name → Keras' backend, how a step is made, and the environment."""
    found = {OURS: ("dovetail", "dovetail", {"DOVETAIL_ENGINE": "auto", "DOVETAIL_CACHE": ""})}
    for name, (backend, how) in PEERS.items():
        found[name] = (backend, how, {})
        found[f"{name}, memory kept"] = (backend, how, KEPT)
    return found


def measure(name: str, rounds: int) -> dict[str, list[str]]:
    """Rows of the tables for training and for prediction; the times of all candidates are printed on stderr."""
    with ExitStack() as stack:
        servers, first = {}, {}
        for place, (backend, how, environment) in places().items():
            start = time.perf_counter()
            server = stack.enter_context(Server(backend, how, __file__, environment))
            server.ask(name)
            try:
                seconds = server.ask("first")[0]
            except RuntimeError:  # it cannot run the model
                continue
            servers[place], first[place] = server, (time.perf_counter() - start, seconds)
        rows = {}
        for action in ("fit", "predict"):
            settle(servers[OURS], action)
            for chosen, candidates in servers[OURS].ask(f"{PLANS}{action}"):
                tqdm.write("\n  ".join([f"{name}, {action}: {chosen}", *candidates]), file=sys.stderr)
            times: dict[str, list[float]] = {}
            memory, rates = {}, []
            for round_ in range(rounds):
                rates.append(_rate())
                running = deque(servers)
                running.rotate(-round_)
                for place in running:
                    epochs = _turn(partial(servers[place].ask, action))
                    times.setdefault(place, []).extend(seconds for seconds, *_ in epochs)
                    memory[place] = epochs[-1][1]
            counted = ("-", "-")  # where jax cannot run the model
            if COUNTING in servers:
                operations = servers[COUNTING].ask(f"{FLOPS}{action}")
                share = operations / statistics.median(times[OURS]) / max(rates)
                counted = (f"{operations / 1e9:.3f}", f"{share:.0%}")
            rows[action] = [*_row(name, times, first, memory), *counted]
        for action, row in rows.items():  # last, since candidates take memory
            row.append(_against(servers[OURS].ask(f"{RIVALS}{action}")))
    return rows


def _rate() -> float:
    """Floating-point operations a second, in the best of some products of large matrices."""
    x = np.ones((LARGE, LARGE), "float32")
    return 2 * LARGE**3 / min(timeit.repeat(lambda: x @ x, number=1, repeat=5))


def settle(server: Server, action: str) -> None:
    """Work until the third part of an answer says that all plans have settled."""
    for _ in tqdm(range(SETTLED), desc="measuring", file=sys.stderr, leave=False):
        if server.ask(action)[2]:
            return


def _row(
    name: str, times: dict[str, list[float]], first: dict[str, tuple[float, float]], memory: dict[str, int]
) -> list[str]:
    medians = {place: statistics.median(found) for place, found in times.items()}
    ours = medians.pop(OURS)
    best = min(medians, key=medians.__getitem__)
    others = [f"{medians[p] * 1e3:.2f}" if p in medians else "-" for p in places() if p != OURS]
    row = [name, f"{ours * 1e3:.2f}", *others, best, f"{medians[best] / ours:.2f}"]
    for i in range(2):
        row += [f"{first[OURS][i]:.2f}", f"{min(seconds[i] for place, seconds in first.items() if place != OURS):.2f}"]
    return [*row, f"{memory[OURS] / 1e6:.0f}", f"{memory[best] / 1e6:.0f}"]


def _against(rivals: dict[str, float]) -> str:
    """The time of the best rival as a share of the chosen candidate's, and its name."""
    chosen, *others = rivals
    best = min(others, key=rivals.__getitem__)
    return f"{rivals[chosen] / rivals[best]:.2f} ({best})"


def main(names: list[str], rounds: int) -> None:
    header = ["model", *places(), "best other", "faster by", "first step from the start, s", "best other's"]
    header += ["the call alone, s", "best other's", "peak MB", "best other's"]
    header += ["10⁹ operations", "of the rate of a product", "of the best other candidate's time"]
    found = [measure(name, rounds) for name in tqdm(names or NAMES, desc="models", file=sys.stderr)]
    for action, what in (("fit", "training"), ("predict", "prediction")):
        rows = [each[action] for each in found]
        ratios = [float(row[header.index("faster by")]) for row in rows]
        print(table(f"{what}: ms a step; geometric mean {statistics.geometric_mean(ratios):.2f}", header, rows))


if __name__ == "__main__":
    command_line(__doc__, NAMES, ("--rounds", 3, "of a second each"), main, serve)
