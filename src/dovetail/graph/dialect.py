"""Dialect: the ways in which the graphs of one front end differ from those of another."""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    """The ways of a graph, which its front end chooses.

    Attributes:
        arrays_follow: whether array operands of Python's operators take the dtype of the tensor; see `Operators`.
        records_effects: whether reads and assignments of variables are operations; see `effects`.
        follows_engine: whether operations are computed on the engine that is current when they run.
        ignores_case: whether names that differ in case alone get numbers.
    """

    arrays_follow: bool = False
    records_effects: bool = False
    follows_engine: bool = False
    ignores_case: bool = False
