"""CTC: what the cases of parity cannot say, since it is not the same on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K

LABELS, COUNTS = np.array([[1, 2], [3, 0]], "int32"), np.array([2, 1], "int32")


def test_the_numbers_of_labels_must_be_known_where_jax_compiles(engine):
    @dt.function
    def program(labels, counts):
        return K.to_dense(K.ctc_label_dense_to_sparse(labels, counts))

    if engine == "jax":
        with pytest.raises(ValueError, match="jax compiles only programs of known shapes"):
            program(LABELS, COUNTS)
    else:
        np.testing.assert_array_equal(program(LABELS, COUNTS).numpy(), LABELS)
