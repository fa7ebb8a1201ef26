"""Old names of NumPy and SciPy, by hand and against definitions."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
import sys
import warnings
from contextlib import ExitStack
from importlib import import_module

import numpy as np
import pytest
import scipy

from dovetail.compat.run import old_names, waits
from dovetail.compat.run.imports import Imports
from dovetail.compat.run.old_rows import ROWS, Around
from dovetail.compat.source.sources import Place, Source
from dovetail.compat.source.uses import Use, find
from tests.compat.source.files import write
from tests.libraries import require

OF_EACH = (
    "collections.Mapping",
    "fractions.gcd",
    "inspect.getargspec",
    "numpy.float",
    "scipy.misc",
    "sklearn.externals.joblib",
    "time.clock",
)
PROXIES = old_names.proxies([Use(name, Place("a.py", 1)) for name in OF_EACH], ExitStack())
OLD = PROXIES["numpy"]
RANDOM = np.random.RandomState(0)


def found(text):
    return [*old_names.proxies(find([Source("a.py", ("a",), text, ((None, ast.parse(text)),))]), ExitStack())]


@pytest.mark.parametrize(
    ("text", "roots"),
    [
        ("import numpy as np\nx = np.zeros(3, np.float)", ["numpy"]),
        ("from scipy.misc import imsave\nimport numpy as np\nnp.float32", ["scipy"]),
        ("import scipy.misc\nscipy.misc.imresize(x, 2)", ["scipy"]),
        ("from scipy import misc\nfrom numpy import product", ["numpy", "scipy"]),
        ("import collections, time\ncollections.Iterable, time.clock", ["collections", "time"]),
        ("import collections\nfrom collections.abc import Mapping\ncollections.OrderedDict", []),
        ("import numpy as np, scipy.signal\nnp.float64, scipy.signal.convolve, x.float", []),
    ],
)
def test_proxies_are_made_where_an_old_name_is(text, roots):
    assert found(text) == roots


def installed(name):
    """The dotted name, as far as its package is installed; None if it is not."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name.partition('.')[0]} is not installed")
    return pkgutil.resolve_name(name)


@pytest.mark.parametrize("name", sorted(row for row in ROWS if not {":", "("} & {*row}))
def test_every_row_of_a_name_has_a_replacement(name):
    root, *parts = name.split(".")
    installed(root)
    value = old_names.proxies([Use(name, Place("a.py", 1))], ExitStack())[root]
    for part in parts:
        value = getattr(value, part)
    assert value is not None and not isinstance(value, old_names._Proxy)
    try:
        above = import_module(name.rpartition(".")[0])
    except ModuleNotFoundError:
        return
    assert getattr(above, "__dict__", {}).get(parts[-1], value) is value or isinstance(ROWS[name], Around)


@pytest.mark.parametrize("name", sorted(row for row in ROWS if {":", "("} & {*row}))
def test_every_row_of_a_keyword_or_a_member_is_of_something(name):
    """Check that the function takes the new keyword, and that the class has the other member."""
    row = old_names.KEY.fullmatch(name)
    value, made = installed(row["name"]), ROWS[name]
    if row["member"] and row["keyword"] is None:
        assert isinstance(value, type) and (not isinstance(made, str) or hasattr(value, made))
        return
    taken = inspect.signature(getattr(value, row["member"]) if row["member"] else value).parameters
    make = made.make if isinstance(made, Around) else made
    new = [*make(True)] if callable(make) else [make]
    is_open = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    assert is_open or all(not each or each in taken for each in new)


def test_names_of_scikit_learn():
    require("sklearn", "it is scikit-learn whose names these are")
    old = PROXIES["sklearn"]
    y = np.array([0, 0, 0, 1, 1, 1])
    for folds in (
        old.cross_validation.KFold(n=6, n_folds=3, random_state=7),
        old.cross_validation.StratifiedKFold(y, n_folds=3, shuffle=True, random_state=7),
    ):
        assert len(folds) == 3 and sorted(i for _, test in folds for i in test) == [*range(6)]
        assert all({*train} | {*test} == {*range(6)} for train, test in folds)
    assert all(y[test].tolist() == [0, 1] for _, test in folds)
    assert old.utils.linear_assignment_.linear_assignment([[4, 1], [2, 8]]).tolist() == [[0, 1], [1, 0]]
    assert old.externals.joblib is import_module("joblib") and old.naive_bayes is import_module("sklearn.naive_bayes")


def test_values():
    assert (OLD.float, OLD.unicode, OLD.bool) == (float, str, np.bool_)
    assert OLD.product([2, 3]) == 6 and OLD.sometrue([0, 1]) and not OLD.alltrue([0, 1]) and OLD.rank([[1]]) == 2
    assert np.isnan(OLD.NaN) and OLD.NINF == -OLD.Inf == -np.inf and OLD.asscalar(np.ones(1)) == 1.0
    assert np.dtype("float16") in map(np.dtype, OLD.sctypes["float"]) and np.int8 in OLD.sctypes["int"]
    assert OLD.in1d([[1, 2], [3, 4]], [2, 3]).tolist() == [False, True, True, False]
    assert OLD.trapz([1.0, 2.0, 3.0]) == 4.0 and OLD.msort([[2, 1], [1, 2]]).tolist() == [[1, 1], [2, 2]]
    assert OLD.random is np.random and OLD.float32 is np.float32 and OLD.__version__ == np.__version__
    assert PROXIES["scipy"].integrate.simps([1.0, 2.0, 3.0], dx=1) == 4.0
    assert PROXIES["scipy"].fft is scipy.fft and PROXIES["scipy"].signal.convolve is scipy.signal.convolve
    assert PROXIES["scipy"].signal.gaussian(3, 1.0)[1] == 1.0 and PROXIES["scipy"].misc.comb(4, 2) == 6
    assert abs(PROXIES["scipy"].stats.binom_test(1, 2) - 1.0) < 1e-12
    assert isinstance({}, PROXIES["collections"].Mapping) and PROXIES["fractions"].gcd(4, 6) == 2
    assert PROXIES["inspect"].getargspec(lambda a, b=1, *c, **d: a) == (["a", "b"], "c", "d", (1,))


def test_values_of_functions():
    """Check functions that are written here, against NumPy and SciPy."""
    x, y = np.arange(4.0), np.arange(3.0)
    plane = PROXIES["scipy"].interpolate.interp2d(x, y, x + 10 * y[:, None])
    assert np.allclose(plane([0.5, 2.0], [1.0, 1.5]), [[10.5, 12.0], [15.5, 17.0]])
    assert PROXIES["scipy"].interpolate.interp2d(x, y, np.outer(y, x), kind="linear")(2, 1).tolist() == [2.0]
    assert abs(PROXIES["scipy"].integrate.romberg(lambda x: x * x, 0, 3) - 9) < 1e-12
    assert abs(PROXIES["scipy"].integrate.quadrature(np.square, 0, 3)[0] - 9) < 1e-12
    assert PROXIES["scipy"].stats.itemfreq([3, 1, 3]).tolist() == [[1, 1], [3, 2]]
    assert abs(PROXIES["scipy"].stats.chisqprob(3.84, 1) - scipy.stats.chi2.sf(3.84, 1)) < 1e-12
    assert OLD.cast["float32"]([1]).dtype == OLD.asfarray([1], "float32").dtype == np.float32
    assert (
        OLD.asfarray([1], "int32").dtype == np.float64 and OLD.find_common_type([np.int32], [np.float64]) == "float64"
    )
    assert OLD.core.umath_tests.inner1d([[1, 2], [3, 4]], [[1, 1], [2, 2]]).tolist() == [3, 14]
    assert OLD.math.pi == np.pi and OLD.deprecate(len) is OLD.deprecate(message="old")(len) is len


def seen(text, stack, **places):
    """The names that a program of two lines binds, with its imports answered by old names."""
    tree = ast.parse(text)
    imports = Imports("keras3", proxies=old_names.proxies(find([Source("a.py", ("a",), text, ((None, tree),))]), stack))
    names = {"__builtins__": imports.builtins}
    with imports:
        exec(compile(tree, "a.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("text", "wanted", "said"),
    [
        ("import numpy as np\nx = np.reshape(np.arange(4), newshape=(2, 2)).tolist()", [[0, 1], [2, 3]], "newshape"),
        ("from numpy import percentile\nx = percentile([1, 2], 50, interpolation='lower')", 1, "interpolation"),
        ("import numpy as np\nx = np.histogram([1, 1, 2], 2, normed=True)[0].sum() > 1", True, "normed"),
        ("import scipy\nfrom scipy import linalg\nx = linalg.solve([[2.0]], [4.0], sym_pos=True)[0]", 2.0, "sym_pos"),
        ("import numpy as np\nx = np.array([[1], [1, 2]]).dtype.name", "object", "different lengths"),
        ("import numpy as np\nx = np.array(np.arange(3)[::2], 'float32', copy=False).tolist()", [0, 2], ""),
        (
            "import numpy as np, io\nfile = io.BytesIO()\nnp.save(file, [[1], [1, 2]])\nx = len(file.getvalue()) > 99",
            True,
            "numpy.save: sequences of different lengths",
        ),
    ],
)
def test_keywords_and_arrays(text, wanted, said, capsys):
    with ExitStack() as stack:
        assert seen(text, stack)["x"] == wanted
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == bool(said)


def test_pillow(capsys):
    require("PIL", "it is Pillow whose names these are")
    text = """
from PIL import Image, ImageDraw, ImageFont
image = Image.new("L", (20, 20)).resize((40, 10), Image.ANTIALIAS)
image = image.resize((20, 10), Image.ANTIALIAS)
size = ImageDraw.Draw(image).textsize("ab")
longer = ImageFont.load_default().getsize("abc")
data = len(image.tostring())
"""
    from PIL import ImageDraw

    with ExitStack() as stack:
        names = seen(text, stack)
        assert names["data"] == 200 and 0 < names["size"][0] < names["longer"][0]
    assert not hasattr(ImageDraw.ImageDraw, "textsize")
    told = capsys.readouterr().err
    assert told.count("PIL.Image.ANTIALIAS: PIL.Image.LANCZOS stands for it; --strict leaves it an error") == 1


def test_keywords_of_scikit_learn(capsys):
    cluster = pytest.importorskip("sklearn.cluster")
    own = cluster.KMeans.__init__
    text = """
import numpy as np, pickle
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE
from sklearn.preprocessing import OneHotEncoder, Imputer
from sklearn.base import clone
class Mine(KMeans):
    pass
made = KMeans(n_clusters=2, n_jobs=4), Mine(2, n_jobs=1), TSNE(n_iter=300)
fitted = clone(made[0]).fit(np.array([[0.0], [0.1], [9.0]]))
again = pickle.loads(pickle.dumps(fitted))
codes = OneHotEncoder(sparse=False).fit_transform([[1], [2]])
filled = Imputer(strategy="mean", axis=0).fit_transform([[1.0], [np.nan], [3.0]])
"""
    with ExitStack() as stack:
        names = seen(text, stack)
        assert type(names["made"][0]) is cluster.KMeans and names["made"][2].max_iter == 300
        assert names["again"].labels_[0] == names["again"].labels_[1] and names["codes"].tolist() == [[1, 0], [0, 1]]
        assert names["filled"].ravel().tolist() == [1, 2, 3]
    assert cluster.KMeans.__init__ is own
    told = capsys.readouterr().err
    assert told.count("sklearn.cluster.KMeans of sklearn") == 1 and "n_iter=: max_iter= stands for it" in told


def test_names_of_losses_that_scikit_learn_scores_by(capsys):
    pytest.importorskip("sklearn")
    text = """
import numpy as np
from sklearn.cross_validation import cross_val_score
from sklearn.grid_search import GridSearchCV
from sklearn.linear_model import LinearRegression, LogisticRegression
x, y = np.arange(8.0)[:, None], np.arange(8) % 2
grid = {"C": [0.1, 10.0]}
search = GridSearchCV(LogisticRegression(), grid, scoring="log_loss", iid=False, n_jobs=1, cv=2).fit(x, y)
scores = [cross_val_score(LinearRegression(), x, y, scoring=name, cv=2) for name in ("mean_squared_error", "r2")]
"""
    with ExitStack() as stack:
        names = seen(text, stack)
        assert names["search"].scoring == "neg_log_loss" and names["search"].best_score_ < 0
    now = import_module("sklearn.model_selection").cross_val_score
    model = import_module("sklearn.linear_model").LinearRegression()
    expected = [now(model, names["x"], names["y"], scoring=name, cv=2) for name in ("neg_mean_squared_error", "r2")]
    np.testing.assert_array_equal(names["scores"], expected)
    told = capsys.readouterr().err
    assert "takes no scoring='log_loss': scoring='neg_log_loss' stands for it" in told and "'r2'" not in told


def test_three_folds_by_default_as_in_modules_of_scikit_learn_that_are_gone(capsys):
    pytest.importorskip("sklearn")
    text = """
import numpy as np
from sklearn.cross_validation import cross_val_score
from sklearn.grid_search import GridSearchCV, RandomizedSearchCV
from sklearn.learning_curve import validation_curve
from sklearn.linear_model import Ridge
x, y = np.arange(30.0)[:, None], np.arange(30.0) % 7
grid = {"alpha": [0.1, 10.0]}
search = GridSearchCV(Ridge(), grid, iid=False).fit(x, y)
counts = [search.n_splits_, GridSearchCV(Ridge(), grid, cv=4).fit(x, y).n_splits_]
counts += [RandomizedSearchCV(Ridge(), grid, n_iter=2).fit(x, y).n_splits_, len(cross_val_score(Ridge(), x, y))]
counts += [validation_curve(Ridge(), x, y, param_name="alpha", param_range=[1.0])[0].shape[1]]
"""
    with ExitStack() as stack:
        assert seen(text, stack)["counts"] == [3, 4, 3, 3, 3]
    assert "no sklearn.grid_search.GridSearchCV: sklearn.model_selection.GridSearchCV(cv=3) stands for it" in (
        capsys.readouterr().err
    )


def test_matplotlib(capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(waits, "has_display", lambda: False)
    text = """
import matplotlib, numpy as np
matplotlib.use("TkAgg")
import matplotlib.pyplot as plt
plt.style.use("seaborn-whitegrid")
heights, _, _ = plt.hist([1, 1, 2], 2, normed=True)
fig = plt.figure()
axes = fig.add_subplot(111, axisbg="red")
axes.hold(True); plt.hold(False); axes.set_axis_bgcolor("blue"); axes.grid(b=True)
labels = [each.get_text() for each in plt.xticks([0, 1, 2], np.array([0.5, 0.7]))[1]]
colors = plt.cm.get_cmap("viridis", 4).N, matplotlib.cm.get_cmap("jet").name
waited = plt.waitforbuttonpress(), plt.ginput(2, timeout=0), fig.waitforbuttonpress()
plt.close("all")
backend = matplotlib.get_backend()
"""
    from matplotlib.figure import Figure

    own = Figure.waitforbuttonpress
    with ExitStack() as stack:
        names = seen(text, stack)
        assert names["backend"].lower() == "agg" and names["waited"] == (None, [], None)
        assert names["labels"] == ["0.5", "0.7", ""]
        assert names["colors"] == (4, "jet") and sum(names["heights"]) == 2
    assert Figure.waitforbuttonpress is own
    told = capsys.readouterr().err
    assert told.count("waitforbuttonpress() does not wait") == 1 and "draws with Agg, not with TkAgg" in told


FAKES = {
    "cv2/__init__.py": "def waitKey(delay=0): 1 / 0\ndef imshow(*a): 1 / 0\nnamedWindow = imshow",
    "imageio/__init__.py": "written = []\ndef imwrite(uri, im): written.append((uri, im))\nimsave = imwrite",
    "pandas/plotting.py": "scatter_matrix = 3",
    "pandas/__init__.py": """
class Index:
    def tolist(self): return ["a", "b"]
    def __getitem__(self, key): return self
class Places:
    def __init__(self, name): self.name = name
    def __getitem__(self, key): return self.name, key
class Series:
    def sort_values(self): return "sorted"
class DataFrame:
    def __init__(self, rows=()): pass
    index, columns, loc, iloc = Index(), ["x"], Places("loc"), Places("iloc")
    def __getitem__(self, key): return self
    def to_numpy(self): return "array"
    def items(self): return "items"
    def drop(self, labels=None, *, axis=0, columns=None): return labels, axis
    def fillna(self, value=None, *, axis=None): return value
    def ffill(self, axis=None): return "ffill"
    def to_csv(self, path, lineterminator=None): return lineterminator
    def sort_values(self, by, ascending=True): return by, ascending
def concat(objs, ignore_index=False): return len(objs), ignore_index
def read_csv(path, sep=",", on_bad_lines="error"): return DataFrame()
__version__ = "3.0"
""",
}


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    """Small packages with the names of others."""
    write(tmp_path, FAKES)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("cv2", "imageio", "pandas", "pandas.plotting"):
        monkeypatch.setitem(sys.modules, name, None)  # as it was, after the test
        monkeypatch.delitem(sys.modules, name)


def test_pandas(fakes, capsys):
    text = """
import pandas as pd
df = pd.read_csv("a.csv", error_bad_lines=False, delim_whitespace=True)
x = [df.as_matrix(), df.ix["a"], df.ix[0, "x"], df.ix[:1], df.iteritems(), df.append({"x": 1}, ignore_index=True)]
x += [df.drop("x", 1), df.drop("x", axis=1), df.fillna(0), df.fillna(method="ffill")]
x += [df.to_csv("b", line_terminator="\\n"), df.sort("x", ascending=False)]
x += [pd.Series().order(), pd.tools.plotting.scatter_matrix, pd.datetime.__name__]
"""
    with ExitStack() as stack:
        assert seen(text, stack)["x"] == [
            "array", ("loc", "a"), ("iloc", (0, "x")), ("loc", slice(None, 1)), "items", (2, True),
            ("x", 1), ("x", 1), 0, "ffill", "\n",
            ("x", False), "sorted", 3, "datetime",
        ]  # fmt: skip
    assert not hasattr(import_module("pandas").DataFrame, "ix")
    assert (
        "read_csv of pandas 3.0 takes no error_bad_lines=: on_bad_lines='skip' stands for it" in capsys.readouterr().err
    )


def test_windows_and_pictures_without_a_display(fakes, capsys, monkeypatch):
    monkeypatch.setattr(waits, "has_display", lambda: False)
    text = """
import cv2, imageio
import numpy as np
cv2.namedWindow("a"); cv2.imshow("a", None); cv2.imshow("a", None)
keys = cv2.waitKey(), cv2.waitKey(0) & 0xFF, cv2.waitKey(1)
imageio.imwrite("a.png", np.array([[0.0, 0.5, 1.0]], "float32")); imageio.imsave("a.jpg", np.array([[-1.0, 1.0]]))
imageio.imwrite("a.tiff", np.ones((1, 1)))
x = [each.tolist() for _, each in imageio.written]
"""
    with ExitStack() as stack:
        names = seen(text, stack)
    assert names["keys"] == (27, 27, -1) and names["x"] == [[[0, 127, 255]], [[0, 255]], [[1.0]]]
    assert capsys.readouterr().err.count("cv2.imshow does nothing") == 1


def test_files_of_h5py(tmp_path, capsys):
    pytest.importorskip("h5py")
    text = f"""
import h5py
with h5py.File({str(tmp_path / "old.h5")!r}, "w") as file:
    part = file.create_group("part")
    part.attrs["names"] = [b"kernel", b"bias"]
    part.attrs["count"], part.attrs["words"], part.attrs["none"] = 2, ["a", "b"], []
    part.create_dataset("kernel", data=[[1.0, 2.0]])
    part.create_dataset("one", data=3)
    file["part/kernel"].attrs["names"] = (b"x",)
with h5py.File({str(tmp_path / "old.h5")!r}, "r") as file:
    names = [name.decode("utf8") for name in file["part"].attrs["names"]]
    first = file["part/kernel"].attrs["names"][0].decode()
    count, words = int(file["part"].attrs["count"]), list(file["part"].attrs["words"])
    values, one = file["part"]["kernel"].value, file["part/one"].value
"""
    with ExitStack() as stack:
        found = seen(text, stack)
    assert [found[name] for name in ("names", "first", "count", "words")] == [["kernel", "bias"], "x", 2, ["a", "b"]]
    assert found["values"].tolist() == [[1, 2]] and found["one"] == 3
    assert "has no h5py.Dataset.value" in capsys.readouterr().err


def test_matrices_and_triangles_of_scipy(capsys):
    text = """
import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay
x = sp.csr_matrix(np.array([[0, 1j], [2, 0]]))
dense, flat, turned = x.A, sp.coo_matrix(np.array([[0, 3], [4, 0]])).A1, x.H.A
triangles = Delaunay(np.array([[0.0, 0], [1, 0], [0, 1]])).vertices
"""
    with ExitStack() as stack:
        found = seen(text, stack)
    assert found["dense"].tolist() == [[0, 1j], [2, 0]] and found["turned"].tolist() == [[0, 2], [-1j, 0]]
    assert sorted(found["triangles"][0].tolist()) == [0, 1, 2]
    assert found["flat"].tolist() == [0, 3, 4, 0]
    assert "has no scipy.sparse.spmatrix.A" in capsys.readouterr().err


def test_a_name_that_never_was_and_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OLD.object is object
    with pytest.raises(AttributeError, match="nothing"):
        OLD.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="imreadd"):
        PROXIES["scipy"].ndimage.imreadd  # noqa: B018


def test_arrays_of_any_lengths():
    numpy = old_names.proxies([Use("numpy.array", Place("old.py", 3))], ExitStack())["numpy"]
    for make in (numpy.array, numpy.asarray, numpy.copy):
        assert make([[1, 2], [3]]).dtype == object and make([[1, 2], [3, 4]]).shape == (2, 2)
    with pytest.raises(ValueError, match="could not convert"):
        numpy.array(["a"], "float32")


def test_load_never_unpickles(tmp_path):
    np.save(tmp_path / "numbers.npy", np.arange(3))
    assert OLD.load(tmp_path / "numbers.npy", allow_pickle=True).tolist() == [0, 1, 2]
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"numpy\.load.*objects\.npy.*has Python objects\. Nothing is unpickled"):
        OLD.load(tmp_path / "objects.npy", allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        OLD.load(tmp_path / "objects.npy")


def test_pictures(tmp_path):
    require("PIL", "it reads and writes them")
    misc = PROXIES["scipy"].misc
    colours = RANDOM.randint(0, 256, (6, 8, 3), np.uint8)
    misc.imsave(tmp_path / "a.png", colours)
    assert np.array_equal(misc.imread(tmp_path / "a.png"), colours)
    gray = misc.imread(str(tmp_path / "a.png"), flatten=True)
    assert gray.dtype == np.float32 and abs(gray - colours @ [0.299, 0.587, 0.114]).max() < 1
    assert misc.imread(tmp_path / "a.png", mode="L").shape == (6, 8)
    assert misc.bytescale([[-1.0, 0.0, 1.0]]).tolist() == [[0, 128, 255]]
    assert misc.bytescale([[0.0, 0.5]], cmin=0, cmax=1, high=200).tolist() == [[0, 100]]
    assert misc.toimage(np.zeros((3, 4, 5))).size == (5, 4)
    assert np.array_equal(misc.fromimage(misc.toimage(colours)), colours)
    assert misc.imresize(colours, (3, 4)).shape == misc.imresize(colours, 50).shape == (3, 4, 3)
    assert misc.imresize(colours, 2.0, "nearest")[::2, ::2].tolist() == colours.tolist()
    assert np.array_equal(misc.imrotate(colours[:, :6], 90), np.rot90(colours[:, :6]))
    with pytest.raises(ValueError, match=r"toimage.*\(2, 5, 7\) is no picture"):
        misc.toimage(np.zeros((2, 5, 7)))
