"""Exporters of `tf.estimator.train_and_evaluate`, which write SavedModels of checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dovetail.compat.tensorflow.entries import value


class LatestExporter:
    """An exporter of each checkpoint that is evaluated.

    Args:
        name: the name of its folder.
        serving_input_receiver_fn, as_text: as of `Estimator.export_saved_model`.
        exports_to_keep: how many SavedModels are kept.

    Source: `tf.estimator.LatestExporter`.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        self.name, self._receive, self._extra, self._as_text = name, serving_input_receiver_fn, assets_extra, as_text
        self._kept = exports_to_keep

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> bytes | None:
        """Write a SavedModel, and delete the oldest ones."""
        written = estimator.export_saved_model(export_path, self._receive, self._extra, self._as_text, checkpoint_path)
        written_before = (path for path in Path(export_path).iterdir() if path.name.isdigit())
        folders = sorted(written_before, key=lambda path: int(path.name))
        for old in folders[: -self._kept] if self._kept else ():
            shutil.rmtree(old)
        return written


class FinalExporter(LatestExporter):
    """An exporter of the last checkpoint.

    Source: `tf.estimator.FinalExporter`.
    """

    def export(self, *args: Any, **kwargs: Any) -> bytes | None:
        """Write a SavedModel at the end."""
        is_last = kwargs.get("is_the_final_export", args[-1] if args else False)
        return super().export(*args, **kwargs) if is_last else None


class BestExporter(LatestExporter):
    """An exporter of checkpoints that are better than those before.

    Args:
        compare_fn: whether the second of two evaluations is better; by default, whether its loss is less.

    Source: `tf.estimator.BestExporter`.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str = "eval/*.tfevents.*",
        compare_fn: Callable[[Any, Any], bool] = lambda best_eval_result, current_eval_result: (
            best_eval_result["loss"] > current_eval_result["loss"]
        ),
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._is_better, self._best = compare_fn, None

    def export(
        self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
    ) -> bytes | None:
        """Write a SavedModel if the evaluation is the best one."""
        if self._best is not None and not self._is_better(best_eval_result=self._best, current_eval_result=eval_result):
            return None
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)


for _exporter in (LatestExporter, FinalExporter, BestExporter):
    value(f"estimator.{_exporter.__name__}", _exporter, "v1")
