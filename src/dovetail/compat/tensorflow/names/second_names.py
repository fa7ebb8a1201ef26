"""Second names of functions, in modules that TensorFlow 1 gave them late, and its versions of one function."""

from __future__ import annotations

from dovetail.compat.tensorflow.entries import second

NAMES = {  # the second name → the first
    "initializers.local_variables": "local_variables_initializer",
    "initializers.variables": "variables_initializer",
    "guarantee_const": "identity",
    "linalg.transpose": "matrix_transpose",
    "manip.gather_nd": "gather_nd",
    "manip.reshape": "reshape",
    "manip.reverse": "reverse",
    "manip.scatter_nd": "scatter_nd",
    "manip.tile": "tile",
    "parallel_stack": "stack",
}
OF_VERSION_2 = ("nn.avg_pool", "nn.ctc_beam_search_decoder", "nn.max_pool")  # in TensorFlow 1 with `_v2` behind

for _second, _first in NAMES.items():
    second(_second, _first)
for _name in OF_VERSION_2:
    second(f"{_name}_v2", _name, of="v2")
