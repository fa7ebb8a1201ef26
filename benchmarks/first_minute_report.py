"""The report of `first_minute.py`: runs as records, tables and a picture."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from timing import table

TRAINED = ("MLP", "CNN", "LSTM", "GRU", "Transformer", "ResNet", "MobileNet", "UNet", "Speech")
PREDICTED = ("MLP-predict", "CNN-predict", "Transformer-predict")
PROGRAMS = ("Autoencoder", "BiLSTM", "VAE", "ConvLSTM", "GAN", "MobileNetV2", "EfficientNetB0", "ResNet50")
FITTED = ("MLP-fit", "CNN-fit", "ConvLSTM-fit", "ResNet-fit", "BiLSTM-fit")
ROWS = (*TRAINED, *PREDICTED, *PROGRAMS, *FITTED)

AUTO, AGAIN = "auto", "auto, again"
ENGINES = ("torch", "jax", "tensorflow", "numpy")  # of Dovetail
KERAS = {f"Keras, {name}": name for name in ENGINES[:3]}  # way → backend
WAYS = (AUTO, AGAIN, *ENGINES, *KERAS)

STEPS = {f"{steps:,}": steps for steps in (1, 8, 64, 512, 4096)}
EPOCHS = {"epoch 1": 1, "epoch 2": 2}  # of a program, whose curve counts epochs
MISSING = "-"


@dataclass
class Run:
    """One process.

    Attributes:
        curve: the number of steps, or of epochs in rows that count these, after each epoch; and the seconds since the
            process began.
        processor: seconds.
        memory: bytes at the peak.
        chosen: the strategy that ran each plan at the end.
        plans: each graph with its strategies and the ledger, in words.
        predicted: engine → predicted seconds of a step, and to start, before anything was measured.
        problem: why there is no result; "" if there is one.
    """

    curve: list[tuple[int, float]] = field(default_factory=list)
    processor: float = 0.0
    memory: int = 0
    chosen: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    predicted: dict[str, tuple[float, float]] = field(default_factory=dict)
    problem: str = ""

    @staticmethod
    def of(record: Mapping[str, Any]) -> Run:
        """The run of a record in JSON, which has lists for pairs."""
        predicted = {engine: tuple(pair) for engine, pair in record["predicted"].items()}
        return Run(**{**record, "curve": [tuple(pair) for pair in record["curve"]], "predicted": predicted})

    def until(self, steps: int) -> float | None:
        """Seconds until this number of steps was made, between two epochs in proportion; None if it was not."""
        before = 0, 0.0
        for now in self.curve:
            if now[0] >= steps:
                share = (steps - before[0]) / (now[0] - before[0])
                return before[1] + share * (now[1] - before[1])
            before = now
        return None


Rows: TypeAlias = dict[str, dict[str, list[Run]]]  # name → way → runs


# -- records ----------------------------------------------------------------------------------------------------------


def save(path: Path, found: Rows) -> None:
    """Writes all runs."""
    plain = {name: {way: list(map(asdict, each)) for way, each in ways.items()} for name, ways in found.items()}
    path.write_text(json.dumps(plain))


def load(paths: Iterable[Path]) -> Rows:
    """The runs of several records as one."""
    found: Rows = {}
    for path in paths:
        for name, ways in json.loads(path.read_text()).items():
            for way, each in ways.items():
                found.setdefault(name, {}).setdefault(way, []).extend(map(Run.of, each))
    return {name: {way: found[name][way] for way in WAYS if way in found[name]} for name in ROWS if name in found}


def step_seconds(run: Run) -> float:
    """The median seconds of a step in the later half of the epochs."""
    pairs = list(zip(run.curve, run.curve[1:], strict=False))
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs[len(pairs) // 2 :])


def save_simulation(path: Path, found: Rows) -> None:
    """Writes name → engine → measured and predicted seconds of a step and to start, where all of these are known."""
    plain: dict[str, dict[str, dict[str, float]]] = {}
    for name, ways in found.items():
        if name in (*PROGRAMS, *FITTED):  # whose curves count epochs
            continue
        predicted = next((run.predicted for run in ways.get(AUTO, ()) if run.predicted), {})
        alone = {engine: [run for run in ways.get(engine, ()) if len(run.curve) > 1] for engine in predicted}
        plain[name] = {
            engine: {
                "start": round(statistics.median(run.curve[0][1] for run in alone[engine]), 2),
                "step": _rounded(statistics.median(map(step_seconds, alone[engine]))),
                "predicted start": round(start, 2),
                "predicted step": _rounded(step),
            }
            for engine, (step, start) in predicted.items()
            if alone[engine]
        }
    path.write_text(json.dumps({name: rows for name, rows in plain.items() if rows}, indent=1) + "\n")


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.3g}")


# -- tables -----------------------------------------------------------------------------------------------------------


def marks(name: str) -> dict[str, int]:
    """The marks of a row: their head in tables → steps, or epochs of a program."""
    return EPOCHS if name in (*PROGRAMS, *FITTED) else STEPS


def seconds_until(runs: list[Run], mark: int) -> float | None:
    """The median seconds until a mark; None if a run did not come to it, or there is none."""
    times = [run.until(mark) for run in runs]
    return None if not times or None in times else statistics.median(times)  # type: ignore[type-var]


def table_of(name: str, ways: dict[str, list[Run]]) -> str:
    """The table of a row: medians of the runs of each way."""
    first = next(iter(marks(name)))
    counted = [] if name in PROGRAMS else ["epochs" if name in FITTED else "steps"]
    title = f"{name}, seconds until {'the end of an epoch' if marks(name) is EPOCHS else 'a step'}"
    heads = ["way", *marks(name), f"{first}, spread", *counted, "processor s", "GiB"]
    return table(title, heads, [_cells(name, way, runs, bool(counted)) for way, runs in ways.items()])


def _cells(name: str, way: str, runs: list[Run], counts: bool) -> list[str]:
    times = [seconds_until(runs, mark) for mark in marks(name).values()]
    cells = [way, *(MISSING if t is None else f"{t:.3g}" for t in times)]
    able = [run for run in runs if run.curve]
    if not able:
        return [*cells, *[MISSING] * (3 + counts)]
    firsts = [run.curve[0][1] for run in able]
    cells.append(f"{min(firsts):.3g} to {max(firsts):.3g}")
    if counts:
        cells.append(f"{statistics.median(run.curve[-1][0] for run in able):,.0f}")
    cells.append(f"{statistics.median(run.processor for run in able):.3g}")
    return [*cells, f"{statistics.median(run.memory for run in able) / 2**30:.2f}"]


RIVALS = {"the best single engine": ENGINES, "Keras' best backend": tuple(KERAS)}


def summaries(found: Rows) -> Iterable[str]:
    """Tables of how many times as long the best rival takes until a mark, for each kind of auto and of rivals.

    If rows count epochs, another table has auto's epochs over those of the best rival.
    """
    if fitted := [name for name in FITTED if AUTO in found.get(name, {})]:
        yield table("Epochs of auto over those of a rival", ["", *RIVALS], _epochs(found, fitted))
    for kind in (STEPS, EPOCHS):
        names = [name for name in found if marks(name) is kind]
        for way in (AUTO, AGAIN):
            for title, rivals in RIVALS.items():
                rows = [(name, _ratios(found[name], way, rivals, kind)) for name in names if way in found[name]]
                if any(ratio for _, ratios in rows for ratio in ratios):
                    yield _summary(f"Seconds of {title} over those of {way}; above 1, {way} is quicker", rows, kind)


def _epochs(found: Rows, names: list[str]) -> list[list[str]]:
    rows = [(name, [_more(found[name], rivals) for rivals in RIVALS.values()]) for name in names]
    means = [statistics.geometric_mean(column) for column in zip(*(row for _, row in rows), strict=True) if all(column)]
    return [*([name, *(f"{ratio:.2f}" for ratio in row)] for name, row in rows), ["mean", *(f"{m:.2f}" for m in means)]]


def _more(ways: dict[str, list[Run]], rivals: Iterable[str]) -> float:
    """The median number of auto's epochs over the best rival's; 0 if there is no rival."""
    counts = {
        way: statistics.median(run.curve[-1][0] if run.curve else 0 for run in runs) for way, runs in ways.items()
    }
    best = max((counts[rival] for rival in rivals if rival in counts), default=0)
    return counts[AUTO] / best if best else 0.0


@dataclass
class Ratio:
    """How many times as long the best rival takes as auto.

    Attributes:
        value: the ratio; where auto did not come to the mark, an upper bound of it.
        rival: the best one.
        is_bound: whether the value is such a bound.
    """

    value: float
    rival: str
    is_bound: bool = False

    def __str__(self) -> str:
        return f"{'<' * self.is_bound}{self.value:.2f} ({self.rival.removeprefix('Keras, ')})"


def _ratios(ways: dict[str, list[Run]], way: str, rivals: Iterable[str], kind: Mapping[str, int]) -> list[Ratio | None]:
    return [_ratio(ways, way, rivals, mark) for mark in kind.values()]


def _ratio(ways: dict[str, list[Run]], way: str, rivals: Iterable[str], mark: int) -> Ratio | None:
    times = {rival: t for rival in rivals if (t := seconds_until(ways.get(rival, []), mark)) is not None}
    if not times:
        return None
    best = min(times, key=times.__getitem__)
    mine = seconds_until(ways[way], mark)
    if mine is not None:
        return Ratio(times[best] / mine, best)
    ends = [run.curve[-1][1] for run in ways[way] if run.curve]
    return Ratio(times[best] / max(ends), best, is_bound=True) if ends else None


def _summary(title: str, rows: list[tuple[str, list[Ratio | None]]], kind: Mapping[str, int]) -> str:
    columns = [[ratio for ratio in column if ratio] for column in zip(*(ratios for _, ratios in rows), strict=True)]
    cells = [[name, *(MISSING if ratio is None else str(ratio) for ratio in ratios)] for name, ratios in rows]
    for label, of in (("geometric mean", statistics.geometric_mean), ("least", min)):
        cells.append([label, *(_over(of, column) for column in columns)])
    return table(title, ["", *kind], cells)


def _over(of: Callable[[list[float]], float], column: list[Ratio]) -> str:
    bound = "<" * any(ratio.is_bound for ratio in column)
    return f"{bound}{of([ratio.value for ratio in column]):.2f}" if column else MISSING


# -- the picture ------------------------------------------------------------------------------------------------------

HUES = {AUTO: "#d1495b", "torch": "#e08e0b", "jax": "#2274a5", "tensorflow": "#3b9c5a", "numpy": "#7a7a7a"}
COLUMNS = 4


def look(way: str) -> dict[str, Any]:
    """The style of a way's line: an engine has one hue, Keras' backend for it is dashed, and auto is thick."""
    if way in (AUTO, AGAIN):
        return {"color": HUES[AUTO], "linewidth": 2.6, "linestyle": "-" if way == AUTO else (0, (1, 0.8)), "zorder": 5}
    return {"color": HUES[KERAS.get(way, way)], "linewidth": 1.4, "linestyle": (0, (4, 1.6)) if way in KERAS else "-"}


def plot(path: Path, found: Rows) -> None:
    """Draws small multiples: of models steps over time, of programs the ends of epochs."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    count, columns = len(found), min(COLUMNS, len(found))
    lines = math.ceil(count / columns)
    mpl.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure = Figure(figsize=(max(3.4 * columns, 6.8), 2.9 * lines + 0.9), layout="constrained")
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for axis, (name, ways) in zip(axes, found.items(), strict=False):
        (_draw_epochs if name in PROGRAMS else _draw_steps)(axis, ways)
        axis.set_title(name, loc="left", fontweight="bold", fontsize=10)
    for axis in axes[count:]:
        axis.set_visible(False)
    used = [way for way in WAYS if any(way in ways for ways in found.values())]
    handles = [mpl.lines.Line2D([], [], **look(way)) for way in used]
    figure.legend(handles, used, loc="outside upper left", ncols=9 if columns == COLUMNS else 3, frameon=False)
    figure.supxlabel("seconds since the process started", fontsize=10)
    figure.savefig(path, dpi=90)


def _median_curve(runs: list[Run]) -> list[tuple[int, float]]:
    """The median seconds until each number of steps that all runs have come to; they make the same epochs."""
    return [(points[0][0], statistics.median(p[1] for p in points)) for points in zip(*(r.curve for r in runs))]  # noqa: B905


def _draw_steps(axis: Any, ways: dict[str, list[Run]]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    for way, runs in ways.items():
        if curve := _median_curve(runs):
            steps, at = zip(*curve, strict=True)
            axis.plot(at, steps, **look(way))
    axis.set(xscale="log", yscale="log", ylabel="steps")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(lambda steps, _: f"{steps:,.0f}")
    axis.xaxis.set_major_locator(FixedLocator([1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
    axis.grid(alpha=0.25)


def _draw_epochs(axis: Any, ways: dict[str, list[Run]]) -> None:
    """A line a way, with a dot at the end of each epoch."""
    for place, (way, runs) in enumerate(ways.items()):
        ends = [seconds for _, seconds in _median_curve(runs)]
        if ends:
            axis.plot([0, *ends], [place] * (1 + len(ends)), **look(way))
            axis.plot(ends, [place] * len(ends), "o", color=look(way)["color"], markersize=5, zorder=6)
    axis.set(xlim=(0, None), ylim=(len(ways) - 0.4, -0.6))
    axis.set_yticks(range(len(ways)), list(ways))
    axis.grid(alpha=0.25, axis="x")
