"""The names of `tf.contrib` besides layers, cells and optimizers: a module for each family."""

from dovetail.compat.tensorflow.names.contrib import arg_scope as arg_scope
from dovetail.compat.tensorflow.names.contrib import framework as framework
