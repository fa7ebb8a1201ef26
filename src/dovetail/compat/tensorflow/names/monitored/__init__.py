"""TensorFlow 1's monitored sessions, and the hooks that they call around each run; estimators train by them."""

from dovetail.compat.tensorflow.names.monitored import hook_base as hook_base
from dovetail.compat.tensorflow.names.monitored import hooks as hooks
from dovetail.compat.tensorflow.names.monitored import sessions as sessions
