"""Definitions whose nodes contradict each other are refused, as TensorFlow refuses them."""

from __future__ import annotations

import numpy as np
import pytest
from dovetail.compat.tensorflow.compat import v1 as ours

from tests.libraries import Library, require

require("tensorflow", "it refuses the same definitions")
require("google.protobuf", "definitions are messages")

theirs = Library("tensorflow")


def definition(v1):
    with v1.Graph().as_default() as graph:
        x = v1.placeholder("float32", [2], name="x")
        v1.add(x, x, name="y")
        v1.reshape(x, v1.constant([1, 2], name="s"), name="z")
        v1.cast(x, "int32", name="c")
        v1.concat([x, x], 0, name="j")
        v1.split(x, [1, 1], name="p")
        v1.shape(v1.identity(v1.placeholder("float32", [None])), name="n")
        v1.nn.max_pool(v1.ones([1, 2, 2, 1]) * x[0], [1, 2, 2, 1], [1, 1, 1, 1], "SAME", name="m")
    return graph.as_graph_def()


def named(message, name):
    return next(node for node in message.node if node.name == name)


def typed(name, attr, number):
    return lambda message: setattr(named(message, name).attr[attr], "type", number)


EDITS = {
    "a name twice": lambda message: message.node.append(named(message, "y")),
    "another node's name": lambda message: setattr(named(message, "z"), "name", "y"),
    "T": typed("y", "T", 3),
    "T of a reshape": typed("z", "T", 3),
    "Tshape": typed("z", "Tshape", 9),
    "SrcT": typed("c", "SrcT", 2),
    "T of a list": typed("j", "T", 3),
    "dtype of a constant": typed("s", "dtype", 9),
    "dtype of a placeholder": typed("x", "dtype", 3),
    "an input less": lambda message: named(message, "y").input.pop(),
    "an input more": lambda message: named(message, "y").input.append("x"),
    "no T": lambda message: named(message, "y").attr.pop("T"),
    "no dtype of a placeholder": lambda message: named(message, "x").attr.pop("dtype"),
    "no DstT": lambda message: named(message, "c").attr.pop("DstT"),
    "a number for a type": lambda message: setattr(named(message, "y").attr["T"], "i", 1),
    "no name": lambda message: setattr(named(message, "y"), "name", ""),
    "a name with a space": lambda message: setattr(named(message, "y"), "name", "a b"),
    "a name with an underscore first": lambda message: setattr(named(message, "y"), "name", "_y"),
    "control inputs first": lambda message: named(message, "y").input.insert(0, "^z"),
    "num_split more": lambda message: setattr(named(message, "p").attr["num_split"], "i", 3),
    "num_split less": lambda message: setattr(named(message, "p").attr["num_split"], "i", 1),
    "no num_split": lambda message: setattr(named(message, "p").attr["num_split"], "i", 0),
    "out_type that is no allowed one": typed("n", "out_type", 1),
    "a padding that is no allowed one": lambda message: setattr(named(message, "m").attr["padding"], "s", b"same"),
    "strides of one axis": lambda message: named(message, "m").attr["strides"].list.ClearField("i"),
    "N": lambda message: setattr(named(message, "j").attr["N"], "i", 3),
}


@pytest.mark.parametrize("edit", EDITS)
def test_contradicting_nodes_are_refused(edit):
    for v1, message in ((ours, definition(ours)), (ours, definition(theirs.compat.v1)), (theirs.compat.v1, None)):
        made = v1.GraphDef()
        made.ParseFromString((message or definition(v1)).SerializeToString())
        EDITS[edit](made)
        with v1.Graph().as_default(), pytest.raises(ValueError):
            v1.import_graph_def(made, name="")


def test_an_untouched_definition_is_read():
    for v1 in (ours, theirs.compat.v1):
        with ours.Graph().as_default(), ours.Session() as session:
            made = ours.GraphDef()
            made.ParseFromString(definition(v1).SerializeToString())
            ours.import_graph_def(made, name="")
            assert session.run("j:0", {"x:0": [1.0, 2.0]}).tolist() == [1.0, 2.0, 1.0, 2.0]


@pytest.mark.parametrize("numbers", [[0, 0, 1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 0, 0], []])
def test_paddings_that_contradict_a_window_are_not_computed(numbers):
    with ours.Graph().as_default() as graph:
        x = ours.placeholder("float32", [1, 4, 4, 1], name="x")
        ours.nn.conv2d(x, ours.ones([2, 2, 1, 1]), [1, 1, 1, 1], [[0, 0], [1, 1], [1, 1], [0, 0]], name="y")
    made = graph.as_graph_def()
    named(made, "y").attr["explicit_paddings"].list.i[:] = numbers
    with ours.Graph().as_default(), ours.Session() as session, pytest.raises((ValueError, NotImplementedError)):
        ours.import_graph_def(made, name="")
        session.run("y:0", {"x:0": np.ones((1, 4, 4, 1))})
