"""Keras 2's names in Keras 3: `import dovetail.compat.keras2` before a program that was written for them.

Modules that are gone, as `keras.engine` and `keras.layers.core`, find their classes in Keras 3's modules;
`keras.backend` is K; optimizers take `lr` and `decay`, and have `get_updates`, also one that a program defines; layers
have `add_update`.  A model trains the layers that were trainable when it was compiled.  Features that Keras 3 lacks
raise an error with the replacement to write.

    import dovetail.compat.keras2
    from keras.layers.core import Dense
    from keras.optimizers import SGD
    SGD(lr=0.1, decay=1e-3)

The import changes Keras for the whole process.  `uninstall()` takes the names back, and `with installed():` gives them
to a part of a program.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.compat.keras2 import (
    arguments,
    bindings,
    configurations,
    generators,
    imported,
    layers,
    logs,
    losses,
    merging,
    models,
    modules,
    names,
    naming,
    old_attributes,
    old_layers,
    operators,
    optimizer_steps,
    optimizers,
    preprocessing,
    readers,
    resource_steps,
    saving,
    tensorboard,
    tensorflow_optimizers,
    training,
    training_tensors,
    updates,
    weights,
    words,
)
from dovetail.compat.keras2.modules import MODULES as MODULES
from dovetail.compat.keras2.patches import Patch

PATCHED = (
    modules,
    names,
    naming,
    old_layers,
    old_attributes,
    arguments,
    weights,
    layers,
    updates,
    operators,
    bindings,
    merging,
    models,
    training,
    readers,
    training_tensors,
    configurations,
    generators,
    logs,
    tensorboard,
    losses,
    saving,
    optimizer_steps,
    optimizers,
    resource_steps,
    tensorflow_optimizers,
    preprocessing,
    imported,
)  # each lists its changes as rows
PATCHES = [patch for module in PATCHED for patch in module.patches()]

_undo: list[Patch] = []  # in the order of the patches; empty if Keras is as it was


def is_installed() -> bool:
    """Whether Keras 3 has the names of Keras 2 now."""
    return bool(_undo)


def install() -> None:
    """Give Keras 3 the names of Keras 2; nothing happens if it has them."""
    if is_installed():
        return
    try:
        for patch in PATCHES:
            _undo.append(patch.apply())
    except BaseException:
        uninstall()
        raise


def uninstall() -> None:
    """Take the names back, so that Keras is as it was; nothing happens if it does not have them.

    Modules, classes and functions that a program has imported stay usable; models that it made train as Keras 3 does.
    """
    while _undo:
        _undo.pop().apply()


@contextmanager
def installed(*, of_tensorflow: bool = False) -> Iterator[None]:
    """Give Keras 3 the names of Keras 2 in the `with` block, and leave it as it was before the block.

    Args:
        of_tensorflow: whether they are those of `tf.keras`: the last number of `Conv2D(8, 3, 2)` is the stride, and the
            first automatic name of a class is `dense`, not `dense_1`.
    """
    was_installed, was_of_tensorflow = is_installed(), words.of_tensorflow
    install()
    words.of_tensorflow = of_tensorflow
    try:
        yield
    finally:
        words.of_tensorflow = was_of_tensorflow
        if not was_installed:
            uninstall()


install()
