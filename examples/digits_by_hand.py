"""Handwritten digits, read by a net that is written, trained and clipped by hand: no Keras, and no K.

    python examples/digits_by_hand.py --engine jax

A step is a function of Dovetail's own ops: the net, its loss, gradients from a tape, their norm limited to 1, and
momentum.  Compiled once, it runs on the engine of your choice, and gives the same numbers on each.
"""

# ruff: noqa: NPY002  # NumPy's global generator, which `running` seeds

import numpy as np
from classic import batches, digits, options, running, save
from matplotlib.figure import Figure
from tqdm import tqdm

import dovetail as dt
from dovetail import ops

CLASSES, RATE, MOMENTUM, LIMIT = 10, 0.2, 0.9, 1.0

parse = options(__doc__, epochs=(20, 2, "how often all images are seen"), batch=(32, 32, "images in one step"))


def variable(*shape):
    """A variable of normal numbers whose variance keeps the signal's variance (He et al. 2015)."""
    return dt.Variable(np.float32(np.random.randn(*shape) * np.sqrt(2 / np.prod(shape[:-1]))))


class Net:
    """Two convolutions with smooth activations x · sigmoid(x), and a dense layer; trained by momentum."""

    def __init__(self):
        self.parameters = [variable(3, 3, 1, 16), variable(3, 3, 16, 32), variable(4 * 4 * 32, CLASSES)]
        self.velocities = [dt.Variable(np.zeros(p.shape, "float32"), trainable=False) for p in self.parameters]
        self.step = dt.function(self._step)
        self.read = dt.function(lambda images: ops.argmax(self.logits(images), axis=-1))

    def logits(self, images):
        first, second, last = self.parameters
        x = ops.silu(ops.conv(ops.reshape(images, (-1, 8, 8, 1)), first, padding="same"))
        x = ops.silu(ops.conv(ops.average_pool(x, 2), second, padding="same"))
        return ops.reshape(x, (-1, 4 * 4 * 32)) @ last

    def _step(self, images, labels):
        with dt.GradientTape() as tape:
            targets = 0.9 * ops.one_hot(labels, CLASSES) + 0.1 / CLASSES
            loss = -ops.mean(ops.sum(targets * ops.log_softmax(self.logits(images)), axis=-1))
        gradients = tape.gradient(loss, self.parameters)
        norm = ops.sqrt(sum(ops.sum(ops.square(g)) for g in gradients))
        for parameter, velocity, gradient in zip(self.parameters, self.velocities, gradients, strict=True):
            velocity.assign(MOMENTUM * velocity - RATE * gradient * (LIMIT / ops.maximum(norm, LIMIT)))
            parameter.assign_add(velocity)
        return loss


def draw(images, labels, found, losses, path):
    """Draw the loss of each step, and test images with their predicted digits, the wrong ones first."""
    figure = Figure(figsize=(9, 4))
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.plot(losses, linewidth=0.8)
    axes.set(xlabel="step", title="loss")
    wrong = found != labels
    for axes, i in zip(right.subplots(4, 6).flat, np.argsort(~wrong, kind="stable"), strict=False):
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"{found[i]}, not {labels[i]}" if wrong[i] else found[i], fontsize=8)
        axes.set_axis_off()
    save(figure, path)


def main(arguments=None):
    """Train, print the results, and draw them; return the share of test images that are read rightly."""
    args = parse(arguments)
    with running(args):
        (images, labels), (test_images, test_labels) = digits()
        net = Net()
        losses = []
        progress = tqdm(range(args.epochs), desc=args.engine, unit="epoch")
        for _ in progress:
            losses += [float(net.step(images[i], labels[i])) for i in batches(len(images), args.batch)]
            progress.set_postfix(loss=f"{losses[-1]:.3f}")
        found = net.read(test_images).numpy()
        right = float(np.mean(found == test_labels))
        print(f"Of the test images {right:.1%} are read rightly")
        draw(test_images, test_labels, found, losses, args.folder / "digits_by_hand.png")
    return {"right": right, "before": losses[0], "after": losses[-1]}


if __name__ == "__main__":
    main()
