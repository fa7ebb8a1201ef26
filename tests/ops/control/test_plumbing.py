"""The structural ops of programs: they are in the table, but not among the functions that users call."""

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.core.op import Op
from dovetail.ops import numpy_calls
from dovetail.ops.control import plumbing

OWN = {name: value for name, value in vars(plumbing).items() if isinstance(value, Op)}


def test_they_are_in_the_table_alone():
    assert {"placeholder", "const", "read_variable", "assign_variable", "call", "no_op"} == set(OWN)
    for name, op in OWN.items():
        assert OPS[op.name] is op
        assert name not in ops.__all__ and name not in numpy_calls.FUNCTIONS and not hasattr(ops, name)


def test_a_star_import_does_not_bring_them():
    names = {}
    exec("from dovetail.ops import *", names)
    assert "matmul" in names and OWN.keys().isdisjoint(names)


def test_graphs_are_made_of_them():
    v = dt.Variable([1.0])

    def add(x):
        v.assign(v + x + 2.0)
        return v.read()

    types = {op.type for op in dt.function(add).graph(dt.spec((1,))).operations}
    assert types >= {OWN[name].name for name in ("placeholder", "const", "read_variable", "assign_variable")}
