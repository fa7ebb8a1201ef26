"""The functions of a Keras backend, written over Dovetail's ops: one module for each that Keras' own backends have."""

from keras_dovetail.src.ops import core as core
from keras_dovetail.src.ops import image as image
from keras_dovetail.src.ops import linalg as linalg
from keras_dovetail.src.ops import math as math
from keras_dovetail.src.ops import nn as nn
from keras_dovetail.src.ops import numpy as numpy
from keras_dovetail.src.ops.core import *  # noqa: F403
