"""A model with SIZE bytes of external data without blocks on the disk: python -m tests.formats.onnx.large_checks SIZE

It prints the most memory that loading takes, and the memory beside the file that a sum over the weights takes.  Then it
saves them, with memory for one copy of them and MORE bytes.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import dovetail as dt
from dovetail.formats.wire.messages import ONNX
from tests.formats.memory import forget, memory

MORE = 64 << 20


def write(folder: Path, size: int) -> Path:
    """A model that adds a number to a weight of zeros."""
    with (folder / "weights.data").open("wb") as file:
        file.truncate(size)
    x, y = (ONNX.ValueInfoProto(name=name) for name in "xy")
    for one, shape in ((x, ()), (y, (size // 4,))):
        one.type.tensor_type.elem_type = 1
        one.type.tensor_type.shape.SetInParent()
        for length in shape:
            one.type.tensor_type.shape.dim.add(dim_value=length)
    weight = ONNX.TensorProto(name="w", dims=[size // 4], data_type=1, data_location=1)
    weight.external_data.add(key="location", value="weights.data")
    node = ONNX.NodeProto(op_type="Add", input=["x", "w"], output=["y"])
    model = ONNX.ModelProto(ir_version=8)
    model.graph.CopyFrom(ONNX.GraphProto(node=[node], input=[x], output=[y], initializer=[weight]))
    model.opset_import.add(version=18)
    (folder / "large.onnx").write_bytes(model.SerializeToString())
    return folder / "large.onnx"


def main() -> None:
    dt.set_engine("numpy")
    with TemporaryDirectory() as name:
        path = write(Path(name), int(sys.argv[1]))
        forget()
        before = memory("VmRSS")
        (variable,) = dt.onnx.load(path).variables
        print(memory("VmHWM") - before)
        anonymous = memory("RssAnon")
        assert float(dt.ops.sum(variable)) == 0
        print(memory("RssAnon") - anonymous)
        taken = dt.function(lambda x: dt.ops.take(variable, x), input_signature=[dt.spec((1,), "int32")])
        limit = memory("VmData") + int(sys.argv[1]) + MORE
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        dt.onnx.save(taken, Path(name) / "again.onnx", external=True)
        assert (Path(name) / "again.onnx.data").stat().st_size == int(sys.argv[1])


if __name__ == "__main__":
    main()
