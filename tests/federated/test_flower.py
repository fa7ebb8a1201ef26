"""Flower: the algorithms against its strategies, and its apps; these tests run in an environment of their own."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import dovetail as dt
from dovetail import federated as fed
from dovetail.federated import flower
from dovetail.federated.rounds import FILE
from dovetail.formats import safetensors
from tests.federated.problems import DATA, WEIGHTS, drawn, loss

GUIDE = Path(__file__).parents[2] / "docs" / "federated.md"
ROUNDS = 5
NAMES = sorted(WEIGHTS)


def double(arrays):
    return {name: value.astype("float64") for name, value in arrays.items()}


def double_specs(specs):
    return {name: dt.spec(spec.shape, "float64") for name, spec in specs.items()}


def test_without_flower_an_error_says_so():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "flwr", None)
        with pytest.raises(ImportError, match=r"federated.flower.client_app at .*pip install flwr"):
            flower.client_app(None, {})


class TestWithFlower:
    """All that needs flwr, which is imported in the tests alone."""

    @pytest.fixture(autouse=True)
    def _flower(self):
        pytest.importorskip("flwr", reason="make test-federated has an environment with it")

    def compared(self, computation, strategy, state, data, weights_of=lambda state: state, prepare=lambda number: None):
        """Compute five rounds; Flower's strategy gets the weights that our clients reach.  The largest difference."""
        from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays

        theirs = {name: np.array(value) for name, value in weights_of(state).items()}
        largest = 0.0
        for number in range(1, ROUNDS + 1):
            ours = {name: np.asarray(value) for name, value in weights_of(state).items()}
            results = []
            for values in data:
                sent = computation.client(ours, values)
                reached = [theirs[name] + sent[name] for name in NAMES]
                fit = FitRes(Status(Code.OK, ""), ndarrays_to_parameters(reached), len(values["x"]), {})
                results.append((None, fit))
            prepare(number)
            state, _report = computation(state, data)
            found = parameters_to_ndarrays(strategy.aggregate_fit(number, results, [])[0])
            theirs = dict(zip(NAMES, found, strict=True))
            largest = max(largest, *(float(np.abs(weights_of(state)[n].numpy() - theirs[n]).max()) for n in NAMES))
        print(f"{computation.name}: largest difference after {ROUNDS} rounds {largest:.3g}")
        return largest

    @pytest.mark.parametrize("mu", [0.0, 0.3])
    def test_fed_avg_and_fed_prox_aggregate_as_flower_does(self, mu, rng):
        from flwr.server.strategy import FedAvg, FedProx

        state, data = drawn(rng)
        strategy = FedProx(proximal_mu=mu) if mu else FedAvg()
        computation = fed.fed_prox(loss, WEIGHTS, DATA, mu=mu, steps=3)
        assert self.compared(computation, strategy, state, data) <= 1e-6

    def test_fed_adam_aggregates_as_flower_does(self, rng):
        """Flower corrects the bias of the moments as well, so its rate is divided by this factor before each round.

        The numbers are float64, since the division by the root of the second moment makes small differences large.
        """
        from flwr.common import ndarrays_to_parameters
        from flwr.server.strategy import FedAdam

        weights, data = drawn(rng)
        weights, data = double(weights), list(map(double, data))
        beta_1, beta_2, tau, rate = 0.9, 0.99, 1e-3, 0.05
        first = fed.adam_state(weights, tau)
        strategy = FedAdam(
            initial_parameters=ndarrays_to_parameters([weights[name] for name in NAMES]),
            eta=rate, beta_1=beta_1, beta_2=beta_2, tau=tau,
        )  # fmt: skip
        strategy.v_t = [first["v"][name] for name in NAMES]

        def prepare(number):
            strategy.eta = rate * (1 - beta_1 ** (number + 1)) / np.sqrt(1 - beta_2 ** (number + 1))

        options = {"server_rate": rate, "beta_1": beta_1, "beta_2": beta_2, "tau": tau}
        computation = fed.fed_adam(loss, double_specs(WEIGHTS), double_specs(DATA), steps=3, **options)
        assert self.compared(computation, strategy, first, data, lambda state: state["weights"], prepare) <= 1e-6

    def simulated(self, server, client, nodes):
        """Run both apps by Flower's simulation, whose nodes compute in this process instead of in Ray's."""
        from flwr.server.superlink.fleet.vce.backend import Backend
        from flwr.simulation import run_simulation

        class RayBackend(Backend):
            num_workers = 1

            def build(self, app_fn):
                self._app = app_fn

            def is_worker_idle(self):
                return True

            def terminate(self):
                """Nothing runs."""

            def process_message(self, message, context):
                return self._app()(message, context), context

        module = ModuleType("raybackend")
        module.RayBackend = RayBackend
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "flwr.server.superlink.fleet.vce.backend.raybackend", module)
            run_simulation(server, client, num_supernodes=nodes, backend_name="this process")

    def test_flower_carries_a_computation(self, tmp_path, rng):
        state, data = drawn(rng)
        computation = fed.fed_avg(loss, WEIGHTS, DATA, steps=2)
        lines = []
        options = {"rounds": 3, "least": 3, "folder": tmp_path, "report": lines.append, "max_norm": 50.0}
        client = flower.client_app(computation, lambda context: data[context.node_config["partition-id"]])
        self.simulated(flower.server_app(computation, state, **options), client, 3)
        for _ in range(3):
            state, _report = computation(state, data)
        for name, value in safetensors.read(tmp_path / FILE).tensors.items():
            np.testing.assert_allclose(value, state[name].numpy(), rtol=1e-6, atol=1e-6)
        assert [line.split(",")[0] for line in lines] == [f"round {n} of 3: 3 of 3 clients" for n in (1, 2, 3)]

    def test_updates_of_nodes_are_checked(self, tmp_path, rng):
        """One node fails, and one sends NaN; the round goes on with the third."""
        state, data = drawn(rng)
        data[1] = {name: value * np.float32("nan") for name, value in data[1].items()}
        data[2] = {"x": data[2]["x"]}
        computation = fed.fed_avg(loss, WEIGHTS, DATA)
        lines = []
        server = flower.server_app(computation, state, rounds=1, least=1, folder=tmp_path, report=lines.append)
        client = flower.client_app(computation, lambda context: data[context.node_config["partition-id"]])
        self.simulated(server, client, 3)
        expected, _report = computation(state, data[:1])
        for name, value in safetensors.read(tmp_path / FILE).tensors.items():
            np.testing.assert_allclose(value, expected[name].numpy(), rtol=1e-6, atol=1e-6)
        assert sum("refused, 'b' has a NaN" in line for line in lines) == 1
        assert sum(": failed, " in line for line in lines) == 1

    def test_the_guide_runs(self, tmp_path, monkeypatch):
        """Run the block of the guide that needs Flower, and check its output."""
        monkeypatch.chdir(tmp_path)
        code, expected = re.findall(r"```py\n(.*?)```\n*```text\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0]
        names = {}
        exec(compile(code, "guide.py", "exec"), names)
        self.simulated(names["server"], names["client"], 4)
        weights = safetensors.read(tmp_path / "kept" / FILE).tensors["w"]
        assert str(weights.ravel().round(3)) == expected.strip()
