"""`xtdrone web` in a process of its own, for tests and pictures of the start page."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

from waiting import LIMIT_S
from xtdrone_core.runs.parent import tied


class StartPage:
    """A running server: url with the token, watch_url, token, process, folder."""

    def __init__(self, folder, *options, words=("web",)):
        """folder: Of runs/ and scenarios/; options: further ones of the command line."""
        self.folder = folder
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "xtdrone_core.command",
                *words,
                "--scenarios",
                str(folder / "scenarios"),
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=tied(signal.SIGTERM),
            env={**os.environ, "XTDRONE_RUNS": str(folder / "runs")},
        )
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C" in line:
                break
        else:
            raise AssertionError(self.said)
        self.url = re.search(r"page: (\S+)", self.said)[1]
        self.watch_url, _, self.token = self.url.partition("#token=")

    def get(self, path, **headers):
        """Status, headers and body of a GET."""
        return self.send("GET", path, None, **headers)

    def send(self, method, path, body, **headers):
        """Status, headers and body of any request."""
        request = urllib.request.Request(
            self.watch_url + path.lstrip("/"), data=body, method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ask(self, path, json_body=None, method=None, body=None, **headers):
        """The JSON answer to a pilot's request; POST where there is something to send."""
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        if json_body is not None:
            body = json.dumps(json_body).encode()
        method = method or ("GET" if body is None else "POST")
        return json.loads(self.send(method, path, body, **headers)[2])

    def stop(self):
        """Ends it as Ctrl-C does; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=LIMIT_S)[0]
        return self.process.returncode


@contextlib.contextmanager
def start_page(folder, *options):
    """A StartPage while the block lasts."""
    page = StartPage(folder, *options)
    try:
        yield page
    finally:
        page.stop()


def multipart(files):
    """Body and Content-Type of an upload of (name, bytes)."""
    edge = "edge-of-a-part"
    parts = b"".join(
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: application/octet-stream\r\n\r\n".encode()
        + data
        + b"\r\n"
        for name, data in files
    )
    return parts + f"--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}"
