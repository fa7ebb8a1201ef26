"""A Wasserstein GAN with gradient penalty, on points of the plane, as in programs for Keras 2.

    python examples/wgan_gp.py --engine jax

A generator makes points from noise.  A critic learns to give real points higher scores than made ones, and the
generator learns to make points with higher scores.  The critic must be smooth: at points between real and made ones its
gradient should have the length 1.  So the loss contains gradients, and training needs gradients of gradients: one more
call of K.gradients.

Only one line is new:  from keras import backend as K  is now  from dovetail import backend as K
"""

# ruff: noqa: NPY002  # NumPy's global generator, as in those days; it seeds K's random numbers, too

import numpy as np
from classic import Adam, Dense, options, running, save, weights_of
from matplotlib.figure import Figure
from tqdm import tqdm

from dovetail import backend as K

NOISE, HIDDEN, CORNERS = 4, 64, 8
CRITIC_STEPS, PENALTY = 5, 1.0

parse = options(
    __doc__,
    steps=(1000, 150, "steps of the generator, with five of the critic for each"),
    batch=(128, 128, "points in one step"),
)


def real_points(count):
    """Points around the corners of an octagon."""
    corner = 2 * np.pi * np.random.randint(CORNERS, size=count) / CORNERS
    centres = np.stack([np.cos(corner), np.sin(corner)], axis=-1)
    return (centres + 0.08 * np.random.randn(count, 2)).astype("float32")


def noise(count):
    return np.random.randn(count, NOISE).astype("float32")


def net(*layers):
    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    return run


class Gan:
    """The two nets, and the functions that train and use them."""

    def __init__(self):
        generator = [Dense(NOISE, HIDDEN, K.relu), Dense(HIDDEN, HIDDEN, K.relu), Dense(HIDDEN, 2)]
        critic = [Dense(2, HIDDEN, K.relu), Dense(HIDDEN, HIDDEN, K.relu), Dense(HIDDEN, 1)]
        make, judge = net(*generator), net(*critic)

        real, z = K.placeholder((None, 2)), K.placeholder((None, NOISE))
        made = make(z)
        mix = K.random_uniform((K.shape(real)[0], 1))
        between = mix * real + (1.0 - mix) * made
        slope = K.gradients(judge(between), [between])[0]
        length = K.sqrt(K.sum(K.square(slope), axis=-1) + K.epsilon())
        distance = K.mean(judge(real)) - K.mean(judge(made))
        critic_loss = PENALTY * K.mean(K.square(length - 1.0)) - distance
        generator_loss = -K.mean(judge(made))

        def optimizer():
            return Adam(lr=0.001, beta_1=0.5, beta_2=0.9)

        updates = optimizer().get_updates(critic_loss, weights_of(critic))
        self.train_critic = K.function([real, z], [distance, K.mean(length)], updates=updates)
        updates = optimizer().get_updates(generator_loss, weights_of(generator))
        self.train_generator = K.function([z], [generator_loss], updates=updates)
        self.make = K.function([z], [made])
        points = K.placeholder((None, 2))
        self.judge = K.function([points], [judge(points)])


def wasserstein(a, b, directions=64):
    """The distance of two sets of equally many points: the mean Wasserstein distance along lines of all directions."""
    angles = np.pi * np.arange(directions) / directions
    lines = np.stack([np.cos(angles), np.sin(angles)])
    return float(np.abs(np.sort(a @ lines, axis=0) - np.sort(b @ lines, axis=0)).mean())


def draw(model, distances, path):
    """Draw the points, the critic's scores in the plane, and the distance at each step."""
    figure = Figure(figsize=(11, 5))
    left, right = figure.subplots(1, 2)
    side = np.linspace(-1.6, 1.6, 60, dtype="float32")
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    left.contourf(side, side, model.judge([plane])[0].reshape(60, 60), levels=20, cmap="Greys", alpha=0.6)
    left.scatter(*real_points(500).T, s=6, label="real")
    left.scatter(*model.make([noise(500)])[0].T, s=6, label="made")
    left.set(title="Points, and what the critic gives them", aspect="equal", xlim=(-1.6, 1.6), ylim=(-1.6, 1.6))
    left.legend(loc="upper right")
    right.plot(distances)
    right.set(title="The critic's distance of made points from real ones", xlabel="step of the generator")
    save(figure, path)


def main(arguments=None):
    """Train, print the results, and draw them; return the distance of the points before and after."""
    args = parse(arguments)
    with running(args):
        model = Gan()
        before = wasserstein(model.make([noise(2000)])[0], real_points(2000))
        distances = []
        progress = tqdm(range(args.steps), desc=args.engine, unit="step")
        for _ in progress:
            for _ in range(CRITIC_STEPS):
                distance, length = model.train_critic([real_points(args.batch), noise(args.batch)])
            model.train_generator([noise(args.batch)])
            distances.append(float(distance))
            progress.set_postfix(distance=f"{distance:.3f}", slope=f"{length:.2f}")
        after = wasserstein(model.make([noise(2000)])[0], real_points(2000))
        chance = wasserstein(real_points(2000), real_points(2000))
        print(
            f"Made points are {before:.3f} from real ones before, {after:.3f} after; real ones from others {chance:.3f}"
        )
        draw(model, distances, args.folder / "wgan_gp.png")
    return {"before": before, "after": after, "slope": float(length)}


if __name__ == "__main__":
    main()
