"""Random edits of random graphs: each is done or refused, and the edited graph runs right."""

import contextlib

import numpy as np
from hypothesis import given, settings

import dovetail as dt
from tests.edit.random_edits import REFUSED, apply, dump, edits
from tests.graph.random_graphs import ROWS, arguments, check_same, graphs, interpret


@settings(deadline=None, max_examples=60)
@given(graphs(), edits)
def test_random_edits_are_done_or_refused(graph, edits):
    """Check that any edit, of the graph or one inside of it, is done or refused, never half done."""
    for edit in edits:
        before = dump(graph)
        try:
            apply(graph, edit)
        except REFUSED as error:
            assert str(error)
            assert dump(graph) == before
        graph.validate()
    graph.prune()
    graph.validate()


@settings(deadline=None, max_examples=40)
@given(graphs(), edits)
def test_an_edited_graph_runs_as_it_says(graph, edits):
    """Check that a compiled graph after edits gives the results of its operations one after the other."""
    run = dt.function(graph)
    for edit in edits:
        with contextlib.suppress(*REFUSED):
            apply(graph, edit)
    values = [
        np.resize(value, [n or ROWS for n in t.shape]) for value, t in zip(arguments(), graph.inputs, strict=False)
    ]
    try:
        expected = interpret(graph, values)
    except REFUSED:
        return  # dimensions that were unknown do not fit
    with dt.engine("numpy"):
        found = run(*values)
    found = [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]
    check_same((found, {v: v.numpy() for v in expected[1]}), expected)


@settings(deadline=None, max_examples=30)
@given(graphs())
def test_an_import_computes_the_same(graph):
    target = dt.Graph("target")
    target.outputs = target.import_graph(graph, name="copy")
    target.validate()
    check_same(interpret(target, arguments()), interpret(graph, arguments()))
