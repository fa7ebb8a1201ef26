"""A certificate for the tests' servers on loopback."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def make_pem(folder):
    """The files of a certificate for 127.0.0.1 and of its key, made by openssl."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext"]
    names = ["subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", *words, *names], check=True, capture_output=True)
    return certificate, key


@pytest.fixture(scope="session")
def pem(tmp_path_factory):
    """The certificate of the tests' servers, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return make_pem(tmp_path_factory.mktemp("pem"))
