"""Each kind of file that Dovetail knows is opened by another library, or listed with the reason."""

from __future__ import annotations

from dovetail.formats.summary.kinds import KINDS
from tests.foreign import READERS, WITHOUT


def test_each_kind_of_file_has_a_foreign_reader_or_a_reason():
    assert not READERS.keys() & WITHOUT.keys()
    assert {kind.name for kind in KINDS} <= READERS.keys() | WITHOUT.keys()
