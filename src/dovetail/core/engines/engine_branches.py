"""The branches and loops of an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.dtypes import DType
from dovetail.core.engines.control_flow import Control, HostControl, Values


class Branches:
    """The part of an engine that runs branches and loops."""

    def _make_control(self) -> Control:
        """Make the engine's control flow: Python's, unless the library has control flow of its own."""
        return self._host_control()

    def _host_control(self) -> HostControl:
        """Python's control flow on its arrays."""
        return HostControl(self.unstack, self.stack, self._stack_nothing, self._truth)

    def unstack(self: Any, value: Any) -> Values:
        """The slices along the first axis."""
        take = self.rules["StridedSlice"]
        return [take(value, (i,), (i + 1,), (1,), 0, 0, 1) for i in range(self.shape(value)[0])]

    def _truth(self: Any, value: Any) -> bool:
        """A scalar as a bool."""
        return bool(self.to_numpy(value))

    def stack(self: Any, values: Values) -> Any:
        """Arrays of one shape along a new first axis."""
        return self.rules["Pack"](values, 0)

    def _stack_nothing(self: Any, body: Callable[..., Any], init: Values, xs: Values) -> Values:
        slices = [self._zeros(self.shape(x)[1:], self.dtype(x)) for x in xs]
        return [self._zeros((0, *self.shape(y)), self.dtype(y)) for y in body(init, slices)[1]]

    def _zeros(self: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        return self.asarray(np.zeros(shape, dtype.numpy), dtype)
