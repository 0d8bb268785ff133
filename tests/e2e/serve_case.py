"""What the tests of detcheck serve share: the real program, serving on a port of its own, and plain clients of it."""

import contextlib
import http.client
import json
import re
import signal
import socket
import time
import urllib.parse

from binary_case import BinaryCase, DETERMINISTIC

IDS = [101, 2002, 30003, 44, 5005]


class Served:
    """One running `detcheck serve`."""

    def __init__(self, process):
        self.process = process
        line = process.stdout.readline()
        found = re.search(r"(http://\S+)$", line)
        if not found:
            raise AssertionError(f"no URL in {line!r}: {process.stderr.read()}")
        self.url = found.group(1)
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port

    def connect(self, timeout=60):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def call(self, method, path, body=None, connection=None):
        """Status, headers and text of an answer."""
        own = connection or self.connect()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        own.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        answer = own.getresponse()
        text = answer.read().decode()
        if connection is None:
            own.close()
        return answer.status, dict(answer.getheaders()), text

    def get(self, path):
        status, _, text = self.call("GET", path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {text}")
        return json.loads(text)

    def post(self, path, **body):
        status, _, text = self.call("POST", path, body)
        if status != 200:
            raise AssertionError(f"{path}: {status} {text}")
        return json.loads(text)

    def generate(self, ids=None, tokens=8, **body):
        sampling = {"temperature": 0, "max_new_tokens": tokens, "ignore_eos": True, **body.pop("sampling", {})}
        prompt = {} if "text" in body else {"input_ids": ids or IDS}
        return self.post("/generate", **prompt, sampling_params=sampling, **body)

    def events(self, path, body):
        """The data of each event of a stream."""
        connection = self.connect()
        connection.request("POST", path, json.dumps(body).encode())
        answer = connection.getresponse()
        with contextlib.closing(connection):
            assert answer.status == 200, answer.read()
            assert answer.getheader("Content-Type").startswith("text/event-stream")
            for line in answer:
                if line.startswith(b"data: "):
                    yield line[len(b"data: ") :].decode().rstrip("\n")

    def raw(self):
        return socket.create_connection((self.host, self.port), timeout=30)

    def load(self):
        return self.get("/v1/loads")["loads"][0]

    def wait_for_load(self, wanted, seconds=30):
        """Until the load has these values."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            load = self.load()
            if all(load[name] == value for name, value in wanted.items()):
                return load
            time.sleep(0.01)
        raise AssertionError(f"not {wanted}: {load}")

    def stop(self, sign=signal.SIGTERM, seconds=30):
        """Exit code after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(sign)
        code = self.process.wait(timeout=seconds)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class ServeCase(BinaryCase):
    def serve(self, *options, deterministic=True):
        mode = DETERMINISTIC if deterministic else []
        process = self.start("serve", "--engine", "cpu", "--port", "0", "--threads", "2", *mode, *options)
        served = Served(process)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return served

    def assert_error(self, answer, status, pattern):
        """An error as the servers give it: JSON with a message."""
        self.assertEqual(answer[0], status, answer[2])
        self.assertRegex(json.loads(answer[2])["error"]["message"], pattern)
