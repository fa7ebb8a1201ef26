"""Second names of functions, in modules that TensorFlow 1 gave them late, and its versions of one function."""

from __future__ import annotations

from dovetail.compat.tensorflow.entries import second

NAMES = {  # the second name → the first
    "contrib.checkpoint.CheckpointManager": "train.CheckpointManager",
    "contrib.framework.deprecated": "python.util.deprecation.deprecated",
    "contrib.framework.deprecated_arg_values": "python.util.deprecation.deprecated_arg_values",
    "contrib.framework.deprecated_args": "python.util.deprecation.deprecated_args",
    "contrib.framework.is_strictly_increasing": "is_strictly_increasing",
    "contrib.framework.remove_squeezable_dimensions": "python.ops.confusion_matrix.remove_squeezable_dimensions",
    "contrib.framework.smart_cond": "python.framework.smart_cond.smart_cond",
    "contrib.layers.recompute_grad": "recompute_grad",
    "contrib.layers.safe_embedding_lookup_sparse": "nn.safe_embedding_lookup_sparse",
    "contrib.slim.recompute_grad": "recompute_grad",
    "contrib.slim.safe_embedding_lookup_sparse": "nn.safe_embedding_lookup_sparse",
    "contrib.metrics.confusion_matrix": "confusion_matrix",
    "contrib.metrics.set_difference": "sets.set_difference",
    "contrib.metrics.set_intersection": "sets.set_intersection",
    "contrib.metrics.set_size": "sets.set_size",
    "contrib.metrics.set_union": "sets.set_union",
    "contrib.summary.create_summary_file_writer": "contrib.summary.create_file_writer",
    "contrib.stateless.stateless_random_normal": "random.stateless_normal",
    "contrib.stateless.stateless_random_uniform": "random.stateless_uniform",
    "contrib.stateless.stateless_truncated_normal": "random.stateless_truncated_normal",
    "contrib.util.constant_value": "get_static_value",
    "contrib.util.make_ndarray": "make_ndarray",
    "contrib.util.make_tensor_proto": "make_tensor_proto",
    "convert_to_tensor_or_indexed_slices": "convert_to_tensor",
    "initializers.local_variables": "local_variables_initializer",
    "initializers.variables": "variables_initializer",
    "guarantee_const": "identity",
    "io.PaddingFIFOQueue": "PaddingFIFOQueue",
    "io.PriorityQueue": "PriorityQueue",
    "io.QueueBase": "QueueBase",
    "io.RandomShuffleQueue": "RandomShuffleQueue",
    "io.match_filenames_once": "train.match_filenames_once",
    "linalg.transpose": "matrix_transpose",
    "manip.gather_nd": "gather_nd",
    "manip.reshape": "reshape",
    "manip.reverse": "reverse",
    "manip.scatter_nd": "scatter_nd",
    "manip.tile": "tile",
    "matrix_square_root": "linalg.sqrtm",
    "nn.RNNCellDeviceWrapper": "nn.rnn_cell.DeviceWrapper",
    "nn.RNNCellDropoutWrapper": "nn.rnn_cell.DropoutWrapper",
    "nn.RNNCellResidualWrapper": "nn.rnn_cell.ResidualWrapper",
    "parallel_stack": "stack",
    "random.experimental.Generator": "random.Generator",
}
OF_VERSION_2 = ("nn.avg_pool", "nn.ctc_beam_search_decoder", "nn.max_pool")  # in TensorFlow 1 with `_v2` behind

for _second, _first in NAMES.items():
    second(_second, _first)
second("contrib.framework.TensorSpec", "TensorSpec", of="v2")
for _name in OF_VERSION_2:
    second(f"{_name}_v2", _name, of="v2")
