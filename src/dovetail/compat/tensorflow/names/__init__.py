"""The rows and functions of the table, a module for each family of names; importing this package fills the table."""

from dovetail.compat.tensorflow.names import control as control
from dovetail.compat.tensorflow.names import core as core
from dovetail.compat.tensorflow.names import debugging as debugging
from dovetail.compat.tensorflow.names import graph as graph
from dovetail.compat.tensorflow.names import image as image
from dovetail.compat.tensorflow.names import initializers as initializers
from dovetail.compat.tensorflow.names import linalg as linalg
from dovetail.compat.tensorflow.names import math as math
from dovetail.compat.tensorflow.names import nn as nn
from dovetail.compat.tensorflow.names import optimizers as optimizers
from dovetail.compat.tensorflow.names import random as random
from dovetail.compat.tensorflow.names import shapes as shapes
from dovetail.compat.tensorflow.names import train as train
from dovetail.compat.tensorflow.names import variables as variables
