"""Models of PyTorch that leave by `torch.onnx.export`: Dovetail computes the same, and trains them as PyTorch does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests import foreign
from tests.libraries import Library, require

require("torch", "it exports the models")
require("onnxscript", "torch.onnx.export needs it")
torch = Library("torch")


def mlp(nn: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))


def cnn(nn: Any) -> Any:
    first = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)
    second = nn.Conv2d(6, 8, 3, stride=2), nn.BatchNorm2d(8), nn.SiLU(), nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(8, 3))


def recurrent(kind: str, size: int, **options: Any) -> Callable[[Any], Any]:
    def build(nn: Any) -> Any:
        class Last(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer, self.head = getattr(nn, kind)(4, 5, batch_first=True, **options), nn.Linear(size, 3)

            def forward(self, x: Any) -> Any:
                return self.head(self.layer(x)[0][:, -1])

        return Last()

    return build


def encoder(nn: Any) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Flatten(), nn.Linear(48, 3))


MODELS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {  # with the shape of an example
    "mlp": (mlp, (4,)),
    "cnn": (cnn, (3, 12, 12)),
    "lstm": (recurrent("LSTM", 5), (6, 4)),
    "stacked lstm of two directions": (recurrent("LSTM", 10, num_layers=2, bidirectional=True), (6, 4)),
    "gru": (recurrent("GRU", 5), (6, 4)),
    "encoder": (encoder, (6, 8)),
}


def traced(model: Any, x: Any, path: Path) -> None:
    """Export by the exporter of TorchScript, with normalization as it is in the model's mode."""
    names = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    mode = torch.onnx.TrainingMode.PRESERVE
    torch.onnx.export(model, (x,), path, dynamo=False, training=mode, do_constant_folding=False, **names)


def exported(model: Any, x: Any, path: Path, **options: Any) -> None:
    """Export by `torch.export`."""
    batch = ({0: torch.export.Dim("batch")},)
    torch.onnx.export(model, (x,), path, dynamo=True, dynamic_shapes=batch, verbose=False, **options)


def plain(model: Any, x: Any, path: Path) -> None:
    """Export by `torch.export` without changes, which would fold normalization into kernels."""
    exported(model, x, path, optimize=False)


def made(name: str) -> tuple[Any, Callable[[int], Any]]:
    """A model of random weights and moments, and a function that draws a batch."""
    torch.manual_seed(0)
    build, shape = MODELS[name]
    model = build(torch.nn).eval()
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if value.is_floating_point():
                value.add_(torch.rand(value.shape) if "var" in key else torch.randn(value.shape) * 0.2)
    return model, lambda size: torch.randn(size, *shape)


def load(model: Any, x: Any, path: Path, export: Any) -> Any:
    """A model that left PyTorch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch, about its own functions
        export(model, x, path)
    return dt.onnx.load(path)


EXPORTS = [(name, export) for export in (traced, exported, plain) for name in MODELS]
FOLDED = ("cnn", exported)  # its kernels hold the normalization, so the gradients are others than PyTorch's
cases = pytest.mark.parametrize(("name", "export"), EXPORTS, ids=lambda value: getattr(value, "__name__", value))


def compare(loaded: Any, model: Any, x: Any, tolerance: float = 1e-5) -> None:
    with torch.no_grad():
        expected = model(x).numpy()
    np.testing.assert_allclose(loaded(x.numpy()).numpy(), expected, rtol=tolerance, atol=tolerance)


def train(loaded: Any, model: Any, draw: Any) -> None:
    """Train both by the same three steps, and compare losses and gradients."""
    x, y = draw(6), torch.randn(6, 3)
    parameters, losses = dict(model.named_parameters()), []
    for _ in range(3):
        model.zero_grad()
        expected = torch.nn.functional.mse_loss(model(x), y)
        expected.backward()
        weights = loaded.trainable_variables
        with dt.GradientTape() as tape:
            loss = dt.ops.mean(dt.ops.square(loaded(x.numpy()) - y.numpy()))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            theirs = parameters.get(weight.name)  # exporters transpose some kernels, under names of their own
            if theirs is not None and theirs.shape == weight.shape:
                np.testing.assert_allclose(gradient.numpy(), theirs.grad.numpy(), rtol=1e-3, atol=1e-5)
            weight.assign_sub(0.02 * gradient)
        with torch.no_grad():
            for theirs in parameters.values():
                theirs -= 0.02 * theirs.grad
        losses.append(float(loss))
        np.testing.assert_allclose(losses[-1], expected.item(), rtol=1e-4)
    assert losses == sorted(losses, reverse=True), losses


@cases
def test_a_model_computes_and_trains_as_in_torch(name: str, export: Any, tmp_path: Path):
    model, draw = made(name)
    loaded = load(model, draw(3), tmp_path / "model.onnx", export)
    for size in (1, 4):
        compare(loaded, model, draw(size))
    if (name, export) != FOLDED:
        train(loaded, model, draw)
        compare(loaded, model, draw(5), 1e-4)
    goes_on(loaded, draw(5).numpy(), tmp_path)


def goes_on(loaded: Any, x: np.ndarray, folder: Path) -> None:
    """Check that TensorFlow and ONNX Runtime compute a trained model as it is here."""
    dt.saved_model.save(loaded, folder / "folder")
    loaded.save(folder / "again.onnx")
    given = {loaded.inputs[0]: x}
    for found in (foreign.saved_model(folder / "folder", given), foreign.onnx(folder / "again.onnx", given)):
        np.testing.assert_allclose(*found.values(), loaded(x).numpy(), rtol=1e-4, atol=1e-5)


def test_normalization_by_the_batch_is_trained(tmp_path: Path):
    model, draw = made("cnn")
    loaded = load(model.train(), draw(3), tmp_path / "model.onnx", traced)
    train(loaded, model, draw)
    compare(loaded, model, draw(5), 1e-4)
