"""A variational autoencoder of handwritten digits, as in tutorials for Keras 1 and 2.

    python examples/variational_autoencoder.py --engine torch

An encoder gives a digit's distribution in the plane (a mean and a variance).  The net draws a point from it, and a
decoder turns the point into a digit again.  The loss is the error of that digit, plus the divergence of the encoder's
answers from a normal distribution.  So each point of the plane becomes some digit.

Only one line is new:  from keras import backend as K  is now  from dovetail import backend as K
"""

import numpy as np
from classic import Adam, Dense, batches, digits, options, running, save, weights_of
from matplotlib.figure import Figure
from scipy.stats import norm
from tqdm import tqdm

from dovetail import backend as K

PIXELS, HIDDEN, LATENT = 64, 128, 2

parse = options(__doc__, epochs=(60, 6, "how often all images are seen"), batch=(50, 50, "images in one step"))


class Autoencoder:
    """The two nets, and the functions that train and use them."""

    def __init__(self):
        x = K.placeholder((None, PIXELS))
        hidden, mean, log_variance = Dense(PIXELS, HIDDEN, K.relu), Dense(HIDDEN, LATENT), Dense(HIDDEN, LATENT)
        decoder = [Dense(LATENT, HIDDEN, K.relu), Dense(HIDDEN, PIXELS, K.sigmoid)]

        def decode(z):
            for layer in decoder:
                z = layer(z)
            return z

        h = hidden(x)
        z_mean, z_log_var = mean(h), log_variance(h)
        noise = K.random_normal(shape=(K.shape(z_mean)[0], LATENT))
        z = z_mean + K.exp(z_log_var / 2) * noise

        lost = K.sum(K.binary_crossentropy(x, decode(z)), axis=-1)
        divergence = -0.5 * K.sum(1 + z_log_var - K.square(z_mean) - K.exp(z_log_var), axis=-1)
        loss = K.mean(lost + divergence)

        weights = weights_of([hidden, mean, log_variance, *decoder])
        point = K.placeholder((None, LATENT))
        self.train = K.function([x], [loss], updates=Adam(lr=0.003).get_updates(loss, weights))
        self.loss = K.function([x], [loss, K.mean(lost)])
        self.encode = K.function([x], [z_mean])
        self.decode = K.function([point], [decode(point)])


def right_by_neighbours(points, labels, test_points, test_labels, k=9):
    """The share of test digits that the labels of the nearest points in the plane get right."""
    distances = ((test_points[:, None] - points[None]) ** 2).sum(-1)
    votes = labels[np.argsort(distances, axis=1)[:, :k]]
    return float((np.array([np.bincount(v, minlength=10).argmax() for v in votes]) == test_labels).mean())


def draw(model, points, labels, path):
    """Draw the positions of digits in the plane, and the digits that points of the plane become."""
    figure = Figure(figsize=(11, 5))
    left, right = figure.subplots(1, 2)
    dots = left.scatter(*points.T, c=labels, cmap="tab10", s=8)
    figure.colorbar(dots, ax=left, ticks=range(10), label="digit")
    left.set(title="Where test digits lie", xlabel="z[0]", ylabel="z[1]")
    side = 15
    quantiles = norm.ppf(np.linspace(0.04, 0.96, side))
    grid = np.array([[a, b] for b in quantiles[::-1] for a in quantiles], "float32")
    images = model.decode([grid])[0].reshape(side, side, 8, 8)
    images = np.pad(images, [(0, 0), (0, 0), (1, 1), (1, 1)])
    right.imshow(images.transpose(0, 2, 1, 3).reshape(side * 10, side * 10), cmap="gray_r")
    right.set(title="What points of the plane become", xticks=[], yticks=[])
    save(figure, path)


def main(arguments=None):
    """Train, print the results, and draw them; return the loss before and after, and the share of right digits."""
    args = parse(arguments)
    with running(args):
        (images, labels), (test_images, test_labels) = digits()
        model = Autoencoder()
        before = float(model.loss([test_images])[0])
        progress = tqdm(range(args.epochs), desc=args.engine, unit="epoch")
        for _ in progress:
            losses = [model.train([images[i]])[0] for i in batches(len(images), args.batch)]
            progress.set_postfix(loss=f"{np.mean(losses):.2f}")
        after, lost = map(float, model.loss([test_images]))
        points, test_points = model.encode([images])[0], model.encode([test_images])[0]
        right = right_by_neighbours(points, labels, test_points, test_labels)
        print(
            f"Test loss {before:.1f} before, {after:.1f} after training; {lost:.1f} of it for what is lost on the way"
        )
        print(f"Neighbours in the plane tell {right:.1%} of the test digits")
        draw(model, test_points, test_labels, args.folder / "variational_autoencoder.png")
    return {"before": before, "after": after, "right": right}


if __name__ == "__main__":
    main()
