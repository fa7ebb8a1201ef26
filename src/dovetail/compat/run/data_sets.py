"""Files that old programs download: those of known data sets are here or made up, as their hosts are gone.

Files are looked for in the folder of `DOVETAIL_DATA`, then in Keras' cache.  No known data set is downloaded.  The
folder may also have other files; the program downloads these if they are not there.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial, partialmethod
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.run.temporary import after_keras, replaced
from dovetail.compat.tensorflow.names.io import mnist
from dovetail.core.base.errors import op_error
from dovetail.interop import privates

Parts = tuple[tuple[Any, Any], tuple[Any, Any]]  # images or texts with labels, to train and to test

PLACES = "", "mnist", "MNIST_data"  # folders in the folder of data
FASHION = "fashion-mnist", "fashion_mnist"  # whose files have the names of MNIST's
UNPACKED = {  # an archive → the folder in it
    "cifar-10-python.tar.gz": "cifar-10-batches-py",
    "cifar-100-python.tar.gz": "cifar-100-python",
}
IDX = [f"{file}.gz" for file in mnist.FILES.values()]
TEXTS = [f"{name}{end}" for name in ("imdb", "reuters") for end in (".npz", "_word_index.json")]
CLASSES = "imagenet_class_index.json"
WEIGHTS = re.compile(r"(models/|weights).*\.h5$")  # files of weights, which are made up as empty files
MADE = "dovetail-made-up"  # the folder of files that are made up, and are no data sets
KNOWN = {*IDX, *UNPACKED, *TEXTS, mnist.KERAS, "boston_housing.npz"}
SETS = {  # data set → shape of an image or a row, none for texts; classes, none for numbers; rows to train and to test
    "mnist": ((28, 28), 10, 60_000, 10_000),
    "fashion_mnist": ((28, 28), 10, 60_000, 10_000),
    "cifar10": ((32, 32, 3), 10, 50_000, 10_000),
    "cifar100": ((32, 32, 3), 100, 50_000, 10_000),
    "imdb": ((), 2, 25_000, 25_000),
    "reuters": ((), 46, 8_982, 2_246),
    "boston_housing": ((13,), 0, 404, 102),
}


@contextmanager
def answered(folder: str | os.PathLike[str] | None = None, made_up: bool = False) -> Iterator[None]:
    """Answer a program's requests for known data sets, and for files of the folder, in the `with` block.

    These are `load_data` and `get_file` of Keras, TensorFlow's reader of MNIST, and `urlretrieve` and `urlopen`.
    If a download of another file fails, a note at the error says how to give the file.

    Args:
        folder: the folder of the files; by default the environment's.
        made_up: whether numbers are drawn instead, always the same ones; a line on stderr says so.  Models whose files
            of weights would be downloaded, as those of `keras.applications`, keep the weights that they begin with.

    Raises:
        FileNotFoundError: a request for a file that is not here; the error says where it belongs.
    """
    import urllib.request  # which imports ssl: only programs need it

    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if made_up else None
        answers = _Answers(place, stack)
        if folder is not None:
            stack.enter_context(replaced(os.environ, mnist.VARIABLE, str(folder)))
        for answer in (answers.urlretrieve, answers.urlopen):
            own = getattr(urllib.request, answer.__name__)
            stack.enter_context(replaced(urllib.request, answer.__name__, partial(answer, own)))
        if made_up:
            stack.enter_context(replaced(mnist, "_found", _made_for_tensorflow))
            stack.callback(_say.cache_clear)  # another program says it again
        of_keras = stack.enter_context(ExitStack())
        stack.enter_context(after_keras(partial(_answer_keras, of_keras, answers)))
        yield


def _answer_keras(stack: ExitStack, answers: _Answers) -> None:
    """Answer the requests of Keras until the stack closes."""
    keras: Any = import_module("keras")
    get_file = partial(answers.get_file, keras.utils.get_file)
    loaders = {getattr(root.datasets, name): name for root in (keras, keras._tf_keras.keras) for name in SETS}
    own = [sys.modules[module.load_data.__module__] for module in loaders]
    for module in (privates.file_utils, keras.utils, keras._tf_keras.keras.utils, *own):  # the first: of applications
        stack.enter_context(replaced(module, "get_file", get_file))
    if answers.place is not None:
        load_weights = partialmethod(_load_weights, keras.Model.load_weights)
        stack.enter_context(replaced(keras.Model, "load_weights", load_weights))
        for module, name in loaders.items():
            stack.enter_context(replaced(module, "load_data", partial(made, name)))


# -- files ------------------------------------------------------------------------------------------------------------


class _Answers:
    """Functions that are called instead of others, their first argument, which download files.

    Args:
        place: a folder for files that are made up; None if they are not.
        stack: it closes when the functions are no longer called; then folders of unpacked archives are removed.
    """

    def __init__(self, place: Path | None, stack: ExitStack) -> None:
        self.place, self._stack = place, stack

    def urlopen(self, own: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
        file = self._find(getattr(url, "full_url", url))
        return _downloaded(own, url, url, *args, **kwargs) if file is None else own(file.absolute().as_uri())

    def urlretrieve(self, own: Any, url: str, filename: Any = None, *args: Any, **kwargs: Any) -> Any:
        file = self._find(url)
        if file is None:
            return _downloaded(own, url, url, filename, *args, **kwargs)
        return (str(file), {}) if filename is None else (shutil.copyfile(file, filename), {})

    def get_file(self, own: Any, fname: Any = None, origin: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Keras' `get_file`; for an archive of a known data set, it gives the folder around the unpacked one."""
        name = str(origin or fname).rpartition("/")[2]
        path = self._find(f"{kwargs.get('cache_subdir', '')}/{name}") or self._find(str(fname))
        if path is None:
            return _downloaded(own, origin, fname, origin, *args, **kwargs)
        if path.is_file() and path.name not in KNOWN and path.parent.name != MADE:
            return own(fname, path.absolute().as_uri(), *args, **kwargs)  # it copies the file, and may unpack it
        if path.name in UNPACKED:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory())
            shutil.unpack_archive(path, folder, filter="data")
            return folder
        return str(path)

    def _find(self, url: str) -> Path | None:
        """The file of a known data set, or one of the folder of data, for an address; None if there is none.

        Raises:
            FileNotFoundError: the file of a known data set is not here.
        """
        name = url.rpartition("/")[2]
        said = os.environ.get(mnist.VARIABLE)
        if name not in KNOWN:
            if said and Path(said, name).is_file():
                return Path(said, name)
            is_made = url.endswith(CLASSES) or WEIGHTS.search(url)
            return _written(self.place / MADE / name) if self.place and is_made else None
        is_fashion = "fashion" in url and name in IDX
        if self.place is not None:
            return _written(self.place / ("fashion_mnist" if is_fashion else "mnist") / name)
        folders = [*([Path(said)] if said else []), mnist.CACHE.expanduser()]
        for folder in folders:
            for near in FASHION if is_fashion else PLACES:
                if (folder / near / name).is_file():
                    return folder / near / name
            for around in (folder, folder / f"{UNPACKED.get(name)}-target"):  # the second is Keras'
                if name in UNPACKED and (around / UNPACKED[name]).is_dir():
                    return around
        wanted = os.path.join(FASHION[0], name) if is_fashion else name
        advice = (
            f"put {wanted} into {str(folders[0])!r}, or name its folder by --data; --synthetic-data makes numbers up."
        )
        raise op_error(FileNotFoundError, name, f"nothing is downloaded, and the file is not here: {advice}")


def _downloaded(own: Any, url: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that downloads a file; a note at its error says how to give the file."""
    try:
        return own(*args, **kwargs)
    except Exception as error:
        name = str(getattr(url, "full_url", url)).rpartition("/")[2]
        error.add_note(f"dovetail: if you have the file {name}, put it into a folder, and name the folder by --data.")
        raise


def _load_weights(self: Any, own: Callable[..., Any], filepath: Any, *args: Any, **kwargs: Any) -> Any:
    """Keras' `load_weights`; a file that is made up leaves the weights as they are."""
    if Path(filepath).parent.name == MADE:
        _say("weights of models", "are the ones that they begin with")
        return None
    return own(self, filepath, *args, **kwargs)


# -- numbers that are made up -----------------------------------------------------------------------------------------


@cache
def _say(subject: str = "data sets of this program", predicate: str = "are made up") -> None:
    print(f"dovetail: the {subject} {predicate} (--synthetic-data)", file=sys.stderr)


def made(name: str, path: Any = None, num_words: int | None = None, **options: Any) -> Parts:
    """The parts of a data set in its own shapes and dtypes; the numbers are drawn, always the same ones.

    Args:
        name: one of `SETS`.
        num_words: an end for the numbers of words in a text, as for Keras' `load_data`.
        path, options: its other arguments, which do nothing.
    """
    _say()
    random = np.random.RandomState(len(name))
    shape, classes, count, tests = SETS[name]
    labels = np.arange(count + tests) * 7 % max(classes, 1)
    x: Any
    if not classes:  # a regression
        x = random.uniform(0, 10, (count + tests, *shape))
        labels = x @ random.uniform(0, 1, *shape)
    elif not shape:  # texts
        x = np.empty(count + tests, object)
        x[:] = [[1, *random.randint(3, num_words or 10_000, 20 + 10 * (label % 3)).tolist()] for label in labels]
    else:
        labels = labels.astype("uint8")
        x = random.randint(0, 256, (classes, *shape)).astype("uint8")[labels]
        labels = labels[:, None] if len(shape) == 3 else labels
    return (x[:count], labels[:count]), (x[count:], labels[count:])


def _made_for_tensorflow(given: Path) -> dict[str, np.ndarray]:
    (x, y), (test_x, test_y) = made("mnist")
    return dict(zip(mnist.FILES, (x[..., None], y, test_x[..., None], test_y), strict=True))


def _written(path: Path) -> Path:
    """Write the file of a data set that is made up, if it is not there."""
    if path.exists():
        return path
    path.parent.mkdir(exist_ok=True)
    if path.name in IDX:
        (x, y), (test_x, test_y) = made(path.parent.name)
        array = (x, y, test_x, test_y)[IDX.index(path.name)]
        mark = mnist.MARKS["images" if array.ndim == 3 else "labels"]
        path.write_bytes(gzip.compress(struct.pack(f">{1 + array.ndim}I", mark, *array.shape) + array.tobytes(), 1))
    elif path.name == mnist.KERAS:
        (x, y), (test_x, test_y) = made("mnist")
        np.savez(path, x_train=x, y_train=y, x_test=test_x, y_test=test_y)
    elif path.name == CLASSES:
        path.write_text(json.dumps({str(number): [f"n{number:08}", f"class_{number}"] for number in range(1000)}))
    elif path.parent.name == MADE:
        path.touch()
    elif path.suffix == ".json":
        path.write_text(json.dumps({f"word{number}": number for number in range(1, 10_000)}))
    else:
        advice = "only its arrays are: read them by keras.datasets, or give the file by --data."
        raise op_error(FileNotFoundError, path.name, f"this file is not made up, {advice}")
    return path
