"""Regions that reach beyond the image, against ONNX Runtime."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.libraries import Library, require

require("onnx", "it makes the models")
require("onnxruntime", "regions are compared with it")

onnx = Library("onnx")
runtime = Library("onnxruntime")
IMAGES = np.random.RandomState(0).randn(2, 2, 6, 8).astype("float32")
ROIS = np.float32([[1, 1, 5, 4], [3, 2, 12, 11], [7.2, 5.1, 9, 8], [9, 9, 12, 12], [-3, -2, 3, 3], [-20, -20, 40, 40]])
SETTINGS = [*itertools.product(("avg", "max"), ("half_pixel", "output_half_pixel"), (0, 2))]


@pytest.mark.parametrize(("mode", "positions", "ratio"), SETTINGS)
def test_regions_beyond_the_image(engine: Any, mode: str, positions: str, ratio: int, tmp_path: Path):
    settings = f'mode="{mode}", coordinate_transformation_mode="{positions}", sampling_ratio={ratio}'
    text = f"""<ir_version: 8, opset_import: ["" : 16]>
        g (float[2,2,6,8] x, float[n,4] rois, int64[n] batch) => (float[n,2,2,3] y) {{
            y = RoiAlign <output_height=2, output_width=3, {settings}> (x, rois, batch)
        }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    given = {"x": IMAGES, "rois": ROIS, "batch": np.int64([0, 1, 0, 1, 0, 1])}
    (right,) = runtime.InferenceSession(tmp_path / "m.onnx").run(None, given)
    np.testing.assert_allclose(dt.onnx.load(tmp_path / "m.onnx")(**given).numpy(), right, rtol=1e-4, atol=1e-5)
