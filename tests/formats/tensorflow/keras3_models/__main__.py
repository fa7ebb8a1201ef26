"""Make all models, or those of some names."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.formats.tensorflow.calls import FOLDER, write_calls
from tests.formats.tensorflow.keras3_models import graphs, keras_models, modules, texts
from tests.formats.tensorflow.keras3_models.ways import MODELS

assert graphs and keras_models and modules and texts  # they fill the table


def main(folder: Path, *names: str) -> None:
    for name in names or MODELS:
        for old in folder.glob(f"{name}*"):
            if old.is_dir() and old.name == name:
                shutil.rmtree(old)
        write_calls(folder / f"{name}.npz", MODELS[name](folder))
        (folder / name / "fingerprint.pb").unlink(missing_ok=True)  # of these bytes, and nobody reads it


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or [FOLDER]), *sys.argv[2:])
