"""`dovetail engines --check`: the packages that Dovetail can use, which versions fit, and what to install.

The versions are those of Dovetail's own metadata.  No library is imported.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

from dovetail.cli.table import table

DISTRIBUTION = "keras-dovetail"
INSTEAD = {"tensorflow": ("tensorflow-cpu",)}  # distributions with the same library
FOR_DEVELOPERS = ("test", "all")  # extras that are not checked
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
REQUIREMENT = re.compile(r'([\w.-]+)\s*([^;\[\]]*?)\s*(?:;\s*extra\s*==\s*["\']([\w.-]+)["\'])?$')
FITS, MISSING, OTHER = "fits", "not installed", "does not fit"


class Need(NamedTuple):
    """One package that Dovetail can use.

    Attributes:
        name: the package.
        versions: those that fit, as ">=2.6".
        extra: the extra that installs it; "" if Dovetail always needs it.
    """

    name: str
    versions: str
    extra: str


def needs(requirements: Sequence[str]) -> list[Need]:
    """The packages of the requirements of a distribution, without those for developers.

    Example:
        >>> needs(["numpy>=2", 'torch>=2.6; extra == "torch"', 'ruff; extra == "test"'])
        [Need(name='numpy', versions='>=2', extra=''), Need(name='torch', versions='>=2.6', extra='torch')]
    """
    found = [match for match in map(REQUIREMENT.match, requirements) if match is not None]
    made = [Need(match[1], match[2], match[3] or "") for match in found]
    return [need for need in made if need.extra not in FOR_DEVELOPERS]


def fits(version: str, wanted: str) -> bool:
    """Whether a version is one of those that are wanted; its parts after the numbers do not count.

    Example:
        >>> fits("2.10.0+cpu", ">=2.6,<3"), fits("2.5", ">=2.6"), fits("3.15.1", "==3.15.1")
        (True, False, True)
    """
    for part in filter(None, wanted.split(",")):
        comparison, number = re.match(r"\s*([<>=!]+)\s*(.*)", part).groups()  # type: ignore[union-attr]  # of metadata
        if not COMPARISONS[comparison](*_same_length(_numbers(version), _numbers(number))):
            return False
    return True


def _numbers(version: str) -> list[int]:
    found = re.match(r"\d+(\.\d+)*", version)
    return list(map(int, found[0].split("."))) if found else [0]


def _same_length(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    length = max(len(one), len(other))
    return one + [0] * (length - len(one)), other + [0] * (length - len(other))


def installed(name: str) -> str | None:
    """The version of a package here, or of one with the same library; None if there is none."""
    for one in (name, *INSTEAD.get(name, ())):
        try:
            return metadata.version(one)
        except metadata.PackageNotFoundError:
            continue
    return None


def check() -> tuple[str, bool]:
    """The table of packages, and whether all that are installed fit and none that is always needed is missing."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return f"{DISTRIBUTION} is not installed here as a package, so its versions are not known: pip install .", False
    rows = [("package", "for", "versions that fit", "installed", "state")]
    todo: dict[str, None] = {}
    is_good = True
    for need in needs(requirements):
        version = installed(need.name)
        state = MISSING if version is None else FITS if fits(version, need.versions) else OTHER
        is_good = is_good and (state == FITS or (state == MISSING and need.extra != ""))
        rows.append((need.name, need.extra or "dovetail", need.versions or "any", version or "-", state))
        if state == OTHER or (state == MISSING and not need.extra):
            todo[f"pip install '{need.name}{need.versions}'"] = None
        elif state == MISSING:
            todo[f"pip install '{DISTRIBUTION}[{need.extra}]'"] = None
    advice = ["To install:", *(f"  {line}" for line in todo)] if todo else ["Nothing is missing."]
    return "\n".join([table(rows), "", *advice]), is_good
