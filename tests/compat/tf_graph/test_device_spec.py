"""Device strings of TensorFlow: reading, writing, errors, and the matching device of an engine."""

from __future__ import annotations

import pytest

from dovetail.compat.tf_graph.device_spec import DeviceSpec, as_device, wish_of, written
from dovetail.core.wish import Wish
from tests.libraries import require

STRINGS = [
    "/gpu:0", "gpu:1", "GPU", "/cpu:*", "/device:GPU:3", "/job:worker", "/job:ps/task:2/cpu:0", "", "/device:CPU:*",
    "/job:localhost/replica:0/task:0/device:CPU:0", "/replica:1/task:4", "/job:a/job:b",
]  # fmt: skip


@pytest.mark.parametrize("spec", STRINGS)
def test_they_are_written_as_tensorflow_writes_them(spec):
    require("tensorflow", "the oracle")
    import tensorflow as tf

    own, theirs = DeviceSpec.from_string(spec), tf.DeviceSpec.from_string(spec)
    assert own.to_string() == theirs.to_string()
    for name in ("job", "replica", "task", "device_type", "device_index"):
        assert getattr(own, name) == getattr(theirs, name)
    for other in STRINGS:
        merged = own.make_merged_spec(DeviceSpec.from_string(other)).to_string()
        assert merged == theirs.make_merged_spec(tf.DeviceSpec.from_string(other)).to_string()
    assert own.replace(task=7).to_string() == theirs.replace(task=7).to_string()


@pytest.mark.parametrize("spec", ["/foo:0", "nonsense", "/gpu:x", "/task:a", "/gpu:-1", "/device:GPU:0:1"])
def test_what_is_no_device_is_refused(spec):
    with pytest.raises(ValueError, match="is no part of a device: write /job:worker/task:0/device:GPU:0"):
        DeviceSpec.from_string(spec)


def test_two_devices_and_other_types_are_refused():
    with pytest.raises(ValueError, match="names two devices"):
        DeviceSpec.from_string("/gpu:0/cpu:0")
    with pytest.raises(TypeError, match=r'a device is a string, as "/gpu:0", not 3'):
        DeviceSpec.from_string(3)


@pytest.mark.parametrize(
    ("wish", "found"),
    [
        ("/device:GPU:0", "gpu:0"),
        ("/device:GPU:1", "gpu:1"),
        ("/device:GPU:2", None),
        ("/device:GPU:*", "gpu:0"),
        ("/device:CPU:*", "cpu:0"),
        ("/device:TPU:0", None),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "cpu:0"),
        ("/job:worker/device:CPU:0", None),
        ("/job:worker", None),
        ("/task:1/device:CPU:0", None),
        ("/task:0", None),
    ],
)
def test_wishes_are_looked_up(wish, found):
    assert wish_of(wish).granted(("gpu:0", "gpu:1", "cpu:0")) == found


def test_a_wish_names_a_device_or_another_process():
    wishes = {"/device:GPU:0": True, "/job:worker": True, "/job:localhost": False, "/task:0": False, "/task:3": True}
    assert {text: wish_of(text).names_device for text in wishes} == wishes
    assert isinstance(as_device("/gpu:0"), Wish) and type(as_device("gpu:0")) is str and as_device("") is None


def test_what_engines_say_is_written_as_tensorflow_writes_it():
    assert [written(d) for d in ("gpu:1", "cpu", "/job:ps", None, "")] == [
        "/device:GPU:1", "/device:CPU:*", "/job:ps", "", "",
    ]  # fmt: skip
