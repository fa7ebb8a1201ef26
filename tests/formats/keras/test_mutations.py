"""Some damage to files of HDF5; `python -m tests.formats.keras.mutations --count 100000` does more."""

from tests.formats.keras.mutations import mutations


def test_mutations():
    found = mutations(500, 0)
    assert found.total() == 500 and len(found) > 8
