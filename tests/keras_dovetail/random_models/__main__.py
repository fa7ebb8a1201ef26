"""Run random models on Keras' own backends and on Dovetail, and print the programs that differ.

python -m tests.keras_dovetail.random_models --count 150 --engines numpy torch jax tensorflow
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from tests.keras_dovetail.random_models.compare import verdict_on
from tests.keras_dovetail.random_models.program import program
from tests.libraries import compile_quickly

WAYS = ("numpy", "torch", "jax", "tensorflow", "turns")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=150, help="of programs (150)")
    parser.add_argument("--seeds", nargs="+", type=int, help="these programs, rather than --count of them")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--engines", nargs="+", default=list(WAYS), choices=WAYS, help="to run on (all, and in turns)")
    parser.add_argument(
        "--oracles", nargs="+", default=["torch", "jax", "tensorflow"], help="Keras' own backends, see verdict_on"
    )
    parser.add_argument("--show", action="store_true", help="print the programs")
    options = parser.parse_args()
    compile_quickly()
    start, counts = time.monotonic(), Counter[str]()
    seeds = options.seeds or range(options.first, options.first + options.count)
    for seed in seeds:
        made = program(seed)
        if options.show:
            print(json.dumps(made, indent=1))
        verdict = verdict_on(made, options.oracles, options.engines)
        counts[verdict.kind] += 1
        if verdict.differences:
            print(f"seed {seed}: {verdict.kind}; Keras' backends: {verdict.differences}", flush=True)
        for way, problem in verdict.problems.items():
            print(f"seed {seed}: Dovetail on {way}: {problem}", flush=True)
    kinds = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
    print(f"programs: {len(seeds)}, {kinds}, {time.monotonic() - start:.0f} s")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
