"""The names of TensorFlow that are not offered: why, and what to write instead."""

from __future__ import annotations

ABSENT: dict[str, str] = {}  # name, or the beginning of names → why it is not offered, and what to write


def absent(names: str, why: str) -> None:
    """Add names that are not offered.

    Args:
        names: with spaces between; a name with a dot at its end means all names that begin with it.
        why: a sentence that says why, and what to write.
    """
    ABSENT.update(dict.fromkeys(names.split(), why))


_KERAS = "Keras itself runs on Dovetail: `import keras`, with KERAS_BACKEND=dovetail in the environment."
_LAYERS = "contrib.slim contrib.slim. slim slim. contrib.layers contrib.layers."
absent("keras.", "Keras 3 has no such name; names that only Keras 2 has come with `import dovetail.compat.keras2`.")
absent(_LAYERS, f"Use layers of Keras. {_KERAS}")
_READY = "estimator. contrib.learn contrib.learn."
absent(_READY, f"Write a model_fn for tf.estimator.Estimator, or use Keras' fit. {_KERAS}")
absent(
    "estimator.export.build_parsing_serving_input_receiver_fn",
    "A file cannot hold the reader of records: write tf.estimator.export.build_raw_serving_input_receiver_fn.",
)
absent("data. contrib.data.", "tf.data.Dataset has arrays, generators and files as sources: read others in Python.")
_RANKS = "open tf.distribute.MirroredStrategy(), and start the program by `dovetail run --processes N`."
absent("distribute. distribution distribution. contrib.distribute.", f"Replicas are processes: {_RANKS}")
absent(
    "distribute.ParameterServerStrategy distribute.experimental.ParameterServerStrategy "
    "contrib.distribute.ParameterServerStrategy distribute.experimental.TPUStrategy distribute.TPUStrategy",
    f"No process keeps variables for others: {_RANKS}",
)
absent(
    "data.experimental.AutoShardPolicy",
    "Leave it out: experimental_distribute_dataset gives each replica its rows of each batch.",
)
absent(
    "federated federated.",
    "Write dt.federated.computation, federated_map, federated_mean and federated_broadcast, with dovetail as dt; "
    "dt.federated.fed_avg is FedAvg.",
)
absent("tpu tpu. contrib.tpu contrib.tpu.", "There are no TPUs here; the jax engine runs on what jax is installed for.")
absent(
    "train.maybe_batch train.maybe_batch_join train.maybe_shuffle_batch train.maybe_shuffle_batch_join",
    "Put the examples that you keep into a queue of your own, and take batches out of it.",
)
absent(
    "strings strings. decode_compressed decode_json_example serialize_sparse serialize_many_sparse "
    "deserialize_many_sparse fingerprint",
    "This function of strings is not offered: compute it by tf.py_func, or in Python.",
)
absent("resource dtypes.resource variant dtypes.variant", "Variables are objects of their own, not tensors of handles.")
absent("ragged ragged.", "Ragged tensors are not offered: pad with zeros, and keep a mask or lengths.")
absent(
    "lookup lookup. contrib.lookup.",
    "Use tf.contrib.lookup.HashTable or index_table_from_tensor, or a dict in tf.py_func.",
)
absent(
    "profiler.",
    "dovetail.profile tells the time, bytes and line of each operation; tf.profiler.experimental.start and stop work.",
)
absent(
    "contrib.seq2seq.",
    "Use BasicDecoder or BeamSearchDecoder, with BahdanauAttention or LuongAttention, or write the loop with "
    "tf.nn.raw_rnn.",
)
_CELLS = (
    "TimeFreqLSTMCell GridLSTMCell BidirectionalGridLSTMCell PhasedLSTMCell GLSTMCell "
    "LayerNormLSTMCell WeightNormLSTMCell"
)
absent(
    " ".join(f"contrib.rnn.{name}" for name in _CELLS.split()) + " contrib.grid_rnn contrib.grid_rnn.",
    "Derive a class from tf.nn.rnn_cell.RNNCell, with the step in `call`.",
)
absent(
    "contrib.cudnn_rnn contrib.cudnn_rnn.",
    "Write tf.nn.dynamic_rnn with cells of tf.nn.rnn_cell: engines have kernels for LSTMCell.",
)
absent(
    "nn.static_state_saving_rnn contrib.rnn.static_state_saving_rnn nn.state_saving_rnn",
    "Feed the last state as initial_state of the next call of tf.nn.static_rnn.",
)
_EACH = "the ranks of `dovetail run --processes N` find each other, and each keeps all variables."
_CLUSTER = "ClusterSpec Server ClusterDef JobDef ServerDef"
absent(" ".join(f"train.{name}" for name in _CLUSTER.split()), f"Leave the cluster out: {_EACH}")
absent("train.replica_device_setter", f"Leave the device scope out: {_EACH}")
absent(
    "train.SyncReplicasOptimizer",
    "Write hvd.DistributedOptimizer(optimizer), with dovetail.compat.horovod as hvd, give the session the hook "
    "hvd.BroadcastGlobalVariablesHook(0), and start the program by `dovetail run --processes N`.",
)
absent("train.WorkerSessionCreator train.GlobalStepWaiterHook", f"Open tf.train.MonitoredTrainingSession(): {_EACH}")
absent(
    "contrib.boosted_trees contrib.boosted_trees.",
    "Grow the trees with scikit-learn or XGBoost.",
)
absent(
    "contrib.tensor_forest contrib.tensor_forest.",
    "ForestHParams, RandomForestGraphs and TensorForestEstimator are offered; scikit-learn has other forests.",
)
absent("contrib.factorization.", "KMeans and KMeansClustering are offered; scikit-learn has GaussianMixture and NMF.")
_COLUMNS = "weighted_sparse_column scattered_embedding_column shared_embedding_columns"
absent(
    " ".join(f"contrib.layers.{name}" for name in _COLUMNS.split()),
    "This column is not offered: tf.feature_column has numeric_column, embedding_column and others.",
)
absent(
    "feature_column. contrib.feature_column contrib.feature_column.",
    "Of columns there are numeric, bucketized, categorical, crossed, indicator and embedding ones.",
)
absent(
    "contrib.slim.nets contrib.slim.nets.",
    "There are vgg, alexnet and resnet: copy another network's own file, as nets/inception.py of tensorflow/models.",
)
absent("contrib contrib.", "tf.contrib is gone; parts of contrib.framework, layers, slim and others are offered.")
absent(
    "contrib.labeled_tensor contrib.labeled_tensor.",
    "Tensors have no names of axes: write tf.transpose, tf.slice and tf.reduce_sum, with their numbers.",
)
absent(
    "contrib.graph_editor. contrib.copy_graph contrib.copy_graph.",
    "Copy a part of a graph by tf.graph_util.extract_sub_graph and tf.import_graph_def, with input_map.",
)
absent(
    "contrib.model_pruning contrib.model_pruning.",
    "Multiply the weights by a mask, a variable that is not trained, and assign it by the size of the weights.",
)
absent("contrib.solvers contrib.solvers.", "Write tf.linalg.solve, or call scipy.sparse.linalg in tf.py_func.")
absent("contrib.checkpoint contrib.checkpoint.", "Name the parts in tf.train.Checkpoint, which takes lists and dicts.")
absent(
    "contrib.training.",
    "Choose examples in Python, give them to tf.data.Dataset.from_generator, and batch them there.",
)
absent(
    "contrib.timeseries contrib.timeseries. contrib.periodic_resample contrib.periodic_resample.",
    "Cut the series into windows by NumPy, and train tf.nn.dynamic_rnn on them.",
)
absent("contrib.testing contrib.testing.", "Compare arrays by numpy.testing.assert_allclose.")
absent("contrib.tfprof contrib.tfprof.", "Call tf.profiler.profile, which counts operations and parameters.")
absent(
    "contrib.nn.rank_sampled_softmax_loss contrib.nn.sampled_sparse_softmax_loss",
    "Use tf.nn.sampled_softmax_loss, with the labels as a column.",
)
absent(
    "contrib.constrained_optimization contrib.constrained_optimization.",
    "Add the constraint to the loss, times a variable, and let a second optimizer raise that variable.",
)
absent("contrib.cloud contrib.cloud.", "Read the data in Python: give records to Dataset.from_generator.")
absent("contrib.stat_summarizer contrib.stat_summarizer.", "Run the steps in `with dovetail.profile() as profile:`.")
absent(
    "contrib.kernel_methods contrib.kernel_methods.",
    "Write the features, tf.cos of a product with drawn numbers, or call scikit-learn's RBFSampler.",
)
absent("contrib.crf.", "Use crf_log_likelihood, crf_decode and viterbi_decode of the same module.")
absent(
    "contrib.framework.load_and_remap_matrix_initializer contrib.framework.load_embedding_initializer "
    "contrib.framework.load_linear_multiclass_bias_initializer contrib.framework.load_variable_slot_initializer",
    "Read the array by tf.train.load_variable, take its rows by NumPy, and begin the variable with them.",
)
absent(
    "qint8 qint16 qint32 quint8 quint16 dtypes.qint8 dtypes.qint16 dtypes.qint32 dtypes.quint8 dtypes.quint16",
    "There are no quantized dtypes: tf.int8 and tf.uint8 hold the numbers, and a float32 the scale.",
)
absent(
    "lite lite. contrib.lite contrib.lite. contrib.tensorrt contrib.tensorrt. mlir mlir.",
    "Models are not converted to LiteRT: dt.onnx.save writes ONNX, of which emx-onnx-cgen makes C.",
)
absent(
    "quantization quantization. contrib.quantization contrib.quantization. quantize quantize_v2 dequantize "
    "quantized_concat QUANTIZED_DTYPES dtypes.QUANTIZED_DTYPES nn.quantized_avg_pool nn.quantized_conv2d "
    "nn.quantized_max_pool nn.quantized_relu_x",
    "Models are not quantized: keep weights as int8, and dt.ops.cast them; dovetail convert --half stores 16 bits.",
)
_PICTURES = "decode_gif decode_webp decode_jxl"
absent(
    " ".join(["io io.", *(f"image.{name}" for name in _PICTURES.split())]),
    "TensorFlow itself reads files: write import tensorflow, then tensorflow.io or tensorflow.image; or read them in "
    "Python. Feed their contents.",
)
absent(
    "load_op_library load_library load_file_system_library user_ops user_ops. sysconfig.",
    "Define ops in Python, with dovetail.register_op.",
)
absent("saved_model.", "Write dovetail.saved_model.save(model, folder), which TensorFlow loads.")

_OWN = "derive a class from tf.train.Optimizer, with the step in `_apply_dense`."
absent("contrib.opt.", f"This optimizer is not offered: {_OWN}")
absent(
    "train.sdca_optimizer train.sdca_fprint train.sdca_shrink_l1 contrib.linear_optimizer contrib.linear_optimizer.",
    f"Use tf.train.FtrlOptimizer, or {_OWN}",
)
absent("contrib.losses.", "Write the loss as a function of tensors, and add it by tf.losses.add_loss.")
absent("contrib.metrics.", "Use a measure of tf.metrics, or compute it of all predictions by NumPy, after the runs.")
_DRAWN = "brightness contrast crop flip_left_right flip_up_down hue jpeg_quality saturation"
_IMAGES = [
    *("generate_bounding_box_proposals", "random_jpeg_quality"),
    *("stateless_sample_distorted_bounding_box", *(f"stateless_random_{name}" for name in _DRAWN.split())),
]
absent(
    " ".join(["contrib.image.", *(f"image.{name}" for name in _IMAGES)]),
    "Compute this by a function of arrays, in tf.py_func.",
)
absent(
    "contrib.distributions. distributions.Multinomial distributions.DirichletMultinomial",
    "Write log_prob and sample as functions of tensors, with tf.lgamma and tf.random.",
)
absent("contrib.gan contrib.gan.", "Write the losses of both networks; minimize each by its own var_list.")
absent(
    "contrib.quantize contrib.quantize.",
    "Leave create_training_graph and create_eval_graph out, or call tf.fake_quant_with_min_max_args.",
)
absent("contrib.session_bundle contrib.session_bundle.", "Write a SavedModel, with tf.saved_model.simple_save.")
absent("contrib.learn.monitors.", "Derive a class from tf.contrib.learn.monitors.EveryN.")
absent(
    "contrib.summary. summary.tensor_summary summary.SummaryDescription summary.get_summary_description",
    "Use the summaries scalar, histogram, image, audio and text.",
)
absent("contrib.memory_stats contrib.memory_stats.", "dovetail.memory_info() tells the memory of each device.")
absent("contrib.nccl contrib.nccl. contrib.all_reduce contrib.all_reduce.", f"Replicas are processes: {_RANKS}")
absent(
    "contrib.compiler contrib.compiler. xla xla.",
    'Leave it out: engines compile graphs, the jax engine with XLA: `with dovetail.engine("jax"):`.',
)
absent(
    "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator "
    "sparse.SparseConditionalAccumulator",
    "Add gradients to variables by tf.assign_add, apply them after some steps, and assign zeros.",
)
absent(
    "CriticalSection contrib.framework.CriticalSection",
    "Call the function itself: the assignments of a run come in one order.",
)
absent(
    "TypeSpec IndexedSlicesSpec NoneTensorSpec OptionalSpec RaggedTensorSpec TensorArraySpec type_spec_from_value",
    "Describe each tensor of a structure by tf.TensorSpec, in a tuple or a dict.",
)
absent("LMDBReader contrib.data.LMDBDataset", "Read the file in Python: give records to Dataset.from_generator.")
absent("get_session_handle get_session_tensor delete_session_tensor", "Keep the value in a variable.")
absent("variable_creator_scope", "Give tf.variable_scope a custom_getter, which makes the variables.")
absent("nn.fractional_max_pool nn.fractional_avg_pool", "Use tf.nn.max_pool or tf.nn.avg_pool: windows have one size.")
absent("audio audio. contrib.ffmpeg contrib.ffmpeg.", "Read sounds with Python's wave module, and feed their numbers.")
absent("debugging.assert_shapes", "Compare tf.shape(x) with the sizes, by tf.debugging.assert_equal.")
absent("test.Benchmark test.StubOutForTesting", "Measure with Python's timeit, and replace functions by unittest.mock.")
absent(
    "mixed_precision mixed_precision. train.experimental. contrib.mixed_precision contrib.mixed_precision.",
    "Use the optimizer itself: graphs compute in the dtypes that they have, as tf.bfloat16 after tf.cast.",
)
absent(
    "train.basic_train_loop",
    "Write the loop: `while not session.should_stop():` in tf.train.MonitoredTrainingSession().",
)
absent("train.ProfilerHook", "Run the steps in `with dovetail.profile() as profile:`, and print the profile.")
