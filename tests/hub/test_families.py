"""keras-hub's families: the same numbers and tokens on Dovetail's engines as on Keras' own backend."""

from __future__ import annotations

import numpy as np
import pytest

from tests import keras_backends
from tests.libraries import require

require("keras_hub", "`make test-hub` tests its models")
require("jax", "it computes the numbers to compare with")

PROGRAMS = "tests.hub.families_checks"
WRITERS = ("GPT2", "Gemma", "Llama", "Mistral", "Qwen")
FAMILIES = (*WRITERS, "Bert", "T5", "Whisper", "ViT", "ResNet", "CLIP", "SAM")
GENERATED = (*WRITERS, *(f"by_{sampler}" for sampler in ("greedy", "beam", "contrastive", "top_k", "top_p")), "until")


def agree(name, engine, other="", **tolerance):
    wanted = keras_backends.result(PROGRAMS, other or name, "jax")
    found = keras_backends.result(PROGRAMS, name, "dovetail", engine=engine)
    assert len(found) == len(wanted) > 0
    for ours, theirs in zip(found, wanted, strict=True):
        scale = np.abs(theirs).max(initial=1.0)
        np.testing.assert_allclose(ours, theirs, atol=1e-5 * scale, **tolerance)


@pytest.mark.parametrize("family", FAMILIES)
def test_outputs(engine, family):
    agree(f"forward_{family}", engine, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_steps(engine, family):
    agree(f"steps_{family}", engine, rtol=1e-5)


@pytest.mark.parametrize("name", GENERATED)
def test_tokens(engine, name):
    """Check tokens; of these draws the likeliest ones are left, and older versions fail to draw on this JAX."""
    agree(f"generated_{name}", engine, "generated_by_greedy" if name in ("by_top_k", "by_top_p") else "")


@pytest.mark.parametrize("name", ["check_it_is_a_program", "check_lora_is_seen"])
def test_programs(name):
    keras_backends.check(PROGRAMS, name, "dovetail")


def test_text_in_and_out(engine):
    """Check prompts and answers as text, through a tokenizer."""
    wanted = keras_backends.result(PROGRAMS, "text", "jax")
    assert keras_backends.result(PROGRAMS, "text", "dovetail", engine=engine) == wanted
