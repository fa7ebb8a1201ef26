"""The PyTorch engine: aten calls without autograd.

`tables` holds the rules; each family of ops fills them in a module of its own.
"""

# The families are imported for what they put into the tables.
from dovetail.engines.torch import arrays, convolution, elementwise, images, linalg, nn, random, reductions  # noqa: F401
from dovetail.engines.torch.decoders import decoders
from dovetail.engines.torch.engine import TorchEngine
from dovetail.engines.torch.tables import fresh, out_rules, rules

engine = TorchEngine(rules, out_rules, fresh)
_decoders = decoders(engine.native)
engine.rules |= _decoders
engine.eager_rules |= _decoders
# Torch cannot differentiate this kernel, but can what the op's body consists of.
engine.native.eager_rules = {name: rule for name, rule in engine.rules.items() if name != "SiluGrad"}
