# SPDX-License-Identifier: MIT
"""Reads the file of a process in a trace. This reader was written from docs/run/trace-format.md, independently of
tools/trace/file."""
import ctypes
import struct
import zlib
from collections import namedtuple

FIELDS = ["function", "site", "comm", "object", "peer", "tag", "root", "bytes", "received"]
SIGNED = {"peer", "tag", "root"}
REQUEST, VALUE, BEGUN = 16, 17, 18
Block = namedtuple("Block", "type head body")


class Input:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, size):
        assert size <= self.left()
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.bytes(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def word(self):
        return struct.unpack("<Q", self.bytes(8))[0]

    def real(self):
        return struct.unpack("<d", self.bytes(8))[0]

    def string(self):
        return self.bytes(self.varint()).decode()

    def group(self):
        ranks, expected = [], 0
        for _ in range(self.varint()):
            ranks.append(expected + self.signed())
            expected = ranks[-1] + 1
        return ranks


def decompress(data, size):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size)
    assert library.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size
    return out.raw


def blocks(data):
    """Yields all blocks that are complete and intact."""
    assert data[:8] == b"QMPITRC1"
    at = 8
    while at + 32 <= len(data):
        magic, kind, how, _, head, stored, size, *checksums = struct.unpack_from("<4sBBHIIIIII", data, at)
        if magic != b"QTB\n" or zlib.crc32(data[at:at + 28]) != checksums[2]:
            at = data.find(b"QTB\n", at + 1)
            if at < 0:
                return
            continue
        first, body = data[at + 32:at + 32 + head], data[at + 32 + head:at + 32 + head + stored]
        at += 32 + head + stored
        if at <= len(data) and zlib.crc32(first) == checksums[0] and zlib.crc32(body) == checksums[1]:
            yield Block(kind, first, decompress(body, size) if how else body)


def definitions(found):
    """Returns {name of a record: its members, or {index: members}}, for the records that the tests use."""
    tables = {}
    for block in found:
        records = Input(block.body)
        while block.type == 1 and records.left():
            kind, size = records.varint(), records.varint()
            read_record(tables, kind, Input(records.bytes(size)))
    return tables


def read_record(tables, kind, record):
    def table(name, *members):
        index = record.varint()
        tables.setdefault(name, {})[index] = [getattr(record, member)() for member in members]

    if kind == 1:
        tables["process"] = [getattr(record, member)() for member in (
            "word word signed signed signed string string string string signed signed varint real").split()]
    elif kind == 2:
        tables["kinds"] = [record.varint() for _ in range(record.varint())]
    elif kind == 3:
        table("function", "string", "string", "varint")
    elif kind == 6:
        table("comm", "word", "word", "string", "signed", "varint", "group")
    elif kind == 11:
        table("location", "string", "signed")
    elif kind == 13:
        tick = record.real()
        tables["clock"] = tick, [(record.varint(), record.signed(), record.varint())
                                 for _ in range(record.varint())]


def events(block, kinds):
    """Returns the head of a block of events, its calls in progress, and its events as dictionaries."""
    head, body = Input(block.head), Input(block.body)
    location, stream, number, count, ticks, passed = (head.varint() for _ in range(6))
    calls = [(head.varint(), head.varint(), ticks - head.varint(), number - head.varint())
             for _ in range(head.varint())]
    sizes = [body.varint() for _ in range(4)]
    codes, times, values, requests = (Input(body.bytes(size)) for size in sizes)
    found = list(decode(codes, times, values, requests, ticks, kinds))
    assert len(found) == count and found[-1]["ticks"] == ticks + passed
    assert not any(column.left() for column in (codes, times, values, requests))
    return (location, stream, number), calls, found


def decode(codes, times, values, requests, ticks, kinds):
    shapes, added, last, history, value = {0: (0, [0] * 16)}, 0, 0, 0, 0
    after_long, after_short, last_of_kind, last_requests = {}, {}, {}, [0, 0]
    while codes.left():
        code = codes.bytes(1)[0]
        context = (history * 0x9e3779b1 & 0xffffffff) >> 20
        if code == 3:
            kind, differ = values.varint(), values.varint()
            fields = list(shapes[last_of_kind.get(kind, 0)][1])
            for bit in range(16):
                if differ >> bit & 1:
                    fields[bit] += values.signed()
            index, added = added % 4096, added + 1
            shapes[index] = kind, fields
        else:
            index = (after_long.get(context, 0) if code == 0 else after_short.get(last, 0) if code == 1
                     else values.varint())
        kind, fields = shapes[index]
        after_long[context] = after_short[last] = last_of_kind[kind] = last = index
        history = (history * 32 + index + 1) & 0xffffffff
        ticks += times.varint()
        event = {"kind": kind, "ticks": ticks}
        for bit, name in enumerate(FIELDS):
            if kinds[kind] >> bit & 1:
                event[name] = wrap(fields[bit], name)
        if kinds[kind] >> REQUEST & 1:
            sort = kinds[kind] >> BEGUN & 1
            event["request"] = (last_requests[sort] + 1 + requests.signed()) % 2**64
            if event["request"] != 2**64 - 1:
                last_requests[sort] = event["request"]
        if kinds[kind] >> VALUE & 1:
            value ^= values.word()
            event["value"] = struct.unpack("<d", struct.pack("<Q", value))[0]
        yield event


def wrap(value, name):
    if name in SIGNED:
        return (value + 2**31) % 2**32 - 2**31
    return value % 2**64 if name in ("bytes", "received") else value % 2**32


def world_time(tables, ticks):
    """Returns the world time in nanoseconds, not rounded. Without points, it follows from the time of day."""
    tick, points = tables["clock"]
    points = sorted(points) or [(tables["process"][11], tables["process"][10], 0)]
    if len(points) == 1:
        return points[0][1] + (ticks - points[0][0]) * tick
    right = next((i for i in range(1, len(points) - 1) if ticks < points[i][0]), len(points) - 1)
    (one, begin, _), (other, end, _) = points[right - 1], points[right]
    return begin + (ticks - one) * (end - begin) / (other - one)
