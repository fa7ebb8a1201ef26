"""The rounds of a server: the state, the checks of updates, and the file from which a server goes on."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.errors import FormatError, describe, op_error
from dovetail.core.structure import flatten, unflatten
from dovetail.federated.computations import Arrays, Computation
from dovetail.federated.placement import SERVER, names_of
from dovetail.formats import safetensors
from dovetail.formats.strict_json import parse
from dovetail.graph.reach import reach

FILE = "state.safetensors"


class Refused(Exception):
    """An update that does not count: the HTTP status, and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Rounds:
    """The rounds of one training: threads ask for weights and bring updates, while `run` waits for them.

    Args:
        computation: (state at SERVER, data at CLIENTS) → (new state, report).
        state: the first state.
        clients: their names.
        rounds: their number.
        least: the number of updates that are enough at the deadline; all clients, if not given.
        deadline: the seconds that a round waits for all clients.
        max_norm: the largest norm of the tensors of an update on which the new state depends.
        max_weight: the largest weight of a client in a mean.
        folder: keeps the state after each round; if it has one, training goes on from there.
        report: gets a line of text for each round, and for each refused update.

    Attributes:
        number: of the current round, from 0.
        state: the state before it.
        reports: the reports of the rounds that this process computed.

    Raises:
        TypeError: the computation does not take and give one state.
        ValueError: `least` or `rounds` is out of range.
        FormatError: the folder has the state of another computation.

    Example:
        >>> import dovetail as dt
        >>> mean = dt.federated.fed_avg(lambda w, x: dt.ops.mean((x - w) ** 2), dt.spec(()), dt.spec((None,)))
        >>> rounds = Rounds(mean, 0.0, ["ada"], rounds=1, report=lambda line: print(line[:36]))
        >>> update = mean.client(rounds.weights(), {"data": [1.0, 3.0]})
        >>> rounds.check("ada", update)
        >>> rounds.advance({"ada": update}, time.monotonic())
        round 1 of 1: 1 of 1 clients, loss 5
        >>> round(float(rounds.state), 3)
        0.4
    """

    def __init__(
        self,
        computation: Computation,
        state: Any,
        clients: Collection[str],
        *,
        rounds: int,
        least: int | None = None,
        deadline: float = 60.0,
        max_norm: float = math.inf,
        max_weight: float = math.inf,
        folder: str | Path | None = None,
        report: Callable[[str], Any] = print,
    ) -> None:
        self.computation, self.clients, self.rounds = computation, sorted(clients), rounds
        self.least = len(self.clients) if least is None else least
        if not 1 <= self.least <= len(self.clients) or rounds < 1:
            problem = f"it needs rounds >= 1, and 1 <= least <= {len(self.clients)} clients, not {rounds} and {least}."
            raise op_error(ValueError, "federated.Server", problem)
        self.deadline, self.max_norm, self.max_weight, self.report = deadline, max_norm, max_weight, report
        self.number, self.state, self.reports = 0, state, []  # type: int, Any, list[Any]
        self._member = self._state_type()
        self._names, self._structure = names_of(self._member, "state"), flatten(self._member)[1]
        self._leaves = computation.server_values(state)
        self._file = None if folder is None else Path(folder) / FILE
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            if self._file.exists():
                self._resume(self._file)
        self._changed = threading.Condition()
        self._updates: dict[str, Arrays] = {}
        self._weights = b""  # of the open round; empty between two
        self._told: set[str] = set()  # clients that know of the end
        self._is_over = False
        self._bounded = self._those_of_the_state()

    def _state_type(self) -> Any:
        """The type of the state, which the computation takes and gives."""
        kinds = [kind.member for kind in self.computation.arguments.values() if kind.placement is SERVER]
        result = self.computation.result
        if (
            len(kinds) != 1
            or not isinstance(result, tuple)
            or len(result) != 2
            or flatten(result[0]) != flatten(kinds[0])
        ):
            found = f"takes {kinds} at SERVER, and gives {result}"
            problem = f"it {found}; to be served it takes one state, and gives a pair: the new state and a report."
            raise op_error(TypeError, self.computation.name, problem)
        return kinds[0]

    def _those_of_the_state(self) -> list[str]:
        """The names of the tensors of an update on which the new state depends."""
        after, count = self.computation.after, len(self._names)
        needed = set(reach(after.outputs[:count]))
        means = [one.name for one in self.computation.client.updates if one.how != "weight"]
        return [name for name, tensor in zip(means, after.inputs[count:], strict=True) if tensor.op in needed]

    # -- called by the threads of requests ----------------------------------------------------------------------------

    def weights_for(self, client: str, seconds: float) -> bytes | None:
        """The weights of a round to which the client has not contributed, or those at the end; None if it must wait.

        Args:
            client: its name.
            seconds: the longest wait.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._is_open_for(client), seconds)
            if not self._is_open_for(client):
                return None
            if self.number == self.rounds:
                self._told.add(client)
                self._changed.notify_all()
            return self._weights

    def _is_open_for(self, client: str) -> bool:
        return bool(self._weights) and client not in self._updates

    def take(self, client: str, body: bytes) -> None:
        """Count an update.

        Raises:
            Refused: it is late, or wrong.
        """
        try:
            arrays, metadata = safetensors.of_bytes(body, "the update")
            number = int(metadata["round"])
        except (FormatError, KeyError, ValueError) as error:
            reason = f"the update is no safetensors file with the metadata 'round': {error}"
            raise self._refused(client, 400, reason) from None
        self.check(client, arrays)
        with self._changed:
            if not self._weights or number != self.number or client in self._updates:
                raise Refused(409, f"the update of round {number} is late, or came before; ask for new weights")
            self._updates[client] = arrays
            self._changed.notify_all()

    def check(self, client: str, tensors: Mapping[str, np.ndarray]) -> None:
        """Check the tensors of an update.

        Raises:
            Refused: a name, shape, dtype, number, weight or norm is wrong; the report says so, too.
        """
        if reason := self._problem(tensors):
            raise self._refused(client, 422, reason)

    def _refused(self, client: str, status: int, reason: str) -> Refused:
        self.report(f"{client}: refused, {reason}")
        return Refused(status, reason)

    def _problem(self, tensors: Mapping[str, np.ndarray]) -> str:
        expected = {one.name: one for one in self.computation.client.updates}
        if tensors.keys() != expected.keys():
            return f"the update has the tensors {sorted(tensors)}, not {sorted(expected)}"
        for name, array in tensors.items():
            spec = expected[name].spec
            if (array.shape, array.dtype) != (spec.shape, spec.dtype.numpy):
                return f"{name!r} is {describe(array)}, not {spec}"
            if not np.isfinite(array).all():
                return f"{name!r} has a NaN or an infinity"
            if expected[name].how == "weight" and not 0 < array <= self.max_weight:
                return f"the weight {name!r} is {array}; it must be above 0, at most {self.max_weight:g}"
        norm = math.sqrt(sum(float(np.square(tensors[name].astype("float64")).sum()) for name in self._bounded))
        return f"the norm of the update is {norm:.4g}, above {self.max_norm:g}" if norm > self.max_norm else ""

    # -- called by the thread of the training -------------------------------------------------------------------------

    def run(self) -> Any:
        """Compute the rounds that are left, and return the last state."""
        while self.number < self.rounds:
            start = time.monotonic()
            self._open()
            self.advance(self._gathered(start), start)
        self._open()
        return self.state

    def weights(self) -> Arrays:
        """The tensors that the clients get in this round."""
        return self.computation.weights(self._leaves)

    def tensors(self) -> Arrays:
        """The tensors of the state, by their names."""
        return dict(zip(self._names, self._leaves, strict=True))

    def advance(self, updates: Mapping[str, Arrays], start: float) -> None:
        """Finish a round, which began at `start`, with the checked updates of its clients; store and report it."""
        self.state, found = self.computation.finish(self._leaves, [updates[name] for name in sorted(updates)])
        self._leaves = self.computation.server_values(self.state)
        self.number += 1
        if self._file is not None:
            self._store(self._file)
        self.reports.append(found)
        told = ", ".join(f"{name} {float(value):.6g}" for name, value in _scalars(found))
        text = f"{len(updates)} of {len(self.clients)} clients, {told}{', ' if told else ''}"
        self.report(f"round {self.number} of {self.rounds}: {text}{time.monotonic() - start:.1f} s")

    def wait_for_goodbyes(self, seconds: float) -> None:
        """Wait until all clients have the weights of the end, at most some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._told.issuperset(self.clients), seconds)

    def close(self) -> None:
        """Let no thread wait any longer."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _open(self) -> None:
        """Offer the weights of the next round, or those at the end."""
        weights = self.weights()
        end = {"done": "true"} if self.number == self.rounds else {}
        body = safetensors.to_bytes(weights, {"round": str(self.number), "rounds": str(self.rounds), **end})
        with self._changed:
            self._updates, self._weights = {}, body
            self._changed.notify_all()

    def _gathered(self, start: float) -> dict[str, Arrays]:
        """The updates of the round, once all are here, or enough at the deadline; then the round is over."""
        with self._changed:
            left = start + self.deadline - time.monotonic()
            self._changed.wait_for(lambda: len(self._updates) == len(self.clients), left)
            if len(self._updates) < self.least:
                text = f"{len(self._updates)} of {len(self.clients)} clients came; it waits for {self.least}"
                self.report(f"round {self.number + 1} of {self.rounds}: {text}")
            self._changed.wait_for(lambda: len(self._updates) >= self.least)
            self._weights = b""
            return self._updates

    # -- the file of the state ----------------------------------------------------------------------------------------

    def _store(self, file: Path) -> None:
        about = {"computation": self.computation.name, "round": self.number}
        safetensors.write(file, self.tensors(), {"federated": json.dumps(about)})

    def _resume(self, file: Path) -> None:
        tensors, metadata = safetensors.read(file)
        about = parse(metadata.get("federated", "{}"), file, "the metadata 'federated'")
        specs = dict(zip(self._names, flatten(self._member)[0], strict=True))
        same = tensors.keys() == specs.keys() and all(tensors[name].dtype == specs[name].dtype.numpy for name in specs)
        number = about.get("round") if type(about) is dict else None
        if type(number) is not int or about.get("computation") != self.computation.name or not same:
            needed = f"the state of {self.computation.name!r}: {specs}; or take another folder"
            raise FormatError(file, "its tensors", f"{about} and {sorted(tensors)}", needed)
        self.number = min(number, self.rounds)
        self.state = unflatten(self._structure, [np.array(tensors[name]) for name in self._names])
        self._leaves = self.computation.server_values(self.state)
        self.report(f"goes on after round {self.number} of {self.rounds}")


def _scalars(found: Any) -> list[tuple[str, Any]]:
    parts = flatten(found)[0]
    return [(name, part) for name, part in zip(names_of(found, "report"), parts, strict=True) if part.shape == ()]


def state_of(computation: Computation, arrays: Mapping[str, Any]) -> Any:
    """The state of a computation for arrays by their names, such as `weights.w`.

    Raises:
        KeyError: an array is missing.
    """
    (member,) = [kind.member for kind in computation.arguments.values() if kind.placement is SERVER]
    names = names_of(member, "state")
    if missing := [name for name in names if name not in arrays]:
        problem = f"the state has the arrays {', '.join(names)}: {', '.join(missing)} are missing."
        raise op_error(KeyError, computation.name, problem)
    return unflatten(flatten(member)[1], [arrays[name] for name in names])
