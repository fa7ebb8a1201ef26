"""Hooks: functions that lower modules call and higher modules define.

A module sets its hooks when it is imported.  A program that asks for a hook which is not set imports its module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from types import ModuleType

    from dovetail.core.engines.control_flow import Control
    from dovetail.core.values.value_kinds import ValueKind


Result = TypeVar("Result")


class _Hooks:
    """Functions that the calling modules use without importing their packages.

    Attributes:
        new_graph: (name, the graph around it or None) → an empty Graph; of `edit`.
        new_tensorflow_graph: (name) → an empty Graph with the names of TensorFlow's; of `compat.tf_graph`.
        change: (operation, op, name, attributes) → None, for `Operation.change`; of `edit`, as the following.
        body_of: (operation, name) → the graph, for `Operation.body`.
        own_subgraph: (operation, name) → a graph inside the operation, which no other operation holds from then on.
        add_output: (operation, first value, parts) → the result, for `Operation.add_output`.
        order_before: (graph, operation, users) → None; the operation then precedes operations that are to use it.
        check_held_outputs: (graph) → None, if its outputs fit the operations that hold it, whose shapes follow.
        read: (graph, variable) → the graph Tensor of the variable's value; of `trace`.
        assign: (graph, variable, value) → the result of an assignment in a graph; of `trace`.  It also takes (graph,
            variable, operands, change), to assign `change(old value, *operands)`.
        variable_made: (graph, variable) → None, for a variable that was made from a tensor of the graph; of
            `compat.tf_graph`.
        old_shape: (dimensions or None) → a shape of TensorFlow 1; of `compat.tf_graph`.
        shape_proto: (dimensions or None) → the message `TensorShapeProto`; of `compat.tf_graph`.
        gradients: (graph tensors, graph tensors, gradients that arrive) → those by the second ones; of `autodiff`.
        gradients_through: (function, its arguments, gradients that arrive at its results) → those by the arguments; of
            `autodiff`.
        run: (fetches, feed_dict, graph, a session or None) → their values, by a session of the graph; of `sessions`.
        control: branches and loops in graphs; of `trace`.
        capture: (graph, tensor) → the graph's own tensor for one of a graph around it; of `trace`.
        stacked_specs: (body, init, xs) → the specs of the values that a scan stacks, each with a native value that it
            depends on, or None; of `trace`.
        batched: (function of slices, xs) → its results for all slices at once, stacked, or None; of `batching`.
        has_unknown_rank: (values) → whether a graph Tensor of unknown rank is among them, or in lists among them; of
            `trace`.
        with_unknown_rank: (function, title, args, kwargs) → the function's result for such values; of `trace`.
        graph_kind: the kind of graph Tensors; of `graph`.
        run_body: (op, engine, *arguments) → the results of a composite's body, run as one program; of `execute`.
        meet_traced: (engine, collective, array under trace, static arguments) → the result as such an array; of `ops`.
        differentiated: (engine, op's name, rule, native arguments) → the rule's result, which the library
            differentiates by the op's gradient; of `core.values.recording`.
        tensorflow: () → the module with TensorFlow's names, `dovetail.compat.tensorflow`; of `dovetail`.
        run_keras: () → None; Keras then runs on Dovetail; of `dovetail`.
        reads: engine → (variable → a tensor that reads it in each run of the program under trace); of `interop`.
        array_result: (a result of a call that was given NumPy arrays) → the value for the caller; of `interop`.
        compiling: (function, *arguments) → its result, whose time counts as compiling; of an open profile.
        compiled: (seconds) → None, for what a library has just compiled for a single call; of an open profile.
        engine_loaded: (engine) → None, for an engine that is used for the first time; of an open profile, of `observe`.
        numerics: looks for NaN and infinity, as `core.base.probe.Probe`; of `functions`.
        seen: (value) → a Tensor for an engine's own array, else the value; of `core.values.value_kinds`.
        forms: () → None; it imports the modules that say how documents hold their types; of `dovetail`.
        owners: hook → the module that sets it; of `dovetail`.
    """

    new_graph: Callable[..., Any]
    new_tensorflow_graph: Callable[[str], Any]
    change: Callable[..., None]
    body_of: Callable[..., Any]
    own_subgraph: Callable[..., Any]
    add_output: Callable[..., Any]
    order_before: Callable[..., None]
    check_held_outputs: Callable[..., None]
    read: Callable[[Any, Any], Any]
    assign: Callable[..., Any]
    variable_made: Callable[[Any, Any], None]
    old_shape: Callable[[Any], Any]
    shape_proto: Callable[[Any], Any]
    gradients: Callable[[Any, Any, Any], list[Any]]
    gradients_through: Callable[[Callable[..., Any], Any, Any], list[Any]]
    run: Callable[..., Any]
    control: Control
    capture: Callable[[Any, Any], Any]
    stacked_specs: Callable[..., list[tuple[Any, Any]]]
    batched: Callable[..., list[Any] | None]
    has_unknown_rank: Callable[..., bool]
    with_unknown_rank: Callable[..., Any]
    graph_kind: ValueKind
    run_body: Callable[..., Any]
    meet_traced: Callable[..., Any]
    differentiated: Callable[..., Any]
    tensorflow: Callable[[], ModuleType]
    run_keras: Callable[[], Any]
    numerics: Any
    seen: Callable[[Any], Any]
    forms: Callable[[], None]
    reads: dict[str, Callable[[Any], Any]]
    array_result: Callable[[Any], Any] | None = None
    compiling: Callable[..., Any] | None = None
    compiled: Callable[[float], None] | None = None
    engine_loaded: Callable[[Any], None] | None = None

    def __init__(self) -> None:
        self.reads = {}
        self.owners: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in self.owners:
            raise AttributeError(f"no module sets the hook {name!r}")
        import_module(self.owners[name])
        return self.__dict__[name]


hooks = _Hooks()


def compiles(work: Callable[..., Result]) -> Callable[..., Result]:
    """Let profiles count the time of a function as compiling."""

    @functools.wraps(work)
    def compiling(*args: Any) -> Result:
        return work(*args) if hooks.compiling is None else hooks.compiling(work, *args)

    return compiling
