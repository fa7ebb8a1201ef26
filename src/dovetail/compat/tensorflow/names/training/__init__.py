"""TensorFlow 1's names for programs that train: the coordinator of threads, the supervisor and its sessions."""

from dovetail.compat.tensorflow.names.training import coordinator as coordinator
from dovetail.compat.tensorflow.names.training import session_manager as session_manager
from dovetail.compat.tensorflow.names.training import supervisor as supervisor
