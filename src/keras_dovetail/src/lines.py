"""The user's lines in functional models: of each call, and of each layer.

A functional model records calls as nodes, and repeats them when it runs.  Each node remembers the user's line, so an
operation's line is the one where its layer was called, not the one of `fit`.  A `Sequential` calls its layers itself.
There it is the line that made the layer.
"""

from __future__ import annotations

import functools
from types import FrameType, ModuleType
from typing import Any

from dovetail.core.base.errors import Where, remember, user_line
from dovetail.interop.privates import PRIVATES

LINE = "_dovetail_line"  # an attribute of nodes and of layers


def follow(module: ModuleType) -> None:
    """Let nodes of functional models remember the user's line.

    Args:
        module: `keras.src.ops.node`, which has just been imported.
    """
    node: Any = module.Node
    node.__init__ = _remembering(node.__init__)
    remember(PRIVATES["function"], lambda frame: _line_in(frame, "node"))
    remember(PRIVATES["sequential"], lambda frame: _line_in(frame, "layer"))


def keep(made: Any) -> None:
    """Keep the user's line with a node or a layer that it makes."""
    vars(made)[LINE] = user_line()


def _remembering(init: Any) -> Any:
    @functools.wraps(init)
    def remembering(self: Any, *args: Any, **kwargs: Any) -> None:
        keep(self)
        init(self, *args, **kwargs)

    return remembering


def _line_in(frame: FrameType, name: str) -> Where:
    """The line of the node or layer that a frame of Keras has under this name."""
    return getattr(frame.f_locals.get(name), LINE, None)
