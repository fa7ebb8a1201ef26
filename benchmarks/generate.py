"""Tokens a second of keras-hub's `generate`: Dovetail, chosen or by engine, against Keras' own backends.

Small models with random weights write 64 tokens after a prompt of 16.  Each way has a process of its own, and ways take
turns.  The table has the seconds from the start of the process to the end of the first call, the tokens a second from
the third call on, for one prompt and for four, and the peak of memory.

It needs keras-hub, which `make test-hub` puts in a folder:

    PYTHONPATH=.keras-hub/newest .venv/bin/python benchmarks/generate.py [GPT2 Gemma Llama] [--times 3]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from processes import as_installed

PROMPT, NEW = 16, 64  # tokens
CALLS = 5  # of which the first two are not counted
WAYS = {  # name → backend of Keras, engine of Dovetail
    "auto": ("dovetail", ""),
    "torch": ("dovetail", "torch"),
    "jax": ("dovetail", "jax"),
    "Keras, torch": ("torch", ""),
    "Keras, jax": ("jax", ""),
    "Keras, tensorflow": ("tensorflow", ""),
}
CHILD = "--child"


def gpt2(hub: Any) -> Any:
    backbone = hub.GPT2Backbone(
        vocabulary_size=1000, num_layers=4, num_heads=4, hidden_dim=256, intermediate_dim=1024, max_sequence_length=128
    )
    return hub.GPT2CausalLM(backbone=backbone, preprocessor=None)


def gemma(hub: Any) -> Any:
    heads = {"num_query_heads": 4, "num_key_value_heads": 4, "head_dim": 64}
    backbone = hub.GemmaBackbone(vocabulary_size=8192, num_layers=4, hidden_dim=256, intermediate_dim=1024, **heads)
    return hub.GemmaCausalLM(backbone=backbone, preprocessor=None)


def llama(hub: Any) -> Any:
    heads = {"num_query_heads": 4, "num_key_value_heads": 4}
    backbone = hub.LlamaBackbone(vocabulary_size=8192, num_layers=4, hidden_dim=256, intermediate_dim=1024, **heads)
    return hub.LlamaCausalLM(backbone=backbone, preprocessor=None)


MODELS = {"GPT2": gpt2, "Gemma": gemma, "Llama": llama}


def run(name: str, started: float) -> dict[str, float]:
    """The figures of this process.

    Args:
        name: of the model.
        started: when the process was started, by the monotonic clock, which all processes share.
    """
    import keras
    import keras_hub

    keras.utils.set_random_seed(0)
    model = MODELS[name](keras_hub.models)
    model.compile(sampler="greedy")
    figures = {}
    for batch in (1, 4):
        tokens = np.random.default_rng(0).integers(2, 1000, (batch, PROMPT + NEW)).astype("int32")
        mask = np.arange(PROMPT + NEW)[None].repeat(batch, 0) < PROMPT
        seconds = []
        for _ in range(CALLS):
            begin = time.perf_counter()
            model.generate({"token_ids": tokens * mask, "padding_mask": mask.astype("int32")}, stop_token_ids=None)
            seconds.append(time.perf_counter() - begin)
            figures.setdefault("first", time.monotonic() - started)
        figures[f"batch {batch}"] = batch * NEW / statistics.median(seconds[2:])
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return figures


def figures_of(name: str, way: str) -> dict[str, float]:
    """The figures of a new process."""
    backend, engine = WAYS[way]
    more = {"KERAS_BACKEND": backend, "DOVETAIL_ENGINE": engine or "auto", "DOVETAIL_CACHE": ""}
    command = [sys.executable, __file__, CHILD, name, str(time.monotonic())]
    done = subprocess.run(command, env={**as_installed(), **more}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{way}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MODELS, []], help="models (all)")
    parser.add_argument("--times", type=int, default=3, help="turns (%(default)s)")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="ways to run (all)")
    options = parser.parse_args()
    for name in options.names or MODELS:
        found = {way: list[dict[str, float]]() for way in options.ways}
        for _ in range(options.times):
            for way, runs in found.items():
                runs.append(figures_of(name, way))
        columns = list(found[options.ways[0]][0])
        print(f"\n| {name} | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")
        for way, runs in found.items():
            cells = [sorted(figures[column] for figures in runs) for column in columns]
            texts = [f"{statistics.median(c):.4g} ({c[0]:.4g} to {c[-1]:.4g})" for c in cells]
            print(f"| {way} | {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    if CHILD in sys.argv:
        print(json.dumps(run(sys.argv[2], float(sys.argv[3]))))
    else:
        main()
