"""The pages of docs/k: one for each function of K, their index, the differences from tf.keras, and the support.

`make pages` writes them; they are not in the repository.

Their sources are the docstrings and signatures, src/dovetail/backend/support.json and the parity suite's cases.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.backend.parity import oracle
from tests.backend.test_parity import CASES

import dovetail
from dovetail import backend
from dovetail.backend.docstring import Docstring, read, says, takes_more
from dovetail.backend.table import FUNCTIONS

RANDOM = "tests/backend/test_random.py::test_a_seed_gives_one_sequence_on_every_engine_and_in_every_way"
CTC_GRADIENT = (
    "tests/ops/sequence/test_ctc.py::test_the_gradient_is_that_of_tensorflow_and_zero_where_labels_are_impossible"
)
CTC_LABELS = "tests/backend/test_ctc.py::test_labels_become_sparse_in_a_compiled_function"
PINNED_BY_TESTS = {  # function, a part of the sentence → the test, if no case can pin it
    **{
        (name, "others than TensorFlow's"): RANDOM
        for name in ("random_normal", "truncated_normal", "random_uniform", "random_bernoulli", "random_binomial")
    },
    ("random_uniform_variable", "others than TensorFlow's"): RANDOM,
    ("random_normal_variable", "others than TensorFlow's"): RANDOM,
    ("dropout", "other elements"): RANDOM,
    ("softmax", "NaN or infinity"): "tests/backend/test_activation.py::test_softmax_of_nan_and_infinity_is_nan",
    ("ctc_batch_cost", "gradient is zero"): CTC_GRADIENT,
    ("ctc_label_dense_to_sparse", "where jax compiles"): CTC_LABELS,
    ("depthwise_conv2d", "strides and dilation"): "tests/backend/test_convolution.py::test_refused",
    ("separable_conv2d", "strides and dilation"): "tests/backend/test_convolution.py::test_refused",
    ("resize_images", "a factor"): "tests/backend/test_images.py::test_refused",
    ("local_conv1d", "strides of 0"): "tests/backend/test_images.py::test_refused",
    ("placeholder", "ragged placeholders"): "tests/backend/test_symbolic.py::test_placeholders_that_are_not_offered",
    ("placeholder", "rank of a sparse"): "tests/backend/test_feeding.py::test_messages",
    ("learning_phase", "running Keras"): "tests/backend/test_phase.py::test_a_running_layer_of_keras_is_asked_first",
    ("set_session", "no session"): "tests/backend/test_session.py::test_mistakes",
    ("clear_session", "threads"): "tests/backend/test_session.py::test_each_thread_has_a_default_graph_of_its_own",
}

FOLDER = ROOT / "docs/k"
SUPPORT = json.loads((ROOT / "src/dovetail/backend/support.json").read_text())
MADE = "<!-- made by docs/k_pages.py: edit the docstrings instead -->"
IMPORT = "from dovetail import backend as K"


def pages() -> dict[str, str]:
    """File name → text."""
    made = {f"{name}.md": page(name) for name in FUNCTIONS}
    return made | {"README.md": index(), "differences.md": differences(), "support.md": support()}


# -- one function -----------------------------------------------------------------------------------------------------


def page(name: str) -> str:
    """The page of a function."""
    doc = read(FUNCTIONS[name])
    parts = [
        f"# {through(name)}",
        f"```python\n{through(name)}{signature(FUNCTIONS[name])}\n```",
        doc.summary,
        doc.text,
        *_titled("Arguments", items(doc.sections.get("Args", ""))),
        *_titled("Returns", doc.sections.get("Returns", "")),
        *_titled("Raises", items(doc.sections.get("Raises", ""))),
        *_titled("Differs from tf.keras", "\n".join(f"- {capital(text)}" for text in doc.differences)),
        *_titled("Example", example(name, doc)),
        *_titled("Today", doc.sections.get("Modern", "")),
        *_titled("Source", doc.sections.get("Source", "")),
        tested(name),
        "[All functions](README.md) · [differences](differences.md) · [support](support.md)",
        MADE,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def through(name: str) -> str:
    """The name by which programs reach a function."""
    return f"K.{name}" if name in vars(backend) else f"K.experimental.{name}"


def _titled(title: str, text: str) -> list[str]:
    return [f"## {title}", text] if text else []


def signature(function: Callable[..., Any]) -> str:
    """The parameters and their defaults, without annotations: the page describes each parameter in words."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def items(section: str) -> str:
    """A Markdown list of lines `name: text`, which may continue on indented lines."""
    found = [" ".join(line.split()) for line in re.split(r"\n(?! )", section) if line]
    return "\n".join(re.sub(r"^([^:]+):", lambda names: f"- {code(names[1])}:", line) for line in found)


def code(names: str) -> str:
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def tested(name: str) -> str:
    """The sentence with the results of the suite."""
    return f"{results(SUPPORT['functions'].get(name, {}))} [How this was counted](support.md)."


# -- examples ---------------------------------------------------------------------------------------------------------


def example(name: str, doc: Docstring) -> str:
    """The doctest of a function as blocks of Python and of their output.

    In its module the doctest calls the functions of K by their bare names; here they are called through K.
    """
    module = sys.modules[FUNCTIONS[name].__module__]
    found = doctest.DocTestParser().get_examples(doc.sections.get("Example", ""))
    imports: set[str] = set()
    blocks, lines = [], []
    for one in found:
        lines.append(through_k(one.source, vars(module), imports).rstrip("\n"))
        if one.want:
            blocks.append(["\n".join(lines), one.want.replace("<BLANKLINE>", "")])
            lines = []
    if lines:
        blocks.append(["\n".join(lines), ""])
    if blocks:
        blocks[0][0] = "\n".join([*sorted(imports), IMPORT, "", blocks[0][0]])
    return "\n\n".join(
        f"```python\n{source}\n```" + (f"\n\n```text\n{given.rstrip()}\n```" if given else "")
        for source, given in blocks
    )


def through_k(source: str, names: dict[str, Any], imports: set[str]) -> str:
    """Put `K.` before the functions of K in a line of a doctest, and add its other names to `imports`."""
    source = re.sub(r"\s*# doctest:.*", "", source)
    lines = source.splitlines()
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id in names]
    for node in sorted(found, key=lambda node: (node.lineno, -node.col_offset)):
        if names[node.id] is FUNCTIONS.get(node.id):
            line, prefix = lines[node.lineno - 1].encode(), through(node.id).removesuffix(node.id)
            lines[node.lineno - 1] = (line[: node.col_offset] + prefix.encode() + line[node.col_offset :]).decode()
        elif node.id != "K" and isinstance(node.ctx, ast.Load):
            imports.add(_import(node.id, names[node.id]))
    return "\n".join(lines)


def _import(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        package, _, module = value.__name__.rpartition(".")
        if name != module:
            return f"import {value.__name__} as {name}"
        return f"from {package} import {module}" if package else f"import {module}"
    if getattr(dovetail, name, None) is not value:
        raise ValueError(f"an example uses {name}, which readers cannot import from dovetail")
    return f"from dovetail import {name}"


# -- all functions ----------------------------------------------------------------------------------------------------


def families() -> Iterator[tuple[str, str, list[str]]]:
    """Yield each module, its purpose, and its functions."""
    in_order = sorted(FUNCTIONS, key=lambda name: (FUNCTIONS[name].__module__, name))
    for module, names in groupby(in_order, lambda name: FUNCTIONS[name].__module__):
        yield module.rpartition(".")[2], (sys.modules[module].__doc__ or "").partition("\n")[0], list(names)


def index() -> str:
    """The list of all functions."""
    parts = [
        "# The functions of K",
        f"`{IMPORT}`: the classic Keras backend, on every engine. [The guide](../k.md) shows how to bring programs; "
        "[differences](differences.md) lists the results that differ from tf.keras, and [support](support.md) the runs "
        "on each engine. The examples are the docstrings' own, and run as tests there. As in a notebook, a block shows "
        "the value of its last line.",
    ]
    for family, purpose, names in families():
        rows = [f"| [`{name}`]({name}.md) | {cell(read(FUNCTIONS[name]).summary)} |" for name in names]
        parts += [f"## {capital(family)}", purpose, "\n".join(["| | |", "| --- | --- |", *rows])]
    return "\n\n".join([*parts, MADE]) + "\n"


def pinned() -> tuple[dict[tuple[str, str], list[str]], list[str]]:
    """(function, sentence of its docstring) → the cases and tests that pin that difference; and a list of mistakes.

    Mistakes are reasons of cases that no docstring gives, and sentences that nothing pins.
    """
    sentences = [(name, sentence) for name in FUNCTIONS for sentence in read(FUNCTIONS[name]).differences]
    found: dict[tuple[str, str], list[str]] = {key: [] for key in sentences}
    wrong = []
    for case in CASES:
        if case.differs and hasattr(oracle(), case.functions[0]):
            said = [(n, text) for n, text in sentences if n in case.functions and says(text, case.differs)]
            for key in said:
                found[key].append(str(case))
            if not said:
                wrong.append(f"{case} differs since {case.differs!r}, which the docstring does not say")
    for (name, start), test in PINNED_BY_TESTS.items():
        for key in sentences:
            if key[0] == name and says(key[1], start):
                found[key].append(test)
    return found, wrong + [f"nothing pins, of {name}: {text}" for (name, text), pins in found.items() if not pins]


def differences() -> str:
    """The tables of all differences, each with the cases that pin it."""
    pins, _ = pinned()
    rows: dict[bool, list[str]] = {True: [], False: []}
    for name in sorted(FUNCTIONS):
        for sentence in read(FUNCTIONS[name]).differences:
            cases = "<br>".join(f"`{cell(case)}`" for case in pins[name, sentence])
            rows[takes_more(sentence)].append(f"| [`{name}`]({name}.md) | {cell(capital(sentence))} | {cases} |")
    head = "| function | difference | pinned by the case |\n| --- | --- | --- |\n"
    parts = [
        "# Where K differs from tf.keras",
        "The reference is `tf_keras.backend`, with which the parity suite (`tests/backend`) compares every function. "
        "These differences are on purpose, and a case of the suite pins each of them.",
        "## Other results",
        head + "\n".join(rows[False]),
        "## What tf.keras refuses and Dovetail computes",
        "A program of tf.keras never meets these; `dovetail audit` counts such functions as working.",
        head + "\n".join(rows[True]),
        MADE,
    ]
    return "\n\n".join(parts) + "\n"


# -- support ----------------------------------------------------------------------------------------------------------


def totals(entry: dict[str, Any]) -> dict[str, list[int]]:
    """Engine → the numbers of runs that agree, that differ as pinned, and that fail, over all ways."""
    found: dict[str, list[int]] = {}
    for engines in entry.values():
        for engine, counts in engines.items():
            found[engine] = [sum(pair) for pair in zip(found.get(engine, [0, 0, 0]), counts, strict=True)]
    return found


def results(entry: dict[str, Any]) -> str:
    """The results of the suite for one function, in words."""
    if "uncompared" in entry:
        return f"Not compared with tf.keras: {entry['uncompared']}."
    texts: dict[str, list[str]] = {}
    for engine, counts in totals(entry).items():
        texts.setdefault(verdict(counts), []).append(engine)
    said = "; ".join(f"{text} on {' and '.join(engines)}" for text, engines in texts.items())
    return f"Runs of the parity suite: {said}."


def verdict(counts: list[int]) -> str:
    """Counts in words."""
    agree, differ, fail = counts
    if fail:
        return f"**fails {fail} of {sum(counts)}**"
    return f"works {agree}" if not differ else f"works {agree}, differs {differ}"


def support() -> str:
    """The table of functions × engines."""
    versions = ", ".join(f"{name} {number}" for name, number in SUPPORT["versions"].items())
    engines = [name for name in SUPPORT["versions"] if name not in ("python", "dovetail", "tf_keras")]
    entries = SUPPORT["functions"]
    rows, uncompared, absent = [], [], []
    for name in sorted(entries):
        if "absent" in entries[name]:
            absent.append(f"| `{name}` | {cell(entries[name]['absent'])} |")
        elif "uncompared" in entries[name]:
            uncompared.append(f"| [`{name}`]({name}.md) | {cell(entries[name]['uncompared'])} |")
        else:
            found = totals(entries[name])
            cells = " | ".join(verdict(found[engine]) if engine in found else "" for engine in engines)
            rows.append(f"| [`{name}`]({name}.md) | {cells} |")
    ruled = " | ".join(["---"] * len(engines))
    parts = [
        "# What works on which engine",
        f"Counted while the parity suite ran: {versions}. A number counts the runs whose values, shapes, dtypes and "
        "errors agree with tf.keras, or with the case if tf.keras lacks the function. A run is a case in one of three "
        "ways: eagerly, inside `dovetail.function`, and on placeholders. If a function differs from tf.keras on "
        "purpose, the number of runs that pin it follows; [differences](differences.md) lists these differences.",
        "\n".join([f"| function | {' | '.join(engines)} |", f"| --- | {ruled} |", *rows]),
        "## Not compared",
        "\n".join(["| function | why |", "| --- | --- |", *uncompared]),
        "## Not in K",
        "Names of old Keras versions that programs may use:",
        "\n".join(["| name | why, and what to use |", "| --- | --- |", *absent]),
        MADE,
    ]
    return "\n\n".join(parts) + "\n"


# -- the command ------------------------------------------------------------------------------------------------------


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.md"):
        path.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
