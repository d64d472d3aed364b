# SPDX-License-Identifier: MIT
"""Tests archives in OTF2 of invented traces: otf2-print and the Python reader find the contents of the traces in
them, whether one process has written an archive or several processes together."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from archives import nothing_said

BUILD = Path(os.environ.get("QMPI_BUILD_ROOT", "build")).resolve()
MAKE = BUILD / "tests" / "unit" / "make_trace"
MODULE = BUILD / "tools/trace/otf2/qmpi-otf2.module"
otf2 = pytest.importorskip("otf2", reason="python3-otf2 is not installed")
if not shutil.which("otf2-print"):
    pytest.skip("otf2-tools is not installed", allow_module_level=True)

FUNCTIONS = {"MPI_Init": "environment", "MPI_Send": "point-to-point", "MPI_Recv": "point-to-point",
             "MPI_Isend": "point-to-point", "MPI_Irecv": "point-to-point", "MPI_Waitall": "completion",
             "MPI_Test": "completion", "MPI_Bcast": "collective", "MPI_Ibarrier": "collective",
             "MPI_Comm_dup": "communicator", "MPI_Win_create": "one-sided", "MPI_Put": "one-sided",
             "MPI_Rget": "one-sided", "MPI_Fetch_and_op": "one-sided", "MPI_File_open": "I/O",
             "MPI_File_write_all": "I/O", "MPI_File_iread": "I/O", "MPI_Pcontrol": "tool information"}
ANY, NULL, ROOT = -1, -2, -3
KILLED, FINALIZED = 4, 1


def run(*command, code=0, **more):
    """Runs a command. Returns its standard output and standard error."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False, **more)
    assert done.returncode == code, done
    return done.stdout, done.stderr


class Trace:
    """A description for make_trace. Each process numbers its functions differently."""
    def __init__(self):
        self.lines, self.time, self.functions = [], 0, {}

    def line(self, what, **members):
        self.lines.append("\t".join([what, *(f"{name}={value}" for name, value in members.items())]))

    def process(self, rank, group="0,1", **members):
        self.time = 1000 * (rank + 1)
        self.line("process", **{"rank": rank, "ranks": 2, "host": f"node{rank // 2}", "end": FINALIZED, **members})
        names = [*FUNCTIONS][rank:] + [*FUNCTIONS][:rank]
        self.functions = {name: number for number, name in enumerate(names)}
        for name in names:
            self.line("function", name=name, group=FUNCTIONS[name])
        self.line("comm", id=100, name="MPI_COMM_WORLD", rank=rank, group=group)
        self.line("comm", id=50 + rank, name="MPI_COMM_SELF", rank=0, group=rank)
        self.line("location", name="main thread")

    def event(self, kind, after=10, **members):
        self.time += after
        self.line(kind, t=self.time, **members)

    def call(self, name, *events, **members):
        """Adds a call with events, which are (kind, members, time since the previous event)."""
        self.event("ENTER", function=self.functions[name], **members)
        for kind, more, after in events:
            self.event(kind, after, **more)
        self.event("LEAVE", 1, **{key: value for key, value in members.items() if key == "location"})

    def make(self, folder):
        folder.mkdir(exist_ok=True)
        run(MAKE, "files", folder, input="\n".join(self.lines) + "\n")
        return folder


def print_archive(folder, *options):
    """Returns the words of the lines of otf2-print, which must print no errors."""
    text, problems = run("otf2-print", *options, folder / "traces.otf2")
    assert problems == ""
    return [line.split(maxsplit=3) for line in text.splitlines() if line]


def definitions(folder, kind):
    """Returns the definitions of a kind, without the numbers in their references."""
    lines = (re.sub(r" <\d+>", "", " ".join(words)) for words in print_archive(folder, "-G"))
    return [line for line in lines if line.startswith(kind + " ")]


def read(folder):
    """Returns [(thread, time, event)] for each rank, by the Python reader. A thread that was not recorded has one
    event, which says so."""
    found = {}
    with nothing_said(), otf2.reader.open(str(folder / "traces.otf2")) as reader:
        counts = {location: location.number_of_events for location in reader.definitions.locations}
        for location, event in reader.events:
            counts[location] -= 1
            found.setdefault(location.group.name, []).append((location.name, event.time, event))
    assert not any(counts.values())
    return found


def kinds(events, *of):
    """Returns the kind of each event, with those of its members that `of` names."""
    return [(type(event).__name__, *(getattr(event, name) for name in of if hasattr(event, name)))
            for _, _, event in events]


def write(trace, folder):
    """Writes the archive in one process and in several, asserts that both are equal, and returns the first."""
    files = trace.make(folder / "files")
    run(MAKE, "write", MODULE, files, folder / "alone")
    ordered = sorted(files.iterdir())
    run(MAKE, "together", MODULE, folder / "together", *ordered)
    alone, together = (print_archive(folder / name) for name in ("alone", "together"))
    assert alone == together
    return folder / "alone"


def everything():
    """Returns the trace of two ranks with events of most kinds."""
    trace = Trace()
    for rank in range(2):
        peer = 1 - rank
        trace.process(rank)
        trace.line("comm", id=200, parent=100, name="halo" if rank else "", rank=peer, group="1,0")
        trace.line("window", name="W", comm=2)
        trace.line("file", name="/data/a", comm=0)
        trace.line("counter", name="pool", description="bytes in the pool", unit="bytes")
        trace.line("library", path="/no/lib.so")
        trace.line("site", frames="0:16")
        trace.line("site", frames="0:32,0:16")
        trace.call("MPI_Comm_dup", ("COLLECTIVE_BEGIN", {"comm": 0}, 0), ("COMM_CREATE", {"comm": 2}, 5),
                   ("COLLECTIVE_END", {"comm": 0}, 0))
        trace.call("MPI_Send", ("SEND", {"comm": 0, "peer": peer, "tag": 7, "bytes": 100 + rank}, 0), site=0)
        trace.call("MPI_Recv", ("RECV", {"comm": 0, "peer": peer, "tag": 7, "bytes": 100 + peer}, 9), site=1)
        trace.call("MPI_Send", ("SEND", {"comm": 0, "peer": NULL, "tag": 7, "bytes": 1}, 0))
        trace.call("MPI_Isend", ("ISEND", {"comm": 2, "peer": rank, "tag": 8, "bytes": 200, "request": 1}, 0))
        trace.call("MPI_Irecv", ("IRECV_REQUEST", {"comm": 2, "peer": ANY, "tag": ANY, "bytes": 400, "request": 2}, 0))
        trace.call("MPI_Isend", ("ISEND", {"comm": 0, "peer": NULL, "tag": 8, "bytes": 0, "request": 3}, 0))
        trace.call("MPI_Irecv", ("IRECV_REQUEST", {"comm": 0, "peer": peer, "tag": 1, "bytes": 4, "request": 4}, 0))
        trace.call("MPI_Test", ("REQUEST_TEST", {"request": 2}, 0))
        trace.call("MPI_Waitall", ("ISEND_COMPLETE", {"request": 1}, 3),
                   ("IRECV", {"comm": 2, "peer": rank, "tag": 8, "bytes": 200, "request": 2}, 0),
                   ("ISEND_COMPLETE", {"request": 3}, 0), ("REQUEST_CANCELLED", {"request": 4}, 0))
        trace.call("MPI_Bcast", ("COLLECTIVE_BEGIN", {"comm": 2, "root": 1}, 0),
                   ("COLLECTIVE_END", {"comm": 2, "root": 1, "bytes": 8 - 8 * rank, "received": 8 * rank}, 5))
        trace.call("MPI_Ibarrier", ("ICOLLECTIVE_REQUEST", {"comm": 0, "request": 5}, 0))
        trace.call("MPI_Waitall", ("ICOLLECTIVE_COMPLETE", {"comm": 0, "request": 5,
                                                            "function": trace.functions["MPI_Ibarrier"]}, 2))
        trace.call("MPI_Win_create", ("WIN_CREATE", {"object": 0}, 3))
        trace.call("MPI_Put", ("RMA_PUT", {"object": 0, "peer": peer, "bytes": 16}, 0))
        trace.call("MPI_Fetch_and_op", ("RMA_ATOMIC", {"object": 0, "peer": 0, "bytes": 8, "received": 8}, 0))
        trace.call("MPI_Rget", ("RMA_GET", {"object": 0, "peer": peer, "received": 32, "request": 6}, 0))
        trace.call("MPI_Waitall", ("RMA_COMPLETE", {"request": 6}, 2))
        trace.call("MPI_File_open", ("FILE_OPEN", {"object": 0}, 5))
        trace.call("MPI_File_write_all", ("IO", {"object": 0, "bytes": 64}, 5))
        trace.call("MPI_File_iread", ("IO_REQUEST", {"object": 0, "request": 7}, 0))
        trace.call("MPI_Waitall", ("IO", {"object": 0, "received": 48, "request": 7}, 5))
        trace.event("COUNTER", object=0, value=1.5)
        trace.event("FLUSH", 20, bytes=7)
        trace.event("OFF")
        trace.event("ON", 100)
    return trace


def test_an_archive_has_all_contents_of_a_trace(tmp_path):
    events = read(write(everything(), tmp_path))
    assert list(events) == ["MPI Rank 0", "MPI Rank 1"]
    for rank, (_, mine) in enumerate(sorted(events.items())):
        peer = 1 - rank
        told = [it for it in mine if type(it[2]).__name__ not in ("Enter", "Leave")]
        assert kinds(told, "receiver", "sender", "msg_tag", "msg_length", "request_id", "size_sent", "size_received",
                     "remote", "bytes", "bytes_sent", "bytes_received", "bytes_result", "values", "stop_time") == [
            ("MpiCollectiveBegin",), ("CommCreate",), ("MpiCollectiveEnd", 0, 0),
            ("MpiSend", peer, 7, 100 + rank), ("MpiRecv", peer, 7, 100 + peer),
            ("MpiIsend", rank, 8, 200, 1), ("MpiIrecvRequest", 2), ("MpiIrecvRequest", 4), ("MpiRequestTest", 2),
            ("MpiIsendComplete", 1), ("MpiIrecv", rank, 8, 200, 2), ("MpiRequestCancelled", 4),
            ("MpiCollectiveBegin",), ("MpiCollectiveEnd", 8 - 8 * rank, 8 * rank),
            ("NonBlockingCollectiveRequest", 5), ("NonBlockingCollectiveComplete", 5, 0, 0),
            ("RmaWinCreate",), ("RmaPut", peer, 16), ("RmaAtomic", 0, 8, 8), ("RmaGet", peer, 32),
            ("RmaOpCompleteNonBlocking",), ("IoCreateHandle",), ("IoOperationBegin",), ("IoOperationComplete", 64),
            ("IoOperationBegin",), ("IoOperationIssued",), ("IoOperationComplete", 48),
            ("Metric", [1.5]), ("BufferFlush", told[-3][1] + 7), ("MeasurementOnOff",), ("MeasurementOnOff",)]
        collective = next(it for _, _, it in mine if type(it).__name__ == "MpiCollectiveEnd" and it.root == 1)
        assert (collective.collective_op, collective.communicator.name) == (otf2.CollectiveOp.BCAST, "halo")
        assert [place.group.name for place in collective.communicator.group.members] == ["MPI Rank 1", "MPI Rank 0"]
        assert collective.communicator.parent.name == "MPI_COMM_WORLD"
        window = next(it for _, _, it in mine if type(it).__name__ == "RmaPut").win
        assert (window.name, window.comm) == ("W", collective.communicator)


def test_times_are_those_of_the_calls(tmp_path):
    events = read(write(everything(), tmp_path))
    send, receive = ([time for _, time, event in events["MPI Rank 1"]
                      if type(event).__name__ in ("Enter", "Leave") and event.region.name == name][:2]
                     for name in ("MPI_Send", "MPI_Recv"))
    # The times of the archive begin at 1010, the first event of rank 0. Rank 1 begins at 2010 with MPI_Comm_dup, which
    # takes 6, and each call begins 10 after the previous one has ended.
    assert send == [1016, 1017] and receive == [1027, 1037]
    begin, complete = (next(time for _, time, event in events["MPI Rank 0"] if type(event).__name__ == name)
                       for name in ("IoOperationBegin", "IoOperationComplete"))
    assert complete == begin + 5  # A blocking access begins with its call.


def test_callers_are_attributes_of_calls(tmp_path):
    archive = write(everything(), tmp_path)
    with otf2.reader.open(str(archive / "traces.otf2")) as reader:
        found = [{attribute.name: value for attribute, value in event.attributes.items()}
                 for _, event in reader.events if event.attributes]
        assert [sorted(it) for it in found] == [["call site"], ["call path", "call site"]] * 2
        assert (found[0]["call site"].file, found[1]["call site"].file) == ("lib.so+0x10", "lib.so+0x20")
        path = found[1]["call path"]
        assert (path.region.name, path.parent.region.name, path.parent.parent) == ("lib.so+0x20", "lib.so+0x10", None)


def test_processes_share_definitions(tmp_path):
    archive = write(everything(), tmp_path)
    assert len(definitions(archive, "REGION")) == len(FUNCTIONS) + 2  # and a region for each of the two callers
    assert [len(definitions(archive, kind)) for kind in
            ("COMM", "RMA_WIN", "IO_HANDLE", "IO_REGULAR_FILE", "METRIC_CLASS", "LOCATION", "SYSTEM_TREE_NODE")] == [
                3, 1, 1, 1, 1, 2, 2]
    assert "1500000000" not in definitions(archive, "CLOCK_PROPERTIES")[0]
    assert "Date: 2023-11-14 22:13:20.000001010" in definitions(archive, "CLOCK_PROPERTIES")[0]
    assert "Type: COMM_SELF" in " ".join(definitions(archive, "GROUP"))


def test_regions_that_overlap_are_cut_so_that_they_nest(tmp_path):
    trace = Trace()
    trace.process(0, group="0", ranks=1)
    trace.line("location", name="thread 1")
    for name in ("A", "B"):
        trace.line("region", name=name)
    trace.call("MPI_Pcontrol", ("REGION_BEGIN", {"object": 0}, 0))
    trace.call("MPI_Pcontrol", ("REGION_BEGIN", {"object": 1}, 0))
    trace.call("MPI_Pcontrol", ("REGION_BEGIN", {"object": 1}, 0))
    trace.call("MPI_Pcontrol", ("REGION_END", {"object": 0}, 0))
    trace.call("MPI_Pcontrol", ("REGION_END", {"object": 1}, 0))
    # Another thread ends the remaining region while the first thread is in a call.
    trace.event("ENTER", function=trace.functions["MPI_Init"])
    trace.call("MPI_Pcontrol", ("REGION_END", {"object": 1, "location": 1}, 0), location=1)
    trace.event("LEAVE")
    trace.call("MPI_Pcontrol", ("REGION_BEGIN", {"object": 0}, 0))
    events = read(write(trace, tmp_path))["MPI Rank 0"]
    assert [(type(event).__name__, event.region.name) for name, _, event in events
            if name == "main thread" and event.region.name != "MPI_Pcontrol"] == [
        ("Enter", "A"), ("Enter", "B"), ("Leave", "B"), ("Leave", "A"), ("Enter", "B"),
        ("Enter", "MPI_Init"), ("Leave", "MPI_Init"), ("Leave", "B"), ("Enter", "A"), ("Leave", "A")]


def test_the_calls_of_a_killed_process_last_until_its_end(tmp_path):
    trace = Trace()
    trace.process(0, group="0", ranks=1, end=KILLED, detail="SIGKILL", ticks=9000, dropped=12)
    trace.event("ENTER", function=trace.functions["MPI_Bcast"])
    trace.event("COLLECTIVE_BEGIN", 0, comm=0, root=0)
    archive = write(trace, tmp_path)
    assert [(type(event).__name__, time) for _, time, event in read(archive)["MPI Rank 0"]] == [
        ("Enter", 0), ("MpiCollectiveBegin", 0), ("MpiCollectiveEnd", 7990), ("Leave", 7990)]
    assert [line.split("Name: ")[1] for line in definitions(archive, "LOCATION_GROUP_PROPERTY")] == [
        '"QMPI::Dropped Events", Type: UINT64, Value: 12',
        '"QMPI::End", Type: STRING, Value: "SIGKILL"']


def test_ranks_keep_their_numbers_if_others_are_missing_or_outside(tmp_path):
    trace = Trace()
    trace.process(2, group="0,1,2,3", ranks=4)
    trace.line("comm", id=300, rank=0, group="2,3", remote="0,-4")
    trace.call("MPI_Send", ("SEND", {"comm": 0, "peer": 3, "tag": 1, "bytes": 1}, 0))
    trace.call("MPI_Send", ("SEND", {"comm": 2, "peer": 0, "tag": 2, "bytes": 1}, 0))
    trace.call("MPI_Send", ("SEND", {"comm": 2, "peer": 1, "tag": 3, "bytes": 1}, 0))
    trace.call("MPI_Bcast", ("COLLECTIVE_BEGIN", {"comm": 2, "root": ROOT}, 0),
               ("COLLECTIVE_END", {"comm": 2, "root": ROOT}, 0))
    files = trace.make(tmp_path / "files")
    run(MAKE, "write", MODULE, files, tmp_path / "archive")
    assert print_archive(tmp_path / "archive")
    events = read(tmp_path / "archive")
    assert {rank: kinds(its) for rank, its in events.items() if rank != "MPI Rank 2"} == dict.fromkeys(
        ["MPI Rank 0", "MPI Rank 1", "MPI Rank 3", "other processes"], [("MeasurementOnOff",)])
    sends = [event for _, _, event in events["MPI Rank 2"] if type(event).__name__ == "MpiSend"]
    # The remote group, which has the lowest rank, comes first in the communicator of both groups.
    assert [event.communicator.group.members[event.receiver].group.name for event in sends] == [
        "MPI Rank 3", "MPI Rank 0", "other processes"]
    root = next(event for _, _, event in events["MPI Rank 2"] if type(event).__name__ == "MpiCollectiveEnd")
    assert root.communicator.group.members[root.root].group.name == "MPI Rank 2"


def test_a_process_without_a_file_takes_part(tmp_path):
    trace = Trace()
    trace.process(0, group="0,1")
    trace.call("MPI_Send", ("SEND", {"comm": 0, "peer": 1, "tag": 1, "bytes": 1}, 0))
    files = trace.make(tmp_path / "files")
    run(MAKE, "together", MODULE, tmp_path / "archive", files / "rank-0.qtrace", "-")
    events = read(tmp_path / "archive")
    assert len(events["MPI Rank 0"]) == 3 and kinds(events["MPI Rank 1"]) == [("MeasurementOnOff",)]
    assert [line.split("Name: ")[1].split(",")[0] for line in definitions(tmp_path / "archive", "LOCATION_GROUP")] == [
        '"MPI Rank 0"', '"MPI Rank 1"']


def test_an_archive_is_replaced_only_if_qmpi_has_written_it(tmp_path):
    files = everything().make(tmp_path / "files")
    run(MAKE, "write", MODULE, files, files)
    first = print_archive(files)
    run(MAKE, "write", MODULE, files, files)
    assert print_archive(files) == first
    shutil.move(files / "traces.otf2", tmp_path / "kept")  # simulates an archive that was not completed
    run(MAKE, "write", MODULE, files, files)
    other = tmp_path / "other"
    with otf2.writer.open(str(other), timer_resolution=1) as writer:
        writer.definitions.location("thread", group=writer.definitions.location_group(
            "process", system_tree_parent=writer.definitions.system_tree_node("machine")))
    before = sorted(other.rglob("*"))
    _, problem = run(MAKE, "write", MODULE, files, other, code=1)
    assert problem == (f"{other} contains an archive that qmpi has not written\n"
                       "hint: name another directory\n")
    assert sorted(other.rglob("*")) == before


def test_a_failure_to_write_is_reported_and_leaves_no_archive(tmp_path):
    files = everything().make(tmp_path / "files")
    (tmp_path / "file").write_text("")
    _, problem = run(MAKE, "write", MODULE, files, tmp_path / "file" / "archive", code=1)
    assert problem.startswith(f"cannot write an archive to {tmp_path}/file/archive: ") and "\nhint: " in problem
    # The other processes do not wait for a process that cannot read its file.
    (files / "rank-1.qtrace").write_text("no trace")
    _, problem = run(MAKE, "together", MODULE, tmp_path / "archive", *sorted(files.iterdir()), code=1)
    assert "rank-1.qtrace" in problem
    assert "no archive was written, because a process could not write its part\nhint: see its message" in problem
    assert not (tmp_path / "archive").exists()


def test_the_reason_why_a_file_cannot_be_read_again_is_named(tmp_path):
    file, *_ = sorted(everything().make(tmp_path / "files").iterdir())
    _, problem = run(MAKE, "vanish", MODULE, file, tmp_path / "archive", code=1)
    assert problem.startswith("cannot write an archive: a file of the trace cannot be read: No such file or directory\nhint: ")
    assert not (tmp_path / "archive").exists()


def test_without_the_module_one_message_names_the_package_to_install(tmp_path):
    _, problem = run(MAKE, "write", tmp_path / "none", tmp_path, tmp_path, code=1)
    assert problem.startswith("the library that writes OTF2 cannot be opened: ")
    assert problem.endswith("hint: install libotf2 (Debian: libopen-trace-format2-10), or choose another format\n")
