"""The page docs/tensorflow_names.md: the names of TensorFlow that work on each engine, counted from runs of the cases.

- `pytest tests/compat/tensorflow/test_parity.py --tf-support runs.jsonl` runs the cases.
- `python docs/tf_names.py runs.jsonl` counts them: it writes src/dovetail/compat/tensorflow/support.json, and the page.
- `python docs/tf_names.py` writes the page.
- `python docs/tf_names.py --check` says whether the page is stale; status 1 if so.

The file support.json has the engines and versions that ran, and for each name and engine the numbers of runs that agree
with TensorFlow and that do not.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

from dovetail.compat.tensorflow.entries import V1, V2
from dovetail.compat.tensorflow.names.absences import ABSENT
from dovetail.compat.tensorflow.names.array.sparse_math import ROWS as SPARSE
from dovetail.compat.tensorflow.names.graph.states import ANSWERS, SETTINGS
from dovetail.compat.tensorflow.names.old_words import NAMES as OLD_WORDS
from dovetail.compat.tensorflow.names.session.settings import DOES_NOTHING
from dovetail.compat.tensorflow.unread import INTERFACE, TENSORFLOW

FILE = ROOT / "src/dovetail/compat/tensorflow/support.json"
PAGE = ROOT / "docs/tensorflow_names.md"
MADE = "<!-- made by docs/tf_names.py -->"
DEVICES = ("set_soft", "get_soft", "set_visible", "get_visible", "experimental.set_visible", "experimental.get_visible")
COLUMNS = "real_valued", "sparse_column", "embedding_column", "one_hot_c", "bucketized", "crossed", "input_from"
NAMES = "dovetail.compat.tensorflow.names."
OWN_TESTS = {  # the beginning of names that our own tests check → the test file
    "contrib.tensor_forest": "test_forests.py",
    "contrib.slim.nets": "test_nets.py",
    **dict.fromkeys([f"estimator.{name}" for name in ("export.", "Latest", "Final", "Best")], "test_exports.py"),
    "contrib.estimator.clip": "test_optimizers.py",
    "contrib.learn.datasets": "test_learn_datasets.py",
    **dict.fromkeys(
        ["contrib.seq2seq.Beam", "contrib.seq2seq.FinalBeam", "contrib.seq2seq.gather_tree"], "test_beams.py"
    ),
    **dict.fromkeys(
        [
            "contrib.losses.metric_learning",
            "contrib.sparsemax",
            "contrib.resampler",
            "contrib.predictor",
            "contrib.distributions.percentile",
        ],
        "test_contrib_rare.py",
    ),
    "contrib.image.dense_image_warp": "test_contrib_rare.py",
    **dict.fromkeys(["saved_model.classification_s", "saved_model.regression_s"], "test_contrib_rare.py"),
    **dict.fromkeys([f"contrib.layers.{what}" for what in COLUMNS], "test_contrib_learn.py"),
    **dict.fromkeys(
        [
            "strings.split",
            "strings.bytes_split",
            "strings.format",
            "strings.unicode_t",
            "timestamp",
            "write_file",
            "io.write_file",
            "io.serialize_tensor",
            "io.parse_tensor",
            "serialize_tensor",
            "parse_tensor",
        ],
        "test_pieces.py",
    ),
    **dict.fromkeys([*ANSWERS, *SETTINGS.split()], "test_states.py"),
    **dict.fromkeys(
        [
            "resource_loader",
            "init_scope",
            "inside_function",
            "is_symbolic_tensor",
            "get_static_value",
            "grad_pass_through",
            "get_seed",
            "random.get_seed",
            "random_poisson",
            "executing_eagerly_o",
        ],
        "test_states.py",
    ),
    **dict.fromkeys(
        [f"contrib.{place}.{name}" for place in ("framework", "slim") for name in ("with_s", "zero_i")],
        "test_contrib.py",
    ),
    **dict.fromkeys(["contrib.framework", "contrib.layers", "contrib.slim", "contrib.losses"], "test_old.py"),
    **dict.fromkeys(
        ["contrib.metrics", "contrib.training", "train.assert_global_step", "train.checkpoints_iterator"], "test_old.py"
    ),
    **dict.fromkeys(
        [
            *("strings.", "string_", "as_string", "dtypes.as_string", "regex_replace", "substr", "reduce_join"),
            *("encode_base64", "decode_base64", "decode_csv", "read_file", "matching_files", "lookup.", "ReaderBase"),
            *("io.encode_base64", "io.decode_", "io.read_file", "io.matching_files", "train.match_filenames_once"),
            *("contrib.lookup.", "image.decode_", "TFRecordReader", "TextLineReader", "WholeFileReader"),
            *("IdentityReader", "FixedLengthRecordReader", "train.string_input_producer"),
        ],
        "test_strings.py",
    ),
    "contrib.factorization": "test_clustering.py",
    "estimator.experimental.KMeans": "test_clustering.py",
    "contrib.training.bucket": "test_queues.py",
    "contrib.graph_editor": "test_graph_editor.py",
    "graph_util": "test_graph_editor.py",
    "data.": "test_data.py",
    "test.": "test_testing.py",
    "distribute.": "test_devices.py",
    "layers.": "test_old.py",
    "flags": "test_flags.py",
    **dict.fromkeys(OLD_WORDS, "test_old_words.py"),
    **dict.fromkeys(["signal.", "contrib.signal", "spectral.", "manip."], "test_old.py"),
    "contrib.tensorboard": "test_summary.py",
    "contrib.crf": "test_crf.py",
    "contrib.eager": "test_eager.py",
    "contrib.learn.preprocessing": "test_contrib.py",
    "contrib.learn": "test_contrib_learn.py",
    "contrib.ctc": "test_old.py",
    "app.": "test_flags.py",
    "raw_ops": "test_graph_editor.py",
    "import_graph_def": "test_graph_editor.py",
    "GraphDef": "test_graph_editor.py",
    "summary.trace_": "test_profiler.py",
    "profiler.experimental": "test_profiler.py",
    "summary": "test_summary.py",
    "Summary": "test_summary.py",
    "train.Saver": "test_checkpoints.py",
    "train.Checkpoint": "test_checkpoints.py",
    "train.latest_checkpoint": "test_checkpoints.py",
    "train.list_variables": "test_checkpoints.py",
    "train.NewCheckpointReader": "test_checkpoints.py",
    "train.checkpoint_exists": "test_checkpoints.py",
    "gfile": "test_checkpoints.py",
    "io.": "test_checkpoints.py",
    "load_": "test_checkpoints.py",
    "train.write_graph": "test_checkpoints.py",
    **dict.fromkeys(
        [f"train.{what}" for what in ("generate_", "remove_", "get_checkpoint_m", "init_from_")], "test_checkpoints.py"
    ),
    "contrib.distributions.": "test_distributions.py",
    "contrib.training.": "test_hparams.py",
    **dict.fromkeys(["metrics.", "distributions.", "confusion_matrix", "math.confusion_matrix"], "test_old.py"),
    **{
        name: test
        for module, test in {
            "train.coordinator": "test_training.py",
            "train.session_manager": "test_training.py",
            "train.supervisor": "test_training.py",
            "monitored": "test_monitored.py",
            "random.samplers": "test_samplers.py",
        }.items()
        for name, found in V1.items()
        if getattr(found, "__module__", "").startswith(f"{NAMES}{module}")
    },
    **dict.fromkeys(["contrib.opt.Ext", "contrib.opt.Sci"], "test_external_optimizers.py"),
    "contrib.opt.": "test_optimizers.py",
    **dict.fromkeys(
        [f"train.{what}" for what in ("Proximal", "AdagradDA", "cosine_decay_r", "linear_c", "noisy_l")], "test_old.py"
    ),
    **dict.fromkeys(["uniform_c", "log_uniform_c", "fixed_unigram_c", "learned_unigram_c"], "test_samplers.py"),
    **dict.fromkeys(" ".join(SPARSE).split(), "test_old.py"),
    **dict.fromkeys(["Dimension", "sparse_to_dense", "scatter_mul", "scatter_div"], "test_old.py"),
    **dict.fromkeys(
        [f"{where}{check}" for where in ("", "debugging.") for check in ("assert_", "is_numeric")]
        + [
            "bitwise.",
            "image.resize_bicubic",
            "image.resize_area",
            "contrib.image",
        ]
        + ["count_up_to", "train.warm_start", "orthogonal_i", "initializers.orth", "initializers.id"],
        "test_old.py",
    ),
    **dict.fromkeys(["logging.log_", "logging.vlog", "get_logger", "string", "dtypes.string"], "test_contrib.py"),
    **dict.fromkeys(
        ["add_check_numerics_ops", "debugging.enable_check_numerics", "debugging.disable_check_numerics"],
        "test_python_calls.py",
    ),
    **dict.fromkeys(["compat.", "dimension_"], "test_names.py"),
    **dict.fromkeys(
        [
            *("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue", "queue."),
            *("train.QueueRunner", "train.queue_runner", "train.add_queue", "train.start_queue"),
            *("train.batch", "train.shuffle_batch", "train.limit_epochs"),
            *("train.input_producer", "train.range_input_producer", "train.slice_input_producer"),
        ],
        "test_queues.py",
    ),
    "python.": "test_modules.py",
    **dict.fromkeys(
        ["ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "Run", "config.threading"], "test_settings.py"
    ),
    "debugging.set_log_device_placement": "test_settings.py",
    "debugging.get_log_device_placement": "test_settings.py",
    **dict.fromkeys(
        [f"config.{what}" for what in ("LogicalDeviceC", "set_logical_device_c", "get_logical_device_c")]
        + [f"config.experimental.{what}" for what in ("get_memory", "set_memory", "reset_memory")]
        + [f"config.experimental.{what}" for what in ("VirtualDevice", "get_virtual", "set_virtual")],
        "test_memory.py",
    ),
    "IndexedSlices": "test_modes.py",
    "SparseTensorValue": "test_modes.py",
    "sparse_placeholder": "test_modes.py",
    "sparse.placeholder": "test_modes.py",
    **dict.fromkeys(
        ["nn.rnn", *(f"nn.{name}" for name in ("dynamic_rnn", "static_", "bidirectional_", "raw_rnn"))],
        "test_old.py",
    ),
    **dict.fromkeys(
        [f"contrib.rnn.{what}" for what in ("stack_", "LSTMBlockFused", "TimeReversed")], "test_rnn_loops.py"
    ),
    **dict.fromkeys(["contrib.rnn", "contrib.cudnn_rnn"], "test_rnn.py"),
    **dict.fromkeys(["nn.seq2seq", "contrib.legacy_seq2seq", "contrib.seq2seq"], "test_legacy_seq2seq.py"),
    **dict.fromkeys(["print", "Print"], "test_python_calls.py"),
    **dict.fromkeys(["DeviceSpec", *(f"config.{what}" for what in DEVICES)], "test_devices.py"),
    **dict.fromkeys(
        [
            *("InteractiveSession", "reset_default_graph", "disable_eager_execution", "disable_v2_behavior"),
            *("enable_eager_execution", "enable_v2_behavior", "is_variable_initialized"),
            *("assert_variables_initialized", "report_uninitialized_variables"),
            *("random.set_seed", "set_random_seed", "random.set_random_seed"),
            *("config.", "logging.", "errors.", "NotDifferentiable", "NoGradient", "no_gradient"),
        ],
        "test_modes.py",
    ),
}


def count(path: Path) -> dict[str, Any]:
    """The runs in a file, by name.

    Raises:
        ValueError: a case says that it tests a name that Dovetail does not offer.
    """
    first, *lines = map(json.loads, path.read_text().splitlines())
    names: dict[str, dict[str, list[int]]] = {}
    for said in lines:
        for written in said["functions"]:
            name = written.removeprefix("compat.v1.")
            if name not in V1 and name not in V2:
                raise ValueError(
                    f"a case of {said['functions']} names {written!r}, which is no name of TensorFlow's here."
                )
            runs = names.setdefault(name, {}).setdefault(said["engine"], [0, 0])
            runs[not said["passed"]] += 1
    versions = first["versions"]
    engines = [name for name in versions if any(name in found for found in names.values())]
    return {"engines": engines, "versions": versions, "names": dict(sorted(names.items()))}


def page() -> str:
    """The text of the page."""
    support = json.loads(FILE.read_text())
    engines = support["engines"]
    versions = ", ".join(f"{name} {support['versions'][name]}" for name in engines)
    counted, others = same_functions(support["names"])
    rows = [
        f"| `tf.{name}` | {' | '.join(cell(counted[name], engine) for engine in engines)} |" for name in sorted(counted)
    ]
    untested = [f"`tf.{name}`{own_test(name)}" for name in others]
    why: dict[str, list[str]] = {}
    for name, reason in ABSENT.items():
        why.setdefault(reason, []).append(f"`tf.{name}`" if not name.endswith(".") else f"`tf.{name}*`")
    refused = [f"| {', '.join(names)} | {reason.replace('|', '/')} |" for reason, names in why.items()]
    parts = [
        "# TensorFlow's names: what works on which engine",
        "Counted while the cases of `tests/compat/tensorflow` ran, against TensorFlow "
        f"{support['versions']['oracle']}: {versions}. A number counts the runs, eagerly and in graphs, whose values, "
        "shapes, dtypes and errors agree with TensorFlow; names of one function count together. Engines other than "
        "numpy run a sample. [The guide](tensorflow.md) lists the differences.",
        f"Of {len({*V1, *V2})} names, {1 - len(written_alone()) / len({*V1, *V2}):.0%} come from rows: a line of a "
        "table makes the function, gives TensorFlow's words to one of Dovetail's, or gives a second name.",
        "\n".join([f"| name | {' | '.join(engines)} |", f"| --- |{' --- |' * len(engines)}", *rows]),
        "## Offered, and not among the cases",
        "The file after a name has its tests; the other names are constants, classes, settings and second names.",
        ", ".join(untested) + ".",
        "## Not offered",
        "\n".join(["| names | why, and what to write |", "| --- | --- |", *refused]),
        "## Arguments that do nothing",
        "No code reads these arguments, since no result depends on them. All other arguments act, or raise an error.",
        "\n".join(["| arguments | why |", "| --- | --- |", *by_reason(arguments())]),
        "## Settings that do nothing",
        "The first session or run with such a setting warns of it.",
        "\n".join(["| of `tf.ConfigProto` and `tf.RunOptions` | why |", "| --- | --- |", *by_reason(DOES_NOTHING)]),
        MADE,
    ]
    return "\n\n".join(parts) + "\n"


def written_alone() -> list[str]:
    """The names with a function or class that is written for them alone, each once: all others come from rows.

    A row is a line of a table that makes a function, gives words to one of Dovetail's, or gives a second name.
    """
    found: dict[int, str] = {}
    for name, given in {**V2, **V1}.items():
        made = given
        while hasattr(made, "__wrapped__"):
            made = made.__wrapped__
            made = inspect.getclosurevars(made).nonlocals.get("target", made) if inspect.isfunction(made) else made
        own = inspect.isfunction(made) or inspect.isclass(made)
        if own and made.__module__.startswith("dovetail.compat.tensorflow.names") and "<l" not in made.__qualname__:
            found.setdefault(id(made), name)
    return [*found.values()]


def arguments() -> dict[str, str]:
    """The arguments of functions that programs call, and why nothing reads them."""
    return {key: why for key, why in TENSORFLOW.items() if not key.startswith("_") and why != INTERFACE}


def by_reason(table: dict[str, str]) -> list[str]:
    """The rows of a table of reasons, each with all arguments or settings for which it holds."""
    rows: dict[str, list[str]] = {}
    for key, why in table.items():
        rows.setdefault(why, []).append(f"`{key}*`" if key.endswith(".") else f"`{key}`")
    return [f"| {', '.join(keys)} | {why[0].upper()}{why[1:]} |" for why, keys in rows.items()]


def same_functions(names: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The runs of each name, including other names of its function; and the names without runs."""
    by_function: dict[int, dict[str, list[int]]] = {}
    for name, runs in names.items():
        for key in {id(table[name]) for table in (V1, V2) if table.get(name) is not None}:
            known = by_function.setdefault(key, {})
            for engine, (agree, differ) in runs.items():
                before = known.get(engine, [0, 0])
                known[engine] = [max(before[0], agree), max(before[1], differ)]
    counted = dict(names)
    for table in (V1, V2):
        for name, found in table.items():
            if id(found) in by_function:
                counted[name] = by_function[id(found)]
    return counted, sorted({*V1, *V2} - set(counted))


def own_test(name: str) -> str:
    return next((f" ({test})" for start, test in OWN_TESTS.items() if name.startswith(start)), "")


def cell(runs: dict[str, list[int]], engine: str) -> str:
    agree, differ = runs.get(engine, [0, 0])
    return f"**fails {differ} of {agree + differ}**" if differ else str(agree or "")


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        stale = not PAGE.is_file() or PAGE.read_text() != page()
        print("docs/tensorflow_names.md is stale: run python docs/tf_names.py" if stale else "", end="\n" * stale)
        return int(stale)
    if arguments:
        found = count(Path(arguments[0]))
        names = ",\n".join(f"  {json.dumps(name)}: {json.dumps(runs)}" for name, runs in found["names"].items())
        head = f'{{"engines": {json.dumps(found["engines"])},\n "versions": {json.dumps(found["versions"])}'
        FILE.write_text(f'{head},\n "names": {{\n{names}\n }}}}\n')
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
