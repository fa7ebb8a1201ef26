"""A variable of SIZE bytes in a file without blocks on the disk: python -m tests.formats.tensorflow.large_checks SIZE

It prints the most memory that loading takes, and the memory beside the file that a sum over the variable takes.
"""

from __future__ import annotations

import sys
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dovetail as dt
from dovetail import saved_model
from dovetail.formats.wire.crc import masked_whole
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.shard import CHUNK
from dovetail.formats.wire.table import table
from dovetail.formats.wire.tensors import number_of, shape_proto
from tests.formats.memory import forget, memory


def write(folder: Path, size: int) -> Path:
    """A graph that reads a variable of zeros, and its checkpoint."""
    number, shape = number_of(np.dtype("float32")), shape_proto((size // 4,))
    attributes = {"dtype": TENSORFLOW.AttrValue(type=number), "shape": TENSORFLOW.AttrValue(shape=shape)}
    meta = TENSORFLOW.MetaGraphDef()
    meta.graph_def.node.add(name="w", op="VarHandleOp", attr=attributes)
    meta.graph_def.node.add(name="y", op="ReadVariableOp", input=["w"], attr={"dtype": attributes["dtype"]})
    meta.signature_def["serving_default"].outputs["y"].name = "y:0"
    (folder / "large.meta").write_bytes(meta.SerializeToString())
    entry = TENSORFLOW.BundleEntryProto(dtype=number, shape=shape, size=size)
    entry.crc32c = masked_whole(repeat(bytes(CHUNK), size // CHUNK))
    header = TENSORFLOW.BundleHeaderProto(num_shards=1)
    (folder / "large.index").write_bytes(table([(b"", header.SerializeToString()), (b"w", entry.SerializeToString())]))
    with (folder / "large.data-00000-of-00001").open("wb") as file:
        file.truncate(size)
    return folder / "large.meta"


def main() -> None:
    dt.set_engine("numpy")
    with TemporaryDirectory() as folder:
        path = write(Path(folder), int(sys.argv[1]))
        forget()
        before = memory("VmRSS")
        (variable,) = saved_model.load(path).variables
        print(memory("VmHWM") - before)
        anonymous = memory("RssAnon")
        assert float(dt.ops.sum(variable)) == 0
        print(memory("RssAnon") - anonymous)


if __name__ == "__main__":
    main()
