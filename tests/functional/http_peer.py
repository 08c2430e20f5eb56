"""An HTTP server of a test's, which can also be told to be slow, rude, dead or somebody else: what
the strict receivers have in common."""

import base64
import socket
import ssl
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from program import SLOW, until


# --- what it can be told to do with a request: functions of the handler -------------------------

def answer(status, headers=None, body=b""):
    """Reads the request and answers this, whatever it was."""
    body = body if isinstance(body, bytes) else body.encode()

    def act(handler):
        handler.reply(status, body, headers)
    return act


def redirect(to, status=302):
    return answer(status, {"Location": to})


def silence(handler):
    """Never answers, and holds the connection until the client or the server ends."""
    handler.wait_for_end()


def drip(handler):
    """An answer of a byte a second, that would take half an hour."""
    text = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1800 + b"\r\nContent-Length: 0\r\n\r\n"
    for i in range(len(text)):
        handler.wfile.write(text[i:i + 1])
        if handler.wait_for_end(1):
            return


def cut_answer(handler):
    """Ends the connection within the answer."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    handler.close_connection = True


def cut_request(handler):
    """Ends the connection when the request was read, without an answer."""
    handler.close_connection = True


def junk(handler):
    """Speaks, but not HTTP."""
    handler.wfile.write(b"220 mail.example ESMTP\r\n" * 1000)
    handler.close_connection = True


def endless(status):
    """An answer that goes on for as long as somebody reads it."""
    def act(handler):
        handler.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Length: 1000000000\r\n\r\n".encode())
        try:
            while not handler.peer.stopping.is_set():
                handler.wfile.write(b"\xff\n" * 30000)
        except OSError:
            pass
        handler.close_connection = True
    return act


@dataclass
class Request:
    """Every request, also a refused one."""
    at: float  # time.monotonic()
    method: str
    path: str
    query: str
    headers: object
    body: bytes
    connection: int
    status: int = 0
    why: str = ""
    upload: object = None  # what it held, if it was accepted
    faults: list = field(default_factory=list)  # of what was accepted all the same

    @property
    def authorization(self):
        """The decoded user:password of basic authentication, or None."""
        kind, _, text = (self.headers["Authorization"] or "").partition(" ")
        return base64.b64decode(text).decode() if kind == "Basic" else None

    @property
    def tenant(self):
        return self.headers["X-Scope-OrgID"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 3600

    def setup(self):
        peer = self.peer = self.server.peer
        if peer.tls:
            self.request.settimeout(30 * SLOW)
            self.request = peer.tls.wrap_socket(self.request, server_side=True)
        self.connection_id = peer.opened(self.request)
        super().setup()

    def finish(self):
        self.peer.closed(self.connection_id)
        super().finish()
        self.request.close()  # with TLS not the one that the server closes

    def log_message(self, *_):
        pass

    def wait_for_end(self, seconds=None):
        """Whether the client or the server has ended the connection, within these seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        while not self.peer.stopping.is_set():
            self.connection.settimeout(0.1)
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                if end is not None and time.monotonic() > end:
                    return False
            except OSError:
                break
        self.close_connection = True
        return True

    def reply(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.noted.status = status

    def do_POST(self):
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.noted = Request(time.monotonic(), self.command, path, query, self.headers, body,
                             self.connection_id)
        try:
            with self.peer.lock:
                self.peer.requests.append(self.noted)
                rule = self.peer.rules.pop(0) if self.peer.rules else self.peer.behave
            rule(self) if rule else self.receive()
        except OSError:
            self.close_connection = True

    do_GET = do_PUT = do_DELETE = do_POST

    def receive(self):
        """What the server does that is not told otherwise: a receiver's own."""
        raise NotImplementedError


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request, client_address):
        self.peer.failed_connections += 1


class Peer:
    """behave: what to do with each request, None: what its handler's receive() does; rules: the
    same for the next ones. basic: "user:password" that it asks for; base: a path before all others.
    expect_faults: for tests that break something on purpose."""

    handler = Handler

    def __init__(self, base="", tls=None, basic=None, host="127.0.0.1"):
        self.base, self.tls, self.basic, self.host = base, tls, basic, host
        self.behave, self.rules, self.requests = None, [], []
        self.lock = threading.Lock()
        self.connections, self.most_connections, self.all_connections = {}, 0, 0
        self.failed_connections = 0
        self.port, self.server, self.expect_faults = 0, None, False
        self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}{self.base}"

    def start(self):
        """Also after kill(), on the same port."""
        self.stopping = threading.Event()
        self.server = Server((self.host, self.port), self.handler)
        self.server.peer, self.port = self, self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def kill(self):
        """As the end of a process: connections are reset, the port is closed."""
        if not self.server:
            return
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.server = None
        with self.lock:
            for sock in self.connections.values():
                try:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def opened(self, sock):
        with self.lock:
            self.all_connections += 1
            self.connections[self.all_connections] = sock
            self.most_connections = max(self.most_connections, len(self.connections))
            return self.all_connections

    def closed(self, number):
        with self.lock:
            self.connections.pop(number, None)

    def wait_requests(self, n=1, seconds=30):
        return until(seconds, lambda: len(self.requests) >= n and list(self.requests),
                     f"{n} requests")

    def faults(self):
        """What is wrong with what arrived: a receiver adds what it answered 200 all the same."""
        return [f"request {n}: {r.status} {r.why}" for n, r in enumerate(list(self.requests))
                if r.why]

    def close(self):
        """Ends it; fails if anything that arrived was not as it should be."""
        self.kill()
        assert self.expect_faults or self.faults() == []
        assert self.most_connections <= 5


# --- certificates -------------------------------------------------------------------------------

class Authority:
    """A private certificate authority with what it signed, in files of a folder."""

    def __init__(self, folder, name="ca"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.name = folder, name
        self.certificate = folder / f"{name}.pem"
        self.run("req", "-x509", *self.key(name), "-out", self.certificate, "-days", "30",
                 "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE")

    def key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", str(self.folder / f"{name}.key")]

    def run(self, *arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def issue(self, name, san="IP:127.0.0.1", days=30):
        """A certificate and its key: their paths."""
        cert, key, ask = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr"))
        ext = self.folder / f"{name}.ext"
        ext.write_text(f"subjectAltName={san}\n")
        self.run("req", "-new", *self.key(name), "-subj", f"/CN={name}", "-out", ask)
        self.run("x509", "-req", "-in", ask, "-CA", self.certificate, "-CAkey",
                 self.folder / f"{self.name}.key", "-CAcreateserial", "-days", str(days),
                 "-extfile", ext, "-out", cert)
        return cert, key

    def server(self, name="server", clients=None, **more):
        """A context for a server; clients: the authority whose certificates clients must show."""
        cert, key = self.issue(name, **more)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if clients:
            context.load_verify_locations(clients.certificate)
            context.verify_mode = ssl.CERT_REQUIRED
        return context
