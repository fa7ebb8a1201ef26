"""TensorFlow's timeline of a run: the times of a `RunMetadata` as a trace of Chrome."""

from __future__ import annotations

import json
import re
from typing import Any

from dovetail.formats.pictures import chrome

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)", re.DOTALL)


class Timeline:
    """The timeline of a run.

    Args:
        step_stats: `step_stats` of a `tf.RunMetadata` that a traced run filled.
        graph: has no effect.

    Source: `tensorflow.python.client.timeline.Timeline`.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as JSON, which https://ui.perfetto.dev and `chrome://tracing` show; a device is a row.

        Args:
            show_dataflow, show_memory, op_time: have no effect.
        """
        devices = list(self._step_stats.dev_stats)
        spans = [
            _span(node, number) for number, device in enumerate(devices) for node in device.node_stats if _took(node)
        ]
        return json.dumps(chrome.document(spans, {number: device.device for number, device in enumerate(devices)}))


def _took(node: Any) -> int:
    return node.all_end_rel_micros


def _span(node: Any, device: int) -> chrome.Span:
    label = _LABEL.fullmatch(node.timeline_label)
    op = label[2] if label else node.node_name
    inputs = label[3].split(", ") if label and label[3] else []
    details = {"name": node.node_name, "op": op, **{f"input{i}": name for i, name in enumerate(inputs)}}
    return chrome.Span(op, "Op", node.all_start_micros * 1000, _took(node) * 1000, device, details)
