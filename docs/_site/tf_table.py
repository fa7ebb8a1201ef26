"""The page of TensorFlow's names: a row for each name, by family, with a filter.

Its sources are the index of names, and the counts of src/dovetail/compat/tensorflow/support.json.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tf_names

from dovetail.compat.tensorflow.entries import INDEX, V1, V2
from dovetail.compat.tensorflow.names.absences import ABSENT
from dovetail.compat.tensorflow.names.session.settings import DOES_NOTHING

ROOT = Path(__file__).parent.parent.parent
FAMILIES = {  # folder of modules → title
    "array": "Tensors",
    "math": "Mathematics",
    "random": "Random numbers",
    "strings": "Strings",
    "image": "Images",
    "nn": "Networks",
    "layers": "Layers",
    "rnn": "Recurrent networks",
    "seq2seq": "Decoders",
    "variables": "Variables",
    "graph": "Graphs and control flow",
    "session": "Sessions, settings and devices",
    "train": "Training",
    "optimizers": "Optimizers",
    "metrics": "Metrics",
    "monitored": "Monitored training",
    "estimators": "Estimators",
    "data": "Input pipelines",
    "io": "Files and records",
    "saving": "Checkpoints and SavedModels",
    "summary": "Summaries and profiles",
    "distributions": "Distributions",
    "contrib": "tf.contrib",
    "": "Others",
}
FILTER = """\
<p class="filter"><label>Show names with
<input id="filter" type="search" placeholder="conv2d, contrib.layers, Session" autocomplete="off"></label>
<span id="filter-count"></span></p>
<script src="../_static/filter.js" defer></script>"""


def page() -> str:
    """The text of the page."""
    support = json.loads(tf_names.FILE.read_text())
    engines = support["engines"]
    versions = ", ".join(f"{name} {support['versions'][name]}" for name in engines)
    counted, _ = tf_names.same_functions(support["names"])
    parts = [
        "# TensorFlow's names",
        f"All {len({*V1, *V2})} names that work here, and names that are not offered with the line to write instead. "
        "[The guide](../tensorflow.md) tells how programs change, and [old programs](../old_programs.md) how they run "
        "as they are.",
        _raw(FILTER),
        "A number counts the runs, eagerly and in graphs, whose values, shapes, dtypes and errors agree with "
        f"TensorFlow {support['versions']['oracle']}: {versions}. Names of one function count together. Engines other "
        "than numpy run a sample. Tests of our own check a name that is “tested”. The others are constants, classes, "
        "settings and second names.",
    ]
    by_family: dict[str, list[list[str]]] = {family: [] for family in FAMILIES}
    for name, views, family in index():
        runs = counted.get(name, {})
        cells = [tf_names.cell(runs, engine).strip("*") for engine in engines] if runs else [_told(name)]
        by_family[family].append([_code(f"tf.{name}"), _where(views), *cells])
    for family, rows in by_family.items():
        parts += [f"## {FAMILIES[family]}", _raw(_table(["name", "in", *engines], rows))]
    reasons = [[_code(f"tf.{name}" + "*" * name.endswith(".")), html.escape(why)] for name, why in ABSENT.items()]
    parts += ["## Not offered", _raw(_table(["name", "why, and the line to write"], reasons))]
    for title, text, table in (
        ("Arguments", "No result depends on these arguments.", tf_names.arguments()),
        ("Settings", "The first session or run with such a setting warns of it.", DOES_NOTHING),
    ):
        rows = [[_code(key + "*" * key.endswith(".")), html.escape(why)] for key, why in table.items()]
        parts += [f"## {title} that do nothing", text, _raw(_table(["name", "why"], rows))]
    return "\n\n".join(parts) + "\n"


def index() -> Iterator[tuple[str, str, str]]:
    """Yield each name that is offered, with its views and its family."""
    for line in (ROOT / "src/dovetail/compat/tensorflow" / INDEX).read_text().splitlines():
        name, views, _, module = line.split(" ", 3)
        family = module.partition(".")[0]
        yield name, views, family if family in FAMILIES else ""


def _told(name: str) -> str:
    return "tested" if tf_names.own_test(name) else "offered"


def _where(views: str) -> str:
    return {"v1": "1", "v2": "2"}.get(views, "1, 2")


def _code(text: str) -> str:
    return f"<code>{html.escape(text)}</code>"


def _table(head: list[str], rows: list[list[Any]]) -> str:
    """A table whose rows the filter hides."""
    body = "\n".join(f"<tr>{_cells(row, len(head))}</tr>" for row in rows)
    titles = "".join(f"<th>{name}</th>" for name in head)
    table = f'<table class="names"><thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table>'
    return f'<div class="table-wrapper">{table}</div>'


def _cells(row: list[Any], count: int) -> str:
    """The cells of a row; the last one is as wide as all that are left."""
    *first, last = row
    left = count - len(first)
    return "".join(f"<td>{cell}</td>" for cell in first) + f'<td colspan="{left}">{last}</td>'


def _raw(text: str) -> str:
    return f"```{{raw}} html\n{text}\n```"
