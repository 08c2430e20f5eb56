"""A receiver of OTLP over gRPC: grpcio's own server, which can be told to be unwell."""

import concurrent.futures
import time

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otlp_rules import judge_traces
from program import until

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"


def field(number, value):
    """One field of a protobuf message: an integer or bytes."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def retry_info(code, seconds, nanos=0):
    """google.rpc.Status with google.rpc.RetryInfo, as grpc-status-details-bin has it."""
    delay = field(1, seconds) + field(2, nanos)
    detail = field(1, RETRY_INFO) + field(2, field(1, delay))
    return field(1, code) + field(2, b"later") + field(3, detail)


# --- what it can be told to do with a request ---------------------------------------------------

def fail(code, message="no", details=None):
    def act(peer, context):
        if details:
            context.set_trailing_metadata((("grpc-status-details-bin", details),))
        context.abort(code, message)
    return act


def partial(rejected, message):
    def act(peer, context):
        it = ExportTraceServiceResponse()
        it.partial_success.rejected_spans = rejected
        it.partial_success.error_message = message
        return it.SerializeToString()
    return act


def late(seconds):
    def act(peer, context):
        peer.stopping.wait(seconds)
        return b""
    return act


class Call:
    def __init__(self, raw, metadata):
        self.at, self.raw, self.metadata = time.monotonic(), raw, metadata
        self.spans, self.faults = [], []


class GrpcOtlp:
    """behave: what to do with each request, None: take it; rules: the same for the next ones. tls:
    (key, certificate) in PEM, as bytes; clients: the authority that clients must be of."""

    def __init__(self, tls=None, clients=None):
        import threading
        self.behave, self.rules, self.calls = None, [], []
        self.stopping, self.tls, self.clients = threading.Event(), tls, clients
        self.port, self.server = 0, None
        self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start(self):
        """Also after kill(), on the same port."""
        self.stopping.clear()
        handler = grpc.unary_unary_rpc_method_handler(self.export)
        service, _, method = METHOD.strip("/").partition("/")
        self.server = grpc.server(
            concurrent.futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(service, {method: handler})])
        address = f"127.0.0.1:{self.port}"
        if self.tls:
            credentials = grpc.ssl_server_credentials(
                [self.tls], self.clients, require_client_auth=self.clients is not None)
            self.port = self.server.add_secure_port(address, credentials)
        else:
            self.port = self.server.add_insecure_port(address)
        self.server.start()

    def export(self, raw, context):
        call = Call(raw, dict(context.invocation_metadata()))
        rule = self.rules.pop(0) if self.rules else self.behave
        self.calls.append(call)
        answer = rule(self, context) if rule else b""
        call.spans, call.faults = judge_traces(raw)
        return answer

    def kill(self):
        self.stopping.set()
        if self.server:
            self.server.stop(None).wait()
        self.server = None

    def wait_calls(self, n=1, seconds=30):
        return until(seconds, lambda: len(self.calls) >= n and list(self.calls), f"{n} calls")

    @property
    def spans(self):
        return [s for c in list(self.calls) for s in c.spans]

    def close(self):
        self.kill()
        assert [f for c in self.calls for f in c.faults] == []
