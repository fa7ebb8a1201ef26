"""Matrix products on an accelerator with fixed-point numbers, everything else on another engine.

    python examples/fpga.py --engine torch

The accelerator is simulated: a square grid of multipliers computes products of 16-bit numbers, and counts its cycles.
It is an engine of this program, which `register_engine` makes known, and it owns the devices of the type "fpga". So a
function for `tf.device` can send one type of operation there, in a program of TensorFlow 1 that knows nothing of the
accelerator. `graph.place` does the same to a graph that was traced.

The program compares the numbers with those of floats: they differ by no more than the rounding explains. Then it trains
the same net; the products in the gradients run on the accelerator, too.

Source: Kung 1982, "Why systolic architectures?"; `tf.device`.
"""

import argparse
import math

import numpy as np

import dovetail as dt
import dovetail.compat.tensorflow as tf
from dovetail import ops
from dovetail.core.engine import Engine
from dovetail.core.rules import Rules

FRACTION = 8  # bits behind the point of a 16-bit number
GRID = 16  # multipliers in a row and in a column of the accelerator
LIMIT = 2**15 - 1


def fixed(numbers):
    """Numbers in units of 2**-FRACTION, rounded and limited to 16 bits."""
    return np.clip(np.rint(numbers.astype("float64") * 2**FRACTION), -LIMIT - 1, LIMIT).astype("int64")


class Fpga(Engine):
    """An engine that compiles matrix products of float32, and counts the cycles that they take."""

    name = "fpga"
    eager = "numpy"  # it holds the values, and computes single calls
    compiles_programs = True
    static_shapes = True
    device_types = ("fpga",)
    claimed = ("MatMul",)

    cycles = 0
    products = 0

    def version(self):
        return "1.0"

    def devices(self):
        return ["fpga:0"]

    def claims(self, operation):
        is_simple = all(t.dtype == "float32" and t.ndim == 2 for t in operation.inputs)
        return self.claimed if is_simple else ()

    def compile(self, segment):
        constants = {op.outputs[0]: op.attrs["value"] for op in segment.graph.find("Const")}
        products = segment.graph.find("MatMul")

        def run(*arrays):
            known = {**constants, **dict(zip(segment.inputs, arrays, strict=True))}
            for op in products:
                x, y = (known[t] for t in op.inputs)
                known[op.outputs[0]] = self.product(
                    x.T if op.attrs["transpose_a"] else x, y.T if op.attrs["transpose_b"] else y
                )
            return tuple(np.array(known[t]) for t in segment.outputs)

        return run

    def product(self, x, y):
        """Multiply in tiles: each takes a cycle per inner number, and one per diagonal to fill and drain."""
        tiles = math.ceil(x.shape[0] / GRID) * math.ceil(y.shape[1] / GRID)
        self.cycles += tiles * (x.shape[1] + 2 * (GRID - 1))
        self.products += 1
        return (fixed(x) @ fixed(y) / 4**FRACTION).astype("float32")


def bound(x, y):
    """The largest error of a product that rounding both factors explains."""
    step = 2.0 ** -(FRACTION + 1)
    return x.shape[1] * step * (np.abs(x).max() + np.abs(y).max() + step)


def to_fpga(operation):
    """The device of an operation; None leaves it where it is."""
    return "/device:FPGA:0" if operation.type == "MatMul" else None


def classic(x, weights):
    """A layer as a program of TensorFlow 1 writes it: its values, and the devices of its operations."""
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph, v1.device(to_fpga):
        given = v1.placeholder(tf.float32, x.shape, name="x")
        product = tf.matmul(given, tf.constant(weights))
        layer = tf.tanh(product + 1.0)
        with v1.Session(config=v1.ConfigProto(log_device_placement=True)) as session:
            values = session.run([product, layer], {given: x})
    return values, {op.type: op.device for op in graph.get_operations() if op.inputs}


def train(x, wanted, accelerator, steps=60):
    """Train two layers, whose products the accelerator computes: the first and the last loss, and the plan as text."""
    rng = np.random.default_rng(1)
    first = dt.Variable(rng.normal(0, 0.5, (x.shape[1], 24)).astype("float32"), name="first")
    second = dt.Variable(rng.normal(0, 0.5, (24, wanted.shape[1])).astype("float32"), name="second")

    def step(x, wanted):
        with dt.GradientTape() as tape:
            loss = ops.mean((ops.tanh(x @ first) @ second - wanted) ** 2)
        for v, gradient in zip((first, second), tape.gradient(loss, (first, second)), strict=True):
            v.assign_sub(0.5 * gradient)
        return loss

    graph = dt.function(step).graph(x, wanted)
    graph.place({"MatMul": dt.place(device="fpga:0")})
    placed = dt.function(graph)
    before, losses = accelerator.products, [float(placed(x, wanted)) for _ in range(steps)]
    return losses[0], losses[-1], (accelerator.products - before) // steps, str(placed.plan(x, wanted))


def main(arguments=None):
    """Run the program; return its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--engine", default="numpy", choices=dt.list_engines(), help="the engine of the other operations"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the numbers")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(options.seed)
    x, weights = (rng.uniform(-1, 1, shape).astype("float32") for shape in ((40, 32), (32, 20)))
    accelerator = Fpga(Rules())
    dt.register_engine(accelerator)
    try:
        with dt.engine(options.engine):
            (product, layer), devices = classic(x, weights)
            cycles = accelerator.cycles
            error = float(np.abs(product - x.astype("float64") @ weights).max())
            first, last, products, plan = train(x, np.sin(x @ weights[:, :4]), accelerator)
    finally:
        dt.unregister_engine("fpga")
    print(plan)
    print(f"a product of {x.shape} and {weights.shape}: {cycles} cycles, error {error:.4f} of {bound(x, weights):.4f}")
    print(f"training: {products} products a step, loss {first:.3f} → {last:.3f}, {accelerator.cycles} cycles in all")
    return {
        "error": error,
        "bound": float(bound(x, weights)),
        "layer error": float(np.abs(layer - np.tanh(x @ weights + 1)).max()),
        "devices": devices,
        "cycles": cycles,
        "products": products,
        "losses": (first, last),
        "plan": plan,
    }


if __name__ == "__main__":
    main()
