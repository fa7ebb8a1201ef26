"""Old names of NumPy and SciPy, by hand and against definitions."""

from __future__ import annotations

import ast
import warnings
from importlib import import_module

import numpy as np
import pytest
import scipy

from dovetail.compat.run import numpy1
from dovetail.compat.source.sources import Place, Source
from dovetail.compat.source.uses import Use, find
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
PROXIES = numpy1.proxies([Use(name, Place("a.py", 1)) for name in OF_EACH])
OLD = PROXIES["numpy"]
RANDOM = np.random.RandomState(0)


def found(text):
    return [*numpy1.proxies(find([Source("a.py", ("a",), text, ((None, ast.parse(text)),))]))]


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


@pytest.mark.parametrize("name", sorted(numpy1.ROWS))
def test_every_row_has_a_replacement(name):
    root, *parts = name.split(".")
    value = PROXIES[root]
    for part in parts:
        value = getattr(value, part)
    assert value is not None and not isinstance(value, numpy1._Proxy)
    try:
        above = import_module(name.rpartition(".")[0])
    except ModuleNotFoundError:
        return
    assert getattr(above, "__dict__", {}).get(parts[-1], value) is value or name in numpy1.CHANGED


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
    assert old.externals.joblib is import_module("joblib") and old.preprocessing is import_module(
        "sklearn.preprocessing"
    )


def test_values():
    assert (OLD.float, OLD.unicode, OLD.bool) == (float, str, np.bool_)
    assert OLD.product([2, 3]) == 6 and OLD.sometrue([0, 1]) and not OLD.alltrue([0, 1]) and OLD.rank([[1]]) == 2
    assert np.isnan(OLD.NaN) and OLD.NINF == -OLD.Inf == -np.inf and OLD.asscalar(np.ones(1)) == 1.0
    assert np.dtype("float16") in map(np.dtype, OLD.sctypes["float"]) and np.int8 in OLD.sctypes["int"]
    assert OLD.in1d([[1, 2], [3, 4]], [2, 3]).tolist() == [False, True, True, False]
    assert OLD.trapz([1.0, 2.0, 3.0]) == 4.0 and OLD.msort([[2, 1], [1, 2]]).tolist() == [[1, 1], [2, 2]]
    assert OLD.random is np.random and OLD.float32 is np.float32 and OLD.__version__ == np.__version__
    assert PROXIES["scipy"].integrate.simps([1.0, 2.0, 3.0], dx=1) == 4.0
    assert PROXIES["scipy"].special is scipy.special and PROXIES["scipy"].signal.convolve is scipy.signal.convolve
    assert PROXIES["scipy"].signal.gaussian(3, 1.0)[1] == 1.0 and PROXIES["scipy"].misc.comb(4, 2) == 6
    assert abs(PROXIES["scipy"].stats.binom_test(1, 2) - 1.0) < 1e-12
    assert isinstance({}, PROXIES["collections"].Mapping) and PROXIES["fractions"].gcd(4, 6) == 2
    assert PROXIES["inspect"].getargspec(lambda a, b=1, *c, **d: a) == (["a", "b"], "c", "d", (1,))


def test_a_name_that_never_was_and_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OLD.object is object
    with pytest.raises(AttributeError, match="nothing"):
        OLD.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="imreadd"):
        PROXIES["scipy"].ndimage.imreadd  # noqa: B018


def test_arrays_of_any_lengths():
    numpy = numpy1.proxies([Use("numpy.array", Place("old.py", 3))])["numpy"]
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
