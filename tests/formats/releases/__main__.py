"""Write the files of this release that are not there yet."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import dovetail as dt
from dovetail.graph import base
from tests.formats.releases import FORMATS, RELEASED, RESULTS, as_data, check, results_of
from tests.formats.releases import others as others
from tests.formats.releases import own as own
from tests.formats.releases import training as training

dt.set_engine("numpy")
release = RELEASED / dt.__version__
release.mkdir(exist_ok=True)
results = results_of(release)
for name, one in FORMATS.items():
    if name in results:
        continue
    with tempfile.TemporaryDirectory() as folder, patch.object(base, "user_line", lambda: ("a.py", 1)):
        path = Path(folder) / name
        wanted = {key: as_data(value) for key, value in one.write(path).items()}
        found = {key: as_data(value) for key, value in one.read(path).items()}
        check(found, wanted, with_dtypes=False)
        shutil.move(path, release / name)
    results[name] = found
lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in results.items()]
(release / RESULTS).write_text("{\n" + ",\n".join(lines) + "\n}\n")
