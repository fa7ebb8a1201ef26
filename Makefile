# Each target does its own set-up: a virtual environment in .venv with the versions of constraints.txt, made once.
# Needed beforehand: Python 3.11 or newer with pip, and make.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
INSTALL := $(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check --constraint constraints.txt
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# The libraries compute as on a processor without AVX-512; of NumPy's features those that it has here are turned off.
FEATURES = from numpy._core._multiarray_umath import __cpu_features__ as has, __cpu_dispatch__ as names; \
	print(*[name for name in names if has[name] and (name == "X86_V4" or name.startswith("AVX512"))])
WITHOUT_AVX512 = TF_ENABLE_ONEDNN_OPTS=0 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
	XLA_FLAGS=--xla_cpu_max_isa=AVX2 NPY_DISABLE_CPU_FEATURES="$$($(PY) -c '$(FEATURES)')"

.PHONY: help demo quick k tf graph keras formats onnx run distributed test test-oldest test-latest test-nightly test-all test-avx2 \
	test-hub test-engines test-distributed test-federated test-gpu lint docs test-docs bench clean

help:  ## this list
	@awk -F ':.*## *' '/^[a-z0-9-]+:.*##/ {printf "make %-16s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/demo.done  ## trains a model of Keras on Dovetail and shows what it learned
	$(PY) -m dovetail demo $(ARGS)

# It has an environment of its own, without the library of any other engine.
QUICK := .venv-quick

quick: $(QUICK)/done  ## the tests that two minutes hold, on numpy: each op, each package
	DOVETAIL_TEST_PART=quick $(ONE_THREAD) $(QUICK)/bin/python -m pytest --numprocesses 2 --dist worksteal --quiet $(ARGS)

$(QUICK)/done: pyproject.toml constraints.txt
	$(PYTHON) -m venv --without-pip $(QUICK)
	$(PYTHON) -m pip --python $(QUICK)/bin/python install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --editable '.[quick]'
	@touch $@

# Rooms: name → folders of tests, of which each loop runs what three minutes hold.
K := tests/backend
TF := tests/compat/tensorflow tests/compat/tf_graph
GRAPH := tests/graph tests/trace tests/edit tests/batching tests/sessions
KERAS := tests/keras_dovetail
FORMATS := tests/formats src/dovetail/formats tests/saved_model
ONNX := tests/onnx tests/formats/onnx tests/engines/test_onnx_model.py
RUN := tests/compat/run tests/compat/source src/dovetail/compat/run src/dovetail/compat/source tests/programs
RANKS := tests/distributed src/dovetail/distributed tests/choose/test_agreement.py $(SHARDED)
SHARDED := $(addprefix tests/keras_dovetail/test_,shards.py numbers.py backups.py shares.py)
ROOM = DOVETAIL_TEST_PART=room $(ONE_THREAD) $(PY) -m pytest --numprocesses 2 --dist worksteal --quiet
LOOP = DOVETAIL_TEST_ENGINES=numpy $(ROOM)

k: $(VENV)/test.done  ## the tests of K on numpy
	$(LOOP) $(K) $(ARGS)

tf: $(VENV)/test.done  ## the tests of TensorFlow's names on numpy
	$(LOOP) $(TF) $(ARGS)

graph: $(VENV)/test.done  ## the tests of graphs, their edits and sessions on numpy
	$(LOOP) $(GRAPH) $(ARGS)

keras: $(VENV)/test.done  ## the tests of Keras on Dovetail on numpy
	$(LOOP) $(KERAS) $(ARGS)

formats: $(VENV)/test.done  ## the tests of files on numpy
	$(LOOP) $(FORMATS) $(ARGS)

onnx: $(VENV)/test.done  ## the tests of ONNX on numpy
	$(LOOP) $(ONNX) $(ARGS)

run: $(VENV)/test.done  ## the tests of old programs on numpy
	$(LOOP) $(RUN) $(ARGS)

distributed: $(VENV)/test.done  ## the tests of several processes
	$(ROOM) $(RANKS) $(ARGS)

test: lint  ## style, types, and the sample of the tests that CI always runs
	DOVETAIL_TEST_PART=test $(ONE_THREAD) $(PY) -m pytest --numprocesses 2 --dist worksteal --quiet $(ARGS)

# Each has an environment of its own.  PyTorch's newest builds of the registry bring CUDA; TORCH=... names another one, as
# TORCH="torch==2.6.0 --index-url https://download.pytorch.org/whl/cpu".
OLDEST := .venv-oldest
LATEST := .venv-latest
TORCH ?= torch==2.13.0
# Left out is what the newest ONNX Runtime computes.
SAMPLE := $(addprefix tests/,ops backend engines autodiff functions interop) --deselect tests/engines/test_onnx_model.py
VERSIONS = DOVETAIL_TEST_PART=quick $(ONE_THREAD) $(1)/bin/python -m pytest --numprocesses 2 --dist worksteal --quiet $(SAMPLE) $(ARGS)

# PyTorch 2.6 copies arrays that newer ones share, and JAX 0.8 hashes shapes in Python.
LACKING := --deselect tests/engines/test_transfer.py::test_memory_is_shared \
  --deselect tests/engines/test_jax.py::test_no_python_of_jax_runs_while_arrays_of_variables_are_consumed

test-oldest: $(OLDEST)/done  ## a sample on all engines, with the oldest versions of libraries that pyproject.toml declares
	$(OLDEST)/bin/python -m dovetail doctor || true  # it is 1 if an extra is not installed
	$(call VERSIONS,$(OLDEST)) $(LACKING)

test-latest: $(LATEST)/done  ## the same with the newest versions of the registry
	$(LATEST)/bin/python -m dovetail doctor || true
	$(call VERSIONS,$(LATEST))

$(OLDEST)/done: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --without-pip $(OLDEST)
	$(PYTHON) -m pip --python $(OLDEST)/bin/python install --quiet --disable-pip-version-check $(TORCH)
	$(PYTHON) -m pip --python $(OLDEST)/bin/python install --quiet --disable-pip-version-check --constraint constraints-oldest.txt \
	  --editable '.[jax,keras,onnxruntime,quick]' tensorflow-cpu
	@touch $@

$(LATEST)/done: pyproject.toml
	$(PYTHON) -m venv --without-pip $(LATEST)
	$(PYTHON) -m pip --python $(LATEST)/bin/python install --quiet --disable-pip-version-check $(TORCH)
	$(PYTHON) -m pip --python $(LATEST)/bin/python install --quiet --disable-pip-version-check --upgrade \
	  --editable '.[demo,jax,keras,onnxruntime,quick]' tensorflow-cpu
	@touch $@

# Tests with Keras' nightly build, on numpy or the engines of DOVETAIL_TEST_ENGINES.
NIGHTLY := .keras-nightly
comma := ,
ENGINES := $(or $(DOVETAIL_TEST_ENGINES),numpy)
EACH := $(subst $(comma), ,$(ENGINES))
NIGHTLY_KERAS = DOVETAIL_TEST_ENGINES=$(ENGINES) PYTHONPATH=$(NIGHTLY) $(ONE_THREAD) $(PY) -m

# The wheels of nightly builds carry no tests of Keras itself, so the tests of the Keras in $(VENV) run. The ones that pass on
# the nightly's own jax backend must pass on Dovetail.
OWN := activations initializers layers losses metrics models optimizers random trainers ops
OWN_TESTS = $(NIGHTLY_KERAS) tests.keras_own.run $(OWN) --sample 20 \
  --tests $$($(PY) -c 'import keras, pathlib; print(pathlib.Path(keras.__file__).parent / "src")')

test-nightly: $(VENV)/test.done  ## the demo, `make keras`, and a sample of Keras' own tests with its nightly build
	$(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check --no-deps --upgrade --target $(NIGHTLY) keras-nightly
	$(foreach engine,$(EACH),$(NIGHTLY_KERAS) dovetail demo --engine $(engine) &&) true
	DOVETAIL_TEST_PART=room $(NIGHTLY_KERAS) pytest --numprocesses 2 --dist worksteal --quiet $(KERAS) $(ARGS)
	rm -f $(NIGHTLY)/jax.json
	$(OWN_TESTS) --backend jax --save $(NIGHTLY)/jax.json --least 0 || true  # tests of another version fail there
	$(foreach engine,$(EACH),$(OWN_TESTS) --engine $(engine) --against $(NIGHTLY)/jax.json --failures &&) true

test-all: $(VENV)/test.done  ## every test that `make test` leaves out; PART=2/8 runs the second of eight parts
	DOVETAIL_TEST_PART=$(or $(PART),1/1) $(ONE_THREAD) $(PY) -m pytest --numprocesses 2 --dist worksteal --quiet $(ARGS)

test-avx2: $(VENV)/test.done  ## a sample of the tests as on a processor without AVX-512
	$(WITHOUT_AVX512) DOVETAIL_TEST_PART=$(or $(PART),room) $(ONE_THREAD) $(PY) -m pytest --numprocesses 2 --dist worksteal --quiet $(ARGS)

test-distributed: $(VENV)/test.done  ## several processes: each case, on more engines
	$(ONE_THREAD) $(PY) -m pytest --quiet $(RANKS) $(ARGS)

# keras-hub and the libraries that it asks for lie in folders, since tensorflow-text asks for another distribution of TensorFlow.
HUB := .keras-hub
HUB_OLDEST ?= 0.19.3
HUB_NEEDS := flax kagglehub kagglesdk==0.1.28 msgpack pyyaml regex requests sentencepiece tensorflow-text==2.21.* tokenizers urllib3 \
  certifi charset-normalizer idna
WITH_HUB = $(PYTHON) -m pip --python $(PY) install --quiet --disable-pip-version-check --no-deps --target $(1) $(2) $(HUB_NEEDS)
HUB_TESTS = PYTHONPATH=$(1) DOVETAIL_TEST_ENGINES=$(ENGINES) $(ONE_THREAD) $(PY) -m pytest --quiet tests/hub $(ARGS)

test-hub: $(HUB)/newest/done $(HUB)/oldest/done  ## keras-hub's models, newest and oldest, on numpy or DOVETAIL_TEST_ENGINES
	$(call HUB_TESTS,$(HUB)/newest)
	$(call HUB_TESTS,$(HUB)/oldest) --ignore tests/hub/test_applications.py  # of Keras itself, tested above

$(HUB)/newest/done: $(VENV)/test.done
	rm -rf $(HUB)/newest
	$(call WITH_HUB,$(HUB)/newest,keras-hub)
	@touch $@

$(HUB)/oldest/done: $(VENV)/test.done
	rm -rf $(HUB)/oldest
	$(call WITH_HUB,$(HUB)/oldest,keras-hub==$(HUB_OLDEST))
	@touch $@

# OpenVINO has an environment of its own, since `auto` would measure it in all other tests.
OTHERS := .venv-engines
INSTALL_OTHERS := $(PYTHON) -m pip --python $(OTHERS)/bin/python install --quiet --disable-pip-version-check --constraint constraints-engines.txt

test-engines: $(OTHERS)/done  ## the tests of OpenVINO, in an environment of its own
	$(ONE_THREAD) $(OTHERS)/bin/python -m pytest --quiet tests/engines/test_openvino.py tests/keras_dovetail/test_export.py -k openvino $(ARGS)

$(OTHERS)/done: pyproject.toml constraints-engines.txt
	$(PYTHON) -m venv --without-pip $(OTHERS)
	$(INSTALL_OTHERS) --editable '.[keras,openvino]' hypothesis pytest
	@touch $@

# Flower has an environment of its own, since it asks for other versions of protobuf and of other libraries.
FLOWER := .venv-flower
INSTALL_FLOWER := $(PYTHON) -m pip --python $(FLOWER)/bin/python install --quiet --disable-pip-version-check --constraint constraints-flower.txt

test-federated: $(FLOWER)/done $(VENV)/test.done  ## federated rounds: with Flower, and with workers in Node.js and C where these can run
	$(ONE_THREAD) $(PY) -m pytest --quiet -rs tests/federated $(ARGS)
	$(ONE_THREAD) $(FLOWER)/bin/python -m pytest --quiet -rs tests/federated/test_flower.py $(ARGS)

$(FLOWER)/done: pyproject.toml constraints-flower.txt
	$(PYTHON) -m venv --without-pip $(FLOWER)
	$(INSTALL_FLOWER) --editable . flwr hypothesis pytest
	@touch $@

# The Python of a machine with a GPU, with PyTorch or JAX for it.  Such a machine may have no network: what this Python lacks can
# be put in a folder here, `make .gpu`, which is less than 64 MiB.  The tests' own XLA_FLAGS are for processors and one version
# of JAX; another version ends a process with a flag that it does not know.
GPU := .gpu
GPU_PYTHON ?= python3
GPU_VERSION ?= 3.12

test-gpu:  ## the tests of GPUs, with GPU_PYTHON; `make .gpu` beforehand puts what that Python lacks in a folder
	XLA_FLAGS= PYTHONPATH=src:.:$(GPU) timeout 480 $(GPU_PYTHON) -m pytest --quiet -p no:cacheprovider -rs tests/engines/test_gpus.py tests/distributed/test_nccl.py $(ARGS)

.gpu: constraints.txt | $(PY)
	rm -rf $(GPU)
	$(INSTALL) --no-deps --only-binary :all: --python-version $(GPU_VERSION) --target $(GPU) keras optree namex google-crc32c absl-py

lint: $(VENV)/test.done  ## style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check --quiet .
	$(PY) -m mypy

# The site's libraries have an environment of their own.
DOCS := .venv-docs

docs: $(DOCS)/done  ## site/: the guides, the reference, the examples and the measurements as a site, in site/index.html
	$(ONE_THREAD) $(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --jobs 2 -d build/doctrees docs site $(ARGS)

test-docs: docs  ## the tests of the site, in Chromium, and of the notebooks
	$(ONE_THREAD) $(DOCS)/bin/python -m pytest --quiet -rs tests/test_site.py tests/test_notebooks.py $(ARGS)

$(DOCS)/done: pyproject.toml constraints-docs.txt
	$(PYTHON) -m venv --without-pip $(DOCS)
	$(PYTHON) -m pip --python $(DOCS)/bin/python install --quiet --disable-pip-version-check --constraint constraints-docs.txt \
	  --editable '.[docs]'
	@touch $@

bench: $(VENV)/test.done  ## the short measurements of benchmarks/README.md
	$(PY) -m benchmarks

clean:  ## forgets the environment and all caches
	rm -rf site build docs/made $(DOCS) $(VENV) $(QUICK) $(OLDEST) $(LATEST) $(NIGHTLY) $(HUB) $(OTHERS) $(FLOWER) $(GPU) .mypy_cache .pytest_cache .ruff_cache .hypothesis

# pip runs from outside the environment (--python), so a Python without ensurepip will do.
$(PY):
	@echo "Making the environment $(VENV), once; then libraries are installed in it, which takes minutes."
	$(PYTHON) -m venv --without-pip $(VENV)
	$(INSTALL) pip

$(VENV)/demo.done: pyproject.toml constraints.txt | $(PY)
	@echo "Installing Dovetail, Keras, scikit-learn and matplotlib, once; then the demo trains a model."
	$(subst --quiet ,,$(INSTALL)) --editable '.[demo]'
	@touch $@

$(VENV)/test.done: pyproject.toml constraints.txt | $(PY)
	$(INSTALL) --editable '.[demo,jax,onnxruntime,test,torch]' tensorflow-cpu
	$(INSTALL) --no-deps tf-keras tf-slim  # which ask for a distribution of TensorFlow that can use GPUs
	@touch $@
