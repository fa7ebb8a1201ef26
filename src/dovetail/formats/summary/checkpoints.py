"""Summaries of checkpoints: tensor bundles, whose shards are not read, and the state file of their folder."""

from __future__ import annotations

import re
from pathlib import Path

from dovetail.core.base.errors import FormatError
from dovetail.formats.summary.base import Summary, Table, Value, summary, values
from dovetail.formats.summary.source import INDEX, Source
from dovetail.formats.wire import bundle
from dovetail.formats.wire.bundle import Bundle
from dovetail.formats.wire.state import read_state
from dovetail.formats.wire.table import MAGIC

STATE = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(?:all_)?model_checkpoint_path")
LOOKED_AT = 1000


def is_bundle(source: Source) -> bool:
    """Whether a file is the index of a bundle."""
    return bool(source.data[-len(MAGIC) :] == MAGIC)


def of_bundle(source: Source) -> Summary:
    """The summary of a bundle.

    Raises:
        FormatError: its index is damaged, or has another name; or a shard is too short.
    """
    prefix = str(source.path).removesuffix(INDEX)
    if prefix == str(source.path):
        raise FormatError(source.path, "the name", source.path.name, f"a name that ends with {INDEX}")
    opened = Bundle(prefix)
    opened.check_sizes()
    missing = [path.name for path in opened.shards if not path.is_file()]
    facts = {"shards": len(opened.shards), "missing shards": len(missing), "first missing": next(iter(missing), "")}
    return summary(source.path, "TensorFlow checkpoint (tensor bundle)", facts, [_table(opened)])


def stored(prefix: str) -> Table:
    """The table of the variables of a bundle.

    Raises:
        FormatError: its index is damaged, or a shard is too short.
    """
    opened = Bundle(prefix)
    opened.check_sizes()
    return _table(opened)


def _table(found: Bundle) -> Table:
    return values("variables", (Value(name, *_type(found, name), found.size(name)) for name in found))


def _type(found: Bundle, name: str) -> tuple[str, tuple[int, ...]]:
    dtype = found.dtype(name)
    return "string" if dtype.kind == "O" else dtype.name, found.shape(name)


def is_state(source: Source) -> bool:
    """Whether a file is the state of a folder of checkpoints."""
    return bool(STATE.match(source.data[:LOOKED_AT]))


def of_state(source: Source) -> Summary:
    """The summary of the state of a folder of checkpoints.

    Raises:
        FormatError: it is damaged.
    """
    state = read_state(str(source.path.parent), source.path.name)
    paths = list(state.all_model_checkpoint_paths) or [state.model_checkpoint_path]
    rows = [(Path(path).name, "yes" if bundle.exists(path) else "no bundle") for path in paths]
    facts = {"latest": Path(state.model_checkpoint_path).name}
    return summary(
        source.path, "state of a folder of checkpoints", facts, [Table("checkpoints", ("name", "there"), rows)]
    )
