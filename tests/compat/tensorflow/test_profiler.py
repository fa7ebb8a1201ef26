"""TensorFlow's names for profiles: they open Dovetail's, and write what TensorBoard and Perfetto read."""

import gzip
import json

import numpy as np
import pytest

import dovetail as dt
import dovetail.compat.tensorflow as tf

X = np.ones((4, 4), "float32")
experimental = tf.profiler.experimental


def spans(folder):
    (file,) = folder.glob("plugins/profile/*/dovetail.trace.json.gz")
    found = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    return [event["name"] for event in found if event["ph"] == "X"], [e["name"] for e in found if e["ph"] == "i"]


def test_start_and_stop(tmp_path):
    experimental.start(tmp_path)
    with pytest.raises(RuntimeError, match="another profile is open"):
        experimental.start(tmp_path)
    tf.matmul(X, X)
    experimental.stop()
    assert "MatMul" in spans(tmp_path)[0]
    with pytest.raises(RuntimeError, match=r"call start\(logdir\) first"):
        experimental.stop()


def test_a_profile_has_traces_and_steps(tmp_path):
    with experimental.Profile(str(tmp_path)):
        for step in range(2):
            with experimental.Trace("train", step_num=step, _r=1):
                tf.exp(X)
    names, steps = spans(tmp_path)
    assert names.count("Exp") == 2 and steps == ["step 1", "step 2"]
    assert [name for name in names if name.startswith("train")] == ["train (step_num=0)", "train (step_num=1)"]


def test_nothing_is_written_if_it_is_not_to_be_saved(tmp_path):
    experimental.start(tmp_path)
    experimental.stop(save=False)
    assert list(tmp_path.iterdir()) == []


def test_summaries_trace(tmp_path):
    tf.summary.trace_on(graph=True, profiler=False)
    tf.summary.trace_export("nothing", step=0)
    tf.summary.trace_on(profiler=True, profiler_outdir=tmp_path)
    tf.exp(X)
    tf.summary.trace_export("all", step=0)
    assert "Exp" in spans(tmp_path)[0]
    with pytest.raises(ValueError, match="needs profiler_outdir"):
        tf.summary.trace_on(profiler=True)


def test_the_trace_of_a_library_is_passed_through(tmp_path):
    if "jax" not in dt.list_engines():
        pytest.skip("jax writes such a trace")
    f = dt.function(lambda x: dt.ops.exp(x @ x), engine="jax")
    f(X)
    with experimental.Profile(tmp_path):
        f(X)
    (file,) = tmp_path.glob("plugins/profile/*/jax.xplane.pb")
    assert b"dovetail#" in file.read_bytes()
