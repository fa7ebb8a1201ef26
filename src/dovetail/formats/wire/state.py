"""The state file of a folder of checkpoints, `checkpoint`: the text of a message with their paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import FormatError
from dovetail.core.base.files import replacing
from dovetail.formats.wire.bundle import exists
from dovetail.formats.wire.messages import TENSORFLOW, from_text, to_text

NAME = "checkpoint"


def read_state(folder: str, name: str | None = None) -> Any:
    """The state of a folder, a message `CheckpointState` whose paths begin with the folder; None if it has no state.

    Raises:
        FormatError: the file is damaged.
    """
    file = Path(folder) / (name or NAME)
    if not file.is_file():
        return None
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise FormatError(file, "the text", "bytes that are no UTF-8", "the text of a CheckpointState") from None
    state = from_text(TENSORFLOW.CheckpointState, text, file)
    if not state.model_checkpoint_path:
        raise FormatError(file, "model_checkpoint_path", "nothing", "the path of the latest checkpoint")
    state.model_checkpoint_path = _here(folder, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [_here(folder, path) for path in state.all_model_checkpoint_paths]
    return state


def _here(folder: str, path: str) -> str:
    """The path of a checkpoint; if it is not there, the one of its name in the folder, which may have been moved.

    A checkpoint with an empty name has the path ".".
    """
    given, name = os.path.join(folder, path), os.path.basename(path.replace("\\", "/"))
    moved = os.path.join(folder, "" if name == "." else name)
    return moved if exists(moved) and not exists(given) else given


def write_state(folder: str | os.PathLike[str], paths: Sequence[str], name: str | None = None) -> None:
    """Write the state of a folder.

    Args:
        folder: it.
        paths: of the checkpoints, the latest last; the file has them relative to the folder.
        name: of the file, if not `checkpoint`.
    """
    relative = [os.path.relpath(path, folder) for path in paths]
    state = TENSORFLOW.CheckpointState(model_checkpoint_path=relative[-1], all_model_checkpoint_paths=relative)
    with replacing(Path(folder) / (name or NAME)) as file:
        file.write(to_text(state).encode())
