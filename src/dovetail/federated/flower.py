"""Federated computations as apps of Flower, which carries many clients in Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dovetail.core.base.errors import op_error
from dovetail.federated.computations import Arrays, Computation
from dovetail.federated.rounds import Refused, Rounds

if TYPE_CHECKING:
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp

RECORD = "tensors"  # the name of the record in messages
PAUSE = 0.1  # seconds between two looks for nodes


def client_app(
    computation: Computation,
    data: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]],
    *,
    engine: str | None = None,
) -> ClientApp:
    """A `ClientApp` that computes the client's part.

    Args:
        computation: also given to `server_app`.
        data: the arrays of the client by their names; or a function of Flower's context that returns them.
        engine: the engine to compute on; the current one, if not given.

    Raises:
        ImportError: flwr is not installed.

    Source: `flwr.clientapp.ClientApp`.
    """
    flwr = _flower("client_app")
    app = flwr.clientapp.ClientApp()

    @app.train()
    def train(message: Any, context: Any) -> Any:
        arrays = data(context) if callable(data) else data
        update = computation.client(_arrays(message), arrays, engine)
        return flwr.app.Message(content=_content(flwr, update), reply_to=message)

    return app


def server_app(
    computation: Computation, state: Any, *, rounds: int, least: int = 2, deadline: float = 3600.0, **options: Any
) -> ServerApp:
    """A `ServerApp` that computes the server's part, with all nodes that are connected.

    The app's context has the last state, as the record "state".

    Args:
        computation: (state at SERVER, data at CLIENTS) → (new state, report), as `fed_avg` makes it.
        state: the first state.
        rounds: their number.
        least: the nodes that are enough; a round with fewer updates is tried again.
        deadline: the seconds that a round waits for all nodes.
        options: the other arguments of `Rounds`: max_norm, max_weight, folder, report.

    Raises:
        ImportError: flwr is not installed.

    Source: `flwr.serverapp.ServerApp`.
    """
    flwr = _flower("server_app")
    app = flwr.serverapp.ServerApp()

    @app.main()
    def main(grid: Any, context: Any) -> None:
        course = Rounds(computation, state, rounds=rounds, **options)
        while not course.is_over:
            content, nodes, updates = _content(flwr, course.begin()), _nodes(grid, least), {}
            messages = [flwr.app.Message(content, dst_node_id=node, message_type="train") for node in nodes]
            for reply in grid.send_and_receive(messages, timeout=deadline):
                node = str(reply.metadata.src_node_id)
                try:
                    update = _arrays(reply)
                    course.check(node, update)
                    updates[node] = update
                except Refused:
                    continue  # `check` reports it
                except (KeyError, TypeError, ValueError) as error:
                    course.report(f"{node}: failed, {reply.error.reason if reply.has_error() else error}")
            if len(updates) >= least:
                course.advance(updates, len(nodes))
            else:
                course.report(f"round {course.number + 1} of {rounds}: {len(updates)} updates, not {least}; once more")
                time.sleep(PAUSE)
        context.state["state"] = _content(flwr, course.arrays)[RECORD]

    return app


def _nodes(grid: Any, least: int) -> list[int]:
    """The nodes that are connected, once there are enough."""
    while len(nodes := sorted(grid.get_node_ids())) < least:
        time.sleep(PAUSE)
    return nodes


def _content(flwr: Any, arrays: Arrays) -> Any:
    record = flwr.app.ArrayRecord({name: flwr.app.Array(array) for name, array in arrays.items()})
    return flwr.app.RecordDict({RECORD: record})


def _arrays(message: Any) -> Arrays:
    return {name: array.numpy() for name, array in message.content[RECORD].items()}


def _flower(name: str) -> Any:
    try:
        import flwr.app
        import flwr.clientapp
        import flwr.serverapp
    except ImportError as error:
        raise op_error(ImportError, f"federated.flower.{name}", "it needs Flower: pip install flwr.") from error
    return flwr
