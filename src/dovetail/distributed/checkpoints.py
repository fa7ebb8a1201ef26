"""Checkpoints of training: each rank writes its part of the variables, and a manifest makes them one checkpoint.

A part is a safetensors file.  Its name has the step, a number drawn at the start of the program, and the rank.  Rank 0
waits for the parts of all ranks, and then renames the manifest, `step-0000000120.json`, into the folder.  So a
checkpoint is whole or not there.  Files that no manifest names are of a writer that ended early; the next start removes
them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.collectives import WORLD
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import FormatError, describe, op_error
from dovetail.core.files import replacing
from dovetail.formats import safetensors
from dovetail.formats.strict_json import parse, room_of

VERSION = 1
MANIFEST = re.compile(r"step-(\d{10,18})\.json")
PART = re.compile(r"step-(\d{10,18})\.[0-9a-f]{16}\.\d+\.safetensors")
UNFINISHED = re.compile(r"\.step-\d{10,18}\..*\.[0-9a-f]{16}")
AGAIN, GRACE = 0.01, 10.0  # seconds: between two looks at the folder; for the other ranks, once the program has ended
LEAST: dict[str, type] = {
    "dovetail": str,
    "version": int,
    "step": int,
    "world_size": int,
    "random": dict,
    "parts": dict,
}


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint, as its manifest tells.

    Attributes:
        step: the number of steps before it.
        position: the place in the data, as `save` got it.
        world_size: the number of ranks that wrote it.
        random: the states of NumPy's and Python's random numbers, as `random_state` gives them.
        parts: file → variable → (dtype, shape, checksum).
    """

    step: int
    position: Any
    world_size: int
    random: dict[str, Any]
    parts: dict[str, dict[str, tuple[str, tuple[int, ...], str]]]


class Checkpoints:
    """The checkpoints of a program in a folder that all ranks share; all ranks make it, and call it, together.

    Args:
        folder: the folder, which is made; other files in it stay.
        keep: the number of newest checkpoints that stay.
        timeout: the seconds in which all ranks must have written their parts.

    Raises:
        ValueError: `keep` is below 1.
        OSError: the folder cannot be made or read.

    Source: Mohan et al. 2021, "CheckFreq: Frequent, Fine-Grained DNN Checkpointing".

    Example:
        >>> import dovetail as dt, tempfile
        >>> w = dt.Variable([1., 2.])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(folder)
        ...     checkpoints.save(7, {"w": w}, {"epoch": 1, "batch": 3})
        ...     checkpoints.wait()
        ...     _ = w.assign([0., 0.])
        ...     checkpoints.restore({"w": w}).position, w.numpy()
        ({'epoch': 1, 'batch': 3}, array([1., 2.], dtype=float32))
    """

    def __init__(self, folder: str | Path, keep: int = 2, timeout: float = 300.0) -> None:
        if keep < 1:
            raise op_error(ValueError, "distributed.Checkpoints", f"keep must be at least 1, not {keep}.")
        self.folder, self._keep, self._timeout = Path(folder), keep, timeout
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None
        newest = -1
        if WORLD.rank == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
            newest = max(self._steps(), default=-1)
        run, self._newest = WORLD.exchange("Broadcast", np.array([secrets.randbits(62), newest]), (), 0).tolist()
        self._run = f"{run:016x}"

    def save(self, step: int, variables: Mapping[str, Any], position: Any = None) -> None:
        """Copy the values, and write them while the program goes on; first wait for the checkpoint before.

        Args:
            step: the number of steps so far, which grows from one checkpoint to the next.
            variables: variables, tensors or arrays by name: the same names on all ranks, with the same values.
            position: the place in the data, which JSON can hold, such as `{"epoch": 1, "batch": 3}`.

        Raises:
            ValueError: the step does not grow, or JSON cannot hold the position.
            OSError, TimeoutError: the checkpoint before could not be written.
        """
        self.wait()
        if step <= self._newest:
            problem = (
                f"step {step} comes after {self._newest}, which the folder has: restore it, or take another folder."
            )
            raise op_error(ValueError, "distributed.Checkpoints", problem)
        try:
            position = json.loads(json.dumps(position, allow_nan=False))  # as it is now
        except (TypeError, ValueError) as error:
            problem = f"JSON cannot hold the position {describe(position)}: {error}."
            raise op_error(ValueError, "distributed.Checkpoints", problem) from error
        head = {
            "dovetail": "checkpoint",
            "version": VERSION,
            "step": step,
            "position": position,
            "world_size": WORLD.size,
            "random": random_state(),
        }
        copies = {name: _copied(variables[name]) for name in _shares(variables, WORLD.size)[WORLD.rank]}
        self._newest = step
        self._writer = threading.Thread(target=self._write, args=(step, copies, head), name="checkpoint")
        self._writer.start()

    def wait(self) -> None:
        """Wait until the last checkpoint is on the disk.

        Raises:
            OSError, TimeoutError: it could not be written.
        """
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is whole; None if there is none.

        Raises:
            FormatError: its manifest is damaged.
        """
        self.wait()
        text, step = b"", -1
        if WORLD.rank == 0 and (step := max(self._steps(), default=-1)) >= 0:
            text = self._manifest(step).read_bytes()
        size, step = WORLD.exchange("Broadcast", np.array([len(text), step]), (), 0).tolist()
        if step < 0:
            return None
        mine = np.frombuffer(text, np.uint8) if WORLD.rank == 0 else np.zeros(size, np.uint8)
        return _checked(WORLD.exchange("Broadcast", mine, (), 0).tobytes(), self._manifest(step), step)

    def restore(self, variables: Mapping[str, Any]) -> Checkpoint | None:
        """Give variables the values of the newest checkpoint, and NumPy and Python their random states.

        Args:
            variables: variables by name; each is in the checkpoint, which may have more.

        Returns:
            The checkpoint; None if there is none.

        Raises:
            ValueError: the checkpoint lacks a variable, or has it with another shape or dtype.
            FormatError: a file is damaged or missing.  No variable has changed then.
        """
        found = self.latest()
        if found is None:
            return None
        arrays = dict(self._read(found, variables))
        for name, variable in variables.items():
            if name not in arrays or _form(arrays[name]) != _form(variable):
                has = describe(arrays[name]) if name in arrays else "no value"
                wanted = f"{as_dtype(variable.dtype)} of the shape {tuple(variable.shape)}"
                problem = f"the checkpoint of step {found.step} has {has} for {name!r}, and the variable is {wanted}."
                raise op_error(ValueError, "distributed.Checkpoints", problem)
        try:
            set_random_state(found.random)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(self._manifest(found.step), "random", str(error), "states of random numbers") from error
        for name, variable in variables.items():
            variable.assign(arrays[name])
        self._newest = max(self._newest, found.step)
        return found

    # -- files

    def _manifest(self, step: int) -> Path:
        return self.folder / f"step-{step:010}.json"

    def _part(self, step: int, rank: int) -> Path:
        return self.folder / f"step-{step:010}.{self._run}.{rank}.safetensors"

    def _steps(self) -> list[int]:
        """The steps of all manifests, the newest first."""
        found = filter(None, map(MANIFEST.fullmatch, os.listdir(self.folder)))
        return sorted((int(match[1]) for match in found), reverse=True)

    def _write(self, step: int, copies: dict[str, np.ndarray], head: dict[str, Any]) -> None:
        try:
            sums = json.dumps({name: _checksum(array) for name, array in copies.items()})
            safetensors.write(self._part(step, WORLD.rank), copies, {"sha256": sums})
            if WORLD.rank == 0:
                parts = {self._part(step, rank).name: self._entries(step, rank) for rank in range(WORLD.size)}
                with replacing(self._manifest(step)) as file:
                    file.write(json.dumps(head | {"parts": parts}).encode())
                self._remove_older(step)
        except BaseException as error:  # the next call raises it
            self._failure = error

    def _entries(self, step: int, rank: int) -> dict[str, Any]:
        """The variables in the part of a rank, once it is there."""
        path, end = self._part(step, rank), time.monotonic() + self._timeout
        while not path.exists():
            if not threading.main_thread().is_alive():
                end = min(end, time.monotonic() + GRACE)
            if time.monotonic() > end:
                raise TimeoutError(
                    f"rank {rank} did not write {str(path)!r} in time, so step {step} has no checkpoint."
                )
            time.sleep(AGAIN)
        tensors, metadata = safetensors.read(path)
        sums = json.loads(metadata["sha256"])
        return {name: [as_dtype(a.dtype).name, a.shape, sums[name]] for name, a in tensors.items()}

    def _remove_older(self, step: int) -> None:
        """Remove all but the newest checkpoints, and the parts up to a step that belong to none."""
        for old in self._steps()[self._keep :]:
            self._manifest(old).unlink(missing_ok=True)
        self._remove_leftovers(step)

    def _remove_leftovers(self, step: float = math.inf) -> None:
        """Remove parts up to a step that no manifest names; before a program writes, also files half written."""
        named: set[str] = set()
        for kept in self._steps():
            with suppress(FormatError):  # `restore` tells of it
                named |= {*_checked(self._manifest(kept).read_bytes(), self._manifest(kept), kept).parts}
        for name in os.listdir(self.folder):
            match = PART.fullmatch(name)
            is_left = (match and int(match[1]) <= step) or (step == math.inf and UNFINISHED.fullmatch(name))
            if is_left and name not in named:
                (self.folder / name).unlink(missing_ok=True)

    def _read(self, found: Checkpoint, names: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays of some variables, from all parts."""
        for part, entries in found.parts.items():
            path = self.folder / part
            if names.keys().isdisjoint(entries):
                continue
            if not path.is_file() or path.is_symlink():
                raise FormatError(path, "the file", "none, or a link", f"a part of the checkpoint of step {found.step}")
            tensors = safetensors.read(path).tensors
            for name in names.keys() & entries:
                array = tensors.get(name)
                if array is None or [*_form(array), _checksum(array)] != [*entries[name]]:
                    raise FormatError(path, f"{name!r}", "other values", "the values whose checksum the manifest has")
                yield name, np.array(array)


def _checked(text: bytes, file: Path, step: int) -> Checkpoint:
    """A checkpoint as its manifest says.

    Raises:
        FormatError: it says something else.
    """
    table = parse(text, file, "the manifest", room_of(len(text)))
    if type(table) is not dict or any(type(table.get(key)) is not kind for key, kind in LEAST.items()):
        raise FormatError(file, "the manifest", "something else", f"an object with {', '.join(LEAST)}")
    if (table["dovetail"], table["version"], table["step"]) != ("checkpoint", VERSION, step):
        found = f"{table['dovetail']} {table['version']} of step {table['step']}"
        raise FormatError(file, "the manifest", found[:80], f"checkpoint {VERSION} of step {step}")
    for name, entries in table["parts"].items():
        if not PART.fullmatch(name) or type(entries) is not dict or not all(map(_is_entry, entries.values())):
            raise FormatError(
                file, f"the part {name[:80]!r}", "something else", "a file of the folder, and its variables"
            )
    parts = {
        name: {key: (dtype, tuple(shape), checksum) for key, (dtype, shape, checksum) in entries.items()}
        for name, entries in table["parts"].items()
    }
    return Checkpoint(step, table.get("position"), table["world_size"], table["random"], parts)


def _is_entry(given: Any) -> bool:
    return type(given) is list and [*map(type, given)] == [str, list, str] and all(type(n) is int for n in given[1])


def _form(value: Any) -> tuple[str, tuple[int, ...]]:
    return as_dtype(value.dtype).name, tuple(value.shape)


def _copied(value: Any) -> np.ndarray:
    return np.array(value.numpy() if hasattr(value, "numpy") else value)


def _checksum(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data).hexdigest()


def _shares(variables: Mapping[str, Any], ranks: int) -> list[list[str]]:
    """The names of the variables that each rank writes: about as many bytes each."""
    sizes = {name: math.prod(v.shape) * as_dtype(v.dtype).itemsize for name, v in variables.items()}
    shares: list[list[str]] = [[] for _ in range(ranks)]
    loads = [0] * ranks
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        least = loads.index(min(loads))
        shares[least].append(name)
        loads[least] += sizes[name]
    return shares


def random_state() -> dict[str, Any]:
    """The states of NumPy's and Python's own random numbers, by which programs shuffle data; JSON can hold them."""
    name, words, *numbers = np.random.get_state()  # noqa: NPY002  # the state that programs and Keras share
    version, state, gauss = random.getstate()
    return {"numpy": [name, [int(word) for word in words], *numbers], "python": [version, [*state], gauss]}


def set_random_state(state: Mapping[str, Any]) -> None:
    """Set the states that `random_state` gave.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: it is no such state; nothing has changed then.
    """
    name, words, *numbers = state["numpy"]
    version, python, gauss = state["python"]
    np.random.RandomState().set_state((name, np.array(words, "uint32"), *numbers))  # refuses what is no state
    random.Random().setstate((version, (*python,), gauss))
    np.random.set_state((name, np.array(words, "uint32"), *numbers))  # noqa: NPY002
    random.setstate((version, (*python,), gauss))
