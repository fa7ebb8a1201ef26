"""The names of `tf.contrib` besides layers, cells and optimizers: a module for each family."""

from dovetail.compat.tensorflow.names.contrib import arg_scope as arg_scope
from dovetail.compat.tensorflow.names.contrib import buckets as buckets
from dovetail.compat.tensorflow.names.contrib import clustering as clustering
from dovetail.compat.tensorflow.names.contrib import crf as crf
from dovetail.compat.tensorflow.names.contrib import evaluation as evaluation
from dovetail.compat.tensorflow.names.contrib import framework as framework
from dovetail.compat.tensorflow.names.contrib import hparams as hparams
from dovetail.compat.tensorflow.names.contrib import image as image
from dovetail.compat.tensorflow.names.contrib import learning as learning
from dovetail.compat.tensorflow.names.contrib import losses as losses
from dovetail.compat.tensorflow.names.contrib import metrics as metrics
from dovetail.compat.tensorflow.names.contrib import optimizing as optimizing
from dovetail.compat.tensorflow.names.contrib import reports as reports
from dovetail.compat.tensorflow.names.contrib import summaries as summaries
from dovetail.compat.tensorflow.names.contrib import utils as utils
from dovetail.compat.tensorflow.names.contrib import vocabularies as vocabularies
from dovetail.compat.tensorflow.names.contrib import weights as weights
