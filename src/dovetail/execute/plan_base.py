"""Runnable: the base class of plans, measured plans and plans under probes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.engine import Engine
from dovetail.core.tensor import Tensor
from dovetail.edit.graph import Graph
from dovetail.execute.choice import Choice
from dovetail.execute.segment import Segment

if TYPE_CHECKING:
    from dovetail.execute.plan import Plan


class Runnable(ABC):
    """A graph that is ready to run.

    Attributes:
        graph: the graph; running does not change it.
        engine: the engine of operations that are pinned to no other.
        holder: the engine of the arguments and results.
        shapes: the shapes of the arguments for which it was made; None if it takes all that the graph takes.
        device: the device of the arguments and results; None if they may be on any.
    """

    graph: Graph
    engine: Engine
    holder: Engine
    shapes: Any = None
    device: str | None = None

    @abstractmethod
    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Run the graph on native arrays of `holder`; the results are such arrays."""

    def tensors(self, arguments: Sequence[Any]) -> list[Tensor]:
        """Run the graph on native arrays; the results are tensors, which the engine may still compute."""
        return list(map(Tensor, self(arguments), repeat(self.holder)))

    @abstractmethod
    def prepare(self) -> None:
        """Do the long part of the first call beforehand, in any thread."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Plan]:
        """The plans that run now; the last one gives the results.  There is none before the first call of some."""

    @property
    @abstractmethod
    def choice(self) -> Choice:
        """The strategy that runs now, and the times of others if these were measured; `dt.save` writes it."""

    @property
    def segments(self) -> list[Segment]:
        """The segments of the plan that runs now, in order."""
        return self.parts[-1].segments if self.parts else []

    def show(self, path: str | Path, data: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Write a picture of the plan to a file: each operation with its engine, device and segment, and transfers.

        Args:
            path, data: as for `Graph.show`.

        Raises:
            ValueError: the file's name says no format, or the plan is too large for a drawing.
            OSError: the file cannot be written.

        Example:
            >>> import dovetail as dt
            >>> import pathlib, tempfile
            >>> graph = dt.function(lambda x: dt.ops.tanh(x) * 2.0).graph(dt.spec((3,)))
            >>> graph.get_operation("Tanh").engine = "torch"
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     dt.function(graph).plan(dt.spec((3,))).show(f"{folder}/plan.dot")
            ...     pathlib.Path(f"{folder}/plan.dot").read_text().count("numpy → torch")
            1
        """
        from dovetail.execute.show import plan_picture  # not needed to run programs
        from dovetail.formats.pictures import show

        show.check_format(path)
        show.write(plan_picture(self.parts[-1], data), path)

    def _repr_html_(self) -> str:
        from dovetail.execute.show import plan_picture
        from dovetail.formats.pictures import show

        return show.notebook_html(plan_picture(self.parts[-1]))
