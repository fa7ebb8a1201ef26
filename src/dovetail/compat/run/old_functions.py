"""Functions in place of those that NumPy, SciPy, Pillow and the like dropped or changed; `old_rows` says which."""

from __future__ import annotations

import functools
import os
import re
from collections import namedtuple
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dovetail.compat.run.notices import say
from dovetail.core.base.errors import op_error

# -- pictures of scipy.misc, by Pillow --------------------------------------------------------------------------------

_FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "cubic": 3}  # the numbers of Pillow


def bytescale(data: Any, cmin: Any = None, cmax: Any = None, high: int = 255, low: int = 0) -> np.ndarray:
    """Bytes from `low` to `high` for numbers from their smallest to their largest; bytes stay.

    Source: `scipy.misc.bytescale` of SciPy 1.1.
    """
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    low_end, high_end = (data.min() if cmin is None else cmin), (data.max() if cmax is None else cmax)
    scaled = (data - low_end) * ((high - low) / ((high_end - low_end) or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any, high: int = 255, low: int = 0, cmin: Any = None, cmax: Any = None, pal: Any = None, mode: Any = None,
    channel_axis: int | None = None,
) -> Any:  # fmt: skip
    """A picture of Pillow from an array (height, width), or with an axis of three or four channels.

    Source: `scipy.misc.toimage` of SciPy 1.1.
    """
    from PIL import Image

    data = np.asarray(arr)
    if data.ndim == 2 and mode == "F":
        return Image.fromarray(data.astype(np.float32))
    if data.ndim == 3:
        axes = [axis for count in (3, 4) for axis, size in enumerate(data.shape) if size == count]
        data = np.moveaxis(data, axes[0] if axes and channel_axis is None else channel_axis or -1, -1)
    if pal is not None or data.ndim not in (2, 3) or (data.ndim == 3 and data.shape[-1] not in (3, 4)):
        problem = f"an array of the shape {np.shape(arr)} is no picture without a palette; it needs 1, 3 or 4 channels."
        raise op_error(ValueError, "scipy.misc.toimage", problem)
    image = Image.fromarray(np.ascontiguousarray(bytescale(data, cmin, cmax, high, low)))
    return image if mode in (None, image.mode) else image.convert(mode)


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The array of a picture of Pillow; `flatten` makes gray numbers of it.

    Source: `scipy.misc.fromimage` of SciPy 1.1.
    """
    own = ("RGBA" if "transparency" in im.info else "RGB") if im.mode == "P" else im.mode
    im = im.convert(mode or own)
    if flatten or im.mode == "1":
        im = im.convert("F" if flatten else "L")
    return np.array(im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The array of the picture in a file.

    Source: `scipy.misc.imread` of SciPy 1.1.
    """
    from PIL import Image

    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Write an array as a picture.

    Source: `scipy.misc.imsave` of SciPy 1.1.
    """
    toimage(arr, channel_axis=2 if np.ndim(arr) == 3 else None).save(name, format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """An array as a picture of another size: a percentage, a fraction, or (height, width).

    Source: `scipy.misc.imresize` of SciPy 1.1.
    """
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer, float, np.floating)):
        share = size / 100 if isinstance(size, (int, np.integer)) else size
        width, height = (np.array(image.size) * share).astype(int)
    else:
        height, width = size[:2]
    return fromimage(image.resize((int(width), int(height)), _FILTERS[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    """An array as a picture that is turned against the clock.

    Source: `scipy.misc.imrotate` of SciPy 1.1.
    """
    return fromimage(toimage(arr).rotate(angle, _FILTERS[interp]))


PICTURES = bytescale, fromimage, imread, imresize, imrotate, imsave, toimage

# -- NumPy and Python ------------------------------------------------------------------------------------------------


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, *args: Any, **kwargs: Any) -> Any:
    """`numpy.load`, which never unpickles."""
    try:
        return np.load(file, mmap_mode, False, *args, **kwargs)
    except ValueError as error:
        if not allow_pickle:
            raise
        advice = "Nothing is unpickled, since that executes code: save arrays by np.savez, and load them."
        raise op_error(ValueError, "numpy.load", f"{file!r} has Python objects. {advice}") from error


def fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> np.ndarray:
    """`numpy.fromstring`, which reads bytes, too."""
    if sep:
        return np.fromstring(string, dtype, count, sep=sep, like=like)
    return np.frombuffer(string.encode("latin1") if isinstance(string, str) else string, dtype, count).copy()


def of_any_lengths(function: Callable[..., Any], place: int = 0) -> Callable[..., Any]:
    """Wrap a function that makes an array: of sequences of different lengths it makes one of objects.

    With `copy=False` it copies if it has to, as NumPy 1 did.

    Args:
        function: the function.
        place: the place of the sequence among its arguments.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy", True) is False:
            kwargs["copy"] = None
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or len(args) <= place:
                raise
        say(f"numpy.{function.__name__}: sequences of different lengths make an array of objects, as in NumPy 1")
        objects = np.array(args[place], dtype=np.object_)
        return function(*args[:place], objects, *args[place + 1 :], **kwargs) if place else objects

    return call


ArgSpec = namedtuple("ArgSpec", ("args", "varargs", "keywords", "defaults"))  # of inspect, in Python 3.10


class Casts:
    """`numpy.cast`, whose items are functions: `cast["float32"](x)`."""

    def __getitem__(self, dtype: Any) -> Callable[[Any], np.ndarray]:
        return functools.partial(np.asarray, dtype=dtype)


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """`numpy.asfarray`: an array of floating-point numbers."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> np.ndarray:
    """`numpy.in1d`."""
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def deprecate(*args: Any, **kwargs: Any) -> Any:
    """`numpy.deprecate`, whose functions do not warn."""
    return args[0] if args and callable(args[0]) else lambda function: function


# -- SciPy ------------------------------------------------------------------------------------------------------------


def binom_test(x: Any, n: Any = None, p: float = 0.5, alternative: str = "two-sided") -> float:
    """`scipy.stats.binom_test`."""
    return import_module("scipy.stats").binomtest(x, n, p, alternative).pvalue


def interp2d(x: Any, y: Any, z: Any, kind: str = "linear", **_: Any) -> Callable[[Any, Any], np.ndarray]:
    """`scipy.interpolate.interp2d` of points on a grid.

    Returns:
        A function of the coordinates, whose result has the shape (y, x).
    """
    order = {"linear": 1, "cubic": 3, "quintic": 5}[kind]
    x, y = np.unique(x), np.unique(y)
    grid = np.reshape(z, (len(y), len(x))).T
    spline = import_module("scipy.interpolate").RectBivariateSpline(x, y, grid, kx=order, ky=order, s=0)

    def call(x: Any, y: Any) -> np.ndarray:
        values = spline(np.sort(np.atleast_1d(x)), np.sort(np.atleast_1d(y))).T
        return values[0] if len(values) == 1 else values

    return call


def quadrature(func: Callable[..., Any], a: float, b: float, args: Any = (), **_: Any) -> tuple[float, float]:
    """`scipy.integrate.quadrature`: the integral, and its error."""
    return import_module("scipy.integrate").quad(lambda x: float(np.squeeze(func(x, *args))), a, b)[:2]


# -- scikit-learn -----------------------------------------------------------------------------------------------------

_LOSSES = ["log_loss", "mean_absolute_error", "mean_squared_error", "median_absolute_error"]


def _folds(count: int, n_folds: int, shuffle: bool, random_state: Any, y: Any = None) -> list[Any]:
    selection = import_module("sklearn.model_selection")
    cls = selection.KFold if y is None else selection.StratifiedKFold
    return [*cls(n_folds, shuffle=shuffle, random_state=random_state if shuffle else None).split(np.zeros(count), y)]


def kfold(n: int, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> list[Any]:
    """`sklearn.cross_validation.KFold`: the positions of each fold for training and for tests."""
    return _folds(n, n_folds, shuffle, random_state)


def stratified_kfold(y: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> list[Any]:
    """`sklearn.cross_validation.StratifiedKFold`: the positions of each fold for training and for tests."""
    return _folds(len(y), n_folds, shuffle, random_state, y)


def linear_assignment(X: Any) -> np.ndarray:
    """`sklearn.utils.linear_assignment_.linear_assignment`."""
    return np.transpose(import_module("scipy.optimize").linear_sum_assignment(X))


def imputer(
    missing_values: Any = "NaN", strategy: str = "mean", axis: int = 0, verbose: int = 0, copy: bool = True
) -> Any:
    """`sklearn.preprocessing.Imputer`, for columns."""
    if axis:
        raise op_error(ValueError, "sklearn.preprocessing.Imputer", "axis=1 is not there: impute x.T with axis=0.")
    missing = np.nan if missing_values == "NaN" else missing_values
    return import_module("sklearn.impute").SimpleImputer(missing_values=missing, strategy=strategy, copy=copy)


def mean_squared_error(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `sklearn.metrics.mean_squared_error`, so that `squared=False` gives the root."""

    @functools.wraps(function)
    def call(*args: Any, squared: bool = True, **kwargs: Any) -> Any:
        root = import_module("sklearn.metrics").root_mean_squared_error
        return (function if squared else root)(*args, **kwargs)

    return call


def scoring(value: Any) -> dict[str, Any]:
    """The keyword `scoring` of now for a scorer's name before scikit-learn 0.18, which had no "neg_" for a loss."""
    return {"scoring": f"neg_{value}" if value in _LOSSES else value}


# -- pictures and figures ---------------------------------------------------------------------------------------------


def text_size(self: Any, text: str, font: Any = None, *args: Any, **kwargs: Any) -> tuple[int, int]:
    """`PIL.ImageDraw.ImageDraw.textsize`: (width, height)."""
    return self.textbbox((0, 0), text, font, *args, **kwargs)[2:]


def font_size(self: Any, text: str, *args: Any, **kwargs: Any) -> tuple[int, int]:
    """`PIL.ImageFont.FreeTypeFont.getsize`: (width, height)."""
    return self.getbbox(text, *args, **kwargs)[2:]


def with_bytes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap imageio's function that writes a picture: an array of floats becomes bytes, as in imageio 2.4.

    Numbers from 0 to 1 are multiplied by 255; others are scaled from their smallest to their largest.
    """

    @functools.wraps(function)
    def call(uri: Any, im: Any, *args: Any, **kwargs: Any) -> Any:
        form = kwargs.get("format") or (args[0] if args else None) or os.path.splitext(str(uri))[1]
        x = np.asarray(im)
        if x.dtype.kind == "f" and re.fullmatch(r"(?i)\.?(png|jpe?g|bmp|gif)(-.+)?", str(form)):
            say(f"imageio.{function.__name__}: numbers of {x.dtype} are written as bytes")
            x = x.astype(np.float64)
            low, high = x.min(), x.max()
            if low < 0 or high > 1:
                x = (x - low) / ((high - low) or 1)
            im = (x * 255 + 0.499999999).astype(np.uint8)
        return function(uri, im, *args, **kwargs)

    return call


def of_old_style(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `matplotlib.style.use`: seaborn's styles have a version in their names."""

    def renamed(style: Any) -> Any:
        if isinstance(style, (list, tuple)):
            return [*map(renamed, style)]
        available = import_module("matplotlib.style").available
        if not isinstance(style, str) or style in available:
            return style
        return {each.replace("-v0_8", ""): each for each in available}.get(style, style)

    return functools.wraps(function)(lambda style: function(renamed(style)))


def of_any_labels(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `matplotlib.pyplot.xticks` or `yticks`: each place has the label of its number, if there is one."""

    @functools.wraps(function)
    def call(ticks: Any = None, labels: Any = None, **kwargs: Any) -> Any:
        if ticks is not None and labels is not None:
            labels = [*labels, *[""] * len(ticks)][: len(ticks)]
        return function(ticks, labels, **kwargs)

    return call


def axes_of_projection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `matplotlib.figure.Figure.gca`, which makes axes of a projection."""

    @functools.wraps(function)
    def call(self: Any, **kwargs: Any) -> Any:
        return self.add_subplot(**kwargs) if kwargs else function(self)

    return call


# -- pandas -----------------------------------------------------------------------------------------------------------


class Ix:
    """`DataFrame.ix`: items by their labels, or else by their positions."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def _place(self, key: Any) -> Any:
        """`loc` if the key has labels, and `iloc` if it has positions."""
        first = key[0] if isinstance(key, tuple) else key
        first = first.start if isinstance(first, slice) else first
        is_position = isinstance(first, (int, np.integer)) and not isinstance(self._data.index[:1].tolist()[0], int)
        return self._data.iloc if is_position else self._data.loc

    def __getitem__(self, key: Any) -> Any:
        return self._place(key)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._place(key)[key] = value


def as_matrix(self: Any, columns: Any = None) -> np.ndarray:
    """`DataFrame.as_matrix`."""
    return (self if columns is None else self[columns]).to_numpy()


def appended(self: Any, other: Any, ignore_index: bool = False, *args: Any, **kwargs: Any) -> Any:
    """`DataFrame.append` and `Series.append`; a dictionary or a Series is a row of a frame."""
    pandas = import_module("pandas")
    others = [*other] if isinstance(other, (list, tuple)) else [other]
    if hasattr(self, "columns"):
        rows = [each.to_frame().T if isinstance(each, pandas.Series) else each for each in others]
        others = [pandas.DataFrame([each]) if isinstance(each, dict) else each for each in rows]
    return pandas.concat([self, *others], ignore_index=ignore_index)


def sorted_frame(self: Any, columns: Any = None, **kwargs: Any) -> Any:
    """`DataFrame.sort`: by columns, or by the index."""
    return self.sort_index(**kwargs) if columns is None else self.sort_values(columns, **kwargs)


def dropped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `DataFrame.drop`, whose axis may be the second argument."""

    @functools.wraps(function)
    def call(self: Any, labels: Any = None, axis: Any = 0, *args: Any, **kwargs: Any) -> Any:
        return function(self, labels, axis=axis, **kwargs)

    return call


def filled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `DataFrame.fillna`, whose method may be forward or backward."""

    @functools.wraps(function)
    def call(self: Any, value: Any = None, method: str | None = None, **kwargs: Any) -> Any:
        if method is None:
            return function(self, value, **kwargs)
        return (self.ffill if method in ("ffill", "pad") else self.bfill)(**kwargs)

    return call


def rolling(name: str) -> Callable[..., Any]:
    """`pandas.rolling_mean` and the like."""
    return lambda arg, window, min_periods=None, **kwargs: getattr(arg.rolling(window, min_periods), name)()


def with_lists_of_bytes(own: property) -> property:
    """Make `attrs` of h5py: a list of bytes comes back as bytes, as up to h5py 2."""
    kinds: dict[type, type] = {}

    def attributes(self: Any) -> Any:
        made = own.fget(self)  # type: ignore[misc]
        kind: Any = type(made)

        def put(self: Any, name: str, value: Any) -> None:
            is_of_bytes = isinstance(value, (list, tuple)) and value and all(isinstance(x, bytes) for x in value)
            kind.__setitem__(self, name, np.array(value) if is_of_bytes else value)

        made.__class__ = kinds.setdefault(kind, type(kind.__name__, (kind,), {"__setitem__": put}))
        return made

    return property(attributes)
