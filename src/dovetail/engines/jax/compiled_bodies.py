"""Bodies of composites as rules, each compiled as a whole, for ops whose single kernels take XLA too long."""

from __future__ import annotations

import functools
from typing import Any

import jax

from dovetail.core.base.table import OPS
from dovetail.core.kinds import Kind
from dovetail.core.rules import EAGER, PROGRAM, Rule
from dovetail.engines.body_rules import DECODERS, body_rule
from dovetail.engines.jax.tables import rules

_NEAREST = ("ResizeNearestNeighbor", "ResizeNearestNeighborGrad")
_RESIZES = ("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ScaleAndTranslate")
_GATHER_COST = 12  # the cost of a gathered pixel in a resize: XLA fuses all gathers into one loop


def _compiled(name: str, body: Any) -> Rule:
    static = [i for i, param in enumerate(OPS[name].params) if not isinstance(param.kind, Kind)]
    return jax.jit(body, static_argnums=static)


for _name in ("CTCLoss", *DECODERS, *_NEAREST):
    _layers = (EAGER, PROGRAM) if _name != "CTCLoss" else (EAGER,)  # in a graph, its gradient needs to see the body
    rules(_name, layers=_layers)(_compiled(_name, body_rule(_name, "jax")))
for _name in (name for resize in _RESIZES for name in (resize, f"{resize}Grad")):
    _body: Any = OPS[_name].body
    rules(_name, layers=(EAGER, PROGRAM))(_compiled(_name, functools.partial(_body, gather_cost=_GATHER_COST)))
