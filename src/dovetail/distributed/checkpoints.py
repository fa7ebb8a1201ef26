"""Checkpoints of training: each rank writes its part of the variables, and a manifest makes them one checkpoint.

A part is a safetensors file.  Its name has the step, a number drawn at the start of the program, and the rank.  Rank 0
waits for the parts of all ranks, and then renames the manifest, `step-0000000120.json`, into the folder.  So a
checkpoint is whole or not there.  Files that no manifest names are of a writer that ended early; the next start removes
them.  If a disk damages the newest checkpoint, all ranks take the newest one before it that all of them read whole.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError, describe, op_error, warn
from dovetail.core.base.files import replacing
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.collectives import WORLD
from dovetail.distributed.random_states import from_rank_0, numpy_and_python, random_state, set_random_state
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
        parts: file → checksum of its variables.
    """

    step: int
    position: Any
    world_size: int
    random: dict[str, Any]
    parts: dict[str, str]


class Checkpoints:
    """The checkpoints of a program in a folder that all ranks share; all ranks make it, and call it, together.

    Args:
        folder: the folder, which is made; other files in it stay.
        keep: the number of newest checkpoints that stay; from 2 on, training survives a damaged one.
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
        """The newest checkpoint that all ranks read whole, with a warning for each damaged one after it; None if none.

        Raises:
            FormatError, OSError: there are checkpoints, and none is whole.
        """
        newest = self._whole()
        return newest and newest[0]

    def restore(self, variables: Mapping[str, Any]) -> Checkpoint | None:
        """Give variables the values of the checkpoint that `latest` tells, and NumPy and Python their random states.

        Args:
            variables: variables by name; each is in the checkpoint, which may have more.

        Returns:
            The checkpoint; None if there is none.

        Raises:
            ValueError: the checkpoint lacks a variable, or has it with another shape or dtype.
            FormatError, OSError: there are checkpoints, and none is whole.  No variable has changed then.
        """
        read = self._whole()
        if read is None:
            return None
        checkpoint, arrays = read
        for name, variable in variables.items():
            if name not in arrays or _form(arrays[name]) != _form(variable):
                has = describe(arrays[name]) if name in arrays else "no value"
                wanted = f"{as_dtype(variable.dtype)} of the shape {tuple(variable.shape)}"
                problem = (
                    f"the checkpoint of step {checkpoint.step} has {has} for {name!r}, and the variable is {wanted}."
                )
                raise op_error(ValueError, "distributed.Checkpoints", problem)
        set_random_state(checkpoint.random)
        for name, variable in variables.items():
            variable.assign(np.array(arrays[name]))
        self._newest = checkpoint.step
        return checkpoint

    # -- reading

    def _whole(self) -> tuple[Checkpoint, dict[str, np.ndarray]] | None:
        """The newest checkpoint that all ranks read whole, and its arrays, which are mapped files."""
        self.wait()
        problems: list[Exception] = []
        for step in from_rank_0(np.array(self._steps(), "int64")).tolist():
            file, text = self._manifest(step), b""
            with suppress(OSError):  # then it is an empty one
                text = file.read_bytes()
            problem: Exception | None = None
            try:
                checkpoint = _checked(from_rank_0(np.frombuffer(text, np.uint8)).tobytes(), file, step)
                arrays = self._read(checkpoint)
            except (FormatError, OSError) as error:
                problem = error
            damaged = WORLD.exchange("AllReduce", np.array(-1 if problem is None else WORLD.rank), (), "max").item()
            if damaged < 0:
                for known in problems:
                    warn(UserWarning, "distributed.Checkpoints", f"{known} The one of step {step} is taken instead.")
                return checkpoint, arrays
            told = f"damage, of which rank {damaged} tells"
            problems.append(problem or FormatError(file, "the checkpoint", told, "files that all ranks read"))
        if not problems:
            return None
        for other in problems[1:]:
            problems[0].add_note(f"Nor is a checkpoint before it whole: {other}")
        raise problems[0]

    def _read(self, found: Checkpoint) -> dict[str, np.ndarray]:
        """The arrays from all parts."""
        arrays: dict[str, np.ndarray] = {}
        for part, checksum in found.parts.items():
            path = self.folder / part
            if not path.is_file() or path.is_symlink():
                raise FormatError(path, "the file", "none, or a link", f"a part of the checkpoint of step {found.step}")
            tensors = safetensors.read(path).tensors
            if _checksum(tensors) != checksum:
                raise FormatError(path, "the tensors", "another checksum", "the checksum that the manifest has")
            arrays |= tensors
        return arrays

    # -- files

    def _manifest(self, step: int) -> Path:
        return self.folder / f"step-{step:010}.json"

    def _part(self, step: int, rank: int) -> Path:
        return self.folder / f"step-{step:010}.{self._run}.{rank}.safetensors"

    def _steps(self) -> list[int]:
        """The steps of all manifests that rank 0 sees, the newest first."""
        names = filter(None, map(MANIFEST.fullmatch, os.listdir(self.folder) if WORLD.rank == 0 else []))
        return sorted((int(match[1]) for match in names), reverse=True)

    def _write(self, step: int, copies: dict[str, np.ndarray], head: dict[str, Any]) -> None:
        try:
            safetensors.write(self._part(step, WORLD.rank), copies, {"sha256": _checksum(copies)})
            if WORLD.rank == 0:
                parts = {self._part(step, rank).name: self._written(step, rank) for rank in range(WORLD.size)}
                with replacing(self._manifest(step)) as file:
                    file.write(json.dumps(_sealed(head | {"parts": parts})).encode())
                self._remove_older(step)
        except BaseException as error:  # the next call raises it
            self._failure = error

    def _written(self, step: int, rank: int) -> str:
        """The checksum of the part of a rank, once it is there."""
        path, end = self._part(step, rank), time.monotonic() + self._timeout
        while not path.exists():
            if not threading.main_thread().is_alive():
                end = min(end, time.monotonic() + GRACE)
            if time.monotonic() > end:
                raise TimeoutError(
                    f"rank {rank} did not write {str(path)!r} in time, so step {step} has no checkpoint."
                )
            time.sleep(AGAIN)
        return safetensors.read(path).metadata["sha256"]

    def _remove_older(self, step: int) -> None:
        """Remove all but the newest checkpoints up to a step, and the parts up to it that belong to none."""
        steps = self._steps()  # the ones after it are damaged, else the program had begun there
        for other in {*steps} - {*[old for old in steps if old <= step][: self._keep]}:
            self._manifest(other).unlink(missing_ok=True)
        self._remove_leftovers(step)

    def _remove_leftovers(self, step: float = math.inf) -> None:
        """Remove parts up to a step that no manifest names; before a program writes, also files half written."""
        named: set[str] = set()
        damaged: set[int] = set()  # steps
        for kept in self._steps():
            try:
                named |= {*_checked(self._manifest(kept).read_bytes(), self._manifest(kept), kept).parts}
            except (FormatError, OSError):  # `restore` tells of it
                damaged.add(kept)
        for name in os.listdir(self.folder):
            match = PART.fullmatch(name)
            is_left = match and int(match[1]) <= step and int(match[1]) not in damaged
            if (is_left and name not in named) or (step == math.inf and UNFINISHED.fullmatch(name)):
                (self.folder / name).unlink(missing_ok=True)


def _checked(text: bytes, file: Path, step: int) -> Checkpoint:
    """A checkpoint as its manifest says.

    Raises:
        FormatError: it says something else.
    """
    table = parse(text, file, "the manifest", room_of(len(text)))
    if type(table) is not dict or any(type(table.get(key)) is not kind for key, kind in LEAST.items()):
        raise FormatError(file, "the manifest", "something else", f"an object with {', '.join(LEAST)}")
    if (table["dovetail"], table["version"], table["step"]) != ("checkpoint", VERSION, step):
        actual = f"{table['dovetail']} {table['version']} of step {table['step']}"
        raise FormatError(file, "the manifest", actual[:80], f"checkpoint {VERSION} of step {step}")
    if table != _sealed({key: value for key, value in table.items() if key != "sha256"}):
        raise FormatError(file, "the manifest", "another checksum", "the checksum that it has itself")
    if not all(PART.fullmatch(name) and type(checksum) is str for name, checksum in table["parts"].items()):
        raise FormatError(file, "the parts", "something else", "files of the folder, each with its checksum")
    try:
        numpy_and_python(table["random"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(file, "random", str(error), "states of random numbers") from error
    return Checkpoint(step, table.get("position"), table["world_size"], table["random"], table["parts"])


def _sealed(table: dict[str, Any]) -> dict[str, Any]:
    return table | {"sha256": hashlib.sha256(json.dumps(table).encode()).hexdigest()}


def _form(value: Any) -> tuple[str, tuple[int, ...]]:
    return as_dtype(value.dtype).name, tuple(value.shape)


def _copied(value: Any) -> np.ndarray:
    return np.array(value.numpy() if hasattr(value, "numpy") else value)


def _checksum(tensors: Mapping[str, np.ndarray]) -> str:
    """The SHA-256 of some arrays with their names, dtypes and shapes."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(json.dumps([name, *_form(tensors[name])]).encode())
        digest.update(np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


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
