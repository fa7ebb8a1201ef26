"""Chrome's trace events: the moments of spans."""

from __future__ import annotations

import pytest

from dovetail.formats.pictures import chrome


@pytest.mark.parametrize("micros", [0, 1, 1795788276888848, 1795788276888849])
def test_moments_are_exact(micros):
    made = chrome.document([chrome.Span("y", "Op", micros * 1000, micros * 1000, 0, {})], {}, [("mark", micros * 1000)])
    mark, span = made["traceEvents"][-2:]
    assert span["ts"] == span["dur"] == mark["ts"] == micros
