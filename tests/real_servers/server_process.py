"""A real server as a process of its own, from its start until it answers, and to its end."""

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ServerProcess:
    """`command` gets `--port N` appended. Raises RuntimeError where the server ends or does not answer in time."""

    def __init__(self, command, log_path, environment, seconds=1200):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_path = log_path
        with open(log_path, "w") as log:
            # A session of its own: workers go with it. The tests of others come first on a busy machine.
            self.process = subprocess.Popen(["nice", *command, "--port", str(self.port)], stdout=log, stderr=log,
                                            env={**os.environ, **environment}, start_new_session=True)
        try:
            self._wait(time.monotonic() + seconds)
        except BaseException:
            self.stop()
            raise

    def _wait(self, until):
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: see {self.log_path}")
            with contextlib.suppress(urllib.error.URLError, OSError):
                if urllib.request.urlopen(self.url + "/health", timeout=5).status == 200:
                    return
            time.sleep(0.5)
        raise RuntimeError(f"the server does not answer: see {self.log_path}")

    def stop(self):
        for sign, seconds in ((signal.SIGTERM, 30), (signal.SIGKILL, 10)):
            if self.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(timeout=seconds)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
