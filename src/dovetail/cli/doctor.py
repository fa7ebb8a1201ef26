"""`dovetail doctor`: the packages for Dovetail, the versions that fit, what to install, and this machine.

Dovetail's own metadata names the versions.  No library is imported.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from dovetail.core.base import cache_folder
from dovetail.core.base.cache_folder import processor, text_of
from dovetail.core.base.texts import aligned, size_text, table
from dovetail.core.base.version import VERSION
from dovetail.core.engines.engine_registry import AUTO, threads

DESCRIPTION = """\
Lists the packages that Dovetail can use, the versions that fit, and what to install.  Then it tells what this machine
has: processors, threads, memory, GPUs and load.  No library is imported, and nothing is sent anywhere.
"""

EXAMPLES = """\
examples:
  dovetail doctor                                what is installed, what fits, and what to install

The exit status is 1 if a package does not fit, or one that Dovetail always needs is missing.
"""

DISTRIBUTION = "keras-dovetail"
INSTEAD = {"tensorflow": ("tensorflow-cpu",)}  # distributions with the same library
FOR_DEVELOPERS = ("docs", "quick", "test", "all")  # extras that are not checked
EXTRA = re.compile(r'extra == "([^"]+)"')  # in the marker of a requirement
FITS, MISSING, OTHER = "fits", "not installed", "does not fit"
GPUS = Path("/proc/driver/nvidia/gpus")  # a folder for each GPU, if NVIDIA's driver is loaded
MEMORY, LIMIT = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
SMALL_TORCH = (
    "Without a GPU, a smaller PyTorch does: pip install torch --index-url https://download.pytorch.org/whl/cpu"
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the packages, the advice and the machine, and return the exit status."""
    text, is_good = check()
    facts = machine()
    print(text, "", "This machine:", *(f"  {line}" for line in aligned(list(facts.items()))), sep="\n")
    return 0 if is_good else 1


def machine() -> dict[str, str]:
    """The facts about this machine and the settings of the environment, as texts."""
    count = threads()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kept = cache_folder.place()
    return {
        "Dovetail": f"{VERSION}, in {Path(__file__).parents[1]}",
        "Python": f"{platform.python_version()} on {platform.platform()}",
        "processors": f"{usable} of {os.cpu_count()}, {processor().partition(chr(10))[0].rpartition(': ')[2]}",
        "threads": "as many as each engine takes (DOVETAIL_THREADS is not set)" if count is None else f"{count}",
        "memory": _memory(),
        "GPU": ", ".join(gpus()) or "none of NVIDIA",
        "load": f"{os.getloadavg()[0]:.2g} processes in the last minute" if hasattr(os, "getloadavg") else "not known",
        "engine": os.environ.get("DOVETAIL_ENGINE") or f"{AUTO} (DOVETAIL_ENGINE is not set)",
        "Keras on": os.environ.get("KERAS_BACKEND") or "its own choice (KERAS_BACKEND is not set)",
        "cache": f"{kept}" if isinstance(kept, Path) else f"none, since {kept}",
    }


def gpus() -> list[str]:
    """The names of the GPUs that NVIDIA's driver shows."""
    texts = [text_of(folder / "information") for folder in (sorted(GPUS.iterdir()) if GPUS.is_dir() else [])]
    names = [re.search(r"Model:\s*(.+)", text) for text in texts]
    return [name[1].strip() if name else "one without a name" for name in names]


def _memory() -> str:
    """The memory that is free and all of it; a limit of the process's group, if that is less."""
    known = {name: int(size) * 1024 for name, size in re.findall(r"(\w+):\s+(\d+) kB", text_of(MEMORY))}
    if not known:
        return "not known"
    limit = text_of(LIMIT).strip()
    own = f", limited to {size_text(int(limit))}" if limit.isdecimal() and int(limit) < known["MemTotal"] else ""
    return f"{size_text(known.get('MemAvailable', 0))} free of {size_text(known['MemTotal'])}{own}"


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
    return [need for need in packages if need.extra not in FOR_DEVELOPERS and need.name != DISTRIBUTION]


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
    if any("torch" in line for line in todo) and not gpus():
        advice.append(SMALL_TORCH)
    return "\n".join([table(rows), "", *advice]), is_good
