"""`keras.preprocessing` of Keras 1 and 2, which Keras 3 keeps in private modules, with the old arguments.

Pillow reads images, SciPy moves and turns them, and pandas makes the tables of `flow_from_dataframe`.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np

from dovetail.compat.keras2.patches import Patch, methods
from dovetail.compat.keras2.words import in_old_words
from dovetail.interop.privates import images, sequences

KEPT = {  # module of `keras.preprocessing` → the module of Keras 3, and names
    "image": (
        images,
        "DataFrameIterator DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator apply_affine_transform "
        "apply_brightness_shift apply_channel_shift flip_axis random_brightness random_channel_shift random_rotation "
        "random_shear random_shift random_zoom transform_matrix_offset_center",
    ),
    "sequence": (sequences, "TimeseriesGenerator make_sampling_table skipgrams"),
}

WORDS = "dim_ordering:data_format X:x"  # of Keras 1, for arguments

# Attribute of iterators of Keras 1 and 2.0 → its present name.
OLD_ATTRIBUTES = {"N": "n", "nb_sample": "samples", "nb_class": "num_classes", "num_class": "num_classes"}


def patches() -> Iterable[Patch]:
    """Yield the missing names of `keras.preprocessing`, and the changes of others."""
    for path, (source, names) in KEPT.items():
        module = getattr(keras.preprocessing, path)
        yield from methods(module, **{name: getattr(source, name) for name in names.split()})
    image, iterator = keras.preprocessing.image, images.Iterator
    yield from methods(
        image,
        load_img=_with_grayscale(image.load_img),
        img_to_array=in_old_words(image.img_to_array, WORDS),
        array_to_img=in_old_words(image.array_to_img, WORDS),
        apply_transform=apply_transform,
        list_pictures=list_pictures,
    )
    for cls in (images.ImageDataGenerator, images.NumpyArrayIterator, images.DirectoryIterator):
        yield Patch(cls, "__init__", in_old_words(cls.__init__, WORDS))
    generator = images.ImageDataGenerator
    yield from methods(generator, flow=in_old_words(generator.flow, WORDS), fit=in_old_words(generator.fit, WORDS))
    yield from methods(iterator, next=iterator.__next__, __next__=lambda self: self.next())
    for old, new in OLD_ATTRIBUTES.items():
        yield Patch(iterator, old, property(functools.partial(_attribute, name=new)))
    yield Patch(keras.utils.PyDataset, "get_config", lambda self: {})  # TimeseriesGenerator extends it
    whole = lambda low, high: random.randint(low, int(high))  # noqa: E731  skipgrams gives 10e6
    yield Patch(sequences, "random", SimpleNamespace(**{**vars(random), "randint": whole}))


def _attribute(self: Any, name: str) -> Any:
    return getattr(self, name)


def _with_grayscale(load_img: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `load_img`: `grayscale` may precede the other arguments, and `target_size` may follow it."""

    @functools.wraps(load_img)
    def call(path: Any, *args: Any, grayscale: bool = False, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], str):
            grayscale, *args = args  # type: ignore[assignment]
            if args and not isinstance(args[0], str):  # up to Keras 2.1
                kwargs["target_size"], *args = args  # type: ignore[assignment]
        if grayscale:
            kwargs.pop("color_mode", None)
            args = ("grayscale", *args[1:])
        return load_img(path, *args, **kwargs)

    return call


def apply_transform(
    x: Any, transform_matrix: Any, channel_axis: int = 0, fill_mode: str = "nearest", cval: float = 0.0
) -> Any:
    """Transform each channel of an image by a matrix, between linearly interpolated pixels.

    Args:
        x: an array of three axes.
        transform_matrix: (3, 3); its upper rows give the place in `x` of each place in the result.
        channel_axis: the axis of channels.
        fill_mode: "nearest", "constant", "reflect" or "wrap", for places outside of `x`.
        cval: the value of "constant".

    Returns:
        An array of the shape and dtype of `x`.

    Source: `keras.preprocessing.image.apply_transform` of Keras 2.1.
    """
    from scipy.ndimage import affine_transform

    places = transform_matrix[:2, :2], transform_matrix[:2, 2]
    channels = [
        affine_transform(channel, *places, order=1, mode=fill_mode, cval=cval)
        for channel in np.moveaxis(x, channel_axis, 0)
    ]
    return np.stack(channels, axis=channel_axis)


def list_pictures(directory: str, ext: str | Sequence[str] = ("jpg", "jpeg", "bmp", "png", "ppm")) -> list[str]:
    """The paths of the images in a folder and those inside of it.

    Args:
        directory: the folder.
        ext: the ends of their names; in one string, "|" stands between them.

    Source: `keras.preprocessing.image.list_pictures` of Keras 2.1.
    """
    ends = tuple(f".{end}" for end in (ext.split("|") if isinstance(ext, str) else ext))
    files = ((folder, name) for folder, _, names in os.walk(directory) for name in names)
    return [os.path.join(folder, name) for folder, name in files if name.lower().endswith(ends)]
