"""NCCL: tensors on GPUs go from GPU to GPU; here by the transport of a world of one process, which needs one GPU.

`make test-gpu` runs these tests.
"""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.engines.engine_registry import get_engine
from tests.libraries import Library, require

require("torch", "it carries")
torch = Library("torch")

ROWS = np.arange(400.0).reshape(20, 20)  # more than travels in the slots
MOVED = {"AllGather": (), "Broadcast": (0,), "AllToAll": ()}
REDUCED = {"AllReduce": ("sum", "mean", "max", "min"), "ReduceScatter": ("sum", "mean", "max", "min")}
CASES = [
    *((op, options, dtype) for op, options in MOVED.items() for dtype in ("float32", "bfloat16", "bool", "complex64")),
    *((op, (way,), dtype) for op, ways in REDUCED.items() for way in ways for dtype in ("float32", "bfloat16")),
    *((op, ("sum",), "int64") for op in REDUCED),
]


@pytest.fixture(scope="module")
def transport(tmp_path_factory):
    """The transport of a world of one process."""
    if not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        pytest.skip("there is no GPU, or no NCCL")
    from dovetail.distributed.transport import Transport

    made = Transport(torch.distributed.FileStore(str(tmp_path_factory.mktemp("store") / "ranks")), 0, 60)
    yield made
    made.close()


@pytest.mark.parametrize(("op", "options", "dtype"), CASES)
def test_tensors_on_a_gpu_stay_there(transport, op, options, dtype, monkeypatch):
    from dovetail.distributed import transport as module

    monkeypatch.setattr(module, "_on_host", lambda array: pytest.fail("it was copied to the host"))
    x = torch.tensor(ROWS, device="cuda").to(getattr(torch, dtype))
    found = transport(op, x, (0,), *options)
    assert found.is_cuda and found.dtype == x.dtype and found.data_ptr() != x.data_ptr()
    assert torch.equal(found, x)


def test_small_tensors_and_other_dtypes_come_back_from_the_host(transport):
    engine = get_engine("torch")
    for x, options in (
        (torch.tensor([1.0, 2.0], device="cuda"), ("sum",)),
        (torch.tensor(ROWS, device="cuda") > 3, ("max",)),
        (torch.tensor(ROWS, device="cuda").to(torch.complex64), ("sum",)),
    ):
        found = transport("AllReduce", engine._sent(x), (0,), *options)
        assert isinstance(found, np.ndarray)
        received = engine._received(found, x)
        assert received.is_cuda and received.dtype == x.dtype and torch.equal(received, x)


def test_a_host_s_array_goes_by_gloo(transport):
    np.testing.assert_array_equal(transport("AllReduce", ROWS, (0,), "sum"), ROWS)
