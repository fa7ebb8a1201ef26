"""What packages above the core do for it; each says so once, when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.core.control import Control


class _Provided:
    """Functions of packages that the core does not import.

    Attributes:
        new_graph: (name, the graph around it or None) → an empty Graph; of `graph`.
        read: (graph, variable) → the graph Tensor that stands for the variable's value; of `graph`.
        assign: (graph, variable, value) → None: gives the variable a value in a graph; of `graph`.
        control: branches and loops in graphs; of `graph`.
        stacked_specs: (body, init, xs) → the specs of what a scan's body gives to be stacked; of `graph`.
        run_body: (op, engine, *arguments) → the results of a composite's body, run as one program; of `plan`.
    """

    new_graph: Callable[..., Any]
    read: Callable[[Any, Any], Any]
    assign: Callable[[Any, Any, Any], None]
    control: Control
    stacked_specs: Callable[..., list[Any]]
    run_body: Callable[..., Any]


provided = _Provided()
