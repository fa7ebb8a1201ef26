"""The sources of programs: unusual files, folders and notebooks."""

from __future__ import annotations

import ast
import os

import pytest

from dovetail.compat.source.sources import Place, Source, Unread, import_names, parse, read, read_program
from tests.compat.source.files import notebook, write


@pytest.fixture
def read_in(tmp_path):
    """A function that writes files and reads their folder."""

    def run(files: dict) -> tuple[list[Source], list[Unread]]:
        write(tmp_path, files)
        return read([tmp_path])

    return run


def text_of(sources: list[Source]) -> list[tuple[int | None, str]]:
    """The cell and the code of each part."""
    return [(cell, ast.unparse(tree)) for source in sources for cell, tree in source.parts]


def test_notebooks(read_in):
    code = "%matplotlib inline\n!pip install keras\nfrom keras import backend as K\nK?\nfiles = !ls"
    sources, failed = read_in(
        {
            "a.ipynb": notebook(code, "%%time\nK.square(x)", "%%bash\nK.abs", "K.sum(", "y = (x\n     % K.exp(x))"),
            "b.ipynb": {"nbformat": 3, "metadata": {}, "worksheets": [notebook("from keras.backend import abs")]},
            "r.ipynb": notebook("K.square(x)", language="R"),
            "damaged.ipynb": "{not JSON",
            "other.ipynb": {"cells": "none"},
        }
    )
    assert text_of(sources) == [
        (2, "pass\npass\nfrom keras import backend as K\npass\npass"),
        (3, "K.square(x)"),
        (4, ""),
        (6, "y = x % K.exp(x)"),
        (2, "from keras.backend import abs"),
    ]
    assert sources[0].parts[1][1].body[0].lineno == 2
    unread = {(os.path.basename(one.place.path), one.place.cell): one.why for one in failed}
    assert sorted(unread, key=str) == [
        ("a.ipynb", 5),
        ("damaged.ipynb", None),
        ("other.ipynb", None),
        ("r.ipynb", None),
    ]
    assert unread["r.ipynb", None] == "a notebook in R"
    assert "was never closed" in unread["a.ipynb", 5]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("%matplotlib inline", "pass"),
        ("!pip install a \\\n    b 'c", "pass"),
        ("files = !ls", "pass"),
        ("?f", "pass"),
        ("f??", "pass"),
        ("%time f(x)", "f(x)"),
        ("%time a, b = f(x)", "a, b = f(x)"),
        ("a = %time f(x)", "a = f(x)"),
        ("%timeit -n 3 f(x)", "pass"),
        ("if a:\n    !ls (", "if a:\n    pass"),
    ],
)
def test_lines_of_ipython_between_others(line, left):
    around = "print('\\n%d\\n!ls?\\n')"
    written = "print('''\n%d\n!ls?\n''')"
    assert ast.unparse(parse(f"{written}\n{line}\n{written}".encode())) == f"{around}\n{left}\n{around}"
    last = parse(f"{line}\nx".encode()).body[-1]
    assert last.lineno == line.count("\n") + 2


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import keras\nprint 'loss', loss", "Python 2, which has to be converted first"),
        ("try:\n    pass\nexcept ValueError, e:\n    pass", "Python 2, which has to be converted first"),
        ("mode = 0755", "Python 2, which has to be converted first"),
        ("x = `y`", "Python 2, which has to be converted first"),
        ("if x <> y: pass", "Python 2, which has to be converted first"),
        ("if x:\n\tpass\n        pass", "Python 2, which has to be converted first"),
        ("f = lambda (a, b): a", "Python 2, which has to be converted first"),
        ("def f(a, (b, c)): pass", "Python 2, which has to be converted first"),
        ("x = 10L", "Python 2, which has to be converted first"),
        ("x = 0xFFL", "Python 2, which has to be converted first"),
        ("x = ur'y'", "Python 2, which has to be converted first"),
        ("raise E, 'why', trace", "Python 2, which has to be converted first"),
        ("def f(:", "not Python 3: "),
        ("x = 1\0", "no text: it has null bytes"),
        ("x = '\xe4'".encode("latin-1"), "not Python 3: "),
        ("# coding: no-such-code\n", "not Python 3: "),
        ("(" * 500 + ")" * 500, "not Python 3: "),
    ],
)
def test_files_that_are_not_python(read_in, code, why):
    sources, (unread,) = read_in({"a.py": code, "b.py": "f(x)"})
    assert text_of(sources) == [(None, "f(x)")]
    assert unread.why.startswith(why)


def test_other_codings_are_read(read_in):
    sources, unread = read_in(
        {
            "a.py": b"\xef\xbb\xbff(1)",
            "b.py": "# -*- coding: latin-1 -*-\n# ä\ng('ö')".encode("latin-1"),
            "c.py": b"x = 1\r\nh(2)\r\n",
        }
    )
    assert (text_of(sources), unread) == ([(None, "f(1)"), (None, "g('ö')"), (None, "x = 1\nh(2)")], [])


def test_folders_that_are_not_the_users(read_in, tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    names = "env/a.py", "lib/site-packages/a.py", "node_modules/a.py", "b.py"
    sources, unread = read_in(dict.fromkeys(names, "f(x)"))
    assert text_of(sources) == [(None, "f(x)")]
    assert unread == [Unread(Place(str(tmp_path / "gone.py"), 1), "No such file or directory")]


def test_the_files_of_a_program(tmp_path):
    files = {
        "lib/a.py": "import used, pkg.inner\nfrom pkg.deep import leaf",
        "used.py": "import used\nimport lib.a",
        "pkg/__init__.py": "from . import inner\nfrom .deep.leaf import x",
        "pkg/inner.py": "",
        "pkg/deep/leaf.py": "from .. import inner",
        "unused.py": "",
    }
    write(tmp_path, files)
    (tmp_path / "main.py").symlink_to(tmp_path / "lib/a.py")
    names = {"pkg/__init__.py", "pkg/deep/leaf.py", "pkg/inner.py", "used.py"}
    for main in ("main.py", "lib/a.py"):
        sources, unread = read_program(tmp_path / main, tmp_path)
        assert {os.path.relpath(source.path, tmp_path) for source in sources} >= {main, *names} and not unread
    assert read_program(tmp_path / "lib/a.py", tmp_path / "pkg")[0][0].modules == ("a",)


@pytest.mark.parametrize(
    ("statement", "package", "names"),
    [
        ("from . import a, b", "", ["a", "b"]),
        ("from . import *", "", [""]),
        ("from .a import b", "", ["a.b"]),
        ("from . import a", "p.q", ["p.q.a"]),
        ("from .. import *", "p.q", ["p"]),
        ("from m import a", "p", ["m.a"]),
    ],
)
def test_names_of_imports(statement, package, names):
    assert import_names(ast.parse(statement).body[0], package) == names


def test_imports_from_the_folder_of_a_file_outside_of_packages(tmp_path):
    write(tmp_path, {"main.py": "from . import *\nfrom . import other\nimport keras\n", "other.py": "import numpy\n"})
    sources, unread = read_program(tmp_path / "main.py", tmp_path)
    assert not unread and [os.path.basename(source.path) for source in sources] == ["main.py", "other.py"]
