"""Configurations of Keras 1 and 2, as Keras 3 takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail.core.base.errors import FormatError
from dovetail.formats import hdf5
from dovetail.formats.keras import config_rows
from dovetail.formats.keras.configs import Configs

MODELS = Path(__file__).parent / "models"
FILE = Path("old.h5")

NAME = "keras2_hard_sigmoid"
HARD_SIGMOID = {"class_name": "function", "module": "builtins", "config": NAME, "registered_name": NAME}

# class and arguments in a file → class and arguments in Keras 3
ROWS = [
    ("Dense", {"output_dim": 2, "init": "one", "bias": False}, "Dense",
     {"units": 2, "kernel_initializer": "ones", "use_bias": False}),
    ("Convolution2D", {"nb_filter": 2, "nb_row": 3, "nb_col": 1, "border_mode": "same", "dim_ordering": "th"}, "Conv2D",
     {"filters": 2, "kernel_size": [3, 1], "padding": "same", "data_format": "channels_first"}),
    ("Dense", {"W_regularizer": {"name": "L1L2Regularizer", "l1": 0.0, "l2": 0.1}}, "Dense",
     {"kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.1}}}),
    ("Dense", {"b_constraint": {"name": "MaxNorm", "m": 2, "axis": 0}}, "Dense",
     {"bias_constraint": {"class_name": "MaxNorm", "config": {"max_value": 2, "axis": 0}}}),
    ("Embedding", {"input_dim": 9, "output_dim": 2, "input_length": 3, "batch_input_shape": [None, 3]}, "Embedding",
     {"input_dim": 9, "output_dim": 2}),
    ("Embedding", {"input_dim": 9, "output_dim": 2, "dtype": "int32"}, "Embedding", {"input_dim": 9, "output_dim": 2}),
    ("Dropout", {"p": 0.5}, "Dropout", {"rate": 0.5}),
    ("Merge", {"mode": "concat", "concat_axis": 1, "dot_axes": -1}, "Concatenate", {"axis": 1}),
    ("Merge", {"mode": "cos", "dot_axes": 1}, "Dot", {"normalize": True, "axes": 1}),
    ("CuDNNGRU", {"units": 2}, "GRU",
     {"units": 2, "activation": "tanh", "recurrent_activation": "sigmoid", "reset_after": True}),
    ("GRU", {"units": 2}, "GRU", {"units": 2, "reset_after": False}),
    ("LSTM", {"output_dim": 2, "inner_activation": "hard_sigmoid", "forget_bias_init": "one"}, "LSTM",
     {"units": 2, "recurrent_activation": HARD_SIGMOID, "unit_forget_bias": True}),
    ("DepthwiseConv2D", {"groups": 1, "filters": None}, "DepthwiseConv2D", {}),
    ("BatchNormalization", {"axis": [3], "renorm": False}, "BatchNormalization", {"axis": 3}),
    ("LeakyReLU", {"alpha": {"type": "ndarray", "value": 0.25}}, "LeakyReLU", {"negative_slope": 0.25}),
    ("Dense", {"dtype": {"class_name": "Policy", "config": {"name": "mixed_float16", "loss_scale": None}}}, "Dense",
     {"dtype": "mixed_float16"}),
    ("Dense", {"bias_initializer": {"module": "x", "class_name": "Zeros", "config": {"dtype": "float32"}}}, "Dense",
     {"bias_initializer": {"class_name": "Zeros", "config": {}}}),
    ("InputLayer", {"batch_input_shape": [None, 2], "input_dtype": "int32", "ragged": False}, "InputLayer",
     {"batch_shape": [None, 2], "dtype": "int32"}),
    ("Custom>Dense", {"units": 1}, "Dense", {"units": 1}),
    ("Mine", {"alpha": 1, "batch_input_shape": [None], "data_format": "tf"}, "Mine",
     {"alpha": 1, "data_format": "channels_last"}),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "given", "new", "wanted"), ROWS)
def test_rows(cls, given, new, wanted):
    found = Configs(FILE, {"Mine"}).model({"class_name": cls, "config": given})
    assert (found["class_name"], found["config"]) == (new, wanted)


@pytest.mark.parametrize("cls", config_rows.ARGUMENTS)
def test_words(cls):
    words = config_rows.words(cls)
    assert not words.fixed.keys() & words.renamed.keys()


def test_the_numbers_of_calls():
    def layer(cls, name, config, *nodes):
        return {"class_name": cls, "name": name, "config": {"name": name, **config}, "inbound_nodes": [*nodes]}

    ends = {"input_layers": [["x", 0, 0]], "output_layers": [["inner", 2, 0]]}
    inner = {"layers": [layer("InputLayer", "x", {})], "input_layers": [["x", 0, 0]], "output_layers": [["x", 0, 0]]}
    calls = [["x", 0, 0, {"mask": None}]], [["inner", 1, 0, {"training": False}]]
    outer = {"layers": [layer("InputLayer", "x", {}), layer("Model", "inner", inner, *calls)], **ends}
    found = Configs(FILE).model(layer("Model", "outer", outer))["config"]
    tensors = [node["args"][0]["config"]["keras_history"] for node in found["layers"][1]["inbound_nodes"]]
    assert tensors == [["x", 0, 0], ["inner", 0, 0]] and found["output_layers"] == ["inner", 2, 0]
    assert [node["kwargs"] for node in found["layers"][1]["inbound_nodes"]] == [{}, {"training": False}]


def test_the_first_layer_of_a_sequential_gets_an_input():
    inner = {
        "class_name": "Sequential",
        "config": [{"class_name": "Dense", "config": {"batch_input_shape": [None, 4]}}],
    }
    found = Configs(FILE).model({"class_name": "Sequential", "config": {"name": "s", "layers": [inner]}})
    first = found["config"]["layers"][0]
    assert first["class_name"] == "InputLayer" and first["config"]["batch_shape"] == [None, 4]


REFUSED = [
    ({"class_name": "LSTM", "config": {"name": "a", "time_major": True}}, "LSTM 'a': found time_major=True; needed: "),
    ({"class_name": "Lambda", "config": {"name": "a", "function": ["4wE=", None, None]}},
     r"Lambda 'a': found the bytecode of a function; needed: .*custom_objects=\{'a': f\}"),
    ({"class_name": "Lambda", "config": {"name": "a", "function": "cube"}}, r"custom_objects=\{'cube': f\}"),
    ({"class_name": "Sequential", "config": {"layers": [
        {"class_name": "Lambda", "config": {"name": "a", "function": ["4wE=", None, None]}},
        {"class_name": "TimeDistributed", "config": {"layer": {"class_name": "Lambda", "config": {
            "name": "b", "function": {"class_name": "function", "config": "cube"}}}}},
        {"class_name": "Lambda", "config": {"name": "c", "function": ["4wE=", None, None]}},
    ]}}, r"safe_mode=False: pass custom_objects=\{'a': f, 'cube': f, 'c': f\}"),
    ({"class_name": "Merge", "config": {"mode": "odd"}}, "the mode 'odd'; needed: one of sum, mul"),
    ({"class_name": "Dense"}, "Dense: found no config"),
    ({"class_name": "Dense", "config": []}, "a list"),
    ("Dense", "no configuration of a layer"),
    ({"class_name": "Sequential", "config": {"layers": {}}}, "a dict; needed: a list"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "message"), REFUSED)
def test_refused(config, message):
    with pytest.raises(FormatError, match=message) as caught:
        Configs(FILE).model(config)
    assert caught.value.file == "old.h5"


def test_deep_models_are_refused():
    config = {"class_name": "Dense", "config": {}}
    for _ in range(100):
        config = {"class_name": "TimeDistributed", "config": {"layer": config}}
    with pytest.raises(FormatError, match="nested too deeply"):
        Configs(FILE).model(config)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.h5")), ids=lambda path: path.stem)
def test_models(path):
    text = hdf5.read(path).attributes.get("model_config")
    if text is not None:
        found = Configs(path, {"Scale", "cube", "double", "lambda"}).model(json.loads(text))
        assert "batch_input_shape" not in json.dumps(found)
