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
absent("strings strings.", "This function of strings is not offered: compute it by tf.py_func, or in Python.")
absent("resource dtypes.resource variant dtypes.variant", "Variables are objects of their own, not tensors of handles.")
absent("ragged ragged. RaggedTensor", "Ragged tensors are not offered: pad with zeros, and keep a mask or lengths.")
absent(
    "lookup lookup.",
    "Use tf.contrib.lookup.HashTable or index_table_from_tensor, or a dict in tf.py_func.",
)
absent(
    "profiler.",
    "dovetail.profile tells the time, bytes and line of each operation; tf.profiler.experimental.start and stop work.",
)
absent(
    "contrib.seq2seq.",
    "Use BasicDecoder with a GreedyEmbeddingHelper, BahdanauAttention or LuongAttention, or write the loop with "
    "tf.nn.raw_rnn.",
)
_CELLS = (
    "TimeFreqLSTMCell GridLSTMCell BidirectionalGridLSTMCell PhasedLSTMCell GLSTMCell SRUCell IndRNNCell IndyGRUCell "
    "IndyLSTMCell LayerNormLSTMCell WeightNormLSTMCell"
)
absent(
    " ".join(f"contrib.rnn.{name}" for name in _CELLS.split()),
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
absent("train.ClusterSpec train.Server", f"Leave the cluster out: {_EACH}")
absent("train.replica_device_setter", f"Leave the device scope out: {_EACH}")
absent(
    "train.SyncReplicasOptimizer",
    "Write hvd.DistributedOptimizer(optimizer), with dovetail.compat.horovod as hvd, give the session the hook "
    "hvd.BroadcastGlobalVariablesHook(0), and start the program by `dovetail run --processes N`.",
)
absent("train.WorkerSessionCreator train.GlobalStepWaiterHook", f"Open tf.train.MonitoredTrainingSession(): {_EACH}")
absent(
    "contrib.opt.LazyAdamOptimizer",
    "Gradients are dense: tf.train.AdamOptimizer moves all rows of a table, also those that a step does not look up.",
)
absent(
    "contrib.boosted_trees contrib.boosted_trees. contrib.tensor_forest contrib.tensor_forest.",
    "Grow the trees with scikit-learn or XGBoost.",
)
absent("contrib.factorization.", "KMeans and KMeansClustering are offered; scikit-learn has GaussianMixture and NMF.")
_COLUMNS = (
    "real_valued_column sparse_column_with_keys sparse_column_with_hash_bucket sparse_column_with_integerized_feature "
    "embedding_column one_hot_column bucketized_column crossed_column input_from_feature_columns"
)
absent(
    " ".join(f"contrib.layers.{name}" for name in _COLUMNS.split()),
    "Columns of contrib are not offered: tf.feature_column has numeric_column, embedding_column and others.",
)
absent(
    "feature_column.",
    "Of columns there are numeric, bucketized, categorical, crossed, indicator and embedding ones.",
)
_NETS, _DATA, _QUEUES = (f"contrib.slim.{name} contrib.slim.{name}." for name in ("nets", "data", "queues"))
absent(_NETS, "Networks are not offered: copy the network's own file, as nets/vgg.py of tensorflow/models.")
absent(
    _DATA, "Data sets of TF-Slim are not offered: read the records with tf.python_io.tf_record_iterator, and feed them."
)
absent(
    _QUEUES, "Its context is not offered: start runners by tf.train.start_queue_runners, with a tf.train.Coordinator."
)
absent("contrib contrib.", "tf.contrib is gone; parts of contrib.framework, layers, slim and others are offered.")
absent("lite lite.", "Models are not converted to LiteRT: dt.onnx.save writes ONNX, of which emx-onnx-cgen makes C.")
absent(
    "quantization quantization.",
    "Models are not quantized: keep weights as int8, and dt.ops.cast them; dovetail convert --half stores 16 bits.",
)
absent("autograph autograph.", "Python is not translated: branches and loops on tensors are tf.cond and tf.while_loop.")
_PICTURES = "decode_and_crop_jpeg decode_gif extract_jpeg_shape"
absent(
    " ".join(["io io.", *(f"image.{name}" for name in _PICTURES.split())]),
    "TensorFlow itself reads files: write import tensorflow, then tensorflow.io or tensorflow.image; or read them in "
    "Python. Feed their contents.",
)
absent("load_op_library load_library", "Define ops in Python, with dovetail.register_op.")
absent("saved_model.", "Write dovetail.saved_model.save(model, folder), which TensorFlow loads.")
