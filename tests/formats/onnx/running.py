"""Models of ONNX that ONNX's own checker looks at, and that ONNX Runtime runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.libraries import Library

onnx = Library("onnx")
onnxruntime = Library("onnxruntime")


def session(path: Path | str) -> Any:
    """A session of ONNX Runtime for a file that ONNX's checker takes."""
    onnx.checker.check_model(str(path), full_check=True)
    return session_of(str(path))


def session_of(model: str | bytes) -> Any:
    """A session of ONNX Runtime for a file, or for its bytes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run(path: Path | str, *arrays: Any) -> list[np.ndarray]:
    """The outputs of a model, computed by ONNX Runtime from its inputs in order."""
    ready = session(path)
    names = (one.name for one in ready.get_inputs())
    return ready.run(None, {name: np.asarray(array) for name, array in zip(names, arrays, strict=True)})


def trained(path: Path | str, batches: Sequence[Mapping[str, Any]]) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The first output of each step of a training step, and the state behind the last one."""
    ready = session(path)
    pairs = json.loads(ready.get_modelmeta().custom_metadata_map["dovetail.state"])
    names, state, found = [one.name for one in ready.get_outputs()], dict[str, np.ndarray](), []
    for batch in batches:
        results = dict(zip(names, ready.run(None, {**batch, **state}), strict=True))
        found.append(results[names[0]])
        state = {given: results[new] for given, new in pairs.items()}
    return found, state


def types_in(graph: Any) -> list[str]:
    """The types of the nodes of a graph, and of the graphs inside."""
    inner = [one.g for node in graph.node for one in node.attribute if one.HasField("g")]
    return [node.op_type for node in graph.node] + [type for one in inner for type in types_in(one)]
