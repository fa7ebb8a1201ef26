"""Some damage to checkpoints of TensorFlow; `python -m tests.formats.wire.mutations --count 100000` does more."""

from tests.formats.wire.mutations import mutations


def test_changed_checkpoints_are_read_or_refused(tmp_path):
    found = mutations(500, 0, tmp_path)
    assert found.total() == 500 and sum(found[name] for name in found if name.endswith(".index: read")) > 10
