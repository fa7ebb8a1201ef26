"""A worker: a client of a federated server that computes with Dovetail."""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dovetail.core.base.errors import op_error
from dovetail.federated.computations import Arrays, fitted, unpack
from dovetail.formats import safetensors

WAIT, LONGEST = 0.1, 5.0  # seconds between two tries: the first, and the longest
PORT = r"[^:]+(:\d{1,5})?|\[.*\](:\d{1,5})?"  # a host, and perhaps a port
TIMEOUT = 60.0  # seconds without an answer


def join(
    url: str,
    token: str,
    data: Mapping[str, Any],
    *,
    certificate: str | Path | None = None,
    engine: str | None = None,
    patience: float = 60.0,
    report: Callable[[str], Any] = print,
) -> Arrays:
    """Take part in the rounds of a server until they are over.

    The server says what to compute, as a graph; nothing that it sends is executed as code.  The data stay here.

    Args:
        url: of the server, `https://…`.
        token: the secret by which it knows this client.
        data: the arrays of the client, by their names in the computation.
        certificate: a file in PEM with the certificates to trust; the system's, if not given.
        engine: the engine to compute on; the current one, if not given.
        patience: the seconds in which the server may be out of reach before the worker gives up.
        report: gets a line of text for each round.

    Returns:
        The weights at the end.

    Raises:
        OSError: the file of certificates cannot be read.
        PermissionError: the server does not know the token.
        ConnectionError: the server cannot be reached or trusted, or refuses an update.
        KeyError, TypeError, ValueError: the data do not fit the computation.
        FormatError: an answer is damaged.
    """
    peer = _Peer(url, token, certificate, patience)
    client = unpack(peer.ask("GET", "/computation")[1])
    own = fitted(data, client.data)
    while True:
        status, body = peer.ask("GET", "/weights")
        if status == 204:  # the others are not ready
            continue
        weights, about = safetensors.of_bytes(body, f"{url}/weights")
        if "done" in about:
            return {name: np.array(array) for name, array in weights.items()}
        update = client(weights, own, engine)
        status, _ = peer.ask("POST", "/update", safetensors.to_bytes(update, {"round": about["round"]}))
        report(f"round {int(about['round']) + 1} of {about['rounds']}: {'sent' if status == 200 else 'too late'}")


class _Peer:
    """The server, as a worker sees it: a connection for each request, without redirects."""

    def __init__(self, url: str, token: str, certificate: str | Path | None, patience: float) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname or not re.fullmatch(PORT, parts.netloc):
            raise op_error(ValueError, "federated.join", f"the URL of a server is https://HOST:PORT, not {url!r}.")
        if not re.fullmatch("[ -~]+", token.strip()):
            raise op_error(ValueError, "federated.join", "a token is one line of printable ASCII characters.")
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers, self._patience = {"Authorization": f"Bearer {token.strip()}"}, patience
        try:
            self._tls = ssl.create_default_context(cafile=certificate)
        except OSError as error:
            problem = f"{str(certificate)!r} must be a file of certificates to trust, in PEM: {error}."
            raise op_error(OSError, "federated.join", problem) from None

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """The status and the body of an answer; a server out of reach is asked again."""
        end, wait = time.monotonic() + self._patience, WAIT
        while True:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=self._tls)
            try:
                connection.request(method, self._path + path, body, self._headers)
                answer = connection.getresponse()
                status, content = answer.status, answer.read()
                break
            except ssl.SSLCertVerificationError as error:
                problem = f"the certificate of {self._host} is not trusted: {error.verify_message}."
                advice = "Give its file as `certificate`, and write a name of the certificate into the URL."
                raise op_error(ConnectionError, "federated.join", f"{problem} {advice}") from error
            except (OSError, http.client.HTTPException) as error:
                if time.monotonic() > end:
                    problem = f"{self._host}:{self._port} cannot be reached: {error}."
                    raise op_error(ConnectionError, "federated.join", problem) from error
                time.sleep(wait)
                wait = min(2 * wait, LONGEST)
            finally:
                connection.close()
        if status in (200, 204, 409):
            return status, content
        kind = PermissionError if status == 401 else ConnectionError
        problem = f"the server answers {method} {path} with {status}: {content[:500].decode(errors='replace')}."
        raise op_error(kind, "federated.join", problem)
