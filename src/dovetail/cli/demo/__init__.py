"""`dovetail demo`: an image classifier on real data, written with Dovetail's own ops, on any engine.

data     the handwritten digits and their batches
model    the net, its activation, its loss and its gradient clipping
train    the training loop
report   pictures, files and tables

The numbers drawn (initial values, batches) come from NumPy by seed, so they are the same on every engine.
"""

from dovetail.cli.demo.command import run

__all__ = ["run"]
