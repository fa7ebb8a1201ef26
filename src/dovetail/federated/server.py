"""A server of federated computations over HTTPS, for a small set of clients that it knows.

It answers three requests, with bodies in safetensors: GET /computation, GET /weights and POST /update.  A client shows
its token as `Authorization: Bearer …`.  Each request has a connection of its own.
"""

from __future__ import annotations

import hmac
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dovetail.core.base.errors import FormatError, op_error
from dovetail.federated.computations import Arrays, Computation
from dovetail.federated.rounds import Refused, Rounds
from dovetail.formats import safetensors

SECRET = re.compile("[ -~]{16,}")  # a token
POLL = 10.0  # seconds that a request for weights waits for the next round
DISCARDED = 1 << 22  # bytes of a refused body that are read
SILENCE = 30.0  # seconds without a byte, or without a token, after which a connection is closed
THREADS = 256  # of the process, above which a connection is closed


class Server(ThreadingHTTPServer):
    """A server that trains by federated rounds, over HTTPS.

    Args:
        computation: (state at SERVER, data at CLIENTS) → (new state, report), as `fed_avg` makes it.
        state: the first state; for `fed_avg` the weights.
        tokens: the name of each client → its secret, of at least 16 characters.
        certificate, key: files in PEM.
        rounds: their number.
        host: the address to listen on; other machines reach it if it is not loopback.
        port: 0 for a free one.
        least: the number of updates that are enough at the deadline; all clients, if not given.
        deadline: the seconds that a round waits for all clients.
        options: the other arguments of `Rounds`: max_norm, max_weight, folder, report.

    Attributes:
        url: of the server.
        rounds: the rounds and their state.
        strangers: connection → when it is closed, unless it shows a token.

    Raises:
        TypeError, ValueError: an argument does not fit.
        OSError: the port is taken, or a file cannot be read.

    Source: Bonawitz et al. 2019, "Towards federated learning at scale: system design"; its rounds, without secure
        aggregation.
    """

    request_queue_size = 128  # connections that wait to be accepted; all clients may come at once

    def __init__(
        self,
        computation: Computation,
        state: Any,
        tokens: Mapping[str, str],
        *,
        certificate: str | Path,
        key: str | Path,
        rounds: int,
        host: str = "127.0.0.1",
        port: int = 0,
        least: int | None = None,
        deadline: float = 60.0,
        **options: Any,
    ) -> None:
        known = [*tokens.values()]
        if weak := [name for name, one in tokens.items() if not SECRET.fullmatch(one) or known.count(one) > 1]:
            problem = f"{', '.join(weak)} need tokens of their own, of at least 16 printable ASCII characters"
            raise op_error(ValueError, "federated.Server", f"{problem}: make each by secrets.token_urlsafe().")
        self.least, self.deadline = len(tokens) if least is None else least, deadline
        if not (1 <= self.least <= len(tokens) and 0 <= deadline <= threading.TIMEOUT_MAX):
            problem = f"least is {self.least}, tokens names {len(tokens)} clients, and deadline is {deadline}"
            needed = "1 <= least <= clients, and a finite deadline >= 0"
            raise op_error(ValueError, "federated.Server", f"{problem}: it needs {needed}.")
        self.rounds, self.package = Rounds(computation, state, rounds=rounds, **options), computation.client.package()
        updates = computation.client.updates
        self.longest = sum(2 * (one.spec.nbytes or 0) + 256 for one in updates) + (1 << 16)  # bytes of an update
        self._tokens = {name: token.encode() for name, token in tokens.items()}
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            self._tls.load_cert_chain(certificate, key)
        except OSError as error:
            problem = f"{str(certificate)!r} and {str(key)!r} must be a certificate and its key, in PEM: {error}."
            raise op_error(OSError, "federated.Server", problem) from None
        lock = threading.RLock()
        self._offered, self._came = threading.Condition(lock), threading.Condition(lock)  # of weights, of an update
        self._weights = b""  # of the open round; empty between two
        self._updates: dict[str, Arrays] = {}  # of this round; at the end, of the clients that have the weights
        self.strangers: dict[socket.socket, float] = {}
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            problem = f"{host}:{port} cannot be listened on: {error}. Choose another port; port=0 takes a free one."
            raise op_error(OSError, "federated.Server", problem) from None
        self.url = f"https://{host}:{self.server_address[1]}"

    # -- the thread of the training -----------------------------------------------------------------------------------

    def run(self) -> Any:
        """Train: answer the clients until all rounds are over, and return the last state.

        Raises:
            ValueError: the aggregates cannot be computed.
        """
        thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            last: set[str] = set()  # the clients of the last round
            while not self.rounds.is_over:
                self._offer()
                updates = self._gathered()
                last = {*updates}
                self.rounds.advance(updates, len(self._tokens))
            self._offer()
            self._have_come(len(self._tokens), min(self.deadline, SILENCE))  # each client gets the weights of the end
            with self._came:
                self._came.wait_for(lambda: self._updates.keys() >= last, SILENCE)
            return self.rounds.state
        finally:
            with self._offered:
                self._weights = b""
                self._offered.notify_all()
            self.shutdown()
            self.server_close()
            thread.join()

    def _offer(self) -> None:
        """Offer the weights of the next round, or those at the end."""
        about = {"round": str(self.rounds.number), "rounds": str(self.rounds.rounds)}
        body = safetensors.to_bytes(self.rounds.begin(), about | ({"done": "true"} if self.rounds.is_over else {}))
        with self._offered:
            self._updates, self._weights = {}, body
            self._offered.notify_all()

    def _gathered(self) -> dict[str, Arrays]:
        """The updates of the round, once all are here, or enough at the deadline; then the round is over."""
        with self._came:
            if not self._have_come(len(self._tokens), self.deadline) and not self._have_come(self.least, 0):
                text = f"{len(self._updates)} of {len(self._tokens)} clients came; it waits for {self.least}"
                self.rounds.report(f"round {self.rounds.number + 1} of {self.rounds.rounds}: {text}")
            self._have_come(self.least)
            self._weights = b""
            return self._updates

    def _have_come(self, count: int, seconds: float | None = None) -> bool:
        with self._came:
            return self._came.wait_for(lambda: len(self._updates) >= count, seconds)

    # -- the threads of requests --------------------------------------------------------------------------------------

    def client_of(self, header: str) -> str:
        """The client whose token a header shows; all tokens are compared, in a time that tells nothing of them.

        Raises:
            Refused: no client has it.
        """
        scheme, _, given = header.partition(" ")
        clients = [name for name, token in self._tokens.items() if hmac.compare_digest(token, given.encode())]
        if not clients or scheme != "Bearer":
            raise Refused(401, "no client has this token")
        return clients[0]

    def weights_for(self, client: str) -> bytes | None:
        """The weights of a round to which the client has not contributed, or those at the end; None if it must wait."""
        with self._offered:
            is_open = self._offered.wait_for(lambda: self._is_open_for(client), POLL)
            return self._weights if is_open else None

    def answered(self, client: str, body: bytes | None) -> None:
        """Take note of a client that has the weights of the end; the server waits for this."""
        with self._came:
            if self.rounds.is_over and body is self._weights:
                self._updates[client] = {}
                self._came.notify_all()

    def _is_open_for(self, client: str) -> bool:
        return bool(self._weights) and (client not in self._updates or self.rounds.is_over)

    def take(self, client: str, body: bytes) -> bytes:
        """Count an update, and answer.

        Raises:
            Refused: it is late, or wrong.
        """
        try:
            update, about = safetensors.of_bytes(body, "the update")
            number = int(about["round"])
        except (FormatError, KeyError, ValueError) as error:
            reason = f"the update is no safetensors file with the metadata 'round': {error}"
            raise self.rounds.refused(client, 400, reason) from None
        self.rounds.check(client, update)
        with self._came:
            if number != self.rounds.number or self.rounds.is_over or not self._is_open_for(client):
                raise Refused(409, f"the update of round {number} is late, or came before; ask for new weights")
            self._updates[client] = update
            self._came.notify_all()
        return b"counted"

    # -- sockets: TLS, a thread for each connection, and a bound on their number --------------------------------------

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = super().get_request()
        plain.settimeout(SILENCE)  # the handshake is part of the first read, in the connection's thread
        connection = self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        self.strangers[connection] = time.monotonic() + SILENCE
        return connection, address

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return threading.active_count() < THREADS

    def service_actions(self) -> None:
        """Close the connections that have shown no token in time, though they may send a byte now and then."""
        now = time.monotonic()
        for connection in [one for one, end in [*self.strangers.items()] if end < now]:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # its thread reads the end, and closes it

    def shutdown_request(self, request: Any) -> None:
        self.strangers.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # a lost or foreign connection is no error of the server's


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = SILENCE
    server_version, sys_version = "dovetail", ""

    def do_GET(self) -> None:
        length = self.headers.get("Content-Length", "")
        self._unread = int(length) if length.isdecimal() and len(length) < 20 else 0  # bytes of the body
        try:
            client = self.server.client_of(self.headers.get("Authorization", ""))
            self.server.strangers.pop(self.connection, None)
            body = self._answer(client)
            self._send(204 if body is None else 200, body or b"")
            self.server.answered(client, body)
        except Refused as error:
            self._send(error.status, str(error).encode())
            self.rfile.read(min(self._unread, DISCARDED))  # a client that still sends would not see the answer

    do_POST = do_GET

    def _answer(self, client: str) -> bytes | None:
        match self.command, self.path:
            case "GET", "/computation":
                return self.server.package
            case "GET", "/weights":
                return self.server.weights_for(client)
            case "POST", "/update":
                return self.server.take(client, self._body())
        raise Refused(404, "there are GET /computation, GET /weights and POST /update")

    def _body(self) -> bytes:
        length, longest = self._unread, self.server.longest
        if not length:
            raise Refused(411, "an update needs the header Content-Length")
        if length > longest:
            raise Refused(413, f"an update has at most {longest} bytes, not {length}")
        self._unread = 0
        return self.rfile.read(length)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the rounds report."""
