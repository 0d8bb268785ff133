"""What the end-to-end tests of servers share: mock servers in this process, the real program against them."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "servers"))

from binary_case import BinaryCase  # noqa: E402
from mock_engine import MockEngine  # noqa: E402,F401

SHORT = {"--profile": "quick", "--fixture": "q13", "--batch-sizes": "1,2,4", "--n-trials": "3", "--max-new-tokens": "16",
         "--timeout": "20"}


class ServerCase(BinaryCase):
    """`mock` starts a server that ends with the test; `run_mode` runs the program against one."""

    def mock(self, kind, engine=None, **quirks):
        server = kind(engine or MockEngine(), **quirks)
        self.addCleanup(server.stop)
        return server

    def run_mode(self, mode, server, *options, env=None):
        environment = {**os.environ, **(env or {})}
        short = [word for option in SHORT.items() if option[0] not in options for word in option]
        return self.detcheck(mode, *short, "--no-progress", "--endpoint", server.url, *options, env=environment)

    def assert_verdict(self, run, code, pattern=""):
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        if pattern:
            self.assertRegex(run.stdout + run.stderr, pattern)

    def manifest(self, server, *options, env=None):
        run = self.detcheck("manifest", "--json", "--endpoint", server.url, *options, env={**os.environ, **(env or {})})
        self.assertEqual(run.returncode, 0, run.stderr)
        return {field["name"]: field for field in json.loads(run.stdout)["subject"]}
