"""Shared fixtures of tests of graphs."""

import pytest

import dovetail as dt


@pytest.fixture
def graph():
    return dt.Graph("test")


@pytest.fixture
def x(graph):
    return graph.placeholder(dt.spec((2, 3)), "x")
