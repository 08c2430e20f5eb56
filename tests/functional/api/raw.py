"""HTTP over a bare socket, for what a well-behaved client would not send."""

import socket
import time

from program import SLOW


class Raw:
    def __init__(self, program, timeout=60, receive_buffer=None):
        self.sock = socket.socket()
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(timeout * SLOW)
        self.sock.connect(("127.0.0.1", program.api_port))

    def send(self, text):
        self.sock.sendall(text.encode("latin-1") if isinstance(text, str) else text)
        return self

    def rest(self):
        """All until the other side closes."""
        got = b""
        try:
            while more := self.sock.recv(65536):
                got += more
        except ConnectionResetError:
            pass
        return got

    def close(self):
        self.sock.close()


def ask(program, text):
    """(status, header text, body); status 0: closed without an answer."""
    raw = Raw(program).send(text)
    got = raw.rest()
    raw.close()
    head, _, body = got.partition(b"\r\n\r\n")
    head = head.decode("latin-1")
    return int(head.split()[1]) if head.startswith("HTTP/1.") else 0, head, body


def drip(program, start, piece="x", every=0.05, seconds=30):
    """Sends start, then a piece every so often; the seconds until the server closes."""
    raw, began = Raw(program).send(start), time.monotonic()
    try:
        while time.monotonic() - began < seconds * SLOW:
            raw.send(piece)
            time.sleep(every)
        raise AssertionError(f"still connected after {seconds} s")
    except (BrokenPipeError, ConnectionResetError):
        return time.monotonic() - began
    finally:
        raw.close()
