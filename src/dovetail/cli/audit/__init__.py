"""`dovetail audit`: what kind of program each file is, which names it misses, and the share of files that run."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dovetail.cli.audit import k_verdict, keras_verdict, tensorflow_verdict
from dovetail.cli.audit.k_verdict import FAILS, Verdict
from dovetail.cli.audit.report import NEXT, SHOWN, Report, some
from dovetail.compat.run import running
from dovetail.compat.run.decide import KINDS, Decision, decide
from dovetail.compat.source.sources import Source, Unread, imported_files, read
from dovetail.compat.source.uses import Use, find, of_k, of_keras, of_tensorflow
from dovetail.core.base.texts import table
from dovetail.core.engines.engine_registry import known_engines

DESCRIPTION = """\
Tells what kind of program each file is (TensorFlow 1 or 2, Keras 2 or 3), which names of TensorFlow, Keras and its
backend it uses that do not work, with what to write, and the share of files that run.  Reads .py files and the code of
.ipynb notebooks; nothing is executed.
"""

EXAMPLES = """\
examples:
  dovetail audit train.py model.ipynb            these files
  dovetail audit src/ --verbose                  all files of a folder; every place
  dovetail audit src/ --engine jax --json        on one engine, for programs
  dovetail audit src/ --only K                   the functions of the Keras backend, each with its engines
  dovetail audit src/ --only tf --verbose        the names of TensorFlow; every place

`dovetail run train.py` runs a program as it is.
The exit status is 0 if all works, 1 if something does not, 2 if a path is wrong.
"""


class Subject(NamedTuple):
    """A module whose names are audited.

    Attributes:
        of: all uses → those of its names.
        judge: (uses, engines) → name → verdict.
        engines: () → the engines that the names were tested on.
    """

    of: Callable[[list[Use]], list[Use]]
    judge: Callable[[Iterable[Use], Sequence[str]], dict[str, Verdict]]
    engines: Callable[[], list[str]]


SUBJECTS = {
    "tf": Subject(of_tensorflow, tensorflow_verdict.judge, tensorflow_verdict.tested_engines),
    "keras": Subject(of_keras, keras_verdict.judge, tensorflow_verdict.tested_engines),
    "K": Subject(of_k, k_verdict.judge, k_verdict.tested_engines),
}


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a .py file, a notebook, or a folder")
    parser.add_argument(
        "--engine",
        action="append",
        choices=known_engines(),
        help="an engine to run on; may be given several times (default: all that the names were tested on)",
    )
    parser.add_argument("--only", choices=SUBJECTS, help="the names of TensorFlow, of Keras, or of its backend alone")
    parser.add_argument("--verbose", action="store_true", help="show every place")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Print the report and return the exit status: 1 if anything does not work, 2 if a path has nothing to read."""
    only: str | None = options.only
    try:
        sources, unread = read(options.paths)
    except FileNotFoundError as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return 2
    uses, reports = find(sources), {}
    with running("tf1"):  # its views have all names, and Keras has the names of Keras 2
        for name in [only] if only else SUBJECTS:
            used = SUBJECTS[name].of(uses)
            verdicts = SUBJECTS[name].judge(
                [use for use in used if use.name], options.engine or SUBJECTS[name].engines()
            )
            reports[name] = Report(sources, unread if only else (), used, verdicts, name)
    if only:
        print(reports[only].as_json() if options.json else reports[only].as_text(options.verbose))
    else:
        files = audited(sources, unread, uses, reports.values())
        print(as_json(files, reports) if options.json else as_text(files, reports, options.verbose))
    return int(any(report.in_state(FAILS) for report in reports.values()))


class File(NamedTuple):
    """A file that uses TensorFlow or Keras.

    Attributes:
        decision: its kind.
        misses: the names in it that do not work on some engine, and why parts of it cannot be read.
        runs: whether neither it nor the files that it imports miss anything.
    """

    path: str
    decision: Decision
    misses: list[str]
    runs: bool


def audited(
    sources: Sequence[Source], unread: Iterable[Unread], found: Iterable[Use], reports: Iterable[Report]
) -> list[File]:
    """Judge each file, with the files that it imports."""
    uses: dict[str, list[Use]] = {source.path: [] for source in sources}
    for use in found:
        uses[use.place.path].append(use)
    misses: dict[str, list[str]] = {source.path: [] for source in sources}
    for each in unread:
        misses[each.place.path].append(f"{each.place}: {each.why}")
    for report in reports:
        for name in report.in_state(FAILS):
            for path in dict.fromkeys(use.place.path for use in report.uses[name]):
                misses[path].append(f"{report.subject}.{name}")
    files = []
    for source in sources:
        parts = imported_files(source, sources)
        decision = decide(parts, [use for part in parts for use in uses[part.path]])
        if decision.is_shown or misses[source.path]:
            runs = not any(misses[part.path] for part in parts)
            files.append(File(source.path, decision, misses[source.path], runs))
    return files


def summary(files: Sequence[File]) -> str:
    """The first line: `3 of 4 files that use TensorFlow or Keras run (75%), as far as names tell.`"""
    if not files:
        return "No file uses TensorFlow or Keras."
    runs = sum(file.runs for file in files)
    share = f"{runs} of {len(files)} files that use TensorFlow or Keras"
    return f"{share} run ({runs / len(files):.0%}), as far as names tell."


def as_text(files: Sequence[File], reports: dict[str, Report], verbose: bool) -> str:
    """The whole report."""
    rows = [("file", "kind", "runs", "misses")]
    for path, decision, misses, runs in files:
        rows.append(
            (path, KINDS[decision.kind], "yes" if runs else "no", some(misses, len(misses) if verbose else SHOWN))
        )
    parts = [summary(files), table(rows) if files else ""]
    parts += [f"{name}: {report.as_text(verbose, True)}" for name, report in reports.items() if report.uses]
    parts.append(NEXT if files else "")
    return "\n\n".join(filter(None, parts))


def as_json(files: Sequence[File], reports: dict[str, Report]) -> str:
    """The report for programs to read."""
    told = [
        {"file": path, "kind": decision.kind, "why": decision.why, "misses": misses, "runs": runs}
        for path, decision, misses, runs in files
    ]
    names = {name: report.as_data() for name, report in reports.items()}
    return json.dumps({"summary": summary(files), "files": told, "names": names}, indent=2)
