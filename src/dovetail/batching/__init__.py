"""`vectorized_map`: a function of slices, computed for all slices at once."""

from dovetail.batching.batch import batched
from dovetail.core.base.hooks import hooks

hooks.batched = batched
