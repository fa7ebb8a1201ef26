"""Run the programs of `examples/seeds` on TensorFlow, and print their outputs.

These are the programs that TensorFlow runs, too, with their original imports.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from tests.keras_backends import tell
from tests.libraries import Library

tf = Library("tensorflow")

SEEDS = Path(__file__).parents[2] / "examples" / "seeds"
PROGRAMS = (  # the last two build graphs, and leave TensorFlow in graph mode
    "002_1_tensor_operations",
    "002_2_mean_and_variance",
    "002_3_conditional",
    "002_4_gradient",
    "000_1_device_placement",
    "000_2_custom_gradient",
)
IMPORTS = {
    "import dovetail.compat.tensorflow as tf": "import tensorflow as tf",
    "from dovetail.compat.tensorflow.python": "from tensorflow.python",
    "from dovetail import backend as K": "from tf_keras import backend as K",
}


def printed(name: str) -> str:
    """The text that a program prints."""
    text = (SEEDS / f"{name}.py").read_text()
    for here, there in IMPORTS.items():
        text = text.replace(here, there)
    assert "dovetail." not in text, f"{name} imports more of Dovetail than TensorFlow has: {text}"
    tf.compat.v1.reset_default_graph()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(text, name, "exec"), {"__name__": name})
    return output.getvalue()


if __name__ == "__main__":
    tell({name: printed(name) for name in PROGRAMS})
