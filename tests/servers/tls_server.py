"""An https server for tests: answers each POST with its own body. Prints its port.

    tls_server.py CERTIFICATE KEY

Ends when its standard input does.
"""
import http.server
import ssl
import sys
import threading


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, certificate, key):
        super().__init__(("127.0.0.1", 0), Echo)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)

    def finish_request(self, request, client_address):
        # Here and not at accept: a client that breaks off must not hold up the others.
        with self.context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)

    def handle_error(self, request, client_address):
        pass


def main():
    server = Server(sys.argv[1], sys.argv[2])
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
