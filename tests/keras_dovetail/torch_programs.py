"""Programs of `torch.export` in a folder, run by torch alone: each result is as in the file `.npz` beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch


def leaves(value):
    """The tensors of a result; of a dict, by its sorted keys."""
    if isinstance(value, torch.Tensor):
        return [value]
    members = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
    return [leaf for member in members for leaf in leaves(member)]


def check(path):
    module = torch.export.load(path).module()
    with np.load(path.with_suffix(".npz")) as archive:
        for size in archive["sizes"]:
            given = [torch.from_numpy(archive[name][:size]) for name in archive.files if name.startswith("x")]
            results = leaves(module(*given) if len(given) == 1 else module(given))
            expected = [archive[name] for name in archive.files if name.startswith(f"y{size}_")]
            assert len(results) == len(expected)
            for result, wanted in zip(results, expected, strict=True):
                np.testing.assert_allclose(result.detach().numpy(), wanted, rtol=1e-5, atol=1e-5, err_msg=str(path))


if __name__ == "__main__":
    programs = sorted(Path(sys.argv[1]).glob("*.pt2"))
    for each in programs:
        check(each)
    assert not {"dovetail", "keras", "keras_dovetail"} & sys.modules.keys()
    print(len(programs), "programs")
