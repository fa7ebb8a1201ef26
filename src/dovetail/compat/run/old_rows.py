"""Names and keywords that NumPy, SciPy, Pillow, scikit-learn, pandas, h5py, Matplotlib and Python dropped: a row each.

| a row's key | is | its value |
| --- | --- | --- |
| `numpy.float` | a name of a module | the dotted name that stands for it, or what it is |
| `numpy.reshape(newshape)` | a keyword of a function or a class | the new one, "", or a function: value → keywords |
| `pandas.DataFrame:ix` | a member of a class | the name of another member, or what it is |
| `matplotlib.axes.Axes:hist(normed)` | a keyword of a method | as for a function |

A name that the installed version has stays, unless its value is `Around`, which makes another one of it.
"""

from __future__ import annotations

import collections.abc
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from dovetail.compat.run import old_functions as old
from dovetail.compat.run import waits


@dataclass(frozen=True)
class Around:
    """A row of something that the installed version has, too, and that works in another way.

    Attributes:
        make: what is installed → what the program gets; for a keyword, the program's value → keywords.
    """

    make: Callable[[Any], Any]


@dataclass(frozen=True)
class Elsewhere:
    """A row of a function or a class that is elsewhere now, where other values of some keywords are the default.

    Attributes:
        name: its dotted name.
        defaults: the keywords with the values of old.
    """

    name: str
    defaults: dict[str, Any]

    def __str__(self) -> str:
        given = ", ".join(f"{keyword}={value!r}" for keyword, value in self.defaults.items())
        return f"{self.name}({given})"


MOVED = {  # (module, module of the replacements) → old name:replacement
    ("collections", "collections.abc"): " ".join(collections.abc.__all__),
    ("fractions", "math"): "gcd",
    ("matplotlib.cm", "matplotlib.pyplot"): "get_cmap",
    ("matplotlib.pyplot.cm", "matplotlib.pyplot"): "get_cmap",
    ("numpy", "ast"): "safe_eval:literal_eval",
    ("numpy", "builtins"): "bool complex float int object str long:int unicode:str issubclass_:issubclass disp:print",
    ("numpy", "numpy"): "Inf:inf Infinity:inf PINF:inf infty:inf NAN:nan NaN:nan alltrue:all sometrue:any product:prod "
    "cumproduct:cumprod row_stack:vstack trapz:trapezoid rank:ndim mat:asmatrix round_:round float_:float64 "
    "complex_:complex128 cfloat:complex128 singlecomplex:complex64 longfloat:longdouble unicode_:str_ string_:bytes_ "
    "object0:object_ int0:intp uint0:uintp bool8:bool_ longcomplex:clongdouble clongfloat:clongdouble str0:str_ "
    "bytes0:bytes_ void0:void issubsctype:issubdtype typeDict:sctypeDict",
    ("numpy", "numpy.char"): "compare_chararrays",
    ("numpy", "numpy.exceptions"): "AxisError ComplexWarning RankWarning VisibleDeprecationWarning",
    ("numpy", "numpy.lib.array_utils"): "byte_bounds",
    ("pandas", "datetime"): "datetime",
    ("pandas", "pandas"): "Float64Index:Index Int64Index:Index UInt64Index:Index",
    ("pandas", "pandas.plotting"): "scatter_matrix",
    ("pandas.io.json", "pandas"): "json_normalize",
    ("pandas.tools.plotting", "pandas.plotting"): "scatter_matrix autocorrelation_plot lag_plot parallel_coordinates",
    ("PIL.Image", "PIL.Image"): "ANTIALIAS:LANCZOS LINEAR:BILINEAR CUBIC:BICUBIC fromstring:frombytes",
    ("scipy", "numpy"): "absolute angle arange argmax argmin argsort array asarray concatenate cos cumsum diff dot exp "
    "eye floor hstack identity interp linspace log log10 log2 mean median mod ndarray ones outer power prod real "
    "reshape sin sqrt std sum tan tanh transpose unique var vstack where zeros",
    ("scipy", "numpy.random"): "rand randn",
    ("scipy.integrate", "scipy.integrate"): "simps:simpson trapz:trapezoid cumtrapz:cumulative_trapezoid",
    ("scipy.linalg", "numpy"): "kron tri tril triu",
    ("scipy.linalg", "scipy.linalg"): "pinv2:pinv",
    ("scipy.misc", "scipy.datasets"): "ascent electrocardiogram face",
    ("scipy.misc", "scipy.special"): "comb factorial factorial2 logsumexp",
    (
        "scipy.signal",
        "scipy.signal.windows",
    ): "blackman blackmanharris boxcar gaussian hamming hann hanning:hann kaiser triang tukey",
    ("scipy.sparse.linalg.eigen.arpack", "scipy.sparse.linalg"): "eigs eigsh ArpackError ArpackNoConvergence",
    ("scipy.special", "scipy.special"): "btdtri:betaincinv",
    ("scipy.stats", "numpy"): "nanmean nanmedian nanstd",
    ("scipy.stats", "scipy.special"): "betai:betainc",
    ("scipy.stats", "scipy.stats"): "median_absolute_deviation:median_abs_deviation",
    ("sklearn.cross_validation", "sklearn.model_selection"): "train_test_split",
    ("sklearn.decomposition", "sklearn.decomposition"): "RandomizedPCA:PCA",
    ("sklearn.feature_extraction.stop_words", "sklearn.feature_extraction.text"): "ENGLISH_STOP_WORDS",
    ("sklearn.grid_search", "sklearn.model_selection"): "ParameterGrid",
    ("sklearn.lda", "sklearn.discriminant_analysis"): "LDA:LinearDiscriminantAnalysis",
    ("sklearn.metrics", "sklearn.metrics"): "calinski_harabaz_score:calinski_harabasz_score",
    ("sklearn.metrics.scorer", "sklearn.metrics"): "make_scorer",
    ("sklearn.mixture", "sklearn.mixture"): "GMM:GaussianMixture",
    ("sklearn.qda", "sklearn.discriminant_analysis"): "QDA:QuadraticDiscriminantAnalysis",
    ("sklearn.utils.extmath", "scipy.special"): "logsumexp",
}
PRIVATE = {  # a package of scikit-learn → modules inside of it that had its names
    "cluster": "dbscan_ hierarchical k_means_", "datasets": "base samples_generator", "decomposition": "nmf pca",
    "ensemble": "bagging forest gradient_boosting", "linear_model": "base logistic ridge", "manifold": "t_sne",
    "metrics": "classification ranking regression", "neighbors": "classification unsupervised",
    "preprocessing": "data label", "svm": "classes", "tree": "tree",
}  # fmt: skip
KEYWORDS = {  # function, class or method → old keyword:new one
    "matplotlib.axes.Axes:grid": "b:visible",
    "matplotlib.axes.Axes:hist": "normed:density",
    "matplotlib.figure.Figure:add_subplot": "axisbg:facecolor",
    "matplotlib.figure.Figure:savefig": "frameon:",
    "numpy.genfromtxt": "skiprows:skip_header missing:missing_values",
    "numpy.histogram numpy.histogram2d numpy.histogramdd": "normed:density",
    "numpy.nanpercentile numpy.nanquantile numpy.percentile numpy.quantile": "interpolation:method",
    "numpy.reshape": "newshape:shape",
    "pandas.DataFrame:to_csv pandas.Series:to_csv": "line_terminator:lineterminator",
    "pandas.date_range": "closed:inclusive",
    "pandas.read_csv": "infer_datetime_format: mangle_dupe_cols: prefix: warn_bad_lines:",
    "scipy.integrate.simpson": "even:",
    "scipy.linalg.eigh": "eigvals:subset_by_index turbo:",
    "scipy.linalg.pinv": "cond:rtol rcond:rtol",
    "scipy.sparse.linalg.bicg scipy.sparse.linalg.bicgstab scipy.sparse.linalg.cg scipy.sparse.linalg.cgs "
    "scipy.sparse.linalg.gmres scipy.sparse.linalg.lgmres scipy.sparse.linalg.minres": "tol:rtol",
    "scipy.sparse.linalg.gmres": "restrt:restart",
    "sklearn.cluster.AgglomerativeClustering": "affinity:metric",
    "sklearn.cluster.KMeans sklearn.cluster.MiniBatchKMeans": "n_jobs: precompute_distances:",
    "sklearn.ensemble.AdaBoostClassifier sklearn.ensemble.AdaBoostRegressor sklearn.ensemble.BaggingClassifier "
    "sklearn.ensemble.BaggingRegressor": "algorithm: base_estimator:estimator",
    "sklearn.ensemble.ExtraTreesClassifier sklearn.ensemble.GradientBoostingClassifier "
    "sklearn.ensemble.GradientBoostingRegressor sklearn.ensemble.RandomForestClassifier "
    "sklearn.ensemble.RandomForestRegressor sklearn.tree.DecisionTreeClassifier "
    "sklearn.tree.DecisionTreeRegressor": "min_impurity_split: presort:",
    "sklearn.linear_model.ElasticNet sklearn.linear_model.Lasso sklearn.linear_model.LinearRegression "
    "sklearn.linear_model.Ridge": "normalize:",
    "sklearn.linear_model.LogisticRegression": "multi_class:",
    "sklearn.linear_model.Perceptron sklearn.linear_model.SGDClassifier sklearn.linear_model.SGDRegressor "
    "sklearn.manifold.TSNE": "n_iter:max_iter",
    "sklearn.model_selection.GridSearchCV sklearn.model_selection.RandomizedSearchCV": "iid:",
    "sklearn.model_selection.cross_val_predict sklearn.model_selection.cross_val_score": "fit_params:params",
    "sklearn.preprocessing.OneHotEncoder": "sparse:sparse_output",
}
_SCTYPES = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
    "complex": [np.complex64, np.complex128, np.clongdouble],
    "others": [bool, object, bytes, str, np.void],
}
_FRAMES = "pandas.DataFrame", "pandas.Series"
_ROLLING = "count max mean median min std sum var"
_WINDOWS = "createTrackbar destroyAllWindows destroyWindow imshow moveWindow namedWindow resizeWindow setMouseCallback"
_WITH_NAMES = "feature_extraction.DictVectorizer", "feature_extraction.text.CountVectorizer"
_WITH_SCORES = "GridSearchCV", "RandomizedSearchCV", "cross_val_score", "learning_curve", "validation_curve"
_OF_FOLDS = {  # a module that is gone → what had three folds by default, as up to scikit-learn 0.21
    "cross_validation": ("cross_val_predict", "cross_val_score"),
    "grid_search": ("GridSearchCV", "RandomizedSearchCV"),
    "learning_curve": ("learning_curve", "validation_curve"),
}


def _rows() -> Iterator[tuple[str, Any]]:
    """The rows of the tables above."""
    for (module, other), pairs in MOVED.items():
        for name, _, new in (pair.partition(":") for pair in pairs.split()):
            yield f"{module}.{name}", f"{other}.{new or name}"
    for package, modules in PRIVATE.items():
        yield from ((f"sklearn.{package}.{name}", f"sklearn.{package}") for name in modules.split())
    for module, names in _OF_FOLDS.items():
        for name in names:
            yield f"sklearn.{module}.{name}", Elsewhere(f"sklearn.model_selection.{name}", {"cv": 3})
    for calls, pairs in KEYWORDS.items():
        for name, _, new in (pair.partition(":") for pair in pairs.split()):
            yield from ((f"{call}({name})", new) for call in calls.split())


ROWS: dict[str, Any] = {
    **dict(_rows()),
    "inspect.getargspec": lambda func: old.ArgSpec(*inspect.getfullargspec(func)[:4]),
    "time.clock": time.perf_counter,
    **{f"scipy.misc.{each.__name__}": each for each in old.PICTURES},
    "numpy.NINF": -np.inf,
    "numpy.NZERO": -0.0,
    "numpy.PZERO": 0.0,
    "numpy.sctypes": _SCTYPES,
    **{f"numpy.{name}": Around(old.of_any_lengths) for name in ("array", "asarray", "copy")},
    "numpy.alen": lambda a: len(np.atleast_1d(a)),
    "numpy.asfarray": old.asfarray,
    "numpy.asscalar": lambda a: a.item(),
    "numpy.cast": old.Casts(),
    "numpy.core.umath_tests.inner1d": lambda a, b: np.einsum("...i,...i->...", a, b),
    "numpy.deprecate": old.deprecate,
    "numpy.find_common_type": lambda array_types, scalar_types: np.result_type(*array_types, *scalar_types),
    "numpy.fromstring": Around(lambda _: old.fromstring),
    "numpy.in1d": old.in1d,
    "numpy.load": Around(lambda _: old.load),
    "numpy.math": "math",
    "numpy.msort": lambda a: np.sort(a, axis=0),
    "numpy.obj2sctype": lambda rep: np.dtype(rep).type,
    "numpy.save": Around(lambda own: old.of_any_lengths(own, 1)),
    "numpy.sctype2char": lambda sctype: np.dtype(sctype).char,
    "scipy.integrate.quadrature": old.quadrature,
    "scipy.integrate.romberg": lambda function, a, b, args=(), **_: old.quadrature(function, a, b, args)[0],
    "scipy.interpolate.interp2d": Around(lambda _: old.interp2d),
    "scipy.linalg.solve(sym_pos)": lambda value: {"assume_a": "pos"} if value else {},
    "scipy.ndimage.imread": old.imread,
    "scipy.sparse.spmatrix:A": property(lambda self: self.toarray()),
    "scipy.sparse.spmatrix:A1": property(lambda self: self.toarray().ravel()),
    "scipy.sparse.spmatrix:H": property(lambda self: self.conj().T),
    "scipy.spatial.Delaunay:vertices": property(lambda self: self.simplices),
    "scipy.stats.binom_test": old.binom_test,
    "scipy.stats.chisqprob": lambda chisq, df: import_module("scipy.stats").chi2.sf(chisq, df),
    "scipy.stats.itemfreq": lambda a: np.stack(np.unique(a, return_counts=True), 1),
    "sklearn.cross_validation.KFold": old.kfold,
    "sklearn.cross_validation.StratifiedKFold": old.stratified_kfold,
    **{f"sklearn.{each}:get_feature_names": lambda self: [*self.get_feature_names_out()] for each in _WITH_NAMES},
    "sklearn.externals.joblib": "joblib",
    "sklearn.metrics.make_scorer(needs_proba)": lambda value: {"response_method": "predict_proba"} if value else {},
    "sklearn.metrics.mean_squared_error": Around(old.mean_squared_error),
    "sklearn.metrics.plot_confusion_matrix": "sklearn.metrics.ConfusionMatrixDisplay.from_estimator",
    **{f"sklearn.model_selection.{each}(scoring)": Around(old.scoring) for each in _WITH_SCORES},
    "sklearn.preprocessing.Imputer": old.imputer,
    "sklearn.utils.linear_assignment_.linear_assignment": old.linear_assignment,
    "PIL.Image.Image:fromstring": "frombytes",
    "PIL.Image.Image:tostring": "tobytes",
    "PIL.ImageDraw.ImageDraw:textsize": old.text_size,
    "PIL.ImageFont.FreeTypeFont:getsize": old.font_size,
    "PIL.ImageFont.ImageFont:getsize": old.font_size,
    "h5py.Dataset:value": property(lambda self: self[()]),
    "h5py.HLObject:attrs": Around(old.with_lists_of_bytes),
    "imageio.imsave": Around(old.with_bytes),
    "imageio.imwrite": Around(old.with_bytes),
    "matplotlib.axes.Axes:get_axis_bgcolor": "get_facecolor",
    "matplotlib.axes.Axes:hold": lambda *_: None,
    "matplotlib.axes.Axes:set_axis_bgcolor": "set_facecolor",
    "matplotlib.backend_bases.FigureCanvasBase:set_window_title": lambda self, title: self.manager.set_window_title(
        title
    ),
    "matplotlib.figure.Figure:gca": Around(old.axes_of_projection),
    "matplotlib.figure.Figure:ginput": Around(waits.not_without_events),
    "matplotlib.figure.Figure:waitforbuttonpress": Around(waits.not_without_events),
    "matplotlib.mlab.normpdf": "scipy.stats.norm.pdf",
    "matplotlib.pyplot.hold": lambda *_: None,
    "matplotlib.pyplot.style.use": Around(old.of_old_style),
    "matplotlib.pyplot.switch_backend": Around(waits.without_windows),
    "matplotlib.pyplot.xticks": Around(old.of_any_labels),
    "matplotlib.pyplot.yticks": Around(old.of_any_labels),
    "matplotlib.style.use": Around(old.of_old_style),
    "matplotlib.use": Around(waits.without_windows),
    **{f"cv2.{name}": Around(waits.shown()) for name in _WINDOWS.split()},
    "cv2.waitKey": Around(waits.key_awaited),
    "cv2.waitKeyEx": Around(waits.key_awaited),
    "pandas.np": "numpy",
    "pandas.read_csv(delim_whitespace)": lambda value: {"sep": r"\s+"} if value else {},
    "pandas.read_csv(error_bad_lines)": lambda value: {} if value else {"on_bad_lines": "skip"},
    **{
        f"pandas.rolling_{name}": old.rolling(name)
        for name in ["count", "max", "mean", "median", "min", "std", "sum", "var"]
    },
    **{f"{each}:append": old.appended for each in _FRAMES},
    **{f"{each}:as_matrix": old.as_matrix for each in _FRAMES},
    **{f"{each}:drop": Around(old.dropped) for each in _FRAMES},
    **{f"{each}:fillna": Around(old.filled) for each in _FRAMES},
    **{f"{each}:get_values": "to_numpy" for each in _FRAMES},
    **{f"{each}:iteritems": "items" for each in _FRAMES},
    **{f"{each}:ix": property(old.Ix) for each in _FRAMES},
    "pandas.DataFrame:sort": old.sorted_frame,
    "pandas.Series:order": "sort_values",
}
