"""Activations: properties that parity cannot check."""

from __future__ import annotations

import numpy as np

import dovetail as dt
from dovetail import backend as K


def test_softmax_of_nan_and_infinity_is_nan(engine):
    found = np.isnan(K.softmax(np.array([[np.nan, 1, 2], [np.inf, 1, 2]], "float32")).numpy())
    assert found.any(-1).all() if engine == "tensorflow" else found.all()


def test_activations_of_lists_arrays_and_variables(engine):
    for name in ("relu", "elu", "softplus", "softsign", "sigmoid", "hard_sigmoid", "tanh", "softmax"):
        function = getattr(K, name)
        expected = function(dt.ops.convert([[1.0, -2.0]])).numpy()
        np.testing.assert_array_equal(function([[1.0, -2.0]]).numpy(), expected)
        np.testing.assert_array_equal(function(K.variable([[1.0, -2.0]])).numpy(), expected)
        assert function(np.array([[1.0, -2.0]])).dtype == "float64"
