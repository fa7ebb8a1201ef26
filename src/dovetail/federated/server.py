"""A server of federated computations over HTTPS, for a small set of clients that it knows.

It answers three requests, with bodies in safetensors: GET /computation, GET /weights and POST /update.  A client shows
its token as `Authorization: Bearer …`.  Each request has a connection of its own.
"""

from __future__ import annotations

import hmac
import socket
import ssl
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from dovetail.core.errors import op_error
from dovetail.federated.computations import Computation
from dovetail.federated.rounds import Refused, Rounds

SHORTEST = 16  # characters of a token
POLL = 10.0  # seconds that a request for weights waits for the next round
DISCARDED = 1 << 22  # bytes of a refused body that are read
SILENCE = 30.0  # seconds without a byte after which a connection is closed


class Server:
    """A server that trains by federated rounds, over HTTPS.

    Args:
        computation: (state at SERVER, data at CLIENTS) → (new state, report), as `fed_avg` makes it.
        state: the first state; for `fed_avg` the weights.
        tokens: the name of each client → its secret, of at least 16 characters.
        certificate, key: files in PEM.
        host: the address to listen on; other machines reach it if it is not loopback.
        port: 0 for a free one.
        options: the other arguments of `Rounds`: rounds, least, deadline, max_norm, max_weight, folder, report.

    Attributes:
        url: of the server.
        rounds: the rounds and their state.

    Raises:
        TypeError, ValueError: an argument does not fit.
        OSError: the port is taken, or a file cannot be read.

    Source: Bonawitz et al. 2019, "Towards federated learning at scale: system design"; its rounds, without secure
        aggregation.
    """

    def __init__(
        self,
        computation: Computation,
        state: Any,
        tokens: Mapping[str, str],
        *,
        certificate: str | Path,
        key: str | Path,
        host: str = "127.0.0.1",
        port: int = 0,
        **options: Any,
    ) -> None:
        if weak := [name for name, token in tokens.items() if len(token) < SHORTEST]:
            problem = f"the tokens of {', '.join(weak)} are too short: make them by secrets.token_urlsafe()."
            raise op_error(ValueError, "federated.Server", problem)
        if len({*tokens.values()}) < len(tokens):
            raise op_error(ValueError, "federated.Server", "two clients have one token.")
        self.rounds = Rounds(computation, state, tokens, **options)
        self._http = _Https((host, port), _Handler)
        try:
            self._http.tls.load_cert_chain(certificate, key)
            self._http.tokens = {name: token.encode() for name, token in tokens.items()}
            self._http.rounds, self._http.package = self.rounds, computation.client.package()
            largest = sum(one.spec.nbytes or 0 for one in computation.client.updates)
            self._http.longest = 2 * largest + (1 << 16) + 256 * len(computation.client.updates)
        except BaseException:
            self._http.server_close()
            raise
        self.url = f"https://{host}:{self._http.server_address[1]}"

    def run(self) -> Any:
        """Train: answer the clients until all rounds are over, and return the last state.

        Raises:
            ValueError: the aggregates cannot be computed.
        """
        thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            state = self.rounds.run()
            self.rounds.wait_for_goodbyes(min(self.rounds.deadline, SILENCE))
            return state
        finally:
            self.rounds.close()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


class _Https(ThreadingHTTPServer):
    """The sockets: TLS, a thread for each connection, and a bound on their number."""

    daemon_threads = True
    block_on_close = False
    tokens: Mapping[str, bytes]
    rounds: Rounds
    package: bytes
    longest: int  # bytes of an update

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._free = threading.BoundedSemaphore(256)
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        plain, address = super().get_request()
        plain.settimeout(SILENCE)  # the handshake is part of the first read, in the connection's thread
        return self.tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # a lost or foreign connection is no error of the server's

    def client_of(self, header: str) -> str | None:
        """The client whose token a header shows; all tokens are compared, in a time that tells nothing of them."""
        scheme, _, given = header.partition(" ")
        found = [name for name, token in self.tokens.items() if hmac.compare_digest(token, given.encode())]
        return found[0] if found and scheme == "Bearer" else None


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _Https
    timeout = SILENCE
    server_version, sys_version = "dovetail", ""

    def do_GET(self) -> None:
        self._answer({"/computation": self._computation, "/weights": self._weights})

    def do_POST(self) -> None:
        self._answer({"/update": self._update})

    def _answer(self, table: Mapping[str, Any]) -> None:
        length = self.headers.get("Content-Length", "")
        self._length, self._is_read = int(length) if length.isdecimal() else 0, False
        client = self.server.client_of(self.headers.get("Authorization", ""))
        try:
            if client is None:
                raise Refused(401, "no client has this token")
            if self.path not in table:
                raise Refused(404, "there are GET /computation, GET /weights and POST /update")
            body = table[self.path](client)
            self._send(204 if body is None else 200, body or b"")
        except Refused as error:
            if not self._is_read:  # a client that still sends would not see the answer
                self.rfile.read(min(self._length, DISCARDED))
            self._send(error.status, str(error).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _computation(self, client: str) -> bytes:
        return self.server.package

    def _weights(self, client: str) -> bytes | None:
        return self.server.rounds.weights_for(client, POLL)

    def _update(self, client: str) -> bytes:
        if not self._length:
            raise Refused(411, "an update needs the header Content-Length")
        if self._length > self.server.longest:
            raise Refused(413, f"an update has at most {self.server.longest} bytes, not {self._length}")
        self._is_read = True
        self.server.rounds.take(client, self.rfile.read(self._length))
        return b"counted"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the rounds report."""
