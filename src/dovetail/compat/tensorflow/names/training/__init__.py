"""TensorFlow 1's names for training: what watches over threads and sessions, measures, samplers, optimizers."""

from dovetail.compat.tensorflow.names.training import best_metrics as best_metrics
from dovetail.compat.tensorflow.names.training import coordinator as coordinator
from dovetail.compat.tensorflow.names.training import external_optimizers as external_optimizers
from dovetail.compat.tensorflow.names.training import metric_parts as metric_parts
from dovetail.compat.tensorflow.names.training import metrics as metrics
from dovetail.compat.tensorflow.names.training import ruled_optimizers as ruled_optimizers
from dovetail.compat.tensorflow.names.training import samplers as samplers
from dovetail.compat.tensorflow.names.training import session_manager as session_manager
from dovetail.compat.tensorflow.names.training import supervisor as supervisor
