"""HTTP for the mock servers: handlers that answer with JSON, with text, or with a stream of events."""

import http.server
import json
import socket
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.route("GET")

    def do_POST(self):
        self.route("POST")

    def route(self, method):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        path, _, self.query = self.path.partition("?")
        with self.server.mock.lock:
            self.server.mock.requests.append((method, self.path))
        try:
            self.server.mock.answer(self, method, path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def json_body(self):
        return json.loads(self.body)

    def send(self, status, content, content_type="application/json", headers=()):
        data = content if isinstance(content, bytes) else content.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_json(self, value, status=200):
        self.send(status, json.dumps(value))

    def not_found(self):
        self.send_json({"detail": "Not Found"}, 404)

    def begin_stream(self, content_type="text/event-stream"):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def send_event(self, value):
        self.send_piece(b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n")

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass


class Mock:
    """A server on a port of its own, from construction to stop(). `answer` is the subclass's."""

    def __init__(self, engine, **quirks):
        self.engine = engine
        self.quirks = quirks
        self.lock = threading.Lock()
        self.requests = []  # (method, path with query)
        self.bodies = []    # of generating requests
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.mock = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def quirk(self, name):
        return self.quirks.get(name)

    def tokens(self, handler, sequence):
        """The sequence's tokens as they come; the engine is told where the client has gone."""
        try:
            while (event := sequence.events.get()) is not None:
                yield event
                if self.gone(handler):
                    raise BrokenPipeError
        except (BrokenPipeError, ConnectionResetError, GeneratorExit):
            self.engine.abort(sequence)
            raise

    @staticmethod
    def gone(handler):
        try:
            return handler.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def paths(self):
        with self.lock:
            return [path.partition("?")[0] for _, path in self.requests]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
