"""Notebooks as programs: their cells run in order, each with its own lines."""

from __future__ import annotations

import json
import traceback
from pathlib import Path

import pytest

from dovetail.compat import running
from dovetail.compat.run.notebook import trees

REGRESSION = Path(__file__).parents[2] / "programs" / "old" / "regression.ipynb"


@pytest.fixture
def notebook(tmp_path):
    def write(*cells, **metadata):
        made = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in cells]
        made.insert(1, {"cell_type": "markdown", "source": "# Text"})
        path = tmp_path / "old.ipynb"
        path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4}))
        return path

    return write


def test_cells_run_in_order(notebook, capsys):
    first = "%matplotlib inline\n!pip install x\nimport tensorflow as tf\nfiles = !ls\nx = tf.placeholder('float')"
    cells = first, "%%time\ny = x * 2\n", "%%bash\nls\n", "display(tf.Session().run(y, {x: 3}))\ny?\n"
    with running(notebook(*cells), kind="tf1") as program:
        names = program.run()
    assert capsys.readouterr().out.endswith("6.0\n") and names["__name__"] == "__main__"


def test_imports_from_the_future_stand_behind_magics_and_imports(notebook, tmp_path):
    first = (
        "%matplotlib inline\n\nimport sys\nfrom __future__ import division, annotations\ndef f(x: absent): return x / 2"
    )
    with running(notebook(first, "!ls\nfrom __future__ import print_function\ny = f(3)"), kind="tf1") as program:
        assert program.run()["y"] == 1.5
    script = '"""Text."""\nget_ipython().magic(u"matplotlib inline")\nfrom __future__ import division\nx = 1'
    tmp_path.joinpath("old.py").write_text(script)
    with running(tmp_path / "old.py", kind="tf1", steps=1) as program:
        assert program.run()["x"] == 1


def test_magics_that_run_python(notebook):
    magic = "get_ipython().run_line_magic('time', 'b = a + 1')\nget_ipython().magic('matplotlib inline')"
    cells = "%time a = 1", "c = %time a + 1", magic, "get_ipython().system('ls')"
    with running(notebook(*cells), kind="keras3") as program:
        names = program.run()
    assert (names["a"], names["b"], names["c"]) == (1, 2, 2)


def test_the_script_of_a_notebook(tmp_path):
    """Check a script as nbconvert writes it."""
    text = """
# coding: utf-8
# In[1]:
get_ipython().magic(u'matplotlib inline')
get_ipython().system('pip install x')
# In[2]:
get_ipython().run_cell_magic('time', '', 'import tensorflow as tf\\nx = tf.placeholder("float")\\n')
get_ipython().run_cell_magic('bash', '', 'ls\\n')
get_ipython().run_line_magic('timeit', 'x * 2')
y = tf.Session().run(x * 2, {x: 3})
"""
    tmp_path.joinpath("old.py").write_text(text)
    with running(tmp_path / "old.py", kind="tf1") as program:
        assert program.run()["y"] == 6
    tmp_path.joinpath("old.py").write_text("try:\n    get_ipython\nexcept NameError:\n    found = 'plain'")
    with running(tmp_path / "old.py", kind="tf1") as program:
        assert program.run()["found"] == "plain"


def test_a_traceback_shows_the_line_of_the_cell(notebook):
    path = notebook("a = 1", "%magic\nb = a - 1\n\nc = a / b\n")
    with running(path, kind="keras3") as program, pytest.raises(ZeroDivisionError) as caught:
        program.run()
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno, last.line) == (f"{path}[3]", 4, "c = a / b")


def test_what_is_no_program(notebook, tmp_path):
    with pytest.raises(SyntaxError, match=r"a notebook in R"):
        [*trees(notebook("a <- 1", kernelspec={"language": "R"}))]
    with pytest.raises(SyntaxError) as caught:
        [*trees(notebook("a = 1", "b ="))]
    assert (caught.value.filename, caught.value.lineno) == (f"{tmp_path}/old.ipynb[3]", 1)
    tmp_path.joinpath("bad.ipynb").write_text("{")
    with pytest.raises(SyntaxError, match="not a notebook"):
        [*trees(tmp_path / "bad.ipynb")]


def test_each_cell_of_the_old_notebook_is_python():
    found = [*trees(REGRESSION)]
    assert len(found) > 4 and all(name.startswith(str(REGRESSION)) and tree.body for name, tree in found)
