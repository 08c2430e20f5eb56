"""Reads a running program as a profiler outside of it does: by the names in .dynsym, the threads'
pointers and the process's memory. x86-64."""

import ctypes
import os
import pathlib
import struct

PTRACE_GETREGS, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 12, 17, 0x4206, 0x4207
WALL = 0x40000000
FS_BASE = 21  # index in struct user_regs_struct
PT_LOAD, PT_TLS = 1, 7
STT_TLS = 6

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid, data=None):
    if libc.ptrace(request, tid, None, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of {tid}")


class Elf:
    """The dynamic symbols and the TLS segment of an executable."""

    def __init__(self, path):
        d = pathlib.Path(path).read_bytes()
        assert d[:6] == b"\x7fELF\x02\x01" and struct.unpack_from("<H", d, 18)[0] == 62, path
        phoff, shoff = struct.unpack_from("<QQ", d, 32)
        phsize, phnum, shsize, shnum, shnames = struct.unpack_from("<HHHHH", d, 54)
        self.tls, self.base = None, None
        for i in range(phnum):
            kind, _, _, addr, _, _, bytes_, align = struct.unpack_from(
                "<IIQQQQQQ", d, phoff + i * phsize)
            if kind == PT_TLS:
                self.tls = (bytes_, align)
            elif kind == PT_LOAD and self.base is None:
                self.base = addr
        sections = [struct.unpack_from("<IIQQQQII", d, shoff + i * shsize) for i in range(shnum)]
        names = d[sections[shnames][4]:]
        self.symbols = {}
        for name, _, _, _, at, bytes_, link, _ in sections:
            if names[name:].startswith(b".dynsym\0"):
                strings = d[sections[link][4]:]
                for i in range(0, bytes_, 24):
                    sym, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", d, at + i)
                    if section:
                        text = strings[sym:strings.index(b"\0", sym)].decode()
                        self.symbols[text] = (info & 15, value)

    def tls_offset(self, name):
        """From the thread pointer: the block of the executable ends there (variant II)."""
        kind, value = self.symbols[name]
        assert kind == STT_TLS, name
        bytes_, align = self.tls
        return value - (bytes_ + align - 1) // align * align


def fields(data):
    """(number, value) of a protobuf message; lengths and varints alone."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        assert key & 7 in (0, 2), key
        value = varint()
        if key & 7 == 2:
            at += value
            assert at <= len(data)
            value = data[at - value:at]
        yield key >> 3, value


def any_value(data):
    (number, value), = fields(data)
    if number == 1:
        return value.decode()
    assert number == 5, number
    return [any_value(v) for n, v in fields(value) if n == 1]


def pairs(data, number):
    """The KeyValues of a message's field."""
    found = {}
    for n, value in fields(data):
        if n == number:
            pair = dict(fields(value))
            assert set(pair) == {1, 2}
            found[pair[1].decode()] = any_value(pair[2])
    return found


class Outside:
    def __init__(self, pid):
        self.pid = pid
        self.memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
        self.exe = Elf(f"/proc/{pid}/exe")
        real = os.readlink(f"/proc/{pid}/exe")
        starts = [int(line.split("-")[0], 16) for line in self.maps() if line.endswith(real)]
        self.load = min(starts) - self.exe.base

    def close(self):
        self.memory.close()

    def maps(self):
        return pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines()

    def read(self, at, bytes_):
        self.memory.seek(at)
        got = self.memory.read(bytes_)
        assert len(got) == bytes_
        return got

    def word(self, at):
        return struct.unpack("<Q", self.read(at, 8))[0]

    def threads(self):
        """Thread id to name."""
        return {int(t.name): (t / "comm").read_text().strip()
                for t in pathlib.Path(f"/proc/{self.pid}/task").iterdir()}

    def u32(self, name):
        return struct.unpack("<I", self.read(self.load + self.exe.symbols[name][1], 4))[0]

    def stopped(self, tid, look):
        """look(thread pointer) while the thread stands still."""
        ptrace(PTRACE_SEIZE, tid)
        try:
            ptrace(PTRACE_INTERRUPT, tid)
            os.waitpid(tid, WALL)
            regs = (ctypes.c_uint64 * 27)()
            ptrace(PTRACE_GETREGS, tid, ctypes.addressof(regs))
            return look(regs[FS_BASE])
        finally:
            ptrace(PTRACE_DETACH, tid)

    def tls_word(self, pointer, name):
        return self.word(pointer + self.exe.tls_offset(name))

    def string(self, at):
        bytes_, text = struct.unpack("<QQ", self.read(at, 16))
        return self.read(text, bytes_).decode() if text else None

    def custom_labels(self, pointer):
        storage, count, capacity = struct.unpack(
            "<QQQ", self.read(self.tls_word(pointer, "custom_labels_current_set"), 24))
        assert count <= capacity
        return {self.string(storage + 32 * i): self.string(storage + 32 * i + 16)
                for i in range(count)}

    def thread_context(self, pointer, keys):
        """(trace id, span id, attributes) of the OpenTelemetry record."""
        at = self.tls_word(pointer, "otel_thread_ctx_v1")
        assert at % 2 == 0
        trace, span, valid, _, bytes_ = struct.unpack("<16s8sBBH", self.read(at, 28))
        assert valid == 1 and 28 + bytes_ <= 640
        data, found = self.read(at + 28, bytes_), {}
        while data:
            key, n = data[:2]
            found[keys[key]] = data[2:2 + n].decode()
            data = data[2 + n:]
        return trace, span, found

    def process_context(self):
        """(resource, attributes) of the OpenTelemetry process context; None when there is none."""
        for line in self.maps():
            where, _, _, _, _, *name = line.split(maxsplit=5)
            if name and name[0].startswith(("[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
                                            "/memfd:OTEL_CTX")):
                start = int(where.split("-")[0], 16)
                signature, version, bytes_, published, payload = struct.unpack(
                    "<8sIIQQ", self.read(start, 32))
                assert (signature, version) == (b"OTEL_CTX", 2) and published > 0
                assert bytes_ <= 65536
                data = self.read(payload, bytes_)
                resource = b"".join(v for n, v in fields(data) if n == 1)
                return pairs(resource, 1), pairs(data, 2)
        return None
