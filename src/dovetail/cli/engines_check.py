"""`dovetail engines --check`: the packages for Dovetail, the versions that fit, and what to install.

Dovetail's own metadata names the versions.  No library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dovetail.core.base.texts import table

DISTRIBUTION = "keras-dovetail"
INSTEAD = {"tensorflow": ("tensorflow-cpu",)}  # distributions with the same library
FOR_DEVELOPERS = ("test", "all")  # extras that are not checked
EXTRA = re.compile(r'extra == "([^"]+)"')  # in the marker of a requirement
FITS, MISSING, OTHER = "fits", "not installed", "does not fit"


class Need(NamedTuple):
    """One package that Dovetail can use.

    Attributes:
        name: the package.
        versions: as ">=2.6"; "" if all fit.
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
    packages = []
    for requirement in map(Requirement, requirements):
        extra = EXTRA.search(str(requirement.marker))
        packages.append(Need(requirement.name, str(requirement.specifier), extra[1] if extra else ""))
    return [need for need in packages if need.extra not in FOR_DEVELOPERS]


def installed(name: str) -> str | None:
    """The version of a package here, or of one with the same library; None if there is none."""
    for one in (name, *INSTEAD.get(name, ())):
        try:
            return metadata.version(one)
        except metadata.PackageNotFoundError:
            continue
    return None


def _fits(version: str, wanted: str) -> bool:
    return SpecifierSet(wanted).contains(version, prereleases=True)


def check() -> tuple[str, bool]:
    """The table of packages; and whether the installed ones fit, and all that Dovetail always needs are there."""
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return f"{DISTRIBUTION} is not installed here as a package, so its versions are not known: pip install .", False
    rows = [("package", "for", "versions that fit", "installed", "state")]
    todo: dict[str, None] = {}
    is_good = True
    for need in needs(requirements):
        version = installed(need.name)
        state = MISSING if version is None else FITS if _fits(version, need.versions) else OTHER
        is_good = is_good and (state == FITS or (state == MISSING and need.extra != ""))
        rows.append((need.name, need.extra or "dovetail", need.versions or "any", version or "-", state))
        if state == OTHER or (state == MISSING and not need.extra):
            todo[f"pip install '{need.name}{need.versions}'"] = None
        elif state == MISSING:
            todo[f"pip install '{DISTRIBUTION}[{need.extra}]'"] = None
    advice = ["To install:", *(f"  {line}" for line in todo)] if todo else ["Nothing is missing."]
    return "\n".join([table(rows), "", *advice]), is_good
