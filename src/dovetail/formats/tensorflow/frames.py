"""Branches and loops of TensorFlow 1, whose nodes lie in one graph, as `cond` and `while_loop`.

A loop is a frame: a node `Enter` for each value, a `Merge` of the first value and the next one, a `Switch` by the
condition, a `NextIteration`, and an `Exit` for the result.  A branch is a `Switch` of each value that it takes, and a
`Merge` of the results of both branches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.names import behind, split
from dovetail.graph.reach import walk

ENTERS, MERGES, SWITCHES = ("Enter", "RefEnter"), ("Merge", "RefMerge"), ("Switch", "RefSwitch")
EXITS, NEXTS = ("Exit", "RefExit"), ("NextIteration", "RefNextIteration")
INPUTS = {**dict.fromkeys([*ENTERS, *EXITS, *NEXTS, "LoopCond"], 1), **dict.fromkeys([*MERGES, *SWITCHES], 2)}

Context = frozenset[tuple[str, int]]  # pairs of a condition and the side of it on which a node runs


@dataclass
class Frame:
    """A loop.

    Attributes:
        merges: name of a `Merge` → the names of its first value and of its next one.
        switches: name of a `Merge` → the name of its `Switch`.
        constants: name of an `Enter` of a value that the loop does not change → the name of the value.
        condition: the name of the condition.
        waits: the control inputs of the next round.
    """

    merges: dict[str, tuple[str, str]] = field(default_factory=dict)
    switches: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    condition: str = ""
    waits: list[str] = field(default_factory=list)


class Frames:
    """The loops and branches among the nodes of a graph.

    Args:
        nodes: by name.
    """

    def __init__(self, nodes: Mapping[str, Any]) -> None:
        self._nodes = {name: node for name, node in nodes.items() if len(node.input) >= INPUTS.get(node.op, 0)}

    @cached_property
    def loops(self) -> dict[str, Frame]:
        """The loops, by the names of their frames."""
        loops: dict[str, Frame] = {}
        for node in self._nodes.values():
            if node.op in ENTERS:
                frame = loops.setdefault(self._frame_name(node), Frame())
                if node.attr["is_constant"].b:
                    frame.constants[node.name] = node.input[0]
        for node in self._nodes.values():
            entered = self.enter_of(node)
            if entered is not None:
                enter, following = entered
                frame = loops[self._frame_name(enter)]
                frame.merges[node.name] = enter.input[0], following.input[0]
                frame.waits += [text for text in following.input if text.startswith("^")]
        for node in self._nodes.values():
            merge = self._nodes.get(split(node.input[0])[0]) if node.op in SWITCHES else None
            entered = self.enter_of(merge) if merge is not None else None
            if merge is not None and entered is not None:
                frame = loops[self._frame_name(entered[0])]
                frame.switches[merge.name] = node.name
                test = self._nodes.get(split(node.input[1])[0])
                frame.condition = node.input[1] if test is None or test.op != "LoopCond" else test.input[0]
        return loops

    def _frame_name(self, enter: Any) -> str:
        return enter.attr["frame_name"].s.decode(errors="replace")

    def enter_of(self, node: Any) -> tuple[Any, Any] | None:
        """The `Enter` and the `NextIteration` of a `Merge` of a loop; None for other nodes."""
        if node.op not in MERGES:
            return None
        sources = [self._nodes.get(split(text)[0]) for text in node.input if not text.startswith("^")]
        enter = next((one for one in sources if one is not None and one.op in ENTERS), None)
        following = next((one for one in sources if one is not None and one.op in NEXTS), None)
        return None if enter is None or following is None else (enter, following)

    def frame_of(self, exit_node: Any) -> tuple[Frame, str]:
        """The loop of an `Exit`, and the name of its `Merge`.

        Raises:
            Unreadable: it is no exit of a loop.
        """
        switch = self._nodes.get(split(behind(exit_node.input[0], self._nodes))[0])
        merge = self._nodes.get(split(switch.input[0])[0]) if switch is not None and switch.op in SWITCHES else None
        entered = None if merge is None else self.enter_of(merge)
        if merge is None or entered is None:
            raise Unreadable("it leaves a loop that is not complete")
        return self.loops[self._frame_name(entered[0])], merge.name

    # branches

    def context(self, name: str) -> Context:
        """The conditions under which a node runs."""
        return self._contexts.get(name, frozenset())

    def _before(self, name: str) -> list[str]:
        """The nodes before a node, without those of the rounds of a loop before."""
        node = self._nodes[name]
        entered = self.enter_of(node)
        texts = [entered[0].name] if entered is not None else node.input
        return [source for text in texts if (source := split(text)[0]) in self._nodes]

    @cached_property
    def _contexts(self) -> dict[str, Context]:
        """The conditions under which each node runs; the end of a loop is outside of the loop's."""
        contexts = self.__dict__["_contexts"] = dict[str, Context]()
        for name in walk(self._nodes, self._before):
            node = self._nodes[name]
            source = self._before(name)
            if node.op in EXITS:
                switch = split(behind(node.input[0], self._nodes))[0]
                source = self._before(switch) if switch in self._nodes else []
            if self.enter_of(node) is not None or node.op in EXITS:
                contexts[name] = contexts.get(source[0], frozenset()) if source else frozenset()
                continue
            parts = [self._of_reference(text) for text in node.input]
            join = frozenset[tuple[str, int]].intersection if node.op in MERGES and parts else frozenset().union
            contexts[name] = join(*parts)
        return contexts

    def _of_reference(self, text: str) -> Context:
        name, _, number = split(text)
        node = self._nodes.get(name)
        context = self._contexts.get(name, frozenset())
        if node is not None and node.op in SWITCHES and not text.startswith("^"):
            return context | {(self._condition(node), number)}
        return context

    def _condition(self, switch: Any) -> str:
        """The name of the condition of a switch, behind identities."""
        return behind(switch.input[1], self._nodes)

    def branch(self, merge: Any) -> tuple[str, str, str, list[Any], list[str]]:
        """The condition of a merge, its results if that holds and if not, the switches, and nodes that run before.

        The switches are those of its branches.  The nodes are others for which nodes of its branches wait.

        Raises:
            Unreadable: it merges no two branches.
        """
        texts = [text for text in merge.input if not text.startswith("^")]
        if len(texts) != 2:
            raise Unreadable(f"it merges {len(texts)} values")
        first, second = texts
        sides = [self._of_reference(text) for text in (first, second)]
        for condition, side in sorted(sides[0]):
            if (condition, 1 - side) in sides[1]:
                yes, no = (second, first) if side == 0 else (first, second)
                return condition, yes, no, *self._edges(merge, condition)
        raise Unreadable("no condition says which of its inputs runs")

    def _edges(self, merge: Any, condition: str) -> tuple[list[Any], list[str]]:
        """The switches with a condition, from a merge back, and the nodes outside for which those behind them wait."""
        stack, seen = [split(text)[0] for text in merge.input], set[str]()
        switches, waits = list[Any](), list[str]()
        while stack:
            name = stack.pop()
            node = self._nodes.get(name)
            if name in seen or node is None:
                continue
            seen.add(name)
            is_edge = self._is_edge(name, condition)
            switches += [node] * is_edge
            for text in node.input:
                source = split(text)[0]
                is_inside = self._is_edge(source, condition) or condition in dict(self.context(source))
                if text.startswith("^") and not is_inside and source in self._nodes:
                    waits.append(source)
                elif not is_edge:
                    stack.append(source)
        return switches, [*dict.fromkeys(waits)]

    def _is_edge(self, name: str, condition: str) -> bool:
        """Whether a node is a switch with a condition; gradients of branches wait for some."""
        node = self._nodes.get(name)
        return node is not None and node.op in SWITCHES and self._condition(node) == condition

    @cached_property
    def outside(self) -> list[str]:
        """The nodes that are in no branch and no loop."""
        depths: dict[str, int] = {}  # the number of loops around a node

        for name in walk(self._nodes, self._before):
            step = {**dict.fromkeys(ENTERS, 1), **dict.fromkeys(EXITS, -1)}.get(self._nodes[name].op, 0)
            depths[name] = step + max((depths.get(other, 0) for other in self._before(name)), default=0)
        inside = {name for name, node in self._nodes.items() if depths[name] > 0 or node.op in SWITCHES}
        return [name for name in self._nodes if name not in inside and not self.context(name)]

    # reading

    def needs(self, node: Any) -> list[str]:
        """The values that a node needs before it is read."""
        try:
            if node.op in EXITS:
                frame, _ = self.frame_of(node)
                return [*(first for first, _ in frame.merges.values()), *frame.constants.values()]
            condition, _, _, switches, waits = self.branch(node)
            return [condition, *(switch.input[0] for switch in switches), *(f"^{name}" for name in waits)]
        except (Unreadable, IndexError):  # reading it gives the reason
            return list(node.input)
