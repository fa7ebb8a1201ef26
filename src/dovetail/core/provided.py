"""What packages above the core, and modules above others in it, do for them; each says so once, when imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.control import Control


class _Provided:
    """Functions of packages and modules that are not imported by those that need them.

    Attributes:
        new_graph: (name, the graph around it or None) → an empty Graph; of `graph`.
        read: (graph, variable) → the graph Tensor that stands for the variable's value; of `graph`.
        assign: (graph, variable, value) → None: gives the variable a value in a graph; of `graph`.
        control: branches and loops in graphs; of `graph`.
        stacked_specs: (body, init, xs) → the specs of what a scan's body gives to be stacked; of `graph`.
        run_body: (op, engine, *arguments) → the results of a composite's body, run as one program; of `plan`.
        seen: (value) → a Tensor in the place of an engine's own array, else the value; of `core.arguments`.
    """

    new_graph: Callable[..., Any]
    read: Callable[[Any, Any], Any]
    assign: Callable[[Any, Any, Any], None]
    control: Control
    stacked_specs: Callable[..., list[Any]]
    run_body: Callable[..., Any]
    seen: Callable[[Any], Any]


provided = _Provided()
