"""A headless Chromium for tests, driven through a pipe by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"),
    *("--no-first-run", "--disable-extensions", "--disable-background-networking", "--force-color-profile=srgb"),
]

PATIENCE = 30.0  # seconds without a message


class Browser:
    """A browser with one page; used in a `with` statement.

    Attributes:
        problems: the messages of errors in scripts, and of requests that a page made or wanted to make.
    """

    def __init__(self, folder: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        self._errors = open(folder / "chromium.log", "wb")  # noqa: SIM115  # closed with the browser
        script = f'exec 3<&{commands} 4>&{answers}; exec "$0" "$@"'
        call = ["/bin/bash", "-c", script, CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}"]
        self._process = subprocess.Popen(
            call, pass_fds=(commands, answers), stderr=self._errors, stdout=self._errors, start_new_session=True
        )
        os.close(commands)
        os.close(answers)
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: Any) -> None:
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._errors.close()

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while (found := self._message()).get("id") != number:
            self._note(found)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        return found["result"]

    def _message(self) -> Any:
        while b"\0" not in self._left:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise TimeoutError(f"the browser has said nothing for {PATIENCE} seconds")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self._left += data
        text, _, self._left = self._left.partition(b"\0")
        return json.loads(text)

    def _note(self, event: Any) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file:"):
            self.problems.append(f"asked for {params['request']['url']}")
        elif event.get("method") == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path, width: int = 1400, height: int = 900, dark: bool = False) -> None:
        """Open a page, and wait until it is loaded."""
        self.show(width, height, dark)
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._note(self._message())

    def show(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the window, and whether the user likes dark pages."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        """The value of an expression on the page; of a promise, its result."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"].get("exception", {}).get("description", found))
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}.get(
            key, 0
        )
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Click with the mouse."""
        for count in range(1, times + 1):
            at = {"x": x, "y": y, "button": "left", "clickCount": count}
            self.call("Input.dispatchMouseEvent", type="mousePressed", **at)
            self.call("Input.dispatchMouseEvent", type="mouseReleased", **at)

    def picture(self, path: Path) -> bytes:
        """Write a screenshot, and return its bytes."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data
