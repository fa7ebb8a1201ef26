"""All cases of the tests of `onnx` for backends, without its large models, on one engine in one process.

python -m tests.formats.onnx.backend_cases numpy                   # all; prints what fails
python -m tests.formats.onnx.backend_cases numpy --only test_gelu  # the ids with this text
python -m tests.formats.onnx.backend_cases numpy --failed          # the ids of the table
python -m tests.formats.onnx.backend_cases numpy --write           # renews the rows of the ids that run

A row of the table has an id, the engines on which it fails, and the reason.  A new row has the reason "?", which a
person replaces.
"""

from __future__ import annotations

import argparse
import functools
import re
import warnings
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

TABLE = Path(__file__).parent / "backend_failures.tsv"
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@functools.cache
def cases() -> dict[str, Any]:
    """The cases by id."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {case.name: case for kind in KINDS for case in load_model_tests(kind=kind)}


def data_of(case: Any, model: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and the results of a case."""
    from onnx.backend.test.runner import Runner, _normalize_tensor

    if case.data_sets is not None:
        for pair in case.data_sets:
            yield tuple([_normalize_tensor(value) for value in part] for part in pair)  # type: ignore[misc]
        return
    reader = Runner.__new__(Runner)
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        parts: list[list[Any]] = []
        for kind, declared in (("input", model.graph.input), ("output", model.graph.output)):
            parts.append([])
            for i in range(len(list(folder.glob(f"{kind}_*.pb")))):
                reader._load_proto(str(folder / f"{kind}_{i}.pb"), parts[-1], declared[i].type)
        yield parts[0], parts[1]


def failure(case: Any) -> str:
    """The reason why a case fails on the current engine; empty if it passes."""
    from onnx.backend.test.runner import Runner

    from dovetail.interop.onnx_backend import DovetailBackend

    model = case.model or onnx.load(f"{case.model_dir}/model.onnx")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            prepared = DovetailBackend.prepare(model)
            for inputs, results in data_of(case, model):
                found = prepared.run(inputs)
                Runner.assert_similar_outputs(results, found, case.rtol, case.atol)
    except Exception as error:  # the reason is kept, whatever it is
        text = re.sub(r" at \w+\.py:\d+", "", " ".join(str(error).split()))
        return f"{type(error).__name__}: {text}"[:300]
    return ""


def failures(engine: str, ids: Sequence[str]) -> dict[str, str]:
    """Ids that fail on an engine → the reason."""
    import dovetail as dt

    with dt.engine(engine):
        found = {name: failure(cases()[name]) for name in ids}
    return {name: reason for name, reason in found.items() if reason}


def table() -> dict[str, tuple[set[str], str]]:
    """Id of a case that fails → the engines, and the reason."""
    rows = (line.split("\t") for line in TABLE.read_text().splitlines())
    return {name: ({*engines.split()}, reason) for name, engines, reason in rows}


def write(engine: str, ran: Sequence[str], failed: Container[str]) -> None:
    """Renew the rows of the cases that ran on an engine; known reasons stay."""
    rows = table()
    for name in ran:
        engines, reason = rows.get(name, (set(), "?"))
        rows[name] = (engines | {engine} if name in failed else engines - {engine}), reason
    kept = sorted((name, " ".join(sorted(engines)), reason) for name, (engines, reason) in rows.items() if engines)
    TABLE.write_text("".join("\t".join(row) + "\n" for row in kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("engine")
    parser.add_argument("--only", default="", help="a text in the ids")
    parser.add_argument("--failed", action="store_true", help="run the cases of the table alone")
    parser.add_argument("--write", action="store_true", help="renew the rows of the cases that run")
    options = parser.parse_args()
    known = {name for name, (engines, _) in table().items() if options.engine in engines}
    ran = [name for name in cases() if options.only in name and (not options.failed or name in known)]
    found = failures(options.engine, ran)
    for name, reason in found.items():
        print(name, reason)
    print(f"{options.engine}: {len(ran) - len(found)} of {len(ran)} pass, {100 - 100 * len(found) / len(ran):.1f} %")
    if options.write:
        write(options.engine, ran, found)


if __name__ == "__main__":
    main()
