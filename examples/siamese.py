"""A Siamese net that learns which handwritten digits are the same, as in tutorials for Keras 1 and 2.

    python examples/siamese.py --engine tensorflow

One net gives each image of a pair a place.  The contrastive loss pulls places of the same digit together, and pushes
places of different digits at least the distance 1 apart.  The net learns from pairs alone.  The test has other images,
and digits that the net never saw.

Only one line is new:  from keras import backend as K  is now  from dovetail import backend as K
"""

# ruff: noqa: NPY002  # NumPy's global generator, as in those days; it seeds K's random numbers, too

import numpy as np
from classic import Adam, Dense, batches, digits, options, running, save, weights_of
from matplotlib.figure import Figure
from tqdm import tqdm

from dovetail import backend as K

PIXELS, HIDDEN, PLACE, MARGIN = 64, 128, 16, 1.0
UNSEEN = (8, 9)  # the digits that are kept for the last test

parse = options(__doc__, epochs=(30, 4, "how often all pairs are seen"), batch=(128, 128, "pairs in one step"))


class Siamese:
    """The net, and the functions that train and use it."""

    def __init__(self):
        first, second = K.placeholder((None, PIXELS)), K.placeholder((None, PIXELS))
        same = K.placeholder((None,))
        layers = [Dense(PIXELS, HIDDEN, K.relu), Dense(HIDDEN, HIDDEN, K.relu), Dense(HIDDEN, PLACE)]

        def place(x):
            for layer in layers[:-1]:
                h = layer(x)
                x = K.in_train_phase(K.dropout(h, 0.1), h)
            return layers[-1](x)

        squares = K.sum(K.square(place(first) - place(second)), axis=-1)
        distance = K.sqrt(K.maximum(squares, K.epsilon()))
        apart = K.square(K.maximum(MARGIN - distance, 0.0))
        loss = K.mean(same * K.square(distance) + (1.0 - same) * apart)
        right = K.mean(K.cast(K.equal(K.cast(distance < MARGIN / 2, K.floatx()), same), K.floatx()))

        pairs, phase = [first, second, same], K.learning_phase()
        updates = Adam(lr=0.001).get_updates(loss, weights_of(layers))
        self._train = K.function([*pairs, phase], [loss, right], updates=updates)
        self._test = K.function([*pairs, phase], [loss, right, distance])

    def train(self, first, second, same):
        return self._train([first, second, same, 1])

    def test(self, first, second, same):
        return self._test([first, second, same, 0])


def pairs_of(images, labels):
    """Two pairs for each image: with another image of the same digit, and with one of another digit."""
    places = np.arange(len(labels))
    same = [np.random.choice(places[(labels == digit) & (places != i)]) for i, digit in enumerate(labels)]
    other = [np.random.choice(places[labels != digit]) for digit in labels]
    first = np.concatenate([images, images])
    second = images[np.concatenate([same, other])]
    return first, second, np.repeat(np.array([1, 0], "float32"), len(images))


def draw(pairs, distances, losses, path):
    """Draw some pairs and their distances, and the distances of all pairs."""
    first, second, same = pairs
    figure = Figure(figsize=(11, 5))
    grid = figure.add_gridspec(4, 10)
    half = len(same) // 2
    for i, k in enumerate([*range(10), *range(half, half + 10)]):
        axes = figure.add_subplot(grid[i // 10, i % 10])
        axes.imshow(np.concatenate([first[k].reshape(8, 8), second[k].reshape(8, 8)], axis=1), cmap="gray_r")
        axes.set(xticks=[], yticks=[], xlabel=f"{distances[k]:.2f}")
    left, right = figure.add_subplot(grid[2:, :5]), figure.add_subplot(grid[2:, 5:])
    bins = np.linspace(0, max(1.5, distances.max()), 40)
    left.hist([distances[same == 1], distances[same == 0]], bins, stacked=True, label=["same", "other"])
    left.axvline(MARGIN / 2, color="black", linewidth=0.8)
    left.set(xlabel="distance of test pairs")
    left.legend()
    right.plot(losses)
    right.yaxis.tick_right()
    right.set(xlabel="epoch", title="loss")
    figure.suptitle("Pairs of the same digit, of others, and their distances")
    save(figure, path)


def main(arguments=None):
    """Train, print the results, and draw them; return the share of pairs judged right, also of unseen digits."""
    args = parse(arguments)
    with running(args):
        (images, labels), (test_images, test_labels) = digits()
        seen, test_seen = ~np.isin(labels, UNSEEN), ~np.isin(test_labels, UNSEEN)
        test_pairs = pairs_of(test_images[test_seen], test_labels[test_seen])
        new_pairs = pairs_of(test_images[~test_seen], test_labels[~test_seen])
        model = Siamese()
        losses = []
        progress = tqdm(range(args.epochs), desc=args.engine, unit="epoch")
        for _ in progress:
            pairs = pairs_of(images[seen], labels[seen])
            results = [model.train(*(part[i] for part in pairs)) for i in batches(len(pairs[2]), args.batch)]
            loss, right = np.mean(results, axis=0)
            losses.append(loss)
            progress.set_postfix(loss=f"{loss:.3f}", right=f"{right:.1%}")
        _, right, distances = model.test(*test_pairs)
        _, right_of_new, _ = model.test(*new_pairs)
        print(f"Of test pairs {right:.1%} are told right")
        print(f"Of pairs of {UNSEEN[0]} and {UNSEEN[1]}, which it never saw, {right_of_new:.1%}")
        draw(test_pairs, distances, losses, args.folder / "siamese.png")
    return {"right": float(right), "right_of_new": float(right_of_new)}


if __name__ == "__main__":
    main()
