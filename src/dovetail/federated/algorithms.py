"""FedAvg, FedProx and FedAdam as federated computations, each of one exchange a round.

Each client sends the difference of its weights from the server's weights.  So a bound on the norm of an update is
one on how far a client moves the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.autodiff.tape import GradientTape
from dovetail.core.base.errors import describe, op_error
from dovetail.core.values.structure import flatten, map_structure, unflatten
from dovetail.federated.computations import Computation
from dovetail.federated.placement import (
    CLIENTS,
    SERVER,
    FederatedType,
    federated_broadcast,
    federated_map,
    federated_mean,
)
from dovetail.federated.tracing import computation

Loss = Callable[[Any, Any], Any]


def fed_avg(
    loss: Loss,
    weights: Any,
    data: Any,
    *,
    steps: int = 1,
    learning_rate: float = 0.1,
    server_rate: float = 1.0,
    mu: float = 0.0,
) -> Computation:
    """Federated averaging: clients train from the server's weights, and the server moves to the mean of theirs.

    A client counts by its examples, the rows of the first array of its data.

    Args:
        loss: (weights, data) → the mean loss of a client's examples, a scalar.
        weights, data: structures of specs.
        steps: the steps of gradient descent, each on all data of the client.
        learning_rate: of the clients' steps.
        server_rate: the part of the way to the mean that the server goes.
        mu: as for `fed_prox`.

    Returns:
        A computation: (weights, clients' data) → (new weights, {"loss": mean loss before the round}).

    Source: McMahan et al. 2017, "Communication-efficient learning of deep networks from decentralized data".

    Example:
        >>> import dovetail as dt
        >>> mean = fed_avg(lambda w, x: dt.ops.mean((x - w) ** 2), dt.spec(()), dt.spec((None,)), learning_rate=0.5)
        >>> weights, report = mean(0., [[1., 2., 3.], [6.]])
        >>> float(weights), float(report["loss"])
        (3.0, 12.5)
    """

    @computation(FederatedType(weights, SERVER), FederatedType(data, CLIENTS))
    def fed_avg(weights: Any, data: Any) -> Any:
        moved, report = _exchange(loss, weights, data, mu, steps, learning_rate)
        go = lambda old, way: map_structure(lambda w, d: w + server_rate * d, old, way)  # noqa: E731
        return federated_map(go, (weights, moved)), report

    return fed_avg


def fed_prox(loss: Loss, weights: Any, data: Any, *, mu: float, **options: Any) -> Computation:
    """FedAvg whose clients stay near the server's weights: mu / 2 times the squared distance is added to the loss.

    Args:
        mu: how strongly; with 0 it is FedAvg.
        loss, weights, data: as for `fed_avg`.
        options: the other arguments of `fed_avg`: steps, learning_rate, server_rate.

    Returns:
        A computation with the arguments and results of `fed_avg`'s.

    Source: Li et al. 2020, "Federated optimization in heterogeneous networks".

    Example:
        >>> import dovetail as dt
        >>> loss = lambda w, x: dt.ops.mean((x - w) ** 2)
        >>> near = fed_prox(loss, dt.spec(()), dt.spec((None,)), mu=1.0, steps=2, learning_rate=0.25)
        >>> float(near(0., [[4.]])[0])  # 3.0 without mu
        2.5
    """
    return fed_avg(loss, weights, data, mu=mu, **options)


def fed_adam(
    loss: Loss,
    weights: Any,
    data: Any,
    *,
    steps: int = 1,
    learning_rate: float = 0.1,
    server_rate: float = 0.1,
    beta_1: float = 0.9,
    beta_2: float = 0.99,
    tau: float = 1e-3,
    mu: float = 0.0,
) -> Computation:
    """FedAvg whose server takes the mean of the clients' moves as a gradient for Adam, without bias correction.

    Args:
        server_rate, beta_1, beta_2, tau: of the server: the learning rate, the decays of both moments, and the number
            that is added to the root of the second.
        loss, weights, data, steps, learning_rate, mu: as for `fed_prox`.

    Returns:
        A computation: (state, clients' data) → (new state, {"loss": mean loss before the round}).  `adam_state` makes
        the first state: a dict of the weights and the moments m and v.

    Source: Reddi et al. 2021, "Adaptive federated optimization", algorithm 2.

    Example:
        >>> import dovetail as dt
        >>> adam = fed_adam(lambda w, x: dt.ops.mean((x - w) ** 2), dt.spec(()), dt.spec((None,)))
        >>> state, report = adam(adam_state(np.float32(0.0), tau=1e-3), [[1., 2., 3.], [6.]])
        >>> round(float(state["weights"]), 3)
        0.098
    """

    @computation(FederatedType({"weights": weights, "m": weights, "v": weights}, SERVER), FederatedType(data, CLIENTS))
    def fed_adam(state: Any, data: Any) -> Any:
        moved, report = _exchange(loss, state["weights"], data, mu, steps, learning_rate)

        def adam(state: Any, moved: Any) -> Any:
            m = map_structure(lambda m, d: beta_1 * m + (1 - beta_1) * d, state["m"], moved)
            v = map_structure(lambda v, d: beta_2 * v + (1 - beta_2) * d * d, state["v"], moved)
            step = lambda w, m, v: w + server_rate * m / (ops.sqrt(v) + tau)  # noqa: E731
            return {"weights": map_structure(step, state["weights"], m, v), "m": m, "v": v}

        return federated_map(adam, (state, moved)), report

    return fed_adam


def adam_state(weights: Any, tau: float = 1e-3) -> dict[str, Any]:
    """The state with which `fed_adam` begins: the weights, m = 0 and v = tau².

    Args:
        weights: arrays in the structure of the specs.
        tau: as for `fed_adam`.

    Source: Reddi et al. 2021, "Adaptive federated optimization", algorithm 2.

    Example:
        >>> adam_state(np.zeros(2, "float32"))["v"]
        array([1.e-06, 1.e-06], dtype=float32)
    """
    arrays = map_structure(np.asarray, weights)
    m, v = (map_structure(lambda w, x=x: np.full_like(w, x), arrays) for x in (0.0, tau**2))
    return {"weights": arrays, "m": m, "v": v}


def _exchange(loss: Loss, weights: Any, data: Any, mu: float, steps: int, rate: float) -> tuple[Any, Any]:
    """The mean move of the clients' weights, and their mean loss, both at SERVER."""

    if steps < 1:
        raise op_error(ValueError, "federated", f"it needs steps >= 1, not {steps}.")

    def train(weights: Any, data: Any) -> Any:
        first, structure = flatten(weights)
        arrays = flatten(data)[0]
        if not arrays or arrays[0].shape == ():
            problem = f"a client counts by the rows of the first array of its data, not of {describe(data)}."
            raise op_error(ValueError, "federated", problem)
        here, losses = first, []
        for _ in range(steps):
            with GradientTape() as tape:
                tape.watch(here)
                value = loss(unflatten(structure, here), data)
                if value.shape != ():
                    problem = f"the loss must be one number, as dt.ops.mean gives, not {describe(value)}."
                    raise op_error(ValueError, "federated", problem)
                near = [ops.sum(ops.square(w - start)) for w, start in zip(here, first, strict=True)] if mu else []
                goal = value + mu / 2 * sum(near) if near else value
            slopes = tape.gradient(goal, here, unconnected_gradients="zero")
            here = [w - rate * slope for w, slope in zip(here, slopes, strict=True)]
            losses.append(value)
        moved = unflatten(structure, [w - start for w, start in zip(here, first, strict=True)])
        return moved, {"loss": losses[0]}, ops.cast(ops.shape(arrays[0])[0], "float32")

    moved, report, count = federated_map(train, (federated_broadcast(weights), data))
    return federated_mean(moved, count), federated_mean(report, count)
