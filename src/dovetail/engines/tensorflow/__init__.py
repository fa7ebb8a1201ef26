"""The TensorFlow engine: kernels called eagerly, and whole programs as one `tf.function`.

`tables` holds the rules; each family of ops fills them in a module of its own.
"""

# The families are imported for what they put into the table.
from dovetail.core.engine import Rules
from dovetail.engines.bodies import DECODERS, body_rule
from dovetail.engines.tensorflow import arrays, elementwise, images, linalg, nn, random, reductions, windows  # noqa: F401
from dovetail.engines.tensorflow.engine import TensorFlowEngine
from dovetail.engines.tensorflow.program import as_program
from dovetail.engines.tensorflow.tables import rules

engine = TensorFlowEngine(rules)
engine.native.rules = Rules({**engine.rules, **{name: engine.with_gradient_of_table(name) for name in ("Eig", "Lu")}})
engine.native.eager_rules = engine.native.rules
for _name in ("CTCLoss", *DECODERS):
    engine.eager_rules[_name] = as_program(body_rule(_name, engine.native))
engine.rules |= {name: engine.eager_rules[name] for name in DECODERS}  # of the loss, gradients need to see the body
# Not natively: TensorFlow has no gradient of the gradient of these kernels.
_resizes = engine.with_wide_sums(images.resizes(engine.native))
engine.rules |= _resizes
engine.eager_rules |= _resizes
