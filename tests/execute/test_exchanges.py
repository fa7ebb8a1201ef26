"""Plans with collectives: their texts, and runs that must not wait for other ranks."""

from __future__ import annotations

import pytest

from tests.distributed import ranks
from tests.libraries import require


@pytest.mark.parametrize("pair", [("numpy", "torch"), ("tensorflow", "jax")], ids="-".join)
def test_plans_show_exchanges_and_replay_them_alone(pair, tmp_path):
    for name in ("torch", *pair):
        require(name, "a rank computes with it")
    for printed in ranks.run("tests.execute.exchanges_checks", pair, str(tmp_path)):
        assert printed.count("checked") == 4, printed
