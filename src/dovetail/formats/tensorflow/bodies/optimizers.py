"""Optimizers: the next values of a variable and of its slots.

`@optimizer("Adagrad: var^ accum^ lr grad; update_slots")` makes the rows of `ApplyAdagrad`, `ResourceApplyAdagrad` and,
if it says so, of their twins for some rows of a variable: `SparseApplyAdagrad` and `ResourceSparseApplyAdagrad`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from dovetail import ops
from dovetail.core.table import OPS
from dovetail.formats.tensorflow.rows import row

Step = Callable[..., list[Any]]
_DTYPES = {"indices": "Tindices", "step": "-"}  # the others' is T


def optimizer(text: str, sparse: bool = False, references: bool = True) -> Callable[[Step], Step]:
    """Decorator of a step of an optimizer: (variables, numbers and gradient) → the next values of the variables.

    Args:
        text: the row of both types, without `Apply`, and without dtypes.
        sparse: whether there are types for rows of variables.
        references: whether there are types for TensorFlow 1's variables.
    """
    name, _, rest = text.partition(": ")
    inputs, _, attributes = rest.partition(";")

    def rows(prefix: str, inputs: list[str]) -> Iterator[str]:
        for kind, handle in (("Resource", "-"), ("", "T")) if references else (("Resource", "-"),):
            typed = [f"{one}/{_DTYPES.get(one, handle if one.endswith('^') else 'T')}" for one in inputs]
            yield f"{kind}{prefix}{name}: {' '.join(typed)}; {attributes} use_locking"

    def add(step: Step) -> Step:
        row(*rows("Apply", inputs.split()))(step)
        if sparse:
            some = [part for one in inputs.split() for part in ((one, "indices") if one == "grad" else (one,))]
            row(*rows("SparseApply", some))(of_rows(step))
        return step

    return add


def of_rows(step: Step) -> Step:
    """A step of the rows of variables that `indices` name, each once."""
    parameters = inspect.signature(step)

    def sparse(indices: Any, **given: Any) -> list[Any]:
        names = [name for name in parameters.parameters if name in SLOTS]
        taken = {name: OPS["GatherV2"](given[name], indices, 0) for name in names}
        found = step(**{**given, **taken})
        places = ops.expand_dims(indices, -1)
        return [
            OPS["TensorScatterUpdate"](given[name], places, value) for name, value in zip(names, found, strict=True)
        ]

    sparse.__signature__ = parameters.replace(  # type: ignore[attr-defined]
        parameters=[*parameters.parameters.values(), inspect.Parameter("indices", inspect.Parameter.KEYWORD_ONLY)]
    )
    return sparse


SLOTS = ("var", "accum", "accum_update", "linear", "m", "v", "vhat", "mg", "ms", "mom", "gradients", "squares")


@optimizer("GradientDescent: var^ alpha grad")
def _(var: Any, alpha: Any, grad: Any) -> list[Any]:
    return [var - alpha * grad]


@optimizer("ProximalGradientDescent: var^ alpha l1 l2 grad", sparse=True)
def _(var: Any, alpha: Any, l1: Any, l2: Any, grad: Any) -> list[Any]:
    return [_shrunk(var - alpha * grad, alpha, l1, l2)]


def _shrunk(x: Any, rate: Any, l1: Any, l2: Any) -> Any:
    return ops.sign(x) * ops.maximum(ops.absolute(x) - rate * l1, 0) / (1 + l2 * rate)


@optimizer("Momentum: var^ accum^ lr grad momentum; use_nesterov", sparse=True)
def _(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, use_nesterov: bool = False) -> list[Any]:
    accum = accum * momentum + grad
    return [var - (grad * lr + accum * momentum * lr if use_nesterov else accum * lr), accum]


@optimizer("KerasMomentum: var^ accum^ lr grad momentum; use_nesterov", sparse=True, references=False)
def _(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, use_nesterov: bool = False) -> list[Any]:
    accum = accum * momentum - grad * lr
    return [var + (accum * momentum - grad * lr if use_nesterov else accum), accum]


@optimizer("Adadelta: var^ accum^ accum_update^ lr rho epsilon grad", sparse=True)
def _(var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> list[Any]:
    accum = accum * rho + ops.square(grad) * (1 - rho)
    update = ops.sqrt(accum_update + epsilon) / ops.sqrt(accum + epsilon) * grad
    return [var - update * lr, accum, accum_update * rho + ops.square(update) * (1 - rho)]


@optimizer("Adagrad: var^ accum^ lr grad; update_slots", sparse=True)
def _(var: Any, accum: Any, lr: Any, grad: Any, update_slots: bool = True) -> list[Any]:
    accum = accum + ops.square(grad) if update_slots else accum
    return [var - lr * grad / ops.sqrt(accum), accum]


@optimizer("AdagradV2: var^ accum^ lr epsilon grad; update_slots", sparse=True)
def _(var: Any, accum: Any, lr: Any, epsilon: Any, grad: Any, update_slots: bool = True) -> list[Any]:
    accum = accum + ops.square(grad) if update_slots else accum
    return [var - lr * grad / (ops.sqrt(accum) + epsilon), accum]


@optimizer("ProximalAdagrad: var^ accum^ lr l1 l2 grad", sparse=True)
def _(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> list[Any]:
    accum = accum + ops.square(grad)
    rate = lr / ops.sqrt(accum)
    return [_shrunk(var - rate * grad, rate, l1, l2), accum]


@optimizer("AdagradDA: var^ gradients^ squares^ grad lr l1 l2 step", sparse=True)
def _(var: Any, gradients: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, step: Any) -> list[Any]:
    gradients, squares, steps = gradients + grad, squares + ops.square(grad), ops.cast(step, var.dtype)
    large = ops.maximum(ops.absolute(gradients) - l1 * steps, 0)
    return [-lr * ops.sign(gradients) * large / (l2 * steps * lr + ops.sqrt(squares)), gradients, squares]


@optimizer("Adam: var^ m^ v^ power_1 power_2 lr beta_1 beta_2 epsilon grad; use_nesterov")
def _(
    var: Any,
    m: Any,
    v: Any,
    power_1: Any,
    power_2: Any,
    lr: Any,
    beta_1: Any,
    beta_2: Any,
    epsilon: Any,
    grad: Any,
    use_nesterov: bool = False,
) -> list[Any]:
    rate = lr * ops.sqrt(1 - power_2) / (1 - power_1)
    m, v = m + (grad - m) * (1 - beta_1), v + (ops.square(grad) - v) * (1 - beta_2)
    ahead = grad * (1 - beta_1) + beta_1 * m if use_nesterov else m
    return [var - rate * ahead / (ops.sqrt(v) + epsilon), m, v]


@optimizer("AdamWithAmsgrad: var^ m^ v^ vhat^ power_1 power_2 lr beta_1 beta_2 epsilon grad", references=False)
def _(
    var: Any,
    m: Any,
    v: Any,
    vhat: Any,
    power_1: Any,
    power_2: Any,
    lr: Any,
    beta_1: Any,
    beta_2: Any,
    epsilon: Any,
    grad: Any,
) -> list[Any]:
    rate = lr * ops.sqrt(1 - power_2) / (1 - power_1)
    m, v = m + (grad - m) * (1 - beta_1), v + (ops.square(grad) - v) * (1 - beta_2)
    vhat = ops.maximum(vhat, v)
    return [var - rate * m / (ops.sqrt(vhat) + epsilon), m, v, vhat]


@optimizer("AdaMax: var^ m^ v^ power_1 lr beta_1 beta_2 epsilon grad")
def _(var: Any, m: Any, v: Any, power_1: Any, lr: Any, beta_1: Any, beta_2: Any, epsilon: Any, grad: Any) -> list[Any]:
    m, v = m + (grad - m) * (1 - beta_1), ops.maximum(beta_2 * v, ops.absolute(grad))
    return [var - lr / (1 - power_1) * m / (v + epsilon), m, v]


@optimizer("AddSign: var^ m^ lr alpha decay beta grad")
def _(var: Any, m: Any, lr: Any, alpha: Any, decay: Any, beta: Any, grad: Any) -> list[Any]:
    m = m * beta + grad * (1 - beta)
    return [var - lr * (alpha + decay * ops.sign(grad) * ops.sign(m)) * grad, m]


@optimizer("PowerSign: var^ m^ lr logbase decay beta grad")
def _(var: Any, m: Any, lr: Any, logbase: Any, decay: Any, beta: Any, grad: Any) -> list[Any]:
    m = m * beta + grad * (1 - beta)
    return [var - lr * ops.exp(logbase * decay * ops.sign(grad) * ops.sign(m)) * grad, m]


@optimizer("RMSProp: var^ ms^ mom^ lr rho momentum epsilon grad", sparse=True)
def _(var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any) -> list[Any]:
    ms = ms + (ops.square(grad) - ms) * (1 - rho)
    mom = mom * momentum + lr * grad / ops.sqrt(ms + epsilon)
    return [var - mom, ms, mom]


@optimizer("CenteredRMSProp: var^ mg^ ms^ mom^ lr rho momentum epsilon grad", sparse=True)
def _(var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any) -> list[Any]:
    ms, mg = ms + (ops.square(grad) - ms) * (1 - rho), mg + (grad - mg) * (1 - rho)
    mom = mom * momentum + lr * grad / ops.sqrt(ms - ops.square(mg) + epsilon)
    return [var - mom, mg, ms, mom]


@optimizer("Ftrl: var^ accum^ linear^ grad lr l1 l2 power; multiply_linear_by_lr:by_lr", sparse=True)
def ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, power: Any, by_lr: bool = False
) -> list[Any]:
    """Follow the regularized leader, without shrinkage."""
    return _ftrl(var, accum, linear, grad, lr, l1, l2, 0, power, by_lr)


@optimizer("FtrlV2: var^ accum^ linear^ grad lr l1 l2 shrinkage power; multiply_linear_by_lr:by_lr", sparse=True)
def _ftrl(
    var: Any,
    accum: Any,
    linear: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    shrinkage: Any,
    power: Any,
    by_lr: bool = False,
) -> list[Any]:
    times, over = (lr, 1) if by_lr else (1, lr)
    new = accum + ops.square(grad)
    linear = linear + (grad + 2 * shrinkage * var) * times - (new**-power - accum**-power) / over * var
    quadratic = new**-power / over + 2 * l2 * times
    bound = l1 * times
    var = ops.where(ops.absolute(linear) > bound, (ops.sign(linear) * bound - linear) / quadratic, 0)
    return [var, new, linear]
