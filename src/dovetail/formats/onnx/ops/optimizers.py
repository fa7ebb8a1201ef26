"""Steps of optimizers, and gradients, of the domain ai.onnx.preview.training: Momentum, Adagrad, Adam, Gradient."""

from __future__ import annotations

from typing import Any

from dovetail import ops
from dovetail.core.base.hooks import hooks
from dovetail.formats.onnx.nodes import Node
from dovetail.formats.onnx.table import row, special
from dovetail.ops.nn import optimizer_rules as rules


@special("ai.onnx.preview.training.Gradient")
def _gradient(node: Node) -> Any:
    """The gradients of a value of the graph, which the node names, by the first of its inputs."""
    (y,) = node.reader.read(node.body, [node.attrs["y"]])
    xs = [node.tensor(i) for i in range(len(node.attrs["xs"]))]
    return hooks.gradients([y], xs, [ops.ones_like(y)])


def _stepped(rule: rules.Rule, xs: Any, slots: int, norm: float, **numbers: Any) -> list[Any]:
    """All variables and slots after a step, in the order of `xs`: the variables, the gradients, then slots by kind.

    Args:
        norm: the share of a variable that adds to its gradient.
    """
    count = len(xs) // (slots + 2)
    after = []
    for x, gradient, *others in (xs[i::count] for i in range(count)):
        after.append(rule(x, gradient + norm * x, *others, **numbers))
    return [one for kind in zip(*after, strict=True) for one in kind]


@row("ai.onnx.preview.training.Momentum: rate step xs*; alpha beta mode norm_coefficient:norm")
def _(rate: Any, step: Any, xs: Any, alpha: float, beta: float, mode: str, norm: float) -> Any:
    share = ops.where(ops.equal(step, 0), 1.0, beta)
    return _stepped(rules.momentum, xs, 1, norm, lr=rate, momentum=alpha, use_nesterov=mode == "nesterov", share=share)


@row("ai.onnx.preview.training.Adagrad: rate step xs*; decay_factor:decay epsilon norm_coefficient:norm")
def _(rate: Any, step: Any, xs: Any, decay: float = 0.0, epsilon: float = 1e-6, norm: float = 0.0) -> Any:
    rate = rate / (1 + ops.cast(step, rate.dtype) * decay)
    return _stepped(rules.adagrad, xs, 1, norm, lr=rate, epsilon=epsilon)


@row(
    "ai.onnx.preview.training.Adam: rate step xs*; alpha beta epsilon norm_coefficient:norm norm_coefficient_post:after"
)
def _(
    rate: Any,
    step: Any,
    xs: Any,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm: float = 0.0,
    after: float = 0.0,
) -> Any:
    step = ops.cast(step, rate.dtype)
    corrected = rate * ops.sqrt(1 - ops.power(beta, step)) / (1 - ops.power(alpha, step))
    rate = ops.where(ops.greater(step, 0), corrected, rate)
    results = _stepped(rules.adam, xs, 2, norm, lr=rate, beta1=alpha, beta2=beta, epsilon=epsilon)
    count = len(results) // 3
    return [*((1 - after) * x for x in results[:count]), *results[count:]]
