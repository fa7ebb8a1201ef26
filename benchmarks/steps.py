"""Training steps: `dovetail.function` against the same step written by hand in the engine.

An expert would write the other ones so.  On jax: `jax.jit` with `jax.grad` and donated parameters.  On torch: the
backward pass written out, without autograd, and parameters updated in place.  On TensorFlow: a tape inside
`tf.function`, with XLA if it is faster.

    python benchmarks/steps.py [tiny mlp cnn lstm]
"""

from __future__ import annotations

import sys

import by_hand
import numpy as np
from programs import PROGRAMS
from timing import compare, table

import dovetail as dt

WARM_UP = 120  # calls; on TensorFlow a program goes on with XLA after a hundred


def dovetail_step(program, engine: str):
    """The step as a function without arguments, compiled by Dovetail."""
    with dt.engine(engine):
        parameters = [dt.Variable(p) for p in program.parameters()]
        batch = [dt.ops.convert(b) for b in program.batch()]

        @dt.function
        def step(*batch):
            with dt.GradientTape() as tape:
                loss = program.loss(parameters, *batch)
            for parameter, gradient in zip(parameters, tape.gradient(loss, parameters), strict=True):
                parameter.assign_sub(program.rate * gradient)
            return loss

    return lambda: step(*batch)


def main(names: list[str]) -> None:
    rows = []
    for name in names or PROGRAMS:
        program = PROGRAMS[name]
        for engine in [e for e in ("torch", "jax", "tensorflow") if e in dt.list_engines()]:
            ours, wait = dovetail_step(program, engine), by_hand.WAIT[engine]
            theirs = by_hand.STEPS[engine, name](program)
            for _ in range(3):
                np.testing.assert_allclose(float(ours()), float(theirs()), rtol=1e-3)
            for _ in range(WARM_UP):
                ours()
            found = compare(lambda o=ours, w=wait: w(o().value), lambda t=theirs, w=wait: w(t()), seconds=0.3)
            times = [f"{found.ours * 1e6:.0f}", f"{found.theirs * 1e6:.0f}"]
            rows.append([name, engine, *times, f"{found.ratio:.3f}", f"{found.difference * 1e6:+.0f}"])
            print(rows[-1], file=sys.stderr)
    header = ["step", "engine", "Dovetail µs", "by hand µs", "ratio", "difference µs"]
    print(table("Training steps", header, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
