"""What Keras 3.16 computes in another way than 3.15: Dovetail gives the results of the version that runs on it."""

from __future__ import annotations

from dovetail.interop.privates import version

# Function → its error in Keras 3.15, which Keras 3.16 mends.
MENDED = {
    "gaussian_blur": "the sizes and widths of the filter are of columns, then rows; documented is the other order",
    "sparsemax": "the threshold takes the sum of cumulative sums instead of the sum of the largest numbers",
}


def is_mended(function: str) -> bool:
    """Whether the Keras that runs has a function without the error of Keras 3.15.

    Args:
        function: a name of the table.

    Raises:
        KeyError: the table does not have it.
    """
    if function not in MENDED:
        raise KeyError(function)
    return not version.startswith("3.15.")
