"""Pipelines of data: `elements.py` has what flows, `dataset.py` the steps, `iterators.py` the loops of sessions."""
