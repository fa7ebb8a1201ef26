"""Names of NumPy 1, SciPy 1, scikit-learn 0.17 and Python 3.6 that the installed versions lack, for old programs alone.

A row is an old name and its replacement: a function, a dotted name, or the name of a module with a dot at its end.  A
name that the installed version has stays.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import time
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from dovetail.compat.source.uses import OPEN, Use
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


# -- rows -------------------------------------------------------------------------------------------------------------


def _load(file: Any, mmap_mode: Any = None, allow_pickle: bool = False, *args: Any, **kwargs: Any) -> Any:
    """`numpy.load`, which never unpickles."""
    try:
        return np.load(file, mmap_mode, False, *args, **kwargs)
    except ValueError as error:
        if not allow_pickle:
            raise
        advice = "Nothing is unpickled, since that executes code: save arrays by np.savez, and load them."
        raise op_error(ValueError, "numpy.load", f"{file!r} has Python objects. {advice}") from error


def _fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: Any = None) -> np.ndarray:
    """`numpy.fromstring`, which reads bytes, too."""
    if sep:
        return np.fromstring(string, dtype, count, sep=sep, like=like)
    return np.frombuffer(string.encode("latin1") if isinstance(string, str) else string, dtype, count).copy()


def _of_any_lengths(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Wrap a function that makes an array: of sequences of different lengths it makes one of objects."""

    @functools.wraps(function)
    def call(object: Any, *args: Any, **kwargs: Any) -> np.ndarray:
        try:
            return function(object, *args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            return np.array(object, dtype=np.object_)

    return call


def _binom_test(x: Any, n: Any = None, p: float = 0.5, alternative: str = "two-sided") -> float:
    return import_module("scipy.stats").binomtest(x, n, p, alternative).pvalue


ArgSpec = namedtuple("ArgSpec", ("args", "varargs", "keywords", "defaults"))  # of inspect, in Python 3.10


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> np.ndarray:
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _folds(count: int, n_folds: int, shuffle: bool, random_state: Any, y: Any = None) -> list[Any]:
    selection = import_module("sklearn.model_selection")
    cls = selection.KFold if y is None else selection.StratifiedKFold
    return [*cls(n_folds, shuffle=shuffle, random_state=random_state if shuffle else None).split(np.zeros(count), y)]


def _kfold(n: int, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> list[Any]:
    return _folds(n, n_folds, shuffle, random_state)


def _stratified_kfold(y: Any, n_folds: int = 3, shuffle: bool = False, random_state: Any = None) -> list[Any]:
    return _folds(len(y), n_folds, shuffle, random_state, y)


def _linear_assignment(X: Any) -> np.ndarray:
    return np.transpose(import_module("scipy.optimize").linear_sum_assignment(X))


MOVED = {  # (module, module of the replacements) → old name:replacement
    ("collections", "collections.abc"): " ".join(collections.abc.__all__),
    ("fractions", "math"): "gcd",
    ("numpy", "builtins"): "bool complex float int object str long:int unicode:str",
    ("numpy", "numpy"): "Inf:inf Infinity:inf PINF:inf infty:inf NAN:nan NaN:nan alltrue:all sometrue:any product:prod "
    "cumproduct:cumprod row_stack:vstack trapz:trapezoid rank:ndim mat:asmatrix round_:round float_:float64 "
    "complex_:complex128 cfloat:complex128 singlecomplex:complex64 longfloat:longdouble unicode_:str_ string_:bytes_ "
    "object0:object_ int0:intp uint0:uintp bool8:bool_",
    ("scipy", "numpy"): "interp",
    ("scipy.integrate", "scipy.integrate"): "simps:simpson trapz:trapezoid cumtrapz:cumulative_trapezoid",
    ("scipy.linalg", "scipy.linalg"): "pinv2:pinv",
    ("scipy.misc", "scipy.datasets"): "ascent electrocardiogram face",
    ("scipy.misc", "scipy.special"): "comb factorial factorial2 logsumexp",
    ("scipy.sparse.linalg.eigen.arpack", "scipy.sparse.linalg"): "eigs eigsh ArpackError ArpackNoConvergence",
    ("sklearn.cross_validation", "sklearn.model_selection"): "cross_val_predict cross_val_score train_test_split",
    ("sklearn.grid_search", "sklearn.model_selection"): "GridSearchCV ParameterGrid RandomizedSearchCV",
    ("sklearn.metrics.scorer", "sklearn.metrics"): "make_scorer",
    (
        "scipy.signal",
        "scipy.signal.windows",
    ): "blackman blackmanharris boxcar gaussian hamming hann hanning:hann kaiser triang tukey",
}
_SCTYPES = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}

ROWS: dict[str, Any] = {
    "inspect.getargspec": lambda func: ArgSpec(*inspect.getfullargspec(func)[:4]),
    "time.clock": time.perf_counter,
    **{
        f"scipy.misc.{each.__name__}": each
        for each in (bytescale, fromimage, imread, imresize, imrotate, imsave, toimage)
    },
    "numpy.NINF": -np.inf,
    "numpy.sctypes": _SCTYPES,
    **{f"numpy.{each.__name__}": _of_any_lengths(each) for each in (np.array, np.asarray, np.copy)},
    "numpy.alen": lambda a: len(np.atleast_1d(a)),
    "numpy.asscalar": lambda a: a.item(),
    "numpy.fromstring": _fromstring,
    "numpy.in1d": _in1d,
    "numpy.load": _load,
    "numpy.msort": lambda a: np.sort(a, axis=0),
    "scipy.ndimage.imread": imread,
    "scipy.stats.binom_test": _binom_test,
    "sklearn.cross_validation.KFold": _kfold,
    "sklearn.cross_validation.StratifiedKFold": _stratified_kfold,
    "sklearn.externals.joblib": "joblib.",
    "sklearn.utils.linear_assignment_.linear_assignment": _linear_assignment,
}
for (_module, _other), _pairs in MOVED.items():
    for _old, _, _new in (pair.partition(":") for pair in _pairs.split()):
        ROWS[f"{_module}.{_old}"] = f"{_other}.{_new or _old}"


CHANGED = {
    "numpy.array",
    "numpy.asarray",
    "numpy.copy",
    "numpy.fromstring",
    "numpy.load",
}  # which the installed version has, too


class _Proxy(ModuleType):
    """A module with the names that the installed version lacks."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # other modules may be inside this one

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if any(row.startswith(f"{full}.") for row in ROWS):
            return _Proxy(full)
        row = ROWS.get(full)
        if row is None or (full not in CHANGED and self._has(name)):
            row = full
        if isinstance(row, str):
            module, _, last = row.rpartition(".")
            row = getattr(import_module(module), last) if last else import_module(module)
        vars(self)[name] = row
        return row

    def _has(self, name: str) -> bool:
        """Whether the installed version has the name itself, without asking for it, which may warn."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scipy.misc warns that it has no names
                return name in vars(import_module(self.__name__))
        except ModuleNotFoundError:  # as scipy.misc of SciPy 2
            return False


def proxies(uses: Iterable[Use]) -> dict[str, Any]:
    """The modules that a program needs instead of NumPy, SciPy and Python's own, since it uses old names of them.

    Args:
        uses: the dotted names in the program.

    Returns:
        The module for each name, as "numpy" or "collections"; modules without old names are left out.

    Example:
        >>> from dovetail.compat.source.sources import Place
        >>> numpy = proxies([Use("numpy.float", Place("old.py", 3))])["numpy"]
        >>> numpy.float, numpy.product([2, 3]).item(), numpy.pi == np.pi
        (<class 'float'>, 6, True)
    """
    names = {use.name for use in uses if use.how not in OPEN}
    roots = {name.partition(".")[0] for name in names if name in ROWS or name == "scipy.misc"}
    return {root: _Proxy(root) for root in sorted(roots)}
