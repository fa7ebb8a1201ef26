"""The dimensions that torch's compilers do not know yet, as under `torch.export` with dynamic sizes."""

from __future__ import annotations

from typing import Any

import torch

from dovetail.engines import symbolic_dimensions


class Dimensions(symbolic_dimensions.Dimensions):
    """An integer array of sizes, which torch's compilers follow as numbers, and not as a tensor."""

    symbolic = torch.SymInt

    def native(self) -> Any:
        numbers = [torch.full((), dim, dtype=torch.int32) for dim in self.array.reshape(-1).tolist()]
        return torch.stack(numbers).reshape(self.shape) if numbers else torch.empty(self.shape, dtype=torch.int32)
