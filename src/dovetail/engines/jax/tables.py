"""The table of rules, which the modules of the families fill."""

from __future__ import annotations

from dovetail.core.rules import Rules

rules = Rules()
