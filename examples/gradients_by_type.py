"""Other gradients for all operations of a type, without a change of the net: three gradients, each set in three ways.

    python examples/gradients_by_type.py --engine torch

Guided backpropagation lets only positive gradients through a relu. Gradient reversal makes the layers before an
operation learn the opposite of the layers after it. Clipping bounds a gradient where it passes, not after the whole
backward pass.

A gradient has a name, and an override map gives it to a type of operation: while the net is built; on an existing
graph; or while somebody else's graph is imported. The relus of this net are inside a loop.

Source: Springenberg et al. 2015, "Striving for simplicity: the all convolutional net"; Ganin and Lempitsky 2015,
"Unsupervised domain adaptation by backpropagation"; `tf.RegisterGradient` and `tf.Graph.gradient_override_map`.
"""

import argparse

import numpy as np

import dovetail as dt
from dovetail import ops

IMAGES = np.array([[1.0, -2.0, 0.5], [-0.5, 1.5, 2.0]], "float32")
KERNELS = np.array(
    [[[1.0, -1.0, 0.5], [0.5, 1.0, -1.0], [-1.0, 2.0, 1.0]], [[0.5, 1.0, 1.0], [-1.0, 0.5, 2.0], [1.0, -0.5, 1.5]]],
    "float32",
)
WEIGHTS = np.array([2.0, -3.0, 0.25], "float32")
BOUND, STRENGTH = 1.0, 0.5


@dt.RegisterGradient("Guided")
def guided_relu(op, gradient):
    """The gradient of a relu; its results are positive where it lets a gradient through."""
    return ops.where(ops.logical_and(op.outputs[0] > 0.0, gradient > 0.0), gradient, 0.0)


@dt.RegisterGradient("Reversed")
def reversed_gradient(op, gradient):
    """The gradient of an identity: the layers before it learn the opposite."""
    return -STRENGTH * gradient


@dt.RegisterGradient("Clipped")
def clipped(op, gradient):
    """The gradient of an identity: the layers before it see no larger gradient."""
    return ops.clip(gradient, -BOUND, BOUND)


OVERRIDES = {
    "plain": {},
    "guided": {"Relu": "Guided"},
    "reversed": {"Identity": "Reversed"},
    "clipped": {"Identity": "Clipped"},
}


def net(images):
    """Two layers, one after the other, and a number for each image; the code knows nothing of other gradients."""
    features = ops.scan(lambda h, kernel: (ops.relu(h @ kernel), None), images, KERNELS)[0]
    return ops.sum(ops.identity(features) * WEIGHTS, axis=1)


def built(overrides):
    """Build the net in a graph, under an override map."""
    graph = dt.Graph()
    images = graph.placeholder(dt.spec((None, 3)), "images")
    with dt.gradient_override_map(overrides):
        graph.outputs = [net(images)]
    return graph


def edited(overrides):
    """Edit the gradients of an existing graph; `within=` would limit the edit to some operations."""
    graph = built({})
    graph.override_gradients(overrides)
    return graph


def imported(overrides):
    """Import the net's graph into another one; the imported graph itself does not change."""
    graph, theirs = dt.Graph(), built({})
    images = graph.placeholder(dt.spec((None, 3)), "images")
    with graph.gradient_override_map(overrides):
        graph.outputs = graph.import_graph(theirs, {"images": images}, name="imported")
    return graph


WAYS = {"built": built, "edited": edited, "imported": imported}


def gradients(graph):
    """The gradients of the net with respect to the images."""
    graph.outputs = dt.gradients(graph.outputs[0], graph.inputs[0])
    return dt.function(graph)(IMAGES).numpy()


def main(arguments=None):
    """Print the gradients; return them by the name of the map, and the way in which it was set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=dt.list_engines(), default="numpy", help="the engine")
    chosen = parser.parse_args(arguments)
    with dt.engine(chosen.engine):
        found = {
            name: {way: gradients(make(overrides)) for way, make in WAYS.items()}
            for name, overrides in OVERRIDES.items()
        }
    for name, ways in found.items():
        for way, gradient in ways.items():
            print(f"{name:9} {way:9} {' '.join(f'{number:7.3f}' for number in gradient.ravel())}")
    return found


if __name__ == "__main__":
    main()
