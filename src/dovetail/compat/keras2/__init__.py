"""Keras 2's names in Keras 3: `import dovetail.compat.keras2` before a program that was written for them.

Modules that are gone, as `keras.engine` and `keras.layers.core`, find their classes where Keras 3 has them;
`keras.backend` is K; optimizers take `lr` and `decay`, and have `get_updates`, also one that a program defines; layers
have `add_update`.  A model trains the layers that were trainable when it was compiled.  Features that Keras 3 lacks
raise an error with the replacement to write.

    import dovetail.compat.keras2
    from keras.layers.core import Dense
    from keras.optimizers import SGD
    SGD(lr=0.1, decay=1e-3)
"""

from __future__ import annotations

import sys

from dovetail.compat.keras2 import arguments, layers, modules, optimizers, saving, training, weights
from dovetail.compat.keras2.modules import GONE as GONE
from dovetail.compat.keras2.modules import MODULES as MODULES

PATCHED = modules, arguments, weights, layers, training, saving, optimizers  # each lists its changes as rows

if "keras.engine" not in sys.modules:
    modules.install()
    PATCHES = [patch for module in PATCHED for patch in module.patches()]
    for patch in PATCHES:
        patch.apply()
