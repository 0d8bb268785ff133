"""detcheck serve: connections, and what its HTTP library does otherwise unless it is told."""

import concurrent.futures
import json
import signal
import socket
import time
import unittest

from serve_case import IDS, ServeCase

LONG = 15000  # Tokens: some seconds at least.


class Connections(ServeCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.addCleanup(self.server.stop)

    def send_long(self, connection, stream=False, ids=None):
        body = {"input_ids": ids or IDS, "stream": stream,
                "sampling_params": {"temperature": 0, "max_new_tokens": LONG, "ignore_eos": True}}
        connection.request("POST", "/generate", json.dumps(body))

    def metric(self, name):
        text = self.server.call("GET", "/metrics")[2]
        return float(next(line for line in text.splitlines() if line.startswith(name + "{")).rsplit(" ", 1)[1])

    def test_more_than_eight_connections_form_one_batch(self):
        """The library's own eight threads would let no more than eight requests run."""
        alone = self.server.generate(tokens=400)["output_ids"]
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda _: self.server.generate(tokens=400), range(24)))
        self.assertGreater(max(one["meta_info"]["num_running_reqs"] for one in answers), 16)
        self.assertEqual({tuple(one["output_ids"]) for one in answers}, {tuple(alone)})

    def test_a_request_joins_the_running_batch_and_leaves_it(self):
        first = self.server.connect()
        self.send_long(first, stream=True)
        answer = first.getresponse()
        answer.readline()  # It has answered a token.
        joined = self.server.generate([5, 6, 7], tokens=5)
        self.assertEqual(joined["meta_info"]["num_running_reqs"], 2)
        self.assertEqual(self.server.load()["num_running_reqs"], 1)  # The first goes on.
        answer.close()
        first.close()
        self.server.wait_for_load({"num_running_reqs": 0})

    def test_a_connection_serves_any_number_of_requests(self):
        """Five, by the library's default."""
        connection = self.server.connect()
        for _ in range(40):
            status, headers, _ = self.server.call("POST", "/generate",
                                                  {"input_ids": IDS, "sampling_params": {"max_new_tokens": 1}}, connection)
            self.assertEqual(status, 200)
            self.assertNotEqual(headers.get("Connection"), "close")
        connection.close()

    def test_a_body_may_come_slowly(self):
        """The library would give up after five seconds."""
        body = json.dumps({"input_ids": IDS, "sampling_params": {"max_new_tokens": 2}}).encode()
        with self.server.raw() as sock:
            sock.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:9])
            time.sleep(5.5)
            sock.sendall(body[9:])
            self.assertTrue(sock.recv(1 << 16).startswith(b"HTTP/1.1 200"))

    def test_a_burst_of_connections_is_accepted(self):
        """The library keeps five; a sixth would try again after a second."""
        sockets = []
        longest = 0
        for _ in range(300):
            begin = time.monotonic()
            sockets.append(self.server.raw())
            longest = max(longest, time.monotonic() - begin)
        self.assertLess(longest, 0.9)
        for sock in sockets:
            sock.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        for sock in sockets:
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 200"))
            sock.close()

    def test_the_port_is_not_shared(self):
        """The library would let two servers have one port."""
        run = self.detcheck("serve", "--engine", "cpu", "--port", str(self.server.port))
        self.assertEqual(run.returncode, 4)
        self.assertRegex(run.stderr, r"^detcheck: cannot listen on 127.0.0.1 port \d+: Address already in use\n$")

    def test_an_answer_that_is_not_wanted_any_more_is_cancelled(self):
        """Whole answers and streams; of the first the library tells nothing."""
        for number, stream in enumerate((False, True), start=1):
            with self.subTest(stream=stream):
                connection = self.server.connect()
                self.send_long(connection, stream)
                self.server.wait_for_load({"num_running_reqs": 1})
                connection.close()
                self.server.wait_for_load({"num_running_reqs": 0, "num_used_tokens": 0}, seconds=5)
                self.assertEqual(self.metric("sglang:num_aborted_requests_total"), number)

    def test_a_waiting_request_is_cancelled(self):
        server = self.server = self.serve("--max-running-requests", "1")
        self.addCleanup(server.stop)
        running, waiting = server.connect(), server.connect()
        self.send_long(running)
        server.wait_for_load({"num_running_reqs": 1})
        self.send_long(waiting)
        server.wait_for_load({"num_waiting_reqs": 1})
        self.assertEqual(server.call("POST", "/flush_cache")[0], 400)
        waiting.close()
        server.wait_for_load({"num_running_reqs": 1, "num_waiting_reqs": 0})
        running.close()
        server.wait_for_load({"num_running_reqs": 0})
        self.assertEqual(server.call("POST", "/flush_cache?timeout=5")[0], 200)

    def test_a_flush_waits_for_the_running_requests(self):
        body = {"input_ids": IDS, "sampling_params": {"temperature": 0, "max_new_tokens": 3000, "ignore_eos": True}}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.server.call, "POST", "/generate", body)
            self.server.wait_for_load({"num_running_reqs": 1})
            self.assertEqual(self.server.call("POST", "/flush_cache?timeout=200")[0], 200)
            self.assertEqual(self.server.load()["num_running_reqs"], 0)
            self.assertEqual(running.result()[0], 200)

    def test_a_flush_that_is_not_wanted_any_more_is_given_up(self):
        running = self.server.connect()
        self.send_long(running)
        self.server.wait_for_load({"num_running_reqs": 1})
        with self.server.raw() as sock:
            sock.sendall(b"POST /flush_cache?timeout=600 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            self.wait_for_flush("already in progress")
        self.wait_for_flush("1 requests are running or waiting")
        running.close()

    def wait_for_flush(self, words, seconds=30):
        """Until a flush is refused in these words."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status, _, text = self.server.call("POST", "/flush_cache")
            self.assertEqual(status, 400, text)
            if words in text:
                return
            time.sleep(0.01)
        self.fail(f"not {words!r}: {text}")

    def test_large_bodies_are_refused(self):
        size = (64 << 20) + 1
        with self.server.raw() as sock:
            sock.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
            try:
                for _ in range(65):
                    sock.sendall(b" " * (1 << 20))
            except OSError:
                pass  # It need not read all of it.
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 413"))
        with self.server.raw() as sock:  # The library looks at no length where there is none.
            sock.sendall(b"POST /generate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(70):
                    sock.sendall(b"100000\r\n" + b" " * (1 << 20) + b"\r\n")
            except OSError:
                pass
            self.assertTrue(sock.recv(4096).startswith(b"HTTP/1.1 413"))
        self.assertEqual(len(self.server.generate()["output_ids"]), 8)

    def test_what_is_not_http_does_no_harm(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 5000 + b"\r\n"):
            with self.server.raw() as sock:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                try:
                    while sock.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        self.assertEqual(self.server.call("GET", "/health")[0], 200)


class Stopping(ServeCase):
    def test_running_requests_end_before_the_server(self):
        server = self.serve()
        body = {"input_ids": IDS, "sampling_params": {"temperature": 0, "max_new_tokens": 2000, "ignore_eos": True}}
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(server.call, "POST", "/generate", body)
            server.wait_for_load({"num_running_reqs": 1})
            self.assertEqual(server.stop(signal.SIGTERM), 0)
            status, _, text = running.result()
        self.assertEqual((status, len(json.loads(text)["output_ids"])), (200, 2000))
        with self.assertRaises(ConnectionRefusedError):
            server.raw()

    def test_idle_connections_do_not_hold_it(self):
        server = self.serve()
        idle = [server.raw() for _ in range(3)]
        self.assertEqual(server.call("GET", "/health")[0], 200)
        begin = time.monotonic()
        self.assertEqual(server.stop(signal.SIGINT), 0)
        self.assertLess(time.monotonic() - begin, 3)
        for sock in idle:
            sock.close()


class CommandLine(ServeCase):
    def test_what_cannot_be_is_said_in_one_line(self):
        self.assert_refused(self.detcheck("serve", "--port", "65536"), "--port 65536: not a whole number from 0 to 65535")
        self.assert_refused(self.detcheck("serve", "--model", "synthetic:none", "--engine", "cpu"), "synthetic:none")
        run = self.detcheck("serve", "--engine", "cpu", "--host", "192.0.2.1", "--port", "0")
        self.assertEqual(run.returncode, 4)
        self.assertRegex(run.stderr, "^detcheck: cannot listen on 192.0.2.1 port 0: ")

    def test_it_listens_to_this_machine_only(self):
        server = self.serve()
        self.addCleanup(server.stop)
        self.assertEqual(server.host, "127.0.0.1")


if __name__ == "__main__":
    unittest.main()
