"""`dovetail demo`: Keras' `fit` on Dovetail, an image classifier on real data, on any engine.

- data: the handwritten digits
- model: the net; its layer, its loss and a metric, written in K
- train: the training, with a progress bar and Ctrl-C
- compare: engines side by side
- report: pictures and the trained model

Seeds give the same numbers on every engine (initial values, the order of the images), so a run is the same on each.
"""

from keras_dovetail.demo.command import run

__all__ = ["run"]
