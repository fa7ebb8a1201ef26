"""`dovetail federated`: a server of federated rounds, and a worker that takes part."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.cli import WrongInput
from dovetail.cli.npz import read_npz, write_npz
from dovetail.cli.options import add_engine, number
from dovetail.cli.parser import Parser
from dovetail.core.engines.engine_registry import set_engine
from dovetail.federated.computations import Computation
from dovetail.federated.rounds import state_of
from dovetail.federated.server import Server
from dovetail.federated.worker import join
from dovetail.formats import safetensors

SAFETENSORS = ".safetensors"  # the end of a file's name; another file is an .npz

DESCRIPTION = """\
Several clients train one model, and each keeps its data.  `serve` runs the server, for a small set of clients that it
knows by their tokens.  `join` is one client.  docs/federated.md says how a program makes the computation.
"""

EXAMPLES = """\
examples:
  dovetail federated serve train.computation --state first.npz --rounds 10 --tokens tokens.txt \\
      --certificate certificate.pem --key key.pem --out last.npz
                        train for ten rounds with all clients of tokens.txt, on this machine
  dovetail federated join https://127.0.0.1:8443 --token-file ada.txt --data ada.npz --certificate certificate.pem
                        take part with the arrays of ada.npz

`dovetail federated serve --help` and `dovetail federated join --help` tell more.
"""
SERVE = """\
examples:
  python -c "import secrets; print('ada', secrets.token_urlsafe())" >> tokens.txt
                        a token for a client: tokens.txt has a line for each, the name and the token
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost \\
      -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout key.pem -out certificate.pem
                        a certificate for tests on this machine, which workers trust by --certificate
  dovetail federated serve train.computation --state first.npz --rounds 100 --tokens tokens.txt \\
      --certificate certificate.pem --key key.pem --folder kept --least 8 --deadline 120 --max-norm 10
                        a round ends after 120 s if 8 clients have come; the state of each round is kept
The same command again goes on from the folder.  A round whose clients are too few waits for more.
"""
JOIN = """\
examples:
  dovetail federated join https://127.0.0.1:8443 --token-file ada.txt --data ada.npz --certificate certificate.pem
                        the arrays of ada.npz have the names of the computation's data
  dovetail federated join https://127.0.0.1:8443 --token-file ada.txt --data ada.npz --engine torch --out last.npz
                        compute on PyTorch, and keep the weights of the end
The data stay here: the server gets the update that the computation makes of them.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    look: Any = argparse.RawDescriptionHelpFormatter
    actions = parser.add_subparsers(dest="action", metavar="action", required=True, parser_class=Parser)
    serve = actions.add_parser("serve", help="run the server", epilog=SERVE, formatter_class=look)
    serve.add_argument("computation", type=Path, help="a file that Computation.save wrote")
    serve.add_argument(
        "--state", type=Path, required=True, help="an .npz or .safetensors with the first state, such as the weights"
    )
    serve.add_argument("--rounds", type=number(1), required=True, help="the number of rounds")
    serve.add_argument("--tokens", type=Path, required=True, help="a file with a line for each client: name and token")
    serve.add_argument("--certificate", type=Path, required=True, help="the server's certificate, in PEM")
    serve.add_argument("--key", type=Path, required=True, help="the key of the certificate, in PEM")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine alone)")
    serve.add_argument("--port", type=number(0), default=8443, help="the port; 0 for a free one (default: 8443)")
    serve.add_argument("--least", type=number(1), help="clients that are enough at the deadline (default: all)")
    serve.add_argument("--deadline", type=float, default=60.0, help="seconds of a round (default: 60)")
    serve.add_argument("--max-norm", type=float, default=math.inf, help="refuse updates with a larger norm")
    serve.add_argument("--max-weight", type=float, default=math.inf, help="refuse clients with a larger weight")
    serve.add_argument("--folder", type=Path, help="keep the state after each round here, and go on from it")
    take_part = actions.add_parser("join", help="take part as a client", epilog=JOIN, formatter_class=look)
    take_part.add_argument("url", help="https://HOST:PORT of the server")
    take_part.add_argument("--token-file", type=Path, required=True, help="a file with the token")
    take_part.add_argument(
        "--data", type=Path, required=True, help="an .npz or .safetensors with the arrays of this client"
    )
    take_part.add_argument("--certificate", type=Path, help="certificates to trust, in PEM (default: the system's)")
    take_part.add_argument("--patience", type=float, default=60.0, help="seconds without the server (default: 60)")
    for action in (serve, take_part):
        action.add_argument("--out", type=Path, help="write the last state, or weights, to this .npz or .safetensors")
        add_engine(action)


def run(options: argparse.Namespace) -> int:
    """Serve, or join, and return the exit status."""
    if options.engine is not None:
        set_engine(options.engine)
    if options.out is not None and not options.out.parent.is_dir():
        raise WrongInput(f"there is no folder {str(options.out.parent)!r} for --out.")
    try:
        weights = _serve(options) if options.action == "serve" else _join(options)
    except KeyError as error:
        raise WrongInput(error.args[0]) from None
    if options.out is not None and options.out.suffix == SAFETENSORS:
        safetensors.write(options.out, weights, {})
    elif options.out is not None:
        write_npz(options.out, weights)
    return 0


def _serve(options: argparse.Namespace) -> Mapping[str, np.ndarray]:
    computation = Computation.load(options.computation)
    lines = [line.split() for line in options.tokens.read_text().splitlines() if line.strip()]
    if not lines or any(len(line) != 2 for line in lines):
        raise WrongInput(f"{str(options.tokens)!r} needs a line for each client: its name and its token.")
    names = ["certificate", "key", "host", "port", "rounds", "least", "deadline", "max_norm", "max_weight", "folder"]
    given = {name: getattr(options, name) for name in names}
    state = state_of(computation, _arrays(options.state))
    server = Server(computation, state, dict(lines), **given, report=_told)
    _told(f"listens on {server.url} for {', '.join(name for name, _ in lines)}")
    server.run()
    return server.rounds.arrays


def _join(options: argparse.Namespace) -> Mapping[str, np.ndarray]:
    token = options.token_file.read_text().strip()
    given = {"certificate": options.certificate, "patience": options.patience, "report": _told}
    return join(options.url, token, _arrays(options.data), **given)


def _arrays(path: Path) -> Mapping[str, np.ndarray]:
    return safetensors.read(path).tensors if path.suffix == SAFETENSORS else read_npz(path)


def _told(line: str) -> None:
    print(line, flush=True)
