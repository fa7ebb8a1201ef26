"""Programs convert arrays with one element to numbers, call NumPy 1's methods, and use Python 2's names."""

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
    "x = np.int32([1, 258])\nfound = [x.tostring(), x[1].tostring(), x.reshape(1, 2).T.tostring('F')]": [
        b"\1\0\0\0\2\1\0\0", b"\2\1\0\0", b"\1\0\0\0\2\1\0\0",
    ],
    "x = np.fromstring(np.uint8([7, 8]).tostring(), dtype=np.uint8)\nx[0] = 9\nfound = x.tolist()": [9, 8],
    "found = np.fromstring('1,2', sep=',', dtype=int).tolist(), np.fromstring('ab', 'u1', 1).tolist()": ([1, 2], [97]),
    "x = np.zeros((2, 2))\nx.itemset(3, 1)\nx.itemset((0, 1), 2)\nx.itemset(1, 0, 3)\nfound = x.ravel().tolist()": [
        0, 2, 3, 1,
    ],
    "x = np.zeros(())\nx.itemset(4)\nfound = x.tolist()": 4,
    "found = [np.arange(6).reshape(2, 3).ptp(), np.arange(6).reshape(2, 3).ptp(axis=1).tolist()]": [5, [2, 2]],
    "found = np.int16([1]).newbyteorder().tolist()": [256],
    "class Own:\n    def tostring(self, x=1): return x\nfound = Own().tostring(x=2)": 2,
    "xrange = len\nfound = xrange('ab')": 2,
    "found = np.zeros(3)\nfound[1] = np.array([2.5])\nfound = found.tolist()": [0.0, 2.5, 0.0],
    "x = np.zeros((2, 2))\nx[0][1], i = 0, 1\nx[i, i] += np.ones((1, 1))\nx[i][0] -= np.ones(1)\nfound = x.tolist()": [
        [0.0, 0.0], [-1.0, 1.0],
    ],
    "x = {'a': 1}\nx['b'] = np.ones(1)\nx['a'] += 2\nfound = [x['a'], type(x['b']) is np.ndarray]": [3, True],
    "x = [1, 2, 3]\nx[1:] = np.ones(1)\nx[0] = np.ones(1)\nfound = [len(x), type(x[0]) is np.ndarray]": [2, True],
    "found = 'a %.1f %s' % (np.array([[2.5]]), np.array([1]))": "a 2.5 [1]",
    "found = '%d' % np.array([3.7]) + '%(a).1f' % {'a': np.ones(1)} + '%s' % np.ones(1)": "31.0[1.]",
    "import math\nfrom math import exp as e\nfound = [math.sqrt(np.ones(1)), e(np.zeros(1)), math.pow(2, 3)]": [
        1.0, 1.0, 8.0,
    ],
    "import math\nfound = math.sqrt(4.0)": 2.0,
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
    for text in ("x = np.zeros(2)\nx[0] = np.ones(2)", "'%.1f' % np.ones(2)", "import math\nmath.exp(np.ones(2))"):
        with pytest.raises((TypeError, ValueError)):
            found(tmp_path, text)
    with pytest.raises(TypeError):
        int(np.ones((2, 1)))
