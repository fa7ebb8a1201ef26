"""Definitions of ops: each is TensorFlow's own."""

from __future__ import annotations

from dovetail.formats.tensorflow.op_defs import FILE, op_def
from tests.formats.tensorflow import op_defs
from tests.libraries import require

require("tensorflow", "the oracle")


def test_file_is_what_the_registry_says():
    assert FILE.read_text() == op_defs.text()


def test_definitions_are_those_of_the_registry():
    """Compare all that a definition has but its descriptions and full types."""
    for theirs in op_defs.definitions():
        plain = type(theirs)()
        plain.CopyFrom(theirs)
        for field in ("summary", "description", "deprecation"):
            plain.ClearField(field)
        for one in (*plain.input_arg, *plain.output_arg):
            for field in ("description", "handle_data", "experimental_full_type"):
                one.ClearField(field)
        for one in plain.attr:
            one.ClearField("description")
        ours = type(theirs).FromString(op_def(theirs.name).SerializeToString())
        assert ours == plain, theirs.name


def test_other_types():
    assert op_def("NoSuchOp") is None
