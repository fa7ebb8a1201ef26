"""A report of gradients for Keras' `fit`: by layer, vanishing and exploding gradients, and dead units.

from keras_dovetail.gradient_report import GradientReport

report = GradientReport(every=50)
model.fit(x, y, callbacks=[report])
print(report)
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import describe, op_error
from dovetail.core.base.texts import aligned
from dovetail.functions.taps import Taps
from dovetail.interop.privates import Callback

RECTIFIERS = ("relu", "relu6")  # activations whose units can die
NAN, DEAD, VANISHING, EXPLODING = "NaN or infinity", "dead units", "vanishing", "exploding"


class LayerReport(NamedTuple):
    """The gradients of a layer's weights, and its units, over the steps that were looked at.

    Attributes:
        name: the path of the layer.
        steps: the steps that were looked at.
        sizes: in each of these, the root of the mean square of the weights' gradients; infinite if one is no number.
        bad: how many numbers of the gradients were NaN or infinite.
        units, dead: the number of its units, and how many were 0 for all examples; 0 without a rectifier.
        verdicts: the problems, as words; () if there are none.
    """

    name: str
    steps: tuple[int, ...]
    sizes: tuple[float, ...]
    bad: int
    units: int = 0
    dead: int = 0
    verdicts: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """The mean over the steps."""
        return float(np.mean(self.sizes)) if self.sizes else 0.0


class GradientReport(Callback):
    """A callback that looks at the gradients of some steps of `fit`.

    Steps that it does not look at run as without it, in groups if these are faster.  A group that it looks at counts as
    one step.  It looks by `dovetail.taps`, so steps have a second program, with further outputs.

    Args:
        every: look at the first step, and at one of this many steps.
        vanishing: a layer's gradients vanish if they are smaller than this part of the largest layer's.
        exploding: a layer's gradients explode if they are larger than this number, or this many times their first size.
        log_dir: a folder for TensorBoard, which gets the sizes and the dead units by step; None for none.

    Attributes:
        layers: a `LayerReport` for each layer that was seen, in the order of the model.

    Raises:
        TypeError, ValueError: `every` is no positive integer.
        ImportError: there is a `log_dir`, and the extra `formats` is not installed.
    """

    def __init__(
        self,
        every: int = 100,
        vanishing: float = 1e-3,
        exploding: float = 1e3,
        log_dir: str | Path | None = None,
    ) -> None:
        super().__init__()
        if type(every) is not int:
            raise op_error(TypeError, "GradientReport", f"`every` is a number of steps, not {describe(every)}.")
        if every < 1:
            raise op_error(ValueError, "GradientReport", f"`every` is 1 or more, not {every}.")
        self._every, self._vanishing, self._exploding = every, vanishing, exploding
        self._writer = None if log_dir is None else _writer(log_dir)
        self._sizes: dict[str, dict[int, float]] = defaultdict(dict)
        self._bad: dict[str, int] = defaultdict(int)
        self._alive: dict[str, np.ndarray] = {}
        self._done = 0  # steps before

    def around_steps(self, count: int) -> AbstractContextManager[Any]:
        """The scope of the next steps, which the trainer runs in one call."""
        first, self._done = self._done, self._done + count
        is_due = first == 0 or first // self._every != self._done // self._every
        return self._look(first) if is_due else nullcontext()

    @contextmanager
    def _look(self, step: int) -> Iterator[None]:
        rectified = {re.escape(layer.path): ["value"] for layer in self._flat() if _is_rectifier(layer)}
        with Taps(rectified) as seen:
            yield
        self._take(step, seen)

    def _flat(self) -> list[Any]:
        return [layer for layer in self.model._flatten_layers() if layer is not self.model]

    def _take(self, step: int, seen: Taps) -> None:
        for layer in self._flat():
            own = [seen[v.path].gradient for v in layer._trainable_variables if v.path in seen]
            said = [gradient.statistics for gradient in own if gradient is not None and gradient.statistics]
            if said:
                count, bad = (sum(getattr(statistics, name) for statistics in said) for name in ("size", "bad"))
                mean = sum(statistics.norm**2 for statistics in said) / max(1, count)
                self._sizes[layer.path][step] = math.inf if bad else math.sqrt(mean)
                self._bad[layer.path] += bad
            if layer.path in seen and (value := seen[layer.path].value) is not None and _is_rectifier(layer):
                alive = (value != 0).any(axis=tuple(range(value.ndim - 1)))
                self._alive[layer.path] = alive | self._alive.get(layer.path, False)
        self._write(step)

    def _write(self, step: int) -> None:
        if self._writer is None:
            return
        sizes = {f"gradients/{name}": by_step[step] for name, by_step in self._sizes.items() if step in by_step}
        dead = {f"dead_units/{name}": int((~alive).sum()) for name, alive in self._alive.items()}
        self._writer({**sizes, **dead}, step)

    # the report

    @property
    def layers(self) -> list[LayerReport]:
        """The layers that were seen."""
        paths = [layer.path for layer in self._flat()] if self.model is not None else []
        reports = [self._layer(path) for path in paths if path in self._sizes or path in self._alive]
        largest = max((layer.size for layer in reports if math.isfinite(layer.size)), default=0.0)
        return [layer._replace(verdicts=tuple(self._verdicts(layer, largest))) for layer in reports]

    def _layer(self, path: str) -> LayerReport:
        sizes, alive = self._sizes.get(path, {}), self._alive.get(path)
        units, dead = (0, 0) if alive is None else (alive.size, int((~alive).sum()))
        return LayerReport(path, tuple(sizes), tuple(sizes.values()), self._bad[path], units, dead)

    def _verdicts(self, layer: LayerReport, largest: float) -> Iterator[str]:
        if layer.bad:
            yield NAN
        if layer.sizes and layer.size < self._vanishing * largest:
            yield VANISHING
        if layer.sizes and max(layer.sizes) > self._exploding * min(1.0, layer.sizes[0] or 1.0):
            yield EXPLODING
        if layer.dead:
            yield DEAD

    def __str__(self) -> str:
        rows = [("layer", "steps", "gradient", "first", "last", "dead units", "")]
        for layer in self.layers:
            first, last = (f"{layer.sizes[i]:.3g}" if layer.sizes else "-" for i in (0, -1))
            dead = f"{layer.dead} of {layer.units}" if layer.units else "-"
            size = f"{layer.size:.3g}" if layer.sizes else "-"
            rows.append((layer.name, str(len(layer.steps)), size, first, last, dead, ", ".join(layer.verdicts)))
        return "\n".join(aligned(rows))

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the size of each layer's gradients by step, on a logarithmic scale.

        Args:
            path: a file for the picture, such as "gradients.png"; None for none.

        Returns:
            A figure of matplotlib.

        Raises:
            ImportError: matplotlib is not installed.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError:
            problem = "it draws with matplotlib, which is not installed: pip install matplotlib"
            raise op_error(ImportError, "GradientReport.plot", f"{problem}.") from None
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        for layer in self.layers:
            if layer.sizes:
                axes.plot(layer.steps, layer.sizes, marker=".", label=layer.name)
        axes.set(xlabel="step", ylabel="gradients of weights (root mean square)", yscale="log")
        axes.legend(fontsize="small")
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure


def _is_rectifier(layer: Any) -> bool:
    activation = getattr(layer, "activation", None)
    return getattr(activation, "__name__", "") in RECTIFIERS or type(layer).__name__ == "ReLU"


def _writer(folder: str | Path) -> Any:
    """A function that writes numbers by name, for a step, to an event file."""
    from dovetail.formats.wire import summaries
    from dovetail.formats.wire.events import EventWriter
    from dovetail.formats.wire.messages import TENSORFLOW

    events = EventWriter(folder)

    def write(numbers: dict[str, float], step: int) -> None:
        for tag, number in numbers.items():
            value = summaries.summary(summaries.scalar_tensor(tag, np.array(number, "float32")))
            events.add(TENSORFLOW.Event(wall_time=time.time(), step=step, summary=value))
        events.flush()

    return write
