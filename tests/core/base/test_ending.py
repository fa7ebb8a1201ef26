"""Threads in the background stop themselves once they were told to."""

from __future__ import annotations

import threading

from dovetail.core.base.ending import Ending, end, stop_if_ending


def test_only_the_thread_that_was_told_stops():
    seen = []

    def work() -> None:
        stop_if_ending()
        seen.append("not yet")
        end(threading.current_thread())
        try:
            stop_if_ending()
        except Ending:
            seen.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    stop_if_ending()
    assert seen == ["not yet", "stopped"]
