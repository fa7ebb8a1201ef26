"""The server over HTTPS: rounds with workers in Python, and everything that must not count."""

from __future__ import annotations

import hmac
import http.client
import pickle
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np
import pytest

import dovetail as dt
from dovetail import federated as fed
from dovetail.core.base.errors import FormatError
from dovetail.federated.rounds import FILE, Refused, Rounds
from dovetail.formats import safetensors
from tests.federated.problems import DATA, WEIGHTS, drawn, loss

TOKENS = {name: f"{name}-is-a-secret-of-the-tests" for name in ("ada", "ben", "cy")}
TRAIN = fed.fed_avg(loss, WEIGHTS, DATA, steps=2)
LIMIT = 30.0  # seconds, of which a step takes less than one


def quiet(text):
    """Report nothing."""


@contextmanager
def running(state, pem, lines=None, computation=TRAIN, **options):
    """A server whose rounds run in a thread; `.result` holds the last state at the end of the block."""
    report = quiet if lines is None else lines.append
    server = fed.Server(computation, state, TOKENS, certificate=pem[0], key=pem[1], report=report, **options)
    thread = threading.Thread(target=lambda: setattr(server, "result", server.run()), daemon=True)
    thread.start()
    yield server
    thread.join(LIMIT)
    assert not thread.is_alive()


def work(server, pem, data, names=TOKENS, **options):
    """Workers in threads, one for each name; their weights at the end."""
    found = {}

    def one(name, values):
        found[name] = fed.join(server.url, TOKENS[name], values, certificate=pem[0], report=quiet, **options)

    threads = [threading.Thread(target=one, args=pair, daemon=True) for pair in zip(names, data, strict=False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert found.keys() == {*names}
    return found


def ask(server, pem, method, path, body=None, token=TOKENS["ada"], headers=()):
    context = ssl.create_default_context(cafile=pem[0])
    connection = http.client.HTTPSConnection(
        *server.url.removeprefix("https://").split(":"), timeout=LIMIT, context=context
    )
    given = {} if token is None else {"Authorization": f"Bearer {token}"}
    connection.request(method, path, body, given | dict(headers))
    answer = connection.getresponse()
    return answer.status, answer.read()


def after(state, data, rounds, computation=TRAIN):
    for _ in range(rounds):
        state, _report = computation(state, data)
    return state


def assert_equal(found, expected):
    for name in WEIGHTS:
        np.testing.assert_allclose(np.asarray(found[name]), np.asarray(expected[name]), rtol=1e-6, atol=1e-6)


def test_workers_train_as_one_process_does(engine, pem, rng):
    state, data = drawn(rng)
    lines = []
    with running(state, pem, lines, rounds=3) as server:
        ends = work(server, pem, data, engine=engine)
    expected = after(state, data, 3)
    assert_equal(server.result, expected)
    for end in ends.values():
        assert_equal(end, expected)
    assert [line.split(",")[0] for line in lines] == [f"round {n} of 3: 3 of 3 clients" for n in (1, 2, 3)]
    assert "loss" in lines[0] and float(server.rounds.reports[0]["loss"]) > float(server.rounds.reports[2]["loss"])


def test_adam_keeps_its_moments_at_the_server(pem, rng):
    adam = fed.fed_adam(loss, WEIGHTS, DATA)
    weights, data = drawn(rng)
    state = fed.adam_state(weights)
    with running(state, pem, computation=adam, rounds=3) as server:
        ends = work(server, pem, data)
    expected = after(state, data, 3, adam)
    assert_equal(server.result["weights"], expected["weights"])
    assert ends["ada"].keys() == {*WEIGHTS}, "the moments were sent, too"


def test_a_lost_client_does_not_hold_up_the_others(pem, rng):
    state, data = drawn(rng)
    lines = []
    with running(state, pem, lines, rounds=2, least=2, deadline=0.3) as server:
        work(server, pem, data, ["ada", "ben"])
    assert_equal(server.result, after(state, data[:2], 2))
    assert lines[0].startswith("round 1 of 2: 2 of 3 clients, loss")


def test_a_round_waits_for_the_least_number(pem, rng):
    state, data = drawn(rng)
    lines, event = [], threading.Event()

    def report(text):
        lines.append(text)
        event.set()

    options = {"certificate": pem[0], "key": pem[1], "rounds": 1, "least": 2, "deadline": 0.05}
    server = fed.Server(TRAIN, state, TOKENS, **options, report=report)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert event.wait(LIMIT)
    assert lines == ["round 1 of 1: 0 of 3 clients came; it waits for 2"]
    weights = safetensors.of_bytes(server.weights_for("ada"), "weights")[0]
    for name, values in zip(("ada", "cy"), data, strict=False):
        server.take(name, safetensors.to_bytes(TRAIN.client(weights, values), {"round": "0"}))
    for name in ("ada", "cy"):
        server.answered(name, server.weights_for(name))
    thread.join(LIMIT)
    assert_equal(server.rounds.state, after(state, data[:2], 1))


def sent(update, number="0"):
    return safetensors.to_bytes(update, {"round": number})


class Executed:
    """A value whose pickle calls a function when it is read."""

    calls = 0

    def __reduce__(self):
        return Executed.call, ()

    @staticmethod
    def call():
        Executed.calls += 1


UPDATES = {  # name → (edit of a right update → the body, the status, words of the answer)
    "no safetensors": (lambda u: b"nonsense" * 9, 400, "no safetensors file"),
    "no round": (lambda u: safetensors.to_bytes(u, {}), 400, "'round'"),
    "round no number": (lambda u: sent(u, "first"), 400, "first"),
    "late": (lambda u: sent(u, "-1"), 409, "round -1 is late"),
    "early": (lambda u: sent(u, "1"), 409, "round 1 is late"),
    "names": (lambda u: sent({**u, "extra": u["w"]}), 422, "the tensors"),
    "missing": (lambda u: sent({"w": u["w"]}), 422, "the tensors"),
    "shape": (lambda u: sent({**u, "w": u["w"].T.copy()}), 422, "'w' is float32[6,4], not float32[4,6]"),
    "dtype": (lambda u: sent({**u, "w": u["w"].astype("float64")}), 422, "'w' is float64[4,6]"),
    "NaN": (lambda u: sent({**u, "w": u["w"] * np.float32("nan")}), 422, "'w' has a NaN"),
    "infinity": (lambda u: sent({**u, "loss": np.float32("inf")}), 422, "'loss' has a NaN or an infinity"),
    "norm": (lambda u: sent({**u, "w": u["w"] + 100}), 422, "the norm of the update is"),
    "weight 0": (lambda u: sent({**u, "weight": np.float32(0)}), 422, "the weight 'weight' is 0"),
    "no examples": (
        lambda u: sent({name: np.float32(0 if name == "weight" else "nan") * array for name, array in u.items()}),
        422,
        "a client without examples has no part",
    ),
    "weight": (lambda u: sent({**u, "weight": np.float32(1e9)}), 422, "at most 1000"),
    "pickle": (lambda u: pickle.dumps(Executed()) * 2, 400, "no safetensors file"),
    "long": (lambda u: b"\0" * (1 << 20), 413, "an update has at most"),
}


def test_wrong_updates_do_not_count(pem, rng):
    """Each is refused with its reason; after all of them the round counts the right ones, and no one twice."""
    state, data = drawn(rng)
    lines = []
    with running(state, pem, lines, rounds=1, max_norm=50.0, max_weight=1000.0) as server:
        status, body = ask(server, pem, "GET", "/weights")
        assert status == 200
        weights, about = safetensors.of_bytes(body, "weights")
        assert about == {"round": "0", "rounds": "1"}
        right = TRAIN.client(weights, data[0])
        large = {**right, "loss": np.float32(1e6)}  # the state does not depend on it
        for name, (edit, expected, words) in UPDATES.items():
            status, reason = ask(server, pem, "POST", "/update", edit(right))
            assert (status, words in reason.decode()) == (expected, True), (name, reason)
        assert ask(server, pem, "POST", "/update", sent(large))[0] == 200
        assert ask(server, pem, "POST", "/update", sent(right))[0] == 409
        work(server, pem, data[1:], ["ben", "cy"])
        assert ask(server, pem, "GET", "/weights")[0] == 200
    assert_equal(server.result, after(state, data, 1))
    assert Executed.calls == 0, "a body was unpickled"
    assert sum("ada: refused, " in line for line in lines) == sum(s in (400, 422) for _, s, _ in UPDATES.values())


REQUESTS = {  # name → (method, path, token, headers, status)
    "no token": ("GET", "/weights", None, {}, 401),
    "unknown token": ("GET", "/computation", "x" * 30, {}, 401),
    "part of a token": ("GET", "/computation", TOKENS["ada"][:-1], {}, 401),
    "another scheme": ("GET", "/computation", None, {"Authorization": f"Basic {TOKENS['ada']}"}, 401),
    "no letters": ("GET", "/computation", "\xff", {}, 401),
    "an update of an unknown client": ("POST", "/update", "x" * 30, {}, 401),
    "path": ("GET", "/../etc/passwd", TOKENS["ada"], {}, 404),
    "method": ("POST", "/weights", TOKENS["ada"], {}, 404),
    "other method": ("DELETE", "/weights", TOKENS["ada"], {}, 501),
    "chunks": ("POST", "/update", TOKENS["ada"], {"Transfer-Encoding": "chunked"}, 411),
}


@pytest.fixture(scope="module")
def waiting(pem):
    """A server in its first round, to which nobody contributes."""
    state, _ = drawn(np.random.default_rng(0))
    server = fed.Server(TRAIN, state, TOKENS, certificate=pem[0], key=pem[1], report=quiet, rounds=1)
    threading.Thread(target=server.run, daemon=True).start()
    return server


@pytest.mark.parametrize("name", REQUESTS)
def test_other_requests_are_refused(name, waiting, pem):
    method, path, token, headers, status = REQUESTS[name]
    assert ask(waiting, pem, method, path, token=token, headers=headers)[0] == status


def test_a_worker_with_a_wrong_token_ends(waiting, pem):
    with pytest.raises(
        PermissionError, match=r"federated.join at .*GET /computation with 401: no client has this token"
    ):
        fed.join(waiting.url, "x" * 30, {}, certificate=pem[0])


def test_a_worker_needs_the_arrays_of_the_computation(waiting, pem, rng):
    with pytest.raises(KeyError, match=r"it needs the arrays x, y\. Given: x\."):
        fed.join(waiting.url, TOKENS["ada"], {"x": np.zeros((2, 4))}, certificate=pem[0])
    with pytest.raises(ValueError, match=r"'x' must be float32\[\?,4\], not float64\[2,3\]"):
        fed.join(waiting.url, TOKENS["ada"], {"x": np.zeros((2, 3)), "y": np.zeros((2, 1))}, certificate=pem[0])


def test_a_worker_trusts_no_other_certificate(waiting, pem):
    for url, certificate, words in (
        (waiting.url, None, "self-signed certificate"),
        (waiting.url.replace("127.0.0.1", "127.1"), pem[0], "mismatch|not valid for"),
    ):
        with pytest.raises(ConnectionError, match=rf"federated.join at .*({words}).*as `certificate`"):
            fed.join(url, TOKENS["ada"], {}, certificate=certificate)


@pytest.mark.parametrize("token", ["", "two\nlines", "no ASCII: \u20ac"])
def test_a_worker_needs_a_token_for_a_header(token):
    with pytest.raises(ValueError, match=r"federated.join at .*: a token is one line of printable ASCII") as caught:
        fed.join("https://127.0.0.1:1", token, {}, patience=0)
    assert not token or token not in str(caught.value)


def test_a_port_that_is_taken_is_named(waiting, pem, rng):
    port = waiting.server_address[1]
    with pytest.raises(OSError, match=rf"federated.Server at .*127.0.0.1:{port} cannot be listened on.*port=0"):
        fed.Server(TRAIN, drawn(rng)[0], TOKENS, certificate=pem[0], key=pem[1], rounds=1, port=port)
    with pytest.raises(OSError, match=r"federated.Server at .*:70000 cannot be listened on"):
        fed.Server(TRAIN, drawn(rng)[0], TOKENS, certificate=pem[0], key=pem[1], rounds=1, port=70000)


def test_files_that_are_missing_are_named(pem, rng):
    with pytest.raises(OSError, match=r"federated.Server at .*'none.pem' and .* must be a certificate and its key"):
        fed.Server(TRAIN, drawn(rng)[0], TOKENS, certificate="none.pem", key=pem[1], rounds=1)
    with pytest.raises(OSError, match=r"federated.join at .*'none.pem' must be a file of certificates to trust"):
        fed.join("https://127.0.0.1:1", TOKENS["ada"], {}, certificate="none.pem")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "127.0.0.1:1", "https://", "https://127.0.0.1:x", "https://a:1:2"]
)
def test_a_worker_needs_the_url_of_a_server(url):
    with pytest.raises(ValueError, match=r"federated.join at .*is https://HOST:PORT, not"):
        fed.join(url, TOKENS["ada"], {})


def test_a_worker_gives_up_on_a_server_out_of_reach(pem):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ConnectionError, match="cannot be reached"):
        fed.join(url, TOKENS["ada"], {}, certificate=pem[0], patience=0.2)


def test_the_server_listens_on_loopback_alone(waiting):
    assert waiting.url.startswith("https://127.0.0.1:")
    assert waiting.socket.getsockname()[0] == "127.0.0.1"


def test_a_silent_connection_does_not_hold_up_others(waiting, pem):
    with socket.create_connection(waiting.server_address), socket.create_connection(waiting.server_address) as plain:
        plain.settimeout(LIMIT)
        plain.sendall(b"GET /weights HTTP/1.0\r\n\r\n")
        assert ask(waiting, pem, "GET", "/computation")[0] == 200
        assert not plain.recv(100).startswith(b"HTTP"), "it answers without TLS"


def connected(server, pem, **versions):
    """A connection with TLS."""
    context = ssl.create_default_context(cafile=pem[0])
    context.set_ciphers("ALL:@SECLEVEL=0")
    for name, version in versions.items():
        setattr(context, name, version)
    return context.wrap_socket(socket.create_connection(server.server_address, LIMIT / 2), server_hostname="127.0.0.1")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1", "TLSv1_2", "TLSv1_3"])
def test_old_tls_is_refused(version, waiting, pem):
    number = ssl.TLSVersion[version]
    refused = pytest.raises(ssl.SSLError) if number < ssl.TLSVersion.TLSv1_2 else nullcontext()
    with refused, connected(waiting, pem, minimum_version=number, maximum_version=number) as secure:
        assert secure.version() == version.replace("_", ".")


def test_many_clients_may_come_at_once(pem, rng):
    """The server does not accept yet, and 100 clients are connected."""
    server = fed.Server(TRAIN, drawn(rng)[0], TOKENS, certificate=pem[0], key=pem[1], report=quiet, rounds=1)
    with ExitStack() as stack:
        stack.callback(server.server_close)
        for _ in range(100):
            stack.enter_context(
                socket.create_connection(server.server_address, timeout=0.9)
            )  # else it asks again after 1 s


def test_a_stranger_that_sends_a_byte_now_and_then_is_cut_off(waiting, pem, monkeypatch):
    """Each byte comes in time, and the token does not; a client that has shown its token may be slow."""
    monkeypatch.setattr("dovetail.federated.server.SILENCE", 0.3)
    lines = ["POST /update HTTP/1.0", f"Authorization: Bearer {TOKENS['ada']}", "Content-Length: 99", "", ""]
    with connected(waiting, pem) as stranger, connected(waiting, pem) as client:
        client.sendall("\r\n".join(lines).encode())
        with pytest.raises(OSError):
            for _ in range(int(LIMIT / 0.05)):
                stranger.sendall(b"G")
                time.sleep(0.05)
        client.sendall(b"x" * 99)
        assert client.recv(100).split()[1] == b"400"


def test_the_server_ends_when_the_clients_have_read_the_weights(pem):
    """The weights are larger than the buffers of a connection; the clients read them after the deadline of a round."""
    count = 4_000_000
    train = fed.fed_avg(lambda w, x: dt.ops.mean(w) * dt.ops.mean(x), dt.spec((count,)), dt.spec((None,)))
    options = {"computation": train, "rounds": 1, "least": 3, "deadline": 0.05}
    with running(np.zeros(count), pem, **options) as server, ExitStack() as stack:
        while not server.weights_for("ada"):
            pass
        body = sent(train.client({"value": np.zeros(count)}, {"data": [1.0]}))
        for name in TOKENS:
            server.take(name, body)
        clients = [stack.enter_context(connected(server, pem)) for _ in TOKENS]
        for client, token in zip(clients, TOKENS.values(), strict=True):
            client.sendall(f"GET /weights HTTP/1.0\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        answers = [client.recv(12) for client in clients]
        time.sleep(0.3)
        assert not hasattr(server, "result"), "it did not wait"
        for client, answer in zip(clients, answers, strict=True):
            parts = iter(lambda client=client: client.recv(1 << 20), b"")
            assert (answer, sum(map(len, parts)) > 4 * count) == (b"HTTP/1.0 200", True)


ANNOUNCED = {  # name → (token, announced bytes of a body, status)
    "long": (TOKENS["ada"], 1 << 40, 413),
    "unknown client": ("x" * 30, 1 << 40, 401),
    "absurd": (TOKENS["ada"], "1" + "0" * 5000, 411),
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_a_body_is_refused_before_it_is_read(name, waiting, pem):
    """The body never comes, and the answer does."""
    token, length, status = ANNOUNCED[name]
    lines = ["POST /update HTTP/1.0", f"Authorization: Bearer {token}", f"Content-Length: {length}", "", ""]
    with connected(waiting, pem) as secure:
        secure.sendall("\r\n".join(lines).encode())
        assert secure.recv(100).split()[1] == str(status).encode()


RAW = {  # name → (what a client sends, status of the answer)
    "no HTTP": (b"\x00\xff\r\n\r\n", 400),
    "another version": (b"GET /weights HTTP/9.9\r\n\r\n", 505),
    "long line": (b"GET /" + b"a" * 70_000 + b" HTTP/1.0\r\n\r\n", 414),
    "long header": (b"GET /weights HTTP/1.0\r\nAuthorization: " + b"a" * 70_000 + b"\r\n\r\n", 431),
    "many headers": (b"GET /weights HTTP/1.0\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
    "negative length": (b"POST /update HTTP/1.0\r\nAuthorization: Bearer %b\r\nContent-Length: -9\r\n\r\n", 411),
    "two lengths": (
        b"POST /update HTTP/1.0\r\nAuthorization: Bearer %b\r\nContent-Length: 3\r\nContent-Length: 9\r\n\r\nabc",
        400,
    ),
    "more than the length": (
        b"POST /update HTTP/1.0\r\nAuthorization: Bearer %b\r\nContent-Length: 3\r\n\r\nabcdefghi",
        400,
    ),
    "another host": (b"GET https://elsewhere/weights HTTP/1.0\r\nAuthorization: Bearer %b\r\n\r\n", 404),
}


@pytest.mark.parametrize("name", RAW)
def test_broken_requests_are_answered(name, waiting, pem):
    text, status = RAW[name]
    with connected(waiting, pem) as secure:
        secure.sendall(text.replace(b"%b", TOKENS["ada"].encode()))
        answer = b"".join(iter(lambda: secure.recv(1000), b"")).decode()
    assert f"HTTP/1.0 {status} " in answer or f"<p>Error code: {status}</p>" in answer, answer
    assert ask(waiting, pem, "GET", "/computation")[0] == 200


def test_a_body_that_stops_does_not_hold_up_others(waiting, pem):
    with connected(waiting, pem) as secure:
        lines = ["POST /update HTTP/1.0", f"Authorization: Bearer {TOKENS['ada']}", "Content-Length: 900", "", "begin"]
        secure.sendall("\r\n".join(lines).encode())
        assert ask(waiting, pem, "GET", "/weights", token=TOKENS["ben"])[0] == 200


def test_damaged_updates_are_refused(waiting):
    """Bytes of a right update are changed, dropped or doubled; it counts, or is refused with a status."""
    weights, data = drawn(np.random.default_rng(0))
    right, statuses = sent(TRAIN.client(weights, data[0])), set()
    for seed in range(400):
        rng, body = np.random.default_rng(seed), bytearray(right)
        for place in rng.integers(0, len(body) if seed % 2 else 300, 1 + seed % 3):
            body[place : place + rng.integers(0, 3)] = rng.bytes(rng.integers(0, 3))
        try:
            waiting.take("cy", bytes(body))
            statuses.add(200)
        except Refused as error:
            assert error.status in (400, 409, 422), f"seed {seed}: {error}"
            statuses.add(error.status)
        waiting._updates.pop("cy", None)
    assert statuses >= {200, 400}


def test_all_tokens_are_compared_in_constant_time(waiting, monkeypatch):
    compared = []
    same = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda known, given: compared.append(known) or same(known, given))
    assert waiting.client_of(f"Bearer {TOKENS['ada']}") == "ada"
    with pytest.raises(Refused):
        waiting.client_of(f"Bearer {'x' * 30}")
    assert compared == 2 * [token.encode() for token in TOKENS.values()]


def test_a_server_goes_on_from_its_folder(pem, rng, tmp_path):
    state, data = drawn(rng)
    with running(state, pem, rounds=2, folder=tmp_path) as server:
        work(server, pem, data)
    _, metadata = safetensors.read(tmp_path / FILE)
    assert metadata == {"computation": "fed_avg", "round": "2"}
    lines = []
    with running(state, pem, lines, rounds=5, folder=tmp_path) as server:
        work(server, pem, data)
    assert_equal(server.result, after(state, data, 5))
    assert lines[0] == "goes on after round 2 of 5"
    assert lines[1].startswith("round 3 of 5: 3 of 3")
    with running(state, pem, rounds=5, folder=tmp_path) as server:  # all rounds are over: it says goodbye
        assert_equal(work(server, pem, data)["ben"], after(state, data, 5))


def test_workers_wait_for_a_server_that_starts_again(pem, rng, tmp_path, monkeypatch):
    """A server ends in the middle of its rounds; another goes on at the same address, with the same workers."""
    monkeypatch.setattr("dovetail.federated.server.POLL", 0.2)
    state, data = drawn(rng)
    first = fed.Server(
        TRAIN, state, TOKENS, certificate=pem[0], key=pem[1], rounds=4, folder=tmp_path, report=lambda text: stop(text)
    )

    def stop(text):
        if text.startswith("round 2"):
            raise InterruptedError

    port = int(first.url.rpartition(":")[2])
    ends = {}
    workers = threading.Thread(target=lambda: ends.update(work(first, pem, data)), daemon=True)
    workers.start()
    with pytest.raises(InterruptedError):
        first.run()
    with running(state, pem, rounds=4, folder=tmp_path, port=port) as second:
        pass
    workers.join(LIMIT)
    assert_equal(second.result, after(state, data, 4))
    assert_equal(ends["cy"], second.result)


def test_the_state_of_another_computation_is_refused(pem, rng, tmp_path):
    state, _ = drawn(rng)
    safetensors.write(tmp_path / FILE, state, {"computation": "other", "round": "1"})
    with pytest.raises(FormatError, match="needed: the state of 'fed_avg'"):
        Rounds(TRAIN, state, rounds=1, folder=tmp_path)


DAMAGED = {  # name → edit of a right state → its arrays, and the metadata
    "round": (lambda state: state, {"round": "two"}),
    "no round": (lambda state: state, {}),
    "shape": (lambda state: {**state, "w": np.zeros((6, 4))}, {"round": "1"}),
    "dtype": (lambda state: {**state, "w": state["w"] + 1j}, {"round": "1"}),
    "missing": (lambda state: {"w": state["w"]}, {"round": "1"}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_state_is_refused(name, rng, tmp_path):
    edit, about = DAMAGED[name]
    safetensors.write(tmp_path / FILE, edit(drawn(rng)[0]), {"computation": "fed_avg", **about})
    state, _ = drawn(rng)
    with pytest.raises(FormatError, match=r"state\.safetensors"):
        Rounds(TRAIN, state, rounds=1, folder=tmp_path)


def average():
    return fed.computation(fed.FederatedType(dt.spec(()), fed.CLIENTS))(lambda x: fed.federated_mean(x))


WRONG = {  # name → (computation, options, words)
    "short token": (TRAIN, {"tokens": {"ada": "short"}}, "ada need tokens of their own"),
    "one token twice": (
        TRAIN,
        {"tokens": {"ada": "x" * 20, "ben": "x" * 20}},
        "ada, ben need tokens of their own",
    ),
    "token of two lines": (TRAIN, {"tokens": {"ada": "x" * 20 + "\n"}}, "printable ASCII"),
    "no clients": (TRAIN, {"tokens": {}}, "tokens names 0 clients"),
    "no rounds": (TRAIN, {"rounds": 0}, "rounds >= 1"),
    "too many": (TRAIN, {"least": 4}, "least is 4, tokens names 3 clients"),
    "no deadline": (TRAIN, {"deadline": float("nan")}, "deadline is nan: it needs .* a finite deadline"),
    "no norm": (TRAIN, {"max_norm": float("nan")}, "it needs max_norm > 0 .*, not nan"),
    "no weight": (TRAIN, {"max_weight": 0.0}, "and max_weight > 0, not inf and 0.0"),
    "no state": (average(), {}, "it takes one state, and gives a pair"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_servers_are_refused(name, pem, rng):
    computation, options, words = WRONG[name]
    given = {"tokens": TOKENS, "rounds": 1, "certificate": pem[0], "key": pem[1], **options}
    with pytest.raises((TypeError, ValueError), match=words):
        fed.Server(computation, drawn(rng)[0], given.pop("tokens"), **given)
