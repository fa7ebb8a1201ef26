"""Attention: the effect of masks on a target."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail import ops

HIDING = [[False, False, False], [True, False, True]]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("as_bools", [False, True])
def test_what_is_hidden_counts_nothing(engine, rng, is_causal, as_bools):
    """Check that hidden sources do not count, and that all count alike for a target that sees none."""
    query, key, value = (rng.normal(size=(n, 4)).astype("float32") for n in (2, 3, 3))
    mask = np.array(HIDING)
    sees = mask & np.tri(2, 3, dtype=bool) if is_causal else mask
    given = mask if as_bools else np.where(mask, 0, -1e38).astype("float32")
    found = ops.scaled_dot_product_attention(query, key, value, given, is_causal=is_causal).numpy()
    scores = query[1] @ key.T / 2
    weights = np.where(sees[1], np.exp(scores), 0)
    np.testing.assert_allclose(found[1], weights @ value / weights.sum(), rtol=1e-5, atol=1e-6)
    if as_bools:
        np.testing.assert_allclose(found[0], value.mean(0), rtol=1e-5, atol=1e-6)


def test_errors_say_what_does_not_fit():
    x = np.ones((2, 3), "float32")
    with pytest.raises(ValueError, match="inner dimensions"):
        ops.scaled_dot_product_attention(x, np.ones((2, 4), "float32"), x)
    with pytest.raises(ValueError, match="shape"):
        ops.scaled_dot_product_attention(x, x, x, np.ones((3, 2), bool))
