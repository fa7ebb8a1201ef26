"""The rounds of a server: the state, the checks of updates, and the file from which a server goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError, describe, op_error
from dovetail.core.values.structure import flatten, unflatten
from dovetail.federated.computations import Arrays, Computation, fitted
from dovetail.federated.placement import SERVER, named
from dovetail.formats import safetensors
from dovetail.graph.reach import reach

FILE = "state.safetensors"


class Refused(Exception):
    """An update that does not count: the HTTP status, and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Rounds:
    """The rounds of one training, whatever carries the weights and the updates.

    Args:
        computation: (state at SERVER, data at CLIENTS) → (new state, report).
        state: the first state.
        rounds: their number.
        max_norm: the largest norm of the tensors of an update on which the new state depends.
        max_weight: the largest weight of a client in a mean.
        folder: keeps the state after each round; if it has one, training goes on from there.
        report: gets a line of text for each round, and for each refused update.

    Attributes:
        number: of the current round, from 0.
        arrays: the state before it, by the names of its arrays.
        reports: the reports of the rounds that this process computed.

    Raises:
        TypeError: the computation does not take and give one state.
        ValueError: `rounds` or a bound is not positive.
        FormatError: the folder has the state of another computation.

    Example:
        >>> import dovetail as dt
        >>> mean = dt.federated.fed_avg(lambda w, x: dt.ops.mean((x - w) ** 2), dt.spec(()), dt.spec((None,)))
        >>> rounds = Rounds(mean, 0.0, rounds=1, report=lambda line: print(line[:36]))
        >>> update = mean.client(rounds.begin(), {"data": [1.0, 3.0]})
        >>> rounds.check("ada", update)
        >>> rounds.advance({"ada": update}, asked=1)
        round 1 of 1: 1 of 1 clients, loss 5
        >>> rounds.is_over, round(float(rounds.state), 3)
        (True, 0.4)
    """

    def __init__(
        self,
        computation: Computation,
        state: Any,
        *,
        rounds: int,
        max_norm: float = math.inf,
        max_weight: float = math.inf,
        folder: str | Path | None = None,
        report: Callable[[str], Any] = print,
    ) -> None:
        state_type(computation)
        if rounds < 1:
            raise op_error(ValueError, "federated.Server", f"it needs rounds >= 1, not {rounds}.")
        if not (max_norm > 0 and max_weight > 0):  # also NaN, with which nothing compares
            problem = f"it needs max_norm > 0 and max_weight > 0, not {max_norm} and {max_weight}."
            raise op_error(ValueError, "federated.Server", problem)
        self.computation, self.rounds, self.report = computation, rounds, report
        self.max_norm, self.max_weight = max_norm, max_weight
        self.number, self.arrays, self.reports = 0, computation.state_of(state), []  # type: int, Arrays, list[Any]
        self._bounded, self._begun = _those_of_the_state(computation), time.monotonic()
        self._file = None if folder is None else Path(folder) / FILE
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if self._file.exists():
                self._resume(self._file)

    @property
    def is_over(self) -> bool:
        """Whether no round is left."""
        return self.number >= self.rounds

    @property
    def state(self) -> Any:
        """The state, in its structure."""
        return state_of(self.computation, self.arrays)

    def begin(self) -> Arrays:
        """Begin a round: the arrays that the clients get, also after the last round."""
        self._begun = time.monotonic()
        return self.computation.weights(self.arrays)

    def check(self, client: str, update: Mapping[str, np.ndarray]) -> None:
        """Check the tensors of an update.

        Raises:
            Refused: a name, shape, dtype, number, weight or norm is wrong; the report says so, too.
        """
        if reason := self._problem(update):
            raise self.refused(client, 422, reason)

    def refused(self, client: str, status: int, reason: str) -> Refused:
        """The error of a refused update, which is reported, too."""
        self.report(f"{client}: refused, {reason}")
        return Refused(status, reason)

    def _problem(self, update: Mapping[str, np.ndarray]) -> str:
        expected = {one.name: one for one in self.computation.client.updates}
        if update.keys() != expected.keys():
            return f"the update has the tensors {sorted(update)}, not {sorted(expected)}"
        for name in sorted(update, key=lambda name: expected[name].how != "weight"):  # without examples, all may be NaN
            array, spec = update[name], expected[name].spec
            if (array.shape, array.dtype) != (spec.shape, spec.dtype.numpy):
                return f"{name!r} is {describe(array)}, not {spec}"
            if expected[name].how == "weight" and not 0 < array <= self.max_weight:
                bounds = f"above 0, at most {self.max_weight:g}; a client without examples has no part"
                return f"the weight {name!r} is {array}; it must be {bounds}"
            if not np.isfinite(array).all():
                return f"{name!r} has a NaN or an infinity"
        norm = math.hypot(*(float(np.linalg.norm(update[name].astype("float64"))) for name in self._bounded))
        return f"the norm of the update is {norm:.4g}, above {self.max_norm:g}" if norm > self.max_norm else ""

    def advance(self, updates: Mapping[str, Arrays], asked: int) -> None:
        """Finish a round with the checked updates of its clients; store and report it.

        Args:
            updates: of the clients by their names.
            asked: the number of clients that could send one.

        Raises:
            ValueError: the aggregates cannot be computed.
        """
        state, report = self.computation.finish(self.arrays, [updates[name] for name in sorted(updates)])
        self.arrays = self.computation.state_of(state)
        self.number += 1
        self.reports.append(report)
        if self._file is not None:
            about = {"computation": self.computation.name, "round": str(self.number)}
            safetensors.write(self._file, self.arrays, about)
        told = [f"{name} {float(part):.6g}" for name, part in named(report, "report").items() if part.shape == ()]
        words = [f"{len(updates)} of {asked} clients", *told, f"{time.monotonic() - self._begun:.1f} s"]
        self.report(f"round {self.number} of {self.rounds}: {', '.join(words)}")

    def _resume(self, file: Path) -> None:
        arrays, about = safetensors.read(file)
        try:
            if about["computation"] != self.computation.name:
                raise ValueError(about["computation"])
            self.number, self.arrays = min(int(about["round"]), self.rounds), fitted(arrays, self.computation.state)
        except (KeyError, TypeError, ValueError) as error:
            needed = f"the state of {self.computation.name!r}: {self.computation.state}; or take another folder"
            raise FormatError(file, "its tensors", f"{about} and {sorted(arrays)}", needed) from error
        self.report(f"goes on after round {self.number} of {self.rounds}")


def _those_of_the_state(computation: Computation) -> list[str]:
    """The names of the tensors of an update on which the new state depends."""
    after, count = computation.after, len(computation.state)
    needed = {*reach(after.outputs[:count])}
    names = [one.name for one in computation.client.updates if one.how != "weight"]
    return [name for name, tensor in zip(names, after.inputs[count:], strict=True) if tensor.op in needed]


def state_type(computation: Computation) -> Any:
    """The type of the state, which a served computation takes and gives.

    Raises:
        TypeError: the computation does not take and give one state.
    """
    taken = [kind.member for kind in computation.arguments.values() if kind.placement == SERVER]
    result = computation.result
    if not isinstance(result, tuple) or len(result) != 2 or flatten([result[0]]) != flatten(taken):
        problem = f"it takes {taken} at SERVER, and gives {result}; to be served it takes one state, and gives a pair: "
        raise op_error(TypeError, computation.name, problem + "the new state and a report.")
    return taken[0]


def state_of(computation: Computation, arrays: Mapping[str, Any]) -> Any:
    """The state of a served computation for arrays by their names, such as `weights.w`.

    Raises:
        KeyError: an array is missing.
        TypeError, ValueError: an array has another dtype or shape; or the computation has no state.
    """
    return unflatten(flatten(state_type(computation))[1], fitted(arrays, computation.state).values())
