"""Stored plans: plans as data that files hold, and the choices that are replayed.

A file has the graph of a plan, the shapes of its arguments, and its choice, but no compiled program: that is made again
where the plan is loaded.
"""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import Any

from dovetail.choose.measured_plan import MeasuredPlan, Measuring
from dovetail.core.base.errors import describe, op_error
from dovetail.core.engines.engine_registry import current_engine
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice
from dovetail.execute.plan import Plan
from dovetail.execute.plan_base import Runnable
from dovetail.graph.attributes import Beside, Form, decode, encode, register


def replayed(given: Any) -> Choice:
    """The choice to replay: as given, of a plan, or of a file that holds either.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is neither.
    """
    from dovetail.formats.saved import load  # few programs replay plans

    content = load(given) if isinstance(given, (str, Path)) else given
    choice = content.choice if isinstance(content, Runnable) else content
    if not isinstance(choice, Choice):
        where = f"the file {str(given)!r} holds" if content is not given else "this is"
        advice = "Write one with dt.save(function.plan(...), path)."
        raise op_error(ValueError, "function", f"{where} {describe(content)}, not a plan or its choice. {advice}")
    return choice


def _data(plan: Runnable, beside: Beside) -> Any:
    shapes = None if plan.shapes is None else [None if shape is None else list(shape) for shape in plan.shapes]
    return {"graph": encode(plan.graph, beside), "shapes": shapes, "choice": encode(plan.choice, beside)}


def _plan(data: Any, beside: Beside) -> MeasuredPlan:
    graph, choice, shapes = decode(data["graph"], beside), decode(data["choice"], beside), data["shapes"]
    if not isinstance(graph, Graph) or not isinstance(choice, Choice):
        raise ValueError(f"a plan has the graph {describe(graph)} and the choice {describe(choice)}")
    known = [t.shape for t in graph.inputs] if shapes is None else list(map(_shape, shapes))
    if len(known) != len(graph.inputs):
        raise ValueError(f"the graph {graph.name!r} takes {len(graph.inputs)} arguments, and {len(known)} are said")
    return MeasuredPlan(graph, current_engine(), known, Measuring(choice))


def _shape(given: Any) -> Any:
    if given is None:
        return None
    if type(given) is not list or not all(type(size) in (int, NoneType) for size in given):
        raise ValueError(f"{describe(given)} is no shape")
    return tuple(given)


for _kind in (Plan, MeasuredPlan):
    register(_kind, Form("plan", _data, _plan, is_part=True))
