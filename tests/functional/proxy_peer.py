"""An HTTP proxy on 127.0.0.1: for http by absolute URLs, for https by CONNECT."""

import http.client
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        self.server.proxy.asked.append((self.command, self.path, self.headers))

    def do_POST(self):
        self.note()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        to = urlsplit(self.path)
        onward = http.client.HTTPConnection(to.hostname, to.port, timeout=60)
        onward.request("POST", f"{to.path}?{to.query}", body, dict(self.headers))
        got = onward.getresponse()
        body = got.read()
        self.send_response(got.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        onward.close()

    def do_CONNECT(self):
        self.note()
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as onward:
            self.send_response(200)
            self.end_headers()
            pair = {self.connection: onward, onward: self.connection}
            while True:
                for sock in select.select(list(pair), [], [], 60)[0]:
                    data = sock.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    pair[sock].sendall(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_):
        pass


class Proxy:
    """asked: (method, target, headers) of each request, in order."""

    def __init__(self):
        self.asked = []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.proxy = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
