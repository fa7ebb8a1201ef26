"""The rows and functions of the table, a module for each family of names; importing this package fills the table."""

from dovetail.compat.tensorflow.names import absences as absences
from dovetail.compat.tensorflow.names import checkpoints as checkpoints
from dovetail.compat.tensorflow.names import control as control
from dovetail.compat.tensorflow.names import core as core
from dovetail.compat.tensorflow.names import debugging as debugging
from dovetail.compat.tensorflow.names import graph as graph
from dovetail.compat.tensorflow.names import graph_editor as graph_editor
from dovetail.compat.tensorflow.names import graph_util as graph_util
from dovetail.compat.tensorflow.names import image as image
from dovetail.compat.tensorflow.names import initializers as initializers
from dovetail.compat.tensorflow.names import linalg as linalg
from dovetail.compat.tensorflow.names import math as math
from dovetail.compat.tensorflow.names import nn as nn
from dovetail.compat.tensorflow.names import optimizers as optimizers
from dovetail.compat.tensorflow.names import random as random
from dovetail.compat.tensorflow.names import shapes as shapes
from dovetail.compat.tensorflow.names import sparse as sparse
from dovetail.compat.tensorflow.names import summary as summary
from dovetail.compat.tensorflow.names import train as train
from dovetail.compat.tensorflow.names import variables as variables
