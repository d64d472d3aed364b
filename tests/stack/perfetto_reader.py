# SPDX-License-Identifier: MIT
"""A strict reader of traces in Perfetto's documented format: anything that is undefined, out of
order or incomplete is an error."""
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

STATE_CLEARED, NEEDS_STATE = 1, 2
REALTIME, BOOTTIME = 1, 6


def load_messages():
    """Returns the classes that protoc generates from perfetto.proto."""
    pytest.importorskip("google.protobuf", reason="python3-protobuf is missing")
    if not shutil.which("protoc"):
        pytest.skip("protobuf-compiler is missing")
    with tempfile.TemporaryDirectory(prefix="qmpi-test-") as folder:
        source = Path(__file__).parent
        subprocess.run(["protoc", f"-I{source}", f"--python_out={folder}", source / "perfetto.proto"], check=True)
        sys.path.insert(0, folder)
        try:
            import perfetto_pb2
        finally:
            sys.path.remove(folder)
    return perfetto_pb2


@dataclass
class Slice:
    track: int
    name: str
    category: str
    begin: int  # in nanoseconds on the clock BOOTTIME
    depth: int
    annotations: dict
    end: int | None = None  # for an instant, the same as `begin`
    flows: list = field(default_factory=list)
    correlation: int | None = None
    is_instant: bool = False


@dataclass
class Sequence:
    track: int | None = None
    clock: int | None = None
    times: dict = field(default_factory=dict)  # clock -> [its last time, the difference to BOOTTIME]
    tables: dict = field(default_factory=dict)
    open: list = field(default_factory=list)


class Perfetto:
    """A trace: a list of slices and instants, counters {track: [(time, value)]}, flows {id: [(is_end, slice)]}, and
    snapshots of the clocks {(BOOTTIME, REALTIME)}."""

    def __init__(self, data, messages):
        """`data` is the path of a file, or the content of one or several concatenated files."""
        self.messages = messages
        self.tracks, self.sequences, self.flows, self.counters = {}, {}, {}, {}
        self.slices, self.snapshots = [], set()
        whole = messages.Trace()
        whole.ParseFromString(data if isinstance(data, bytes) else Path(data).read_bytes())
        self.packets = 0
        for packet in self.unpacked(whole.packet):
            self.packets += 1
            self.read(packet)
        for sequence in self.sequences.values():
            assert not sequence.open, "a slice has no end"

    def unpacked(self, packets):
        for packet in packets:
            self.check_known(packet)
            if not packet.HasField("compressed_packets"):
                yield packet
                continue
            assert len(packet.compressed_packets) < 512 << 10 and len(packet.ListFields()) == 1
            part = self.messages.Trace()
            part.ParseFromString(zlib.decompress(packet.compressed_packets))
            yield from self.unpacked(part.packet)

    def check_known(self, message):
        """Checks that perfetto.proto defines all fields of the message."""
        copy = type(message)()
        copy.CopyFrom(message)
        copy.DiscardUnknownFields()
        assert copy == message, "unknown fields"

    def read(self, packet):
        if packet.HasField("track_descriptor"):
            self.read_descriptor(packet.track_descriptor)
        if not packet.trusted_packet_sequence_id:
            return
        sequence = self.sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        if packet.sequence_flags & STATE_CLEARED:
            assert packet.first_packet_on_sequence and sequence.track is None
        else:
            assert packet.sequence_flags & NEEDS_STATE
        if packet.HasField("trace_packet_defaults"):
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
            sequence.clock = packet.trace_packet_defaults.timestamp_clock_id
        for table, entries in packet.interned_data.ListFields():
            for entry in entries:
                known = sequence.tables.setdefault(table.name, {})
                assert entry.iid and entry.iid not in known
                known[entry.iid] = entry.name
        if packet.HasField("clock_snapshot"):
            self.read_clocks(sequence, packet.clock_snapshot)
        if packet.HasField("track_event"):
            self.read_event(sequence, packet)

    def read_descriptor(self, descriptor):
        # Each of several concatenated files may describe the root track, whose uuid is 0.
        assert self.tracks.get(descriptor.uuid, descriptor) == descriptor
        assert descriptor.uuid not in self.tracks or not descriptor.uuid
        if descriptor.parent_uuid:
            assert descriptor.parent_uuid in self.tracks
        self.tracks[descriptor.uuid] = descriptor

    def read_clocks(self, sequence, snapshot):
        assert snapshot.primary_trace_clock == BOOTTIME
        clocks = {clock.clock_id: clock for clock in snapshot.clocks}
        self.snapshots.add((clocks[BOOTTIME].timestamp, clocks[REALTIME].timestamp))
        for number, clock in clocks.items():
            if number >= 64:
                assert number < 128 and clock.is_incremental
                sequence.times[number] = [clock.timestamp, clocks[BOOTTIME].timestamp - clock.timestamp]

    def read_event(self, sequence, packet):
        clock = packet.timestamp_clock_id or sequence.clock
        sequence.times[clock][0] += packet.timestamp
        time = sum(sequence.times[clock])
        event = packet.track_event
        track = event.track_uuid or sequence.track
        assert track in self.tracks
        text = {kind: sequence.tables.get(kind, {}) for kind in (
            "event_names", "event_categories", "debug_annotation_names", "debug_annotation_string_values")}
        annotations = {}
        for annotation in event.debug_annotations:
            name = text["debug_annotation_names"][annotation.name_iid]
            assert name not in annotations
            annotations[name] = text["debug_annotation_string_values"][annotation.string_value_iid] \
                if annotation.HasField("string_value_iid") else annotation.int_value
        if event.type == event.TYPE_COUNTER:
            assert self.tracks[track].HasField("counter")
            self.counters.setdefault(track, []).append((time, event.double_counter_value))
            return
        if event.type == event.TYPE_SLICE_END:
            ended = sequence.open.pop()
            ended.end = time
            assert not set(annotations) & set(ended.annotations)
            ended.annotations |= annotations
            assert not event.flow_ids and not event.terminating_flow_ids
            return
        assert event.type in (event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT)
        made = Slice(track, text["event_names"][event.name_iid], text["event_categories"][event.category_iids[0]],
                     time, len(sequence.open), annotations)
        made.correlation = event.correlation_id if event.HasField("correlation_id") else None
        if event.type == event.TYPE_INSTANT:
            made.is_instant, made.end = True, time
        else:
            sequence.open.append(made)
        self.slices.append(made)
        for is_end, numbers in ((False, event.flow_ids), (True, event.terminating_flow_ids)):
            for number in numbers:
                self.flows.setdefault(number, []).append((is_end, made))

    def process_of(self, track):
        descriptor = self.tracks[track]
        while not descriptor.HasField("process"):
            descriptor = self.tracks[descriptor.parent_uuid]
        return descriptor

    def everything(self):
        """Returns all contents that must be equal in two files of the same trace."""
        return {
            "tracks": {uuid: str(descriptor) for uuid, descriptor in self.tracks.items()},
            "sequences": {number: sequence.track for number, sequence in self.sequences.items()},
            "slices": sorted(((it.track, it.begin, it.end, it.depth, it.name, it.category, sorted(it.annotations.items()),
                               it.correlation, it.is_instant) for it in self.slices), key=repr),
            "flows": {number: sorted((is_end, it.track, it.begin) for is_end, it in ends)
                      for number, ends in self.flows.items()},
            "counters": self.counters,
            "snapshots": self.snapshots,
        }

    def calls(self):
        return [it for it in self.slices if not it.is_instant and self.tracks[it.track].HasField("thread")]

    def arrows(self):
        """Returns [(begin, end)]. Each flow must have both ends, and lead forward in time."""
        found = []
        for ends in self.flows.values():
            assert sorted(is_end for is_end, _ in ends) == [False, True]
            begin, end = (made for _, made in sorted(ends, key=lambda it: it[0]))
            # Viewers draw the arrow from the end of one slice to the beginning of the other.
            assert begin.end < end.begin
            found.append((begin, end))
        return found
