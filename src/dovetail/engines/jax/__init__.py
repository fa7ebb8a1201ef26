"""The JAX engine: XLA, one jitted executable for a whole program.

Dovetail has 64-bit types, which JAX has only under `enable_x64`.  So the rules run under that setting; the setting of
the user's own JAX code stays as it is.  `tables` holds the rules; each family of ops fills them in a module of its own.
"""

# Importing the families fills the table of rules.
from dovetail.engines.jax import (  # noqa: F401
    arrays,
    compiled_bodies,
    elementwise,
    linalg,
    random,
    reductions,
    shifts,
    windows,
)
from dovetail.engines.jax.engine import JaxEngine
from dovetail.engines.jax.tables import rules

engine = JaxEngine(rules)
