"""Programs that prepare data by Keras 2, each a function that returns numbers and names: {program: numbers and names}.

They run on tf_keras, and on Keras 3 by Dovetail's names; NumPy's and Python's generators have the same seeds.
"""

# ruff: noqa: NPY002  # NumPy's global generator is the one that programs seed

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from tests.compat.keras2_programs import keras, with_weights
from tests.keras_backends import main

image, sequence, text = keras.preprocessing.image, keras.preprocessing.sequence, keras.preprocessing.text
PIXELS = np.random.default_rng(0).uniform(0, 255, (7, 8, 6, 3)).astype("float32")
TEXTS = ["The cat sat on the mat.", "The dog, the cat; and a bird!", "Birds sing & sing & sing"]


def listed(value):
    """A batch as nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return list(map(listed, value))
    return value if isinstance(value, str) else np.asarray(value, "float64").tolist()


# -- text and sequences -----------------------------------------------------------------------------------------------


def program_tokenizer():
    found = []
    for options in ({}, {"num_words": 6, "oov_token": "?"}, {"char_level": True, "lower": False}, {"split": "t"}):
        tokenizer = text.Tokenizer(**options)
        tokenizer.fit_on_texts(TEXTS)
        numbers = tokenizer.texts_to_sequences([*TEXTS, "an unknown cat"])
        found += [numbers, tokenizer.sequences_to_texts(numbers), tokenizer.document_count]
        found += [f"{word} {number}" for word, number in tokenizer.word_index.items()]
        again = text.tokenizer_from_json(tokenizer.to_json())
        found += [sorted(json.loads(tokenizer.to_json())["config"]), again.texts_to_sequences(TEXTS)]
        again.num_words = 9
        found += [listed(again.texts_to_matrix(TEXTS, mode)) for mode in ("binary", "count", "freq", "tfidf")]
    tokenizer = text.Tokenizer(num_words=4)
    tokenizer.fit_on_sequences([[1, 2, 2], [3, 1]])
    return [*found, listed(tokenizer.sequences_to_matrix([[1, 2, 2], [3, 1]], "tfidf"))]


def program_words():
    found = [text.text_to_word_sequence(TEXTS[1]), text.text_to_word_sequence(TEXTS[1], filters=",", lower=False)]
    return [*found, text.hashing_trick(TEXTS[0], 20, "md5"), text.hashing_trick(TEXTS[0], 9, lambda word: len(word))]


def program_skipgrams():
    table = sequence.make_sampling_table(12)
    found = [listed(table)]
    for options in ({}, {"sampling_table": table}, {"categorical": True}, {"seed": 3}, {"negative_samples": 0.0}):
        random.seed(1)
        found += sequence.skipgrams([1, 5, 0, 7, 2], 12, window_size=2, **options)
    return found


def program_time_series():
    x, found = np.arange(20.0).reshape(20, 1), []
    np.random.seed(2)
    for options in ({}, {"sampling_rate": 2, "stride": 3}, {"shuffle": True}, {"reverse": True, "start_index": 4}):
        series = sequence.TimeseriesGenerator(x, -x, length=6, batch_size=4, **options)
        found += [len(series), *(listed(series[i]) for i in range(len(series)))]
        config = json.loads(series.to_json())["config"]
        found.append([f"{name} {config[name]}" for name in sorted(config)])
    return [*found, listed(sequence.pad_sequences([[1, 2, 3], [4]], maxlen=2, padding="post", value=9))]


# -- images -----------------------------------------------------------------------------------------------------------

GENERATORS = {
    "moved": {"rotation_range": 30, "width_shift_range": 0.2, "height_shift_range": [-1, 2], "shear_range": 10.0},
    "zoomed": {"zoom_range": (0.7, 1.4), "fill_mode": "constant", "cval": 3.0, "interpolation_order": 0},
    "mirrored": {"horizontal_flip": True, "vertical_flip": True, "channel_shift_range": 20.0, "fill_mode": "wrap"},
    "lit": {"brightness_range": (0.5, 1.5), "rescale": 1 / 255, "preprocessing_function": lambda x: x + 1},
    "alone": {"samplewise_center": True, "samplewise_std_normalization": True},
    "together": {"featurewise_center": True, "featurewise_std_normalization": True, "rotation_range": 5},
    "white": {"zca_whitening": True, "zca_epsilon": 1e-2},
}


def program_flow():
    """Batches of arrays, by `next` and by place, with labels and weights, over the end of an epoch."""
    labels, found = np.arange(7), []
    for name, options in GENERATORS.items():
        generator = image.ImageDataGenerator(**options)
        np.random.seed(3)
        if name in ("together", "white"):
            generator.fit(PIXELS[:, :4, :3], augment=name == "together", rounds=2, seed=5)
        shown = PIXELS[:, :4, :3] if name == "white" else PIXELS
        flow = generator.flow(shown, labels, batch_size=3, sample_weight=labels / 2)
        found += [name, *(listed(next(flow)) for _ in range(4)), len(flow), listed(flow[1])]
        flow.on_epoch_end()
        found.append(listed(flow[0]))
        seeded = generator.flow(shown, batch_size=5, shuffle=False, seed=11)
        found += [listed(next(seeded)), listed(seeded.next())]
        seeded.reset()
        found.append(listed(seeded.next()))
    return found


def program_subsets():
    generator, found = image.ImageDataGenerator(validation_split=0.3, data_format="channels_first"), []
    for subset in ("training", "validation"):
        np.random.seed(4)
        flow = generator.flow([PIXELS.transpose(0, 3, 1, 2), np.arange(7)], np.arange(7) % 2, 2, subset=subset)
        found += [flow.n, listed(next(flow))]
    return found


def program_transform():
    """Transforms of one image, drawn and given."""
    generator = image.ImageDataGenerator(rotation_range=20, zoom_range=0.2, brightness_range=(0.9, 1.1))
    np.random.seed(5)
    found = [listed(generator.random_transform(PIXELS[0])), listed(generator.random_transform(PIXELS[0], seed=6))]
    parameters = {"theta": 40, "tx": 1, "ty": 0.5, "shear": 3, "zx": 0.9, "zy": 1.2, "flip_vertical": True}
    found.append(listed(generator.apply_transform(PIXELS[0], parameters)))
    options = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    for function, amount in (
        (image.random_rotation, (30,)),
        (image.random_shift, (0.2, 0.3)),
        (image.random_shear, (20,)),
        (image.random_zoom, ((0.5, 1.5),)),
    ):
        found.append(listed(function(PIXELS[1], *amount, fill_mode="reflect", **options)))
    found.append(listed(image.random_channel_shift(PIXELS[1], 30.0, channel_axis=2)))
    found.append(listed(image.random_brightness(PIXELS[1], (0.5, 2.0))))
    return [*found, listed(image.apply_affine_transform(PIXELS[2], theta=10, zx=0.8, order=0, **options))]


def folder():
    """A new folder of images of two kinds."""
    root = Path(tempfile.mkdtemp())
    for number, pixels in enumerate(PIXELS.astype("uint8")):
        (root / "ab"[number % 2]).mkdir(exist_ok=True)
        Image.fromarray(pixels).save(root / "ab"[number % 2] / f"{number}.png")
    (root / "a" / "notes.txt").write_text("no image")
    return root


def program_folder():
    """Batches of a folder: kinds of labels, colours, sizes, subsets, and images that are written."""
    root, found = folder(), []
    generator = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True, validation_split=0.4)
    for options in (
        {"class_mode": "categorical", "batch_size": 3, "seed": 7},
        {"class_mode": "binary", "shuffle": False, "color_mode": "grayscale", "interpolation": "bilinear"},
        {"class_mode": "sparse", "classes": ["b", "a"], "subset": "training", "target_size": (5, 4)},
        {"class_mode": "input", "subset": "validation", "color_mode": "rgba"},
        {"class_mode": None, "keep_aspect_ratio": True, "save_to_dir": str(root), "save_prefix": "out"},
    ):
        np.random.seed(8)
        flow = generator.flow_from_directory(str(root), **{"target_size": (8, 6), **options})
        found += [flow.samples, flow.num_classes, *map(str, flow.class_indices.items()), *flow.filenames]
        found += [listed(flow.classes), listed(next(flow)), listed(flow[0])]
        found.append(sorted(path.name for path in root.glob("out*")))
    return found


def program_files():
    root = folder()
    loaded = image.load_img(root / "a" / "0.png", color_mode="grayscale", target_size=(4, 4))
    x = image.img_to_array(loaded)
    image.save_img(root / "c.png", PIXELS[0])
    again = image.img_to_array(image.load_img(root / "c.png"), data_format="channels_first")
    return [listed(x), listed(again), listed(np.asarray(image.array_to_img(x, scale=False)))]


def program_training():
    """Losses of training, evaluation and predictions by iterators, none of which draws: tf_keras draws ahead."""
    layers = keras.layers
    model = keras.Sequential([layers.Flatten(input_shape=(8, 6, 3)), layers.Dense(2, activation="softmax")])
    with_weights(model)
    model.compile("sgd", "categorical_crossentropy")
    generator = image.ImageDataGenerator(rescale=1 / 2550, samplewise_center=True)
    found = []
    for flow in (
        generator.flow(PIXELS, np.eye(2)[np.arange(7) % 2], batch_size=2, shuffle=False),
        generator.flow_from_directory(folder(), (8, 6), batch_size=2, shuffle=False),
    ):
        found += model.fit(flow, epochs=2, shuffle=False, verbose=0).history["loss"]
        found += [model.evaluate(flow, verbose=0), listed(model.predict(flow, verbose=0))]
    return found


if __name__ == "__main__":
    main(globals())
