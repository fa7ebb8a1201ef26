"""Rates: the table that fits the machine."""

from __future__ import annotations

import pytest

from dovetail.choose import rates
from dovetail.choose.rates import AVX2, AVX512, GPU, STRANGER, TABLES
from dovetail.core.engines.engine_registry import BUILT_IN


@pytest.fixture
def on(monkeypatch, tmp_path):
    """A function that sets the machine."""

    def on(features, has_gpu, installed=()):
        driver = tmp_path / "version"
        if has_gpu:
            driver.write_text("")
        monkeypatch.setattr(rates, "DRIVER", driver)
        monkeypatch.setattr(rates, "_features", lambda: features)
        monkeypatch.setattr(rates, "_is_installed", lambda name: name in installed)
        rates.rates.cache_clear()

    yield on
    rates.rates.cache_clear()


MACHINES = {
    "AVX2": (["avx2"], False, (), AVX2, AVX2),
    "AVX-512": (["avx2", "avx512f"], False, (), AVX512, AVX512),
    "no GPU build": (["avx2"], True, (), AVX2, AVX2),
    "no driver": (["avx2"], False, ("jax-cuda13-plugin",), AVX2, AVX2),
    "GPU": (["avx2", "avx512f"], True, ("jax-cuda13-plugin",), GPU, AVX512),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_table_that_fits(on, name):
    *machine, of_jax, of_torch = MACHINES[name]
    on(*machine)
    assert rates.rates("jax") is TABLES[of_jax]["jax"]
    assert rates.rates("torch") is TABLES[of_torch]["torch"]  # torch computes on processors by default


def test_engines_of_others_have_rates():
    assert rates.rates("abacus") is STRANGER


def test_all_tables_have_all_families():
    families = STRANGER.work.keys()
    assert all(each.work.keys() == families for table in TABLES.values() for each in table.values())
    assert set(TABLES[AVX2]) == set(TABLES[AVX512]) == {*BUILT_IN} - {"openvino"}
