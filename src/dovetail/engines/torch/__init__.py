"""The PyTorch engine: aten calls without autograd.

`tables` holds the rules; each family of ops fills them in a module of its own.
"""

# Importing the families fills the table of rules.
from dovetail.engines.torch import (  # noqa: F401
    arrays,
    convolution,
    decoders,
    elementwise,
    images,
    linalg,
    nn,
    optimizers,
    random,
    recurrent,
    reductions,
)
from dovetail.engines.torch.engine import TorchEngine
from dovetail.engines.torch.tables import rules

engine = TorchEngine(rules)
