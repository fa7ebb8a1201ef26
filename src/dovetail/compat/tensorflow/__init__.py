"""TensorFlow's names, on every engine, for programs that were written for TensorFlow 1 and 2.

    import dovetail.compat.tensorflow as tf                as `import tensorflow as tf` of TensorFlow 2
    import dovetail.compat.tensorflow.compat.v1 as tf      as `import tensorflow.compat.v1 as tf`, and TensorFlow 1

`entries` has all names; a module of `names` declares those of a family when a program first asks for one of them.  This
module looks its attributes up there.
docs/tensorflow.md lists the differences.
"""

import sys as _sys
from typing import Any as _Any

from dovetail.compat.tensorflow import keras_view as _keras_view
from dovetail.compat.tensorflow import view as _view

_view.install()
_keras_view.install()


def __getattr__(name: str) -> _Any:
    return _view.find("v2", [""], name, _sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *_view.members(__name__, [""])})
