"""The training: Keras' `fit`, with a progress bar, and Ctrl-C between two calls of a program.

The learning rate was checked on a fifth of the training images, held out: of 0.05, 0.1, 0.2 and 0.4, the last two read
them equally well (98.6% and 98.7%, mean of three seeds).  The net and its other settings were not. Nothing decides when
to stop: every run goes through all its epochs, and the accuracy reported is the one at the end.
"""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import keras
import numpy as np
from tqdm import tqdm

from dovetail.core.base.texts import count_text, time_text
from keras_dovetail.demo.data import Digits
from keras_dovetail.demo.model import WorstDigit, build, smoothed_cross_entropy

BATCH = 32
LEARNING_RATE = 0.2
MOMENTUM = 0.9
GRADIENT_NORM = 1.0


@dataclass
class History:
    """The history of a training run.

    Attributes:
        logs: Keras' logs of each epoch: "loss", "accuracy", "worst_digit", and of the test images "val_loss", ….
        step_times: the seconds that a step took in each epoch, on average.
        interrupted: whether Ctrl-C ended it.
    """

    engine: str
    logs: dict[str, list[float]] = field(default_factory=dict)
    step_times: list[float] = field(default_factory=list)
    interrupted: bool = False

    @property
    def losses(self) -> list[float]:
        return self.logs["loss"]

    @property
    def step_time(self) -> float:
        """The median over the epochs, except the first one, which compiles."""
        return float(np.median(self.step_times[1:] or self.step_times))

    @property
    def trained(self) -> str:
        """The number of epochs and the time of a step, in words."""
        epochs = len(self.losses)
        return f"after {count_text(epochs, 'epoch')}, {time_text(self.step_time)} a step"

    def last(self, name: str) -> float:
        """The value in Keras' logs of the last epoch."""
        return self.logs[name][-1]


class Interruption(keras.callbacks.Callback):
    """A `with` block in which Ctrl-C ends training after the current call; a second one interrupts at once, as usual.

    Attributes:
        happened: whether there was a Ctrl-C.
    """

    def __init__(self) -> None:
        super().__init__()
        self.happened = False
        self._before: Any = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # only this one receives signals
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, *_: Any) -> None:
        self.happened = True
        signal.signal(signal.SIGINT, self._before)
        if self.model is not None:
            self.model.stop_training = True

    def on_train_begin(self, logs: Any = None) -> None:
        """Stop the model if there was a Ctrl-C: Keras has just reset its flag, before the first epoch."""
        self.model.stop_training = self.happened


class Watch(keras.callbacks.Callback):
    """A callback that measures the steps, and shows the results of each epoch in a progress bar."""

    def __init__(self, history: History, bar: Any) -> None:
        super().__init__()
        self._history, self._bar = history, bar
        self._begin = 0, 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._begin = self._now()

    def on_test_begin(self, logs: Any = None) -> None:
        """Note the time of a step, since the steps of an epoch are over."""
        before, now = self._begin, self._now()
        self._history.step_times.append((now[1] - before[1]) / (now[0] - before[0]))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for name, value in logs.items():
            self._history.logs.setdefault(name, []).append(float(value))
        status = self.model.train_function.status
        self._bar.set_postfix_str(_progress(logs) + (f", {status}" if status else ""), refresh=False)
        self._bar.update()

    def _now(self) -> tuple[int, float]:
        """The number of steps that were run, and the time after the last one: reading its number waits for it."""
        return int(self.model.optimizer.iterations), perf_counter()


def train(
    training: Digits, test: Digits, epochs: int, seed: int, engine: str, interruption: Interruption
) -> tuple[keras.Model, History]:
    """Train a new model on the current engine."""
    keras.utils.set_random_seed(seed)
    model = build()
    steps = epochs * -(-len(training) // BATCH)
    rate = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, steps)
    optimizer = keras.optimizers.SGD(rate, MOMENTUM, global_clipnorm=GRADIENT_NORM)
    model.compile(optimizer, smoothed_cross_entropy, metrics=["accuracy", WorstDigit()])
    history = History(engine)
    with tqdm(total=epochs, desc=engine, unit="epoch") as bar:
        model.fit(
            training.images,
            training.labels,
            batch_size=BATCH,
            epochs=epochs,
            validation_data=(test.images, test.labels),
            validation_batch_size=len(test),
            callbacks=[interruption, Watch(history, bar)],
            verbose=0,
        )
    history.interrupted = interruption.happened
    return model, history


def _progress(logs: dict[str, Any]) -> str:
    return "loss {loss:.3f}, accuracy {accuracy:.1%}, test accuracy {val_accuracy:.1%}".format(**logs)
