"""Advice for files of other libraries that Dovetail does not read, by their names, or by the parts of an archive."""

from __future__ import annotations

import os
import zipfile
from fnmatch import fnmatch
from pathlib import Path

EXPORT = "`torch.onnx.export` writes the module as ONNX, which `dt.onnx.load` reads"
OUTSIDE = {  # patterns of the names of files that Dovetail does not read → what to use
    "*.tflite": "a model of LiteRT (TensorFlow Lite), which `ai-edge-litert` runs: take the SavedModel it was made of, "
    "or write ONNX, of which `emx-onnx-cgen` makes C",
    "model.json": "a model of TensorFlow.js: `tensorflowjs_converter` makes a SavedModel of it",
    "*.mlmodel": "a model of Core ML, which `coremltools` reads: take the model it was made of",
    "*.mlpackage": "a model of Core ML, which `coremltools` reads: take the model it was made of",
    "*.pt2": f"a program of torch.export: {EXPORT}",
    "*.pt": f"a file of PyTorch: {EXPORT}",
    "*.pth": f"a file of PyTorch: {EXPORT}",
}
STARTS = {  # the first bytes of what stands in place of a file → what to do
    b"version https://git-lfs": "a pointer of Git LFS in place of the file: `git lfs pull` fetches it",
    b"<": "a text like HTML in place of the file: load the file itself down, often by a link `raw` or `resolve`",
}
PARTS = {  # patterns of the parts of an archive of PyTorch → what to use
    "*/constants.pkl": f"a program of TorchScript: {EXPORT}",
    "*/archive_format": f"a program of torch.export: {EXPORT}",
    "*/data.pkl": f"a pickle of PyTorch, which is not read: {EXPORT}, "
    "and `safetensors.torch.save_file` writes weights, which `dt.load` reads",
}


def outside(path: str | os.PathLike[str]) -> str:
    """What to use for a file that Dovetail does not read; empty if nothing of it tells."""
    file = Path(path)
    parts, begin = list[str](), b""
    try:
        if file.is_file() and zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                parts = archive.namelist()
        with file.open("rb") as opened:
            begin = opened.read(64).lstrip()
    except (OSError, ValueError, zipfile.BadZipFile):  # a path that is none, or a damaged archive
        parts = []
    told = (advice for name, advice in PARTS.items() if any(fnmatch(part, name) for part in parts))
    named = (advice for name, advice in OUTSIDE.items() if fnmatch(file.name.lower(), name))
    starting = (advice for start, advice in STARTS.items() if begin.startswith(start))
    return next(told, "") or next(starting, "") or next(named, "")
