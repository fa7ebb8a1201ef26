"""Optimizers: ApplyAdam, ResourceApplyAdam, SparseApplyAdagrad and others, by the rules of `ops`.

They give the next values of a variable and of its slots.  A rule has a type for each kind of variable, `ApplyAdagrad`
and `ResourceApplyAdagrad`, and some have one for rows of a variable, `SparseApplyAdagrad` and
`ResourceSparseApplyAdagrad`.  The definitions of the types say which there are, and their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.formats.tensorflow.op_defs import definition
from dovetail.formats.tensorflow.table import row
from dovetail.ops.nn import optimizer_rules as rules

RULES: dict[str, rules.Rule] = {
    "GradientDescent": rules.gradient_descent,
    "ProximalGradientDescent": rules.proximal_gradient_descent,
    "Momentum": rules.momentum,
    "KerasMomentum": rules.keras_momentum,
    "Adadelta": rules.adadelta,
    "Adagrad": rules.adagrad,
    "AdagradV2": rules.adagrad,
    "ProximalAdagrad": rules.proximal_adagrad,
    "AdagradDA": rules.adagrad_da,
    "Adam": rules.adam,
    "AdamWithAmsgrad": rules.adam,
    "AdaMax": rules.adamax,
    "AddSign": rules.add_sign,
    "PowerSign": rules.power_sign,
    "RMSProp": rules.rms_prop,
    "CenteredRMSProp": rules.centered_rms_prop,
    "Ftrl": rules.ftrl,
    "FtrlV2": rules.ftrl,
}


def _of_type(rule: rules.Rule, slots: Sequence[str]) -> Callable[..., list[Any]]:
    """The function of a type: (inputs and attributes by name) → the next values of the variable and its slots.

    With `indices`, it changes the rows of the variable and its slots that these name, each once.
    """

    def step(grad: Any, indices: Any = None, **given: Any) -> list[Any]:
        before = [given.pop(name) for name in slots]
        if indices is None:
            return [*rule(before[0], grad, *before[1:], **given)]
        var, *others = (OPS["GatherV2"](one, indices, 0) for one in before)
        places = ops.expand_dims(indices, -1)
        after = rule(var, grad, *others, **given)
        return [OPS["TensorScatterUpdate"](one, places, new) for one, new in zip(before, after, strict=True)]

    return step


def _add(type: str, rule: rules.Rule) -> None:
    """Add the row of a type, if TensorFlow has it."""
    if (known := definition(type)) is None:
        return
    slots = [one.name for one in known.inputs if one.is_ref or one.dtype == "resource"]
    inputs = ["grad" if one.name == "delta" else one.name + "^" * (one.name in slots) for one in known.inputs]
    attributes = [one.name for one in known.free]
    row(f"{type}: {' '.join(inputs)}; {' '.join(attributes)}")(_of_type(rule, slots))


for _name, _rule in RULES.items():
    for _kind in ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"):
        _add(f"{_kind}{_name}", _rule)
