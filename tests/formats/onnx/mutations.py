"""Damage to ONNX models: each changed file is read, or refused by `FormatError`.

    python -m tests.formats.onnx.mutations --count 100000

It changes bytes of fifteen models and of external data, and fields of their messages.  It prints the numbers of files
that were read and refused, the time, and how far the memory of the process grew.
"""

from __future__ import annotations

import random
import resource
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.parser import parse_model

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import ONNX
from tests.formats.mutations import block, bounded, command, cut, flip
from tests.formats.tensorflow.mutations import MEMORY, change

CASES = Path(onnx.__file__).parent / "backend/test/data"
FROM_CASES = {  # name → a folder of the tests of `onnx`
    "converted": "pytorch-converted/test_Conv2d_groups",
    "operator": "pytorch-operator/test_operator_symbolic_override_nested",
    "sequence": "simple/test_sequence_model4",
    "strings": "simple/test_strnorm_model_nostopwords_nochangecase",
}
TEXTS = {
    "loop": """
        <ir_version: 8, opset_import: ["": 18]>
        loop (int64 count, bool go, float[3] x) => (float[3] y, float[n, 3] all)
        <float[3] w = {1, 2, 3}>
        {
            y, all = Loop (count, go, x) <
                body = body (int64 i, bool before, float[3] v) => (bool on, float[3] new, float[3] v1) {
                    v1 = Mul (v, w)
                    new = Identity (v1)
                    size = ReduceSum <keepdims = 0> (v1)
                    limit = Constant <value_float = 100.0> ()
                    on = Less (size, limit)
                }>
        }""",
    "scan and branches": """
        <ir_version: 8, opset_import: ["": 18]>
        mixed (float[2] first, float[n, 2] rows, bool flag) => (float[2] last, float[n, 2] sums, float[k] z)
        {
            last, sums = Scan <
                num_scan_inputs = 1, body = body (float[2] sum, float[2] row) => (float[2] next, float[2] out) {
                    next = Add (sum, row)
                    out = Identity (next)
                }> (first, rows)
            z = If (flag) <
                then_branch = yes () => (float[k] a) { a = Relu (last) },
                else_branch = no () => (float[k] b) {
                    axes = Constant <value_ints = [0]> ()
                    s = ReduceMax <keepdims = 0> (last)
                    b = Unsqueeze (s, axes)
                }>
        }""",
    "functions": """
        <ir_version: 8, opset_import: ["": 18, "own": 1]>
        called (float[n, 4] x) => (float[n, 4] y)
        <float[4] scale = {1, 2, 3, 4}>
        { h = own.scaled <by = 0.5> (x, scale) y = own.twice (h) }
        <domain: "own", opset_import: ["": 18, "own": 1]>
        scaled <by> (x, s) => (y) { c = Constant <value_float: float = @by> () z = Mul (x, s) y = Mul (z, c) }
        <domain: "own", opset_import: ["": 18, "own": 1]>
        twice (x) => (y) { h = Tanh (x) y = Tanh (h) }""",
    "quantized": """
        <ir_version: 10, opset_import: ["": 21]>
        quantized (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y)
        <float s = {0.1}, uint8 z = {3}, int8[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9},
            float ws = {0.02}, int8 wz = {0}>
        {
            q = QuantizeLinear (x, s, z)
            c = QLinearConv (q, s, z, w, ws, wz, s, z)
            y = DequantizeLinear (c, s, z)
        }""",
    "shapes": """
        <ir_version: 8, opset_import: ["": 18]>
        shapes (float[n, 6] x, int64[2] sizes) => (float[a, b] y, float[c] z)
        <int64[1] zero = {0}, int64[1] one = {1}, int64 start = {0}, int64 step = {1}>
        {
            shape = Shape (x)
            n = Slice (shape, zero, one)
            rest = Constant <value_ints = [2, 3]> ()
            wanted = Concat <axis = 0> (n, rest)
            cube = Reshape (x, wanted)
            flat = Flatten <axis = 1> (cube)
            y = Expand (flat, sizes)
            end = Squeeze (n)
            count = Range (start, end, step)
            filled = ConstantOfShape <value = float[1] {2}> (n)
            numbers = Cast <to = 1> (count)
            z = Add (numbers, filled)
        }""",
    "images": """
        <ir_version: 8, opset_import: ["": 20]>
        images (float[1, 1, 4, 4] x, float[1, 2, 3] theta, float[r, 4] rois, int64[r] batch)
            => (float[1, 1, 6, 6] y, float[1, 3, 3, 2] grid, float[r, 1, 2, 2] z, int64[1, 1, 2, 2] at, float[k] p)
        <int64[4] wanted = {1, 1, 6, 6}, int64[4] size = {1, 1, 3, 3}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}>
        {
            y = Resize <mode = "cubic", antialias = 1> (x, , , wanted)
            grid = AffineGrid (theta, size)
            z = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, rois, batch)
            most, at = MaxPool <kernel_shape = [2, 2], strides = [2, 2], dilations = [1, 2], ceil_mode = 1> (x)
            p = Pad <mode = "reflect"> (x, pads)
        }""",
    "signals": """
        <ir_version: 8, opset_import: ["": 18]>
        signals (float[1, 16, 1] x, float[3, 5] like)
            => (float[1, 3, 5, 2] y, float[6, 4] mel, float[3, 5] eye, float[4] noise)
        <int64 size = {8}, int64 step = {4}, int64 bins = {4}, int64 rate = {8000}, float low = {0}, float high = {40}>
        {
            window = HannWindow <periodic = 1> (size)
            y = STFT <onesided = 1> (x, step, window)
            mel = MelWeightMatrix (bins, size, rate, low, high)
            eye = EyeLike <k = 1> (like)
            noise = RandomUniform <shape = [4], seed = 1.0> ()
        }""",
    "sequences and words": """
        <ir_version: 8, opset_import: ["": 20]>
        words (float[6, 2] x) => (float[4, 2] y, float[3] counts, string[2] joined)
        <string[2] a = {"to be", "or not"}, string[2] b = {" x", " y"}, int64[4] numbers = {1, 2, 3, 1}>
        {
            parts = SplitToSequence <axis = 0, keepdims = 1> (x)
            place = Constant <value_int = 2> ()
            shorter = SequenceErase (parts, place)
            most = SequenceMap <body = body (float[1, 2] row) => (float[1, 2] out) { out = Tanh (row) }> (shorter)
            y = ConcatFromSequence <axis = 0> (most)
            counts = TfIdfVectorizer <min_gram_length = 1, max_gram_length = 2, max_skip_count = 1, mode = "TF",
                ngram_counts = [0, 1], ngram_indexes = [0, 1, 2], pool_int64s = [1, 2, 3, 1, 2]> (numbers)
            joined = StringConcat (a, b)
        }""",
}


def exported(folder: Path) -> None:
    """Models that Dovetail writes: a net with external data, branches and a loop, and a training step."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.normal(size=shape).astype("float32")

    kernel, dense = dt.Variable(drawn(3, 3, 2, 16), name="kernel"), dt.Variable(drawn(16, 40), name="dense")
    cell = [dt.Variable(value, name=f"cell{i}") for i, value in enumerate((drawn(16, 32), drawn(8, 32), drawn(32)))]

    def net(image: Any) -> Any:
        found = ops.relu(ops.conv(image, kernel, padding="same", strides=2))
        return ops.softmax(ops.max_pool(found, 2)[:, 0, 0] @ dense)

    def flow(x: Any) -> Any:
        start = ops.zeros((2, 8))
        y = ops.lstm(x, start, start, *cell)[1]
        z = ops.cond(ops.sum(y) > 0, lambda: y * 2.0, lambda: y[:, ::-1])
        return ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.tanh(v)), (0, z))[1]

    def step(x: Any, y: Any) -> Any:
        with dt.GradientTape() as tape:
            loss = ops.mean(ops.square(ops.tanh(x @ dense) - y))
        dense.assign_sub(0.1 * tape.gradient(loss, dense))
        return loss

    for function, shapes in ((net, [(None, 4, 4, 2)]), (flow, [(2, 5, 16)]), (step, [(8, 16), (8, 40)])):
        compiled = dt.function(function, engine="numpy", input_signature=[dt.spec(shape) for shape in shapes])
        dt.onnx.save(compiled, folder / function.__name__, external=function is net)


def files(folder: Path) -> dict[str, bytes]:
    """The names and the bytes of the files, which are written in a folder."""
    exported(folder)
    for name, text in TEXTS.items():
        (folder / name).write_bytes(parse_model(text).SerializeToString())
    for name, case in FROM_CASES.items():
        (folder / name).write_bytes((CASES / case / "model.onnx").read_bytes())
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def changed(data: bytes, message: Any, draw: random.Random) -> bytes:
    """Change bytes of a file, or fields of its message."""
    if message is None or draw.random() < 0.25:
        return draw.choice([flip, cut, block])(data, draw)
    copy = type(message)()
    copy.CopyFrom(message)
    for _ in range(draw.choice([1, 1, 2, 3])):
        change(copy, draw)
    return copy.SerializeToString(deterministic=True)


def check(path: Path) -> str:
    """Read a changed model; "read" or "refused".

    Raises:
        AssertionError: it took too long or too much memory, or the error does not say the file.
        Exception: any error but `FormatError` is a fault.
    """
    try:
        with bounded():
            model = dt.onnx.load(path)
            repr((model, model.input_specs, model.output_types, model.opaque, len(model.variables), len(model.graph)))
        return "read"
    except FormatError as error:
        assert f"{str(path)!r} cannot be read: " in str(error) and "needed: " in str(error), error
        return "refused"


def mutations(count: int, seed: int, folder: Path) -> Counter[str]:
    """Check this number of changed files, and count the files that were read and refused, by file."""
    draw, found = random.Random(seed), Counter[str]()
    dt.set_engine("numpy")
    data = files(folder)
    messages = {name: ONNX.ModelProto.FromString(data[name]) for name in data if not name.endswith(".data")}
    warnings.simplefilter("ignore")  # numbers that overflow
    for number in range(count):
        name = draw.choice([*data])
        target = folder / name
        target.unlink()  # it may be mapped
        target.write_bytes(changed(data[name], messages.get(name), draw))
        try:
            found[f"{name}: {check(folder / name.removesuffix('.data'))}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {number} of seed {seed}, of {name}")
            raise
        finally:
            target.unlink()
            target.write_bytes(data[name])
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    command(__doc__, mutations)
