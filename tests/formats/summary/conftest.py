"""The files that TensorFlow writes, once for all tests of summaries."""

from __future__ import annotations

import pytest

from tests.formats.summary.written import write


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A folder with a file of each kind of TensorFlow."""
    pytest.importorskip("tensorflow")
    folder = tmp_path_factory.mktemp("written")
    write(folder)
    return folder
