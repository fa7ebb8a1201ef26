"""TensorFlow's private modules that programs import from, and where the table has their names."""

from __future__ import annotations

_OPS = (
    "",
    "nn.",
    "math.",
    "image.",
    "random.",
    "debugging.",
    "metrics.",
    "sparse.",
    "io.",
    "summary.",
    "contrib.lookup.",
)

# Package → its modules, and the beginnings of their names in the table; the first that has a name gives it.
PACKAGES = {
    "python": ("array_ops control_flow_ops math_ops nn_ops state_ops", _OPS),
    "python.framework": (
        "constant_op device device_spec dtypes errors errors_impl function graph_io graph_util "
        "graph_util_impl importer indexed_slices meta_graph ops random_seed smart_cond sparse_tensor tensor "
        "tensor_shape tensor_spec tensor_util",
        ("", "dtypes.", "errors.", "graph_util.", "train.", "saved_model."),
    ),
    "python.ops": (
        "array_ops candidate_sampling_ops check_ops clip_ops cond confusion_matrix control_flow_ops "
        "control_flow_util ctc_ops custom_gradient data_flow_ops embedding_ops functional_ops "
        "gen_array_ops gen_control_flow_ops gen_data_flow_ops gen_image_ops gen_linalg_ops gen_logging_ops "
        "gen_math_ops gen_nn_ops gen_parsing_ops gen_random_ops gen_resource_variable_ops gen_sparse_ops gen_state_ops "
        "gradients gradients_impl gradient_checker histogram_ops init_ops io_ops "
        "logging_ops lookup_ops losses manip_ops map_fn math_ops metrics metrics_impl nn nn_grad nn_impl nn_ops "
        "numerics parsing_ops partitioned_variables random_ops resource_variable_ops resources rnn "
        "script_ops sort_ops sparse_ops special_math_ops standard_ops state_ops "
        "template tensor_array_ops variable_scope variables weights_broadcast_ops while_loop",
        _OPS,
    ),
    "python.ops.linalg": ("linalg_impl", ("linalg.",)),
    "python.ops.linalg.sparse": ("sparse", ("python.ops.linalg.sparse.sparse.", "sparse.")),
    "python.ops.losses": ("losses losses_impl util", ("losses.",)),
    "python.layers": ("base convolutional core layers normalization pooling utils", ("layers.",)),
    "python.training": (
        "adadelta adagrad adam basic_session_run_hooks checkpoint_management checkpoint_utils coordinator "
        "device_setter evaluation ftrl gradient_descent input learning_rate_decay momentum monitored_session "
        "moving_averages optimizer proximal_adagrad queue_runner queue_runner_impl rmsprop saver session_manager "
        "session_run_hook summary_io supervisor sync_replicas_optimizer training training_util",
        ("train.", "summary."),
    ),
    "python.eager": ("backprop context def_function function", ("",)),
    "python.grappler": ("tf_optimizer", ()),
    "python.tools": ("freeze_graph optimize_for_inference_lib strip_unused_lib", ()),
    "python.util": ("all_util deprecation tf_contextlib tf_decorator tf_export tf_inspect tf_should_use", ()),
    "python.platform": ("app flags gfile tf_logging test", ("app.", "flags.", "test.")),
    "python.client": ("session", ("",)),
    "python.summary": ("summary summary_iterator writer", ("summary.", "train.")),
    "python.summary.writer": ("writer writer_cache", ("summary.",)),
    "python.saved_model": (
        "builder builder_impl constants loader loader_impl main_op save signature_constants signature_def_utils "
        "simple_save tag_constants utils",
        ("saved_model.", "saved_model.builder.", "saved_model.loader.", "saved_model.utils."),
    ),
    "python.lib.io": ("tf_record", ("io.", "python_io.")),
    "contrib.crf.python.ops": ("crf", ("contrib.crf.",)),
    "contrib.ctc": ("ctc_ops", ("contrib.ctc.",)),
    "contrib.eager.python": ("network tfe", ("contrib.eager.",)),
    "contrib.framework.python.ops": ("arg_scope variables", ("contrib.framework.",)),
    "contrib.layers.python.layers": (
        "embedding_ops encoders feature_column initializers layers normalization optimizers regularizers "
        "rev_block_lib summaries target_column",
        ("contrib.layers.",),
    ),
    "contrib.legacy_seq2seq.python.ops": ("seq2seq", ("contrib.legacy_seq2seq.",)),
    "contrib.rnn.python.ops": ("core_rnn_cell core_rnn_cell_impl rnn rnn_cell", ("contrib.rnn.",)),
    "contrib.seq2seq.python.ops": ("attention_wrapper basic_decoder decoder helper loss", ("contrib.seq2seq.",)),
    "contrib.training.python.training": ("bucket_ops evaluation hparam training", ("contrib.training.",)),
    "core.framework": (
        "attr_value_pb2 function_pb2 graph_pb2 node_def_pb2 op_def_pb2 resource_handle_pb2 summary_pb2 tensor_pb2 "
        "tensor_shape_pb2 types_pb2 variable_pb2 versions_pb2",
        ("",),
    ),
    "core.protobuf": ("config_pb2 meta_graph_pb2 rewriter_config_pb2 saver_pb2", ("", "train.")),
    "core.example": ("example_pb2 feature_pb2", ("train.",)),
    "core.util": ("event_pb2", ("",)),
}
# Modules with names of one beginning alone.
MODULES: dict[str, tuple[str, ...]] = {
    "python": ("",),
    "python.framework": (),
    "python.framework.convert_to_constants": ("python.framework.convert_to_constants.",),
    "python.tf2": ("python.tf2.",),
    "tools.graph_transforms": ("tools.graph_transforms.",),
    "python.ops.image_ops": ("image.", ""),
    "python.ops.image_ops_impl": ("image.", ""),
    "python.ops.init_ops_v2": ("initializers.",),
    "python.ops.linalg_ops": ("linalg.", ""),
    "python.ops.rnn_cell": ("nn.rnn_cell.", "contrib.rnn."),
    "python.ops.rnn_cell_impl": ("nn.rnn_cell.", "contrib.rnn."),
    "python.ops.seq2seq": ("contrib.legacy_seq2seq.",),
    "models.rnn": ("nn.",),
    "models.rnn.rnn": ("nn.",),
    "models.rnn.rnn_cell": ("nn.rnn_cell.", "contrib.rnn."),
    "models.rnn.seq2seq": ("contrib.legacy_seq2seq.",),
    "contrib.rnn.python.ops.core_rnn": ("nn.",),
    "contrib.tensorboard.plugins.projector": ("contrib.tensorboard.plugins.projector.",),
    "contrib.ctc.ctc_ops": ("contrib.ctc.",),
    "contrib.framework.nest": ("nest.",),
    "contrib.layers.python.layers.utils": ("contrib.layers.utils.",),
    "contrib.slim.layers": ("contrib.layers.",),
    "contrib.slim.python.slim": ("contrib.slim.",),
    "contrib.slim.variables": ("contrib.framework.",),
    "contrib.slim.python.slim.learning": ("contrib.slim.learning.",),
    "python.estimator.util": ("python.estimator.util.",),
    "python.util.function_utils": ("python.util.function_utils.",),
    "python.util.nest": ("nest.",),
    "python.util.compat": ("compat.",),
    "python.lib.io.file_io": ("python.lib.io.file_io.", "io.gfile.", "gfile."),
    "python.platform.gfile": ("gfile.", "io.gfile."),
    "python.platform.tf_logging": ("logging.",),
    "python.client.device_lib": ("config.", "python.client.device_lib."),
    "python.pywrap_tensorflow": ("train.",),
}


_NAMES = "dovetail.compat.tensorflow.names"
OURS = {  # modules that are modules of ours
    "python.client.timeline": f"{_NAMES}.summary.timeline",
    "contrib.learn.datasets.mnist": f"{_NAMES}.io.mnist",
    "examples.tutorials.mnist.input_data": f"{_NAMES}.io.mnist",
    "examples.tutorials.mnist.mnist": f"{_NAMES}.io.mnist_network",
}


def modules() -> dict[str, tuple[str, ...]]:
    """The modules and the packages around them → the beginnings of their names in the table.

    The last beginning is the module's own: "python.util.deprecation.".
    """
    sources = dict(MODULES)
    for package, (names, prefixes) in PACKAGES.items():
        sources.setdefault(package, prefixes)
        for name in names.split():
            sources.setdefault(f"{package}.{name}", (*prefixes, f"{package}.{name}."))
    for path in [*sources, *OURS]:
        while path := path.rpartition(".")[0]:
            sources.setdefault(path, ())
    return sources
