"""The modules of types by family: their first lines, and the types that they declare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail.formats.tensorflow import ops
from dovetail.formats.tensorflow.ops import BODIES, READ, SPECIAL, WRITE

FAMILIES = sorted(path for path in Path(ops.__file__).parent.glob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_the_first_line_of_a_family_names_types_that_it_declares(path: Path):
    first, _, rest = path.read_text(encoding="utf-8").partition("\n")
    named = {*re.findall(r"\w+", first)} & {*READ, *SPECIAL}
    assert named
    assert {name for name in named if name not in rest and not _is_read_in(name, path)} == set()


def _is_read_in(name: str, path: Path) -> bool:
    """Whether a function of a module reads the nodes of a type."""
    return READ[name].body.__module__.endswith(f".{path.stem}")


def test_each_family_is_imported():
    assert {path.stem for path in FAMILIES} <= {*vars(ops)}


def test_one_family_has_all_that_reads_or_writes_a_type():
    for type in {*READ, *SPECIAL, *WRITE, *BODIES}:
        readers = [READ[type].body] if type in READ else []
        readers += [SPECIAL[type]] if type in SPECIAL else []
        writers = [one for table in (WRITE, BODIES) for _, one in table.get(type, ())]
        modules = {getattr(one, "func", one).__module__ for one in [*readers, *writers] if one is not None}
        assert len({module for module in modules if module.startswith(ops.__name__)}) <= 1, type
