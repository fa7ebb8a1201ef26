"""The TensorFlow engine: kernels called eagerly, and whole programs as one `tf.function`.

`tables` holds the rules; each family of ops fills them in a module of its own.
"""

# Importing the families fills the table of rules.
from dovetail.engines.tensorflow import (  # noqa: F401
    arrays,
    decoders,
    elementwise,
    images,
    linalg,
    nn,
    random,
    reductions,
    windows,
)
from dovetail.engines.tensorflow.engine import TensorFlowEngine
from dovetail.engines.tensorflow.tables import rules

engine = TensorFlowEngine(rules)
