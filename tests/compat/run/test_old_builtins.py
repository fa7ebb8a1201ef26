"""Programs convert arrays with one element to numbers, and use Python 2's names."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from dovetail.compat.run import running

HEAD = "import numpy as np\nimport tensorflow as tf\nx = tf.placeholder('float32')\n"
RUNS = {  # a program → what its `found` is
    "found = int(np.array([2.7]))": 2,
    "found = float(np.array([[2.5]], 'float32'))": 2.5,
    "found = complex(np.array([2j]))": 2j,
    "found = int(np.searchsorted([1., 2., 3.], np.ones(1) * 2.5))": 2,
    "found = int('7') + int(np.float32(1.5)) + int(np.array(3)) + int() + int('11', 2)": 14,
    "found = [isinstance(3, int), list(map(int, [1.5])), int.__name__, float('inf') > 0]": [True, [1], "int", True],
    "def int(x):\n    return 'own'\nfound = int(np.ones(1))": "own",
    "found = list(xrange(2)) + [unicode(1), long(3), unichr(97), reduce(max, [1, 4]), isinstance('', basestring)]": [
        0, 1, "1", 3, "a", 4, True,
    ],
    "try:\n    unicode\n    found = 2\nexcept NameError:\n    found = 3": 3,
    "xrange = len\nfound = xrange('ab')": 2,
}  # fmt: skip


def found(tmp_path, text):
    old = tmp_path / "old.py"
    old.write_text(HEAD + textwrap.dedent(text))
    with running(old) as program:
        return program.run()["found"]


@pytest.mark.parametrize("text", RUNS)
def test_builtins_of_old_programs(text, tmp_path):
    assert found(tmp_path, text) == RUNS[text]


def test_other_arrays_are_no_numbers(tmp_path):
    with pytest.raises(TypeError, match=r"(?i)only .* arrays can be converted"):
        found(tmp_path, "found = int(np.ones(2))")
    with pytest.raises(TypeError):
        int(np.ones((2, 1)))
