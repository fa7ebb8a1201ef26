"""Names of other libraries and versions, for programs written for them; a program imports the module that it needs.

`running` runs whole programs as they are.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from dovetail.compat.run import running as running


def __getattr__(name: str) -> _Any:
    if name == "running":  # its readers of sources are imported when they are used
        from dovetail.compat.run import running

        return running
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
