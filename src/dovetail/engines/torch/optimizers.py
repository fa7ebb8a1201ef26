"""Rules of optimizer steps: they write over the arrays of variables at a program's end, elsewhere over copies."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeAlias

import torch

from dovetail.core.base.optional_api import optional_api
from dovetail.core.base.table import OPS
from dovetail.core.rules import EAGER, OUT, OVER, PROGRAM
from dovetail.engines.torch.tables import rules, with_kernel

Update: TypeAlias = "tuple[Sequence[Callable[[], Any]], tuple[Any, ...]]"  # see `Rules.written`

_adam = optional_api(torch, "_fused_adam_")
_foreach = [optional_api(torch, f"_foreach_{name}_") for name in ("mul", "add", "addcmul")]
_mul_, _add_, _addcmul_ = _foreach
_MODES = [optional_api(torch._C, f"_len_torch_{kind}_stack") for kind in ("function", "dispatch")]
MANY = 1e9  # steps, after which the kernel no longer corrects its averages; the rate is corrected already


def updates(name: str, kernel: Any, *written: str) -> Callable[[Callable[..., Update]], None]:
    """Decorator: declare the rules of a step, given a rule that writes over arguments.

    Torch cannot differentiate these kernels, so calls on its users' own values run the op's body.

    Args:
        name: the name of the op.
        kernel: the private functions that the rule needs.
        written: the parameters that the rule writes over.
    """

    def declare(rule: Callable[..., Update]) -> None:
        @with_kernel(kernel, name, layers=(EAGER, PROGRAM, OUT))
        def _(*args: Any, out: Any = None) -> tuple[Any, ...]:
            places = [number for number, param in enumerate(OPS[name].params) if param.name in written]
            given, spares = list(args), iter(out or ())
            for place in places:
                given[place] = [
                    t.clone(memory_format=torch.contiguous_format) if out is None else next(spares).copy_(t)
                    for t in args[place]
                ]
            calls, results = rule(*given)
            for call in calls:
                call()
            return results

        with_kernel(kernel, name, layers=(OVER,))(rule)
        rules.fresh.add(name)
        rules.written[name] = written

    return declare


def _own(arrays: Sequence[Any]) -> list[Any]:
    """Arrays for kernels to write over: copies of the non-contiguous ones, or of all if Python code runs.

    A torch mode, such as the mode of `torch.set_default_device`, is Python code around each of torch's functions.
    """
    runs_python = None in _MODES or any(map(operator.call, _MODES))
    return list(map(torch.Tensor.clone if runs_python else torch.Tensor.contiguous, arrays))


@cache
def _many(device: torch.device) -> torch.Tensor:
    return torch.tensor(MANY, device=device)


@updates("AdamStep", _adam, "variables", "means", "square_means")
def _(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    means: Sequence[Any],
    square_means: Sequence[Any],
    rate: Any,
    beta_1: float,
    beta_2: float,
    epsilon: float,
) -> Update:
    variables, means, square_means = _own(variables), _own(means), _own(square_means)
    step = partial(
        _adam,
        variables,
        [gradient.contiguous() for gradient in gradients],  # the kernel reads memory as it lies
        means,
        square_means,
        [],
        [_many(variables[0].device)] * len(variables),
        lr=rate,
        beta1=beta_1,
        beta2=beta_2,
        weight_decay=0.0,
        eps=epsilon,
        amsgrad=False,
        maximize=False,
    )
    return [step], (*variables, *means, *square_means)


# Torch's kernel of this step, `_fused_sgd_`, keeps other momenta than Keras: it does not multiply them by the rate.
@updates("SgdStep", all(_foreach), "variables", "momenta")
def _(
    variables: Sequence[Any],
    gradients: Sequence[Any],
    momenta: Sequence[Any],
    rate: Any,
    momentum: float,
    nesterov: bool,
) -> Update:
    variables, momenta = _own(variables), _own(momenta)
    rates = [rate] * len(gradients)
    descent = partial(_addcmul_, variables, gradients, rates, value=-1)
    if not momenta:
        return [descent], tuple(variables)
    calls = [partial(_mul_, momenta, momentum), partial(_addcmul_, momenta, gradients, rates, value=-1)]
    if nesterov:
        calls += [partial(_add_, variables, momenta, alpha=momentum), descent]
    else:
        calls.append(partial(_add_, variables, momenta))
    return calls, (*variables, *momenta)
