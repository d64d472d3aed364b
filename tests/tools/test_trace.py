# SPDX-License-Identifier: MIT
"""The events that the tool trace records are those of the program, in order, with peers, communicators, bytes and
requests."""
import collections
import concurrent.futures
import contextlib
import csv
import io
import json
import re
import shutil
import signal
import subprocess

import open_mpi
import perfetto_reader
import pytest
from hang_support import Job
from support import ASAN, HAS_SESSIONS, LIBQMPI, MPI_VERSION, OPEN_MPI, QMPI, clean_environment, wait_until
from trace_support import CALLS, MANY, PAUSES, SIZES, STEPS, TOOL_PATH, qmpi_trace, read, run, sections, tell, trace

# The events of each section of trace_calls.c, on rank 0, as trace_support.tell writes them.
EXPECTED = {
    "blocking": """
        Send[send WORLD peer=1 tag=7 bytes=4]
        Ssend[send WORLD peer=1 tag=8 bytes=8]
        Send[send WORLD peer=nobody tag=9 bytes=0]
        Sendrecv[send WORLD peer=1 tag=10 bytes=12; recv WORLD peer=1 tag=11 bytes=12]
        """,
    "derived": """
        Type_contiguous
        Type_commit
        Send[send WORLD peer=1 tag=0 bytes=24]
        Type_free
        """,
    "nonblocking": """
        Irecv[irecv_request SELF peer=any tag=1 #1 bytes=8]
        Test[request_test #1]
        Isend[isend SELF peer=0 tag=1 #2 bytes=4]
        Waitall[irecv SELF peer=0 tag=1 #1 bytes=4; isend_complete #2]
        Isend[isend SELF peer=nobody tag=0 #3 bytes=0]
        Isend[isend SELF peer=nobody tag=1 #4 bytes=0]
        Isend[isend SELF peer=nobody tag=2 #5 bytes=0]
        Wait[isend_complete #3]
        Waitall[isend_complete #4; isend_complete #5]
        Irecv[irecv_request SELF peer=0 tag=2 #6 bytes=4]
        Irecv[irecv_request SELF peer=0 tag=3 #7 bytes=4]
        Send[send SELF peer=0 tag=3 bytes=4]
        Waitany[irecv SELF peer=0 tag=3 #7 bytes=4]
        Send[send SELF peer=0 tag=2 bytes=4]
        Waitsome[irecv SELF peer=0 tag=2 #6 bytes=4]
        Waitall
        """,
    "ended": """
        Irecv[irecv_request SELF peer=0 tag=1 #1 bytes=4]
        Cancel
        Wait[request_cancelled #1]
        Irecv[irecv_request SELF peer=0 tag=2 #2 bytes=4]
        Request_free[request_freed #2]
        Send[send SELF peer=0 tag=2 bytes=4]
        """,
    "persistent": """
        Recv_init[call_object SELF]
        Send_init[call_object SELF]
        Startall[irecv_request SELF peer=any tag=1 #1 bytes=16; isend SELF peer=0 tag=1 #2 bytes=8]
        Waitall[irecv SELF peer=0 tag=1 #1 bytes=8; isend_complete #2]
        Startall[irecv_request SELF peer=any tag=1 #3 bytes=16; isend SELF peer=0 tag=1 #4 bytes=8]
        Waitall[irecv SELF peer=0 tag=1 #3 bytes=8; isend_complete #4]
        Start[irecv_request SELF peer=any tag=1 #5 bytes=16]
        Send[send SELF peer=0 tag=1 bytes=4]
        Wait[irecv SELF peer=0 tag=1 #5 bytes=4]
        Request_free
        Send_init[call_object SELF]
        Start[isend SELF peer=nobody tag=2 #6 bytes=0]
        Wait[isend_complete #6]
        Request_free
        """,
    "matched": """
        Isend[isend SELF peer=0 tag=1 #1 bytes=4]
        Mprobe[call_object SELF]
        Mrecv[recv SELF peer=0 tag=1 bytes=4]
        Wait[isend_complete #1]
        Isend[isend SELF peer=0 tag=2 #2 bytes=8]
        Mprobe[call_object SELF]
        Imrecv[irecv_request SELF peer=0 tag=2 #3 bytes=32]
        Waitall[isend_complete #2; irecv SELF peer=0 tag=2 #3 bytes=8]
        Isend[isend SELF peer=0 tag=3 #4 bytes=12]
        Mrecv[recv peer=0 tag=3 bytes=12]
        Wait[isend_complete #4]
        Mrecv[recv peer=nobody tag=any bytes=0]
        """,
    "collectives": """
        Barrier[collective_begin WORLD; collective_end WORLD]
        Bcast[collective_begin WORLD root=1; collective_end WORLD root=1 received=8]
        Allreduce[collective_begin WORLD; collective_end WORLD bytes=8 received=8]
        Gather[collective_begin WORLD root=0; collective_end WORLD root=0 bytes=4 received=8]
        Ibcast[icollective_request WORLD root=0 #1]
        Wait[icollective_complete WORLD root=0 #1 MPI_Ibcast bytes=12]
        """ + """
        Bcast_init[call_object WORLD]
        Start[icollective_request WORLD root=0 #2]
        Wait[icollective_complete WORLD root=0 #2 MPI_Bcast_init bytes=16]
        Start[icollective_request WORLD root=0 #3]
        Wait[icollective_complete WORLD root=0 #3 MPI_Bcast_init bytes=16]
        Request_free
        """ * (MPI_VERSION >= 4),
    "one_sided": """
        Win_create[call_object WORLD; win_create window0]
        Win_set_name
        Win_fence
        Put[rma_put window0 peer=1 bytes=8]
        Win_fence
        Get[rma_get window0 peer=1 received=4]
        Accumulate[rma_atomic window0 peer=1 bytes=4]
        Compare_and_swap[rma_atomic window0 peer=1 bytes=4 received=4]
        Win_fence
        Win_lock
        Rput[rma_put window0 peer=1 #1 bytes=12]
        Wait[rma_complete #1]
        Win_unlock
        Win_free[win_destroy window0]
        """,
    "files": """
        File_open[call_object WORLD; file_open x.data]
        File_write_at[io x.data bytes=4]
        File_read_at[io x.data received=4]
        File_iread_at[io_request x.data #1]
        Wait[io x.data #1 received=4]
        File_write_at_all_begin[io x.data bytes=4]
        File_write_at_all_end[call_object x.data]
        File_close[file_close x.data]
        """,
    "communicators": """
        Comm_dup[call_object WORLD; comm_create copy]
        Comm_set_name
        Comm_split[call_object WORLD; comm_create part]
        Comm_set_name
        Intercomm_create[call_object part; comm_create inter]
        Comm_set_name
        Intercomm_merge[call_object inter; comm_create merged]
        Comm_set_name
        Comm_idup[call_object copy]
        Wait[comm_create later]
        Comm_set_name
        Sendrecv[send inter peer=0 tag=0 bytes=4; recv inter peer=0 tag=0 bytes=4]
        Comm_free[comm_destroy merged]
        Comm_free[comm_destroy inter]
        Comm_free[comm_destroy part]
        Comm_free[comm_destroy later]
        Comm_free[comm_destroy copy]
        """,
    "nested": """
        Comm_dup[call_object SELF; comm_create inner]
        Comm_set_name
        Comm_create_keyval
        Comm_set_attr
        Comm_free[Comm_size; Send[send SELF peer=nobody tag=3 bytes=0]; comm_destroy inner]
        Comm_free_keyval
        """,
    "failing": """
        Comm_set_errhandler
        Send
        Bcast
        Comm_set_errhandler
        Comm_size
        """,
    "left": """
        Comm_create_errhandler
        Comm_set_errhandler
        Bcast[collective_begin SELF root=1000; Comm_size]!
        Comm_set_errhandler
        Errhandler_free
        Comm_size
        """,
    "switched": """
        Irecv[irecv_request SELF peer=0 tag=1 #1 bytes=4]
        Pcontrol
        off
        on
        Wait[irecv SELF peer=0 tag=1 #1 bytes=4]
        """,
}

# The events on rank 1, for the sections in which they differ from those on rank 0.
OTHER = {
    "blocking": """
        Recv[recv WORLD peer=0 tag=7 bytes=4]
        Recv[recv WORLD peer=0 tag=8 bytes=8]
        Recv[recv WORLD peer=nobody tag=any bytes=0]
        Sendrecv[send WORLD peer=0 tag=11 bytes=12; recv WORLD peer=0 tag=10 bytes=12]
        """,
    "derived": """
        Type_contiguous
        Type_commit
        Recv[recv WORLD peer=0 tag=0 bytes=24]
        Type_free
        """,
    "collectives": EXPECTED["collectives"].replace("root=1 received=8", "root=1 bytes=8")
        .replace("bytes=4 received=8", "bytes=4").replace("bytes=12", "received=12").replace("bytes=16", "received=16"),
    "one_sided": EXPECTED["one_sided"].replace("peer=1", "peer=0"),
}


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def check_sections(processes):
    for rank, process in processes.items():
        found = sections(process)
        assert list(found) == list(EXPECTED)
        for name, calls in found.items():
            assert calls == lines(OTHER.get(name, EXPECTED[name]) if rank else EXPECTED[name]), name


def check_comms(process):
    comms = {comm["name"]: comm for comm in process.comms}
    assert [comm["group"] for comm in process.comms if comm["name"] in ("MPI_COMM_WORLD", "copy", "merged")] == ["0,1"] * 3
    rank = process.traits["rank"]
    assert (comms["part"]["group"], comms["inter"]["group"], comms["inter"]["remote"]) == (rank, rank, str(1 - int(rank)))
    assert comms["copy"]["parent"] == comms["part"]["parent"] == comms["MPI_COMM_WORLD"]["id"]
    assert comms["later"]["parent"] == comms["copy"]["id"]
    assert process.windows[0]["name"] == "named"
    assert process.windows[0]["comm"] == process.files[0]["comm"] == str(process.comms.index(comms["MPI_COMM_WORLD"]))


def check_order(process):
    """Checks that times never go back, calls are nested, and each request begins once and ends at most once."""
    for events in process.events.values():
        ticks = [int(event["ticks"]) for event in events]
        assert ticks == sorted(ticks)
        tell(process, events)
    begun = [event["request"] for event in process.kinds("isend", "irecv_request", "icollective_request", "io_request")]
    ended = [event["request"] for event in process.kinds("isend_complete", "irecv", "icollective_complete", "io",
                                                         "request_cancelled", "request_freed") if "request" in event]
    assert len(set(begun)) == len(begun) and len(set(ended)) == len(ended) and set(ended) <= set(begun)


def check(tmp_path):
    """Returns the output of `qmpi trace --check`, which must report no difference."""
    result = subprocess.run([QMPI, "trace", "--check", tmp_path / "qmpi-trace"], capture_output=True, text=True,
                            check=False, env=clean_environment())
    assert result.returncode == 0 and result.stdout.startswith("no difference;"), result
    return result.stdout


def test_the_events_of_all_kinds_of_calls_are_recorded(tmp_path):
    processes = trace(tmp_path, CALLS, "x.data")
    assert sorted(processes) == [0, 1]
    check_sections(processes)
    for process in processes.values():
        check_comms(process)
        check_order(process)
        assert (process.traits["end"], process.traits["points"], process.traits["dropped"]) == ("1", "2", "0")
        assert tell(process, process.events[0])[-1] == "Finalize"
    ids = [{comm["name"]: comm["id"] for comm in process.comms} for process in processes.values()]
    for name in ("MPI_COMM_WORLD", "copy", "inter", "merged", "later"):
        assert ids[0][name] == ids[1][name] != "0"
    assert processes[0].traits["run"] == processes[1].traits["run"]
    assert "2 processes have not recorded all the time" in check(tmp_path)


def test_only_chosen_functions_are_recorded(tmp_path):
    """Requests are followed through calls that are not recorded."""
    processes = trace(tmp_path, CALLS, "x.data", options=",functions=MPI_Isend;MPI_Wait;MPI_Waitall")
    calls = [call for call in tell(processes[0], processes[0].events[0])]
    assert {re.split(r"\W", call)[0] for call in calls} == {
        "Isend", "Wait", "Waitall", "region_begin", "region_end", "off", "on", "flush"}
    assert [call for call in calls if "Isend" in call or "Wait" in call][:2] == [
        "Isend[isend SELF peer=0 tag=1 #1 bytes=4]", "Waitall[isend_complete #1]"]
    assert "0 messages" in check(tmp_path) and "2 processes have recorded only chosen functions" in check(tmp_path)


def test_the_clock_is_read_for_each_call_even_if_the_first_calls_are_not_recorded(tmp_path):
    for process in trace(tmp_path, CALLS, "x.data", options=",functions=MPI_Send").values():
        ticks = [int(event["ticks"]) for event in process.events[0]]
        # The clock is read at the beginning and at the end of each call.
        assert len(ticks) > 10 and len(set(ticks)) > len(ticks) / 3
    assert "0 messages" in check(tmp_path)


def test_only_chosen_ranks_and_regions_are_recorded(tmp_path):
    processes = trace(tmp_path, CALLS, "x.data", options=",ranks=1,regions=der*;nest*")
    assert processes[0].all_events() == []
    assert list(sections(processes[1])) == ["derived", "nested"]
    outer = [call for call in tell(processes[1], processes[1].events[0])]
    assert "Recv[recv WORLD peer=0 tag=0 bytes=24]" in outer and "Allreduce" not in str(outer)
    assert "2 processes have recorded only parts" in check(tmp_path)


def test_each_message_is_received_with_its_own_size(tmp_path):
    """Most functions that receive are combined with each function that completes; the tag of a message is its size in
    bytes."""
    assert run(SIZES, cwd=tmp_path, tools="trace,format=own:profile,output=profile,format=json").returncode == 0
    table = csv.DictReader(qmpi_trace(tmp_path, "--to=csv").stdout.splitlines())
    functions, posted, received, current = set(), {}, collections.Counter(), None
    for row in (row for row in table if row["rank"] == "1"):
        if row["event"] == "enter":
            current = row["function"]
            functions.add(current)
        elif row["event"] == "irecv_request":
            posted[row["request"]] = current
        elif row["event"] in ("receive", "irecv") and row["peer"] != "null":
            assert row["bytes"] == row["tag"], (current, posted.get(row["request"]))
            received[posted[row["request"]] if row["event"] == "irecv" else current] += int(row["bytes"])
    listed = subprocess.run([QMPI, "functions"], check=True, capture_output=True, text=True, timeout=60).stdout
    known = set(re.findall(r"\b(MPI_\w*recv\w*) +yes", listed, re.IGNORECASE))
    known |= {"MPI_" + name for name in ("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany",
                                         "Testsome", "Request_get_status")}
    assert known <= functions
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
    # The profile has the same figures, except the sizes for MPI_Isendrecv, which only the sender knows.
    profile = json.loads((tmp_path / "profile").read_text())
    untold = {name for name in received if name.startswith("MPI_Isendrecv")}
    assert {row["name"]: row["bytes"]["received"] for row in profile["functions"] if row["bytes"]["received"]} == {
        name: size for name, size in received.items() if name not in untold}
    assert profile["unfinished_receives"] == sum(name in untold for name in posted.values())


def arrows(folder):
    """Returns [(bytes sent, bytes received)] of the arrows that Perfetto draws."""
    table = csv.DictReader(qmpi_trace(folder, "--to=csv").stdout.splitlines())
    sizes = {(int(row["rank"]), round(float(row["time"]) * 1e9)): int(row["bytes"]) for row in table
             if row["event"] in ("send", "isend", "receive", "irecv")}
    qmpi_trace(folder, "--to=perfetto", "-o", "perfetto")
    perfetto = perfetto_reader.Perfetto(folder / "perfetto", perfetto_reader.load_messages())
    (start, _), = perfetto.snapshots
    return [tuple(sizes[perfetto.process_of(end.track).sibling_order_rank, end.begin - start] for end in both)
            for both in perfetto.arrows()]


@pytest.mark.parametrize("options, arguments, count", [
    ("", ["messages", "30:40"], 29), ("", ["messages", "0", "50:53"], 49), ("", ["messages", "30:40", "35:38"], 29),
    (",regions=part", ["regions", "23", "20"], 0), (",functions=MPI_Send;MPI_Recv", ["messages", "0"], 0),
    ("", ["messages", "0"], 100)], ids=["sender", "receiver", "both", "regions", "functions", "whole"])
def test_no_message_is_matched_if_others_may_be_missing(options, arguments, count, tmp_path):
    """The i-th message has i bytes, so the two ends of an arrow must have the same size."""
    assert run(PAUSES, *arguments, cwd=tmp_path, tools=f"trace,format=own{options}").returncode == 0
    found = arrows(tmp_path)
    assert len(found) == count and all(sent == received for sent, received in found)
    said = qmpi_trace(tmp_path).stdout
    assert "arrive before they were sent" not in said
    assert ("not matched: others may be missing" in said) == (count < 100)
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
    repaired = qmpi_trace(tmp_path, "--repair", "--to=csv")
    assert "no time had to be corrected" in repaired.stderr
    assert repaired.stdout == qmpi_trace(tmp_path, "--to=csv").stdout


@pytest.mark.parametrize("seed", range(3))
def test_a_repair_corrects_nothing_although_ranks_paused(seed, tmp_path):
    assert run(PAUSES, "collectives", str(seed), cwd=tmp_path, ranks=3).returncode == 0
    assert "no time had to be corrected" in qmpi_trace(tmp_path, "--repair", "--to=csv").stderr
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
    # The calls of one collective have the same id, and those of other collectives have different
    # ids.
    qmpi_trace(tmp_path, "--to=perfetto", "-o", "perfetto")
    perfetto = perfetto_reader.Perfetto(tmp_path / "perfetto", perfetto_reader.load_messages())
    functions = {}
    for call in perfetto.calls():
        if call.correlation is not None:
            functions.setdefault(call.correlation, set()).add(call.name)
    assert functions and all(len(names) == 1 for names in functions.values())


def test_percentages_refer_to_no_time_after_the_last_event(tmp_path):
    """A layer below delays the end of the process."""
    run(STEPS, "init", "finalize", cwd=tmp_path, ranks=1,
        tools="trace,format=own:delay,functions=MPI_Finalize,before=200ms")
    text = qmpi_trace(tmp_path).stdout
    base = re.search(r"\(percentages: of the duration of all processes, (.*)\)", text)[1]
    assert re.search(rf"(?m)^duration +{re.escape(base)}$", text), text


def test_nothing_is_recorded_if_the_run_ends_before_begin(tmp_path):
    processes = trace(tmp_path, STEPS, "init", "barrier", "finalize", options=",begin=100000")
    assert all(process.all_events() == [] for process in processes.values())
    check(tmp_path)


def test_call_sites_have_frames_of_the_program(tmp_path):
    processes = trace(tmp_path, CALLS, "x.data", options=",sites=yes,depth=3")
    process = processes[0]
    enters = process.kinds("enter")
    assert all("site" in event for event in enters)
    sends = [process.sites[int(event["site"])]["frames"] for event in enters if event["function"] == "MPI_Ssend"]
    frames = sends[0].split(",")
    assert len(frames) == 2 and all("tools_trace_calls+0x" in frame for frame in frames)
    check_sections(processes)


def test_counters_are_recorded(tmp_path):
    processes = trace(tmp_path, CALLS, "x.data",
                      options=",counters=qmpi.count.calls.MPI_Send,interval=0:count,output=/dev/null")
    assert [counter["name"] for counter in processes[0].counters] == ["qmpi.count.calls.MPI_Send"]
    values = [int(event["value"]) for event in processes[0].kinds("counter")]
    # MPI_Pcontrol switches count off and on together with trace.
    assert values == sorted(values) and values[-1] == processes[0].calls()["MPI_Send"]
    check_sections({0: without_counters(processes[0])})


def test_counters_are_complete_if_the_program_finalizes_mpi_t_too_often(tmp_path):
    processes = trace(tmp_path, "calls", "init", "barrier", "t_finalize", "barrier", "pcontrol", "finalize", ranks=1,
                      options=",counters=qmpi.count.calls.MPI_Barrier,interval=0:count,output=/dev/null")
    assert max(float(event["value"]) for event in processes[0].kinds("counter")) == 2


def without_counters(process):
    process.events = {location: [event for event in events if event["kind"] != "counter"]
                      for location, events in process.events.items()}
    return process


def test_each_thread_is_a_location_even_if_signal_handlers_make_calls(tmp_path):
    process = trace(tmp_path, MANY, "threads=8", "signals=20", archive=False, ranks=1)[0]
    named = [location["name"] for location in process.locations]
    assert named[0] == "main thread" and len(set(named)) == len(named) >= 9
    assert sum(len(events) == 2000 for events in process.events.values()) == 8
    assert process.calls()["MPI_Comm_size"] >= 20
    assert process.kinds("interrupted", "dropped") == []
    check_order(process)


def test_calls_before_init_are_recorded_even_if_they_exceed_the_memory(tmp_path):
    process = trace(tmp_path, MANY, "early=100000", "calls=10", options=",memory=1M", archive=False, ranks=1)[0]
    assert process.calls()["MPI_Initialized"] == 100010 and process.traits["dropped"] == "0"
    assert [path.name for path in tmp_path.iterdir()] == ["qmpi-trace"]


def test_if_the_memory_is_full_threads_wait_or_lost_events_are_counted(tmp_path):
    """Threads wait for the writer, or the trace shows how many events are lost, and where."""
    for full in ("wait", "drop"):
        process = trace(tmp_path, MANY, "calls=100000", options=f",memory=1M,full={full},compress=no", archive=False,
                        ranks=1)[0]
        calls, dropped = process.calls()["MPI_Initialized"], int(process.traits["dropped"])
        # Among the dropped events may be the call of MPI_Finalize.
        assert calls + dropped == 100000 if full == "wait" else calls + dropped in (100000, 100001)
        assert sum(int(event["bytes"]) for event in process.kinds("dropped")) == dropped
        assert full == "drop" or not dropped


def test_each_thread_has_memory_even_if_the_limit_has_room_for_fewer(tmp_path):
    """All memory is then in the hands of threads that wait, so that the writer has none to give back. A ring keeps less
    than was recorded."""
    for buffer in ("file", "ring"):
        process = trace(tmp_path, MANY, "together=40", options=f",memory=1M,buffer={buffer}", archive=False, ranks=1)[0]
        assert process.traits["dropped"] == "0"
        assert process.calls()["MPI_Initialized"] == 40 * 101 or buffer == "ring"


def test_lost_events_are_those_of_the_thread_that_lost_them(tmp_path):
    """A thread may end before it gets memory again."""
    process = trace(tmp_path, MANY, "bursts=20000", options=",memory=1M,full=drop", archive=False, ranks=1)[0]
    lost = {location: sum(int(event["bytes"]) for event in events if event["kind"] == "dropped")
            for location, events in process.events.items()}
    assert sum(lost.values()) == int(process.traits["dropped"])
    made = {location: sum(event["kind"] == "enter" for event in events) for location, events in process.events.items()}
    assert [made[location] + lost[location] for location in made][1:] == [20000] * 8, lost


def test_a_ring_buffer_contains_the_last_part_of_the_run(tmp_path):
    process = trace(tmp_path, MANY, "calls=100000", options=",memory=1M,buffer=ring", archive=False, ranks=1)[0]
    assert 10000 < process.calls()["MPI_Initialized"] < 100000 and process.traits["ring"] == "1"
    assert tell(process, process.events[0])[-2:] == ["Initialized", "Finalize"]


@pytest.mark.parametrize("init", ["init", "init_threads"])
def test_a_call_in_an_error_handler_is_recorded(init, tmp_path):
    """With MPI_THREAD_MULTIPLE, MPICH would end the process if a call in the handler needed MPICH's
    lock. So trace must make no such call there."""
    processes = trace(tmp_path, STEPS, init, "fail", "errors", "barrier", "shift=8", "finalize", archive=False)
    assert sorted(processes) == [0, 1]
    for process in processes.values():
        calls = process.calls()
        assert calls["MPI_Send"] == calls["MPI_Error_class"] == calls["MPI_Barrier"] == calls["MPI_Sendrecv"] == 1
        assert process.traits["end"] == "1"


def test_a_call_in_a_signal_handler_within_a_call_is_recorded(tmp_path):
    """With MPI_THREAD_MULTIPLE, MPICH holds a lock within the outer call, so trace must not query MPI about its objects
    there."""
    process = trace(tmp_path, MANY, "within_calls", archive=False)[0]
    calls = tell(process, process.events[0])
    assert [call for call in calls if call.startswith(("Ssend", "Barrier"))] == [
        *["Ssend[send WORLD peer=1 tag=0 bytes=4; Initialized]"] * 2,
        "Ssend[send WORLD peer=1 tag=0 bytes=8; Initialized]",
        "Barrier[collective_begin WORLD; Initialized; collective_end WORLD]"]


@pytest.mark.skipif(not HAS_SESSIONS, reason="this MPI has no sessions")
def test_programs_with_sessions_are_recorded(tmp_path):
    for ranks in (1, 2):
        processes = trace(tmp_path, MANY, "sessions", ranks=ranks)
        assert sorted(processes) == list(range(ranks))
        for process in processes.values():
            assert process.traits["end"] == "1"
            assert tell(process, process.events[0])[-1] == "Session_finalize"
            assert "Barrier" in str(tell(process, process.events[0]))


def test_a_layer_that_is_off_records_nothing_but_takes_part_in_the_end(tmp_path):
    """A layer that is off records nothing. A rank on which the layer is off at the end still takes part in the end of
    the trace."""
    steps = ["init", "barrier", "off=trace", "barrier", "on=trace", "barrier", "only=1", "off=trace", "only=-1",
             "barrier", "finalize"]
    processes = trace(tmp_path, STEPS, *steps)
    barrier = "Barrier[collective_begin WORLD; collective_end WORLD]"
    calls = [call for call in tell(processes[0], processes[0].events[0]) if not call.startswith("T_")]
    assert [call for call in calls if call[0] == "B" or call in ("on", "off")] == [barrier, "off", "on", barrier, barrier]
    assert processes[1].calls()["MPI_Barrier"] == 2 and "MPI_Finalize" not in processes[1].calls()


# ---- Ends ----------------------------------------------------------------------------------------

WORK = ["init", "region=a", "barrier", "rank"]


@pytest.mark.parametrize("steps, end, detail, status, last", [
    (["exit=3"], "2", "", 3, "Comm_rank"), ([], "2", "", 0, "Comm_rank"), (["abort=5"], "3", "", 5, "Abort(…"),
    (["raise=15"], "4", "SIGTERM", -15, "Comm_rank"), (["raise=11"], "4", "SIGSEGV", -11, "Comm_rank"),
    (["fault"], "4", "SIGSEGV", -11, "Comm_rank"), (["fall"], "4", "SIGSEGV", -11, "Comm_rank"),
])
def test_the_trace_says_how_the_process_ended(tmp_path, steps, end, detail, status, last):
    options = clean_environment().get("ASAN_OPTIONS", "") + ":handle_segv=0"
    result = run(STEPS, *WORK, *steps, cwd=tmp_path, ranks=1, env={"ASAN_OPTIONS": options})
    assert result.returncode == status
    assert any("ended without MPI_Finalize" in line and "rank-0.qtrace" in line for line in result.messages)
    process, warnings = read(tmp_path / "qmpi-trace")
    assert warnings == []
    assert (process[0].traits["end"], process[0].traits["detail"]) == (end, detail)
    assert tell(process[0], process[0].events[0])[-1] == last


@contextlib.contextmanager
def killed(tmp_path, tools, *steps):
    """Runs a process that waits after its steps until it is killed; yields the path of its file."""
    environment = clean_environment() | {"QMPI_TOOLS": tools, "QMPI_TOOL_PATH": TOOL_PATH}
    environment["LD_PRELOAD"] = ":".join(filter(None, [ASAN, str(LIBQMPI)]))
    if OPEN_MPI:
        environment = open_mpi.SINGLETON | environment
    with subprocess.Popen([MANY, *steps, "wait"], env=environment, cwd=tmp_path) as process:
        try:
            yield tmp_path / "qmpi-trace" / "rank-0.qtrace"
        finally:
            process.kill()


def test_a_process_that_is_killed_leaves_its_events(tmp_path):
    """The file contains all events older than a second. Another run at the same time does not replace the trace, but
    writes to a directory beside it."""
    with killed(tmp_path, "trace,format=own", "calls=5000") as path:
        assert wait_until(lambda: calls_in(path) >= 5000)
        second = run(STEPS, "init", "finalize", cwd=tmp_path, ranks=1)
        assert second.returncode == 0 and "another program has written" in str(second.messages)
    assert len(read(tmp_path / "qmpi-trace.2")[0]) == 1
    found = read(tmp_path / "qmpi-trace")[0][0]
    assert (found.traits["end"], found.traits["points"]) == ("0", "1")


def hanging(path, rank=0):
    """Returns the last call of each thread, or an empty list if the trace does not show that the process was still
    running after its last event."""
    processes, _ = read(path) if path.exists() and path.stat().st_size else ({}, [])
    if not processes or not processes[rank].events:
        return []
    process = processes[rank]
    runs = int(process.traits["end_ticks"]) > max(int(event["ticks"]) for event in process.all_events())
    return [tell(process, events)[-1] for events in process.events.values() if runs]


@pytest.mark.parametrize("steps, calls", [
    (["receive"], ["Recv(…"]), (["hang", "within"], ["Comm_dup(call_object SELF; Comm_dup(……", "Probe(…"]),
])
def test_a_process_that_is_killed_leaves_its_calls_in_progress(tmp_path, steps, calls):
    with killed(tmp_path, "trace,format=own", *steps) as path:
        wait_until(lambda: len(hanging(path)) == len(calls))
    assert sorted(hanging(path)) == calls
    assert read(path)[0][0].traits["end"] == "0"


@pytest.mark.parametrize("step, call", [("receive", "Recv[recv WORLD peer=1 tag=1 bytes=0]"),
                                        ("within", "Comm_dup[call_object SELF; Comm_dup[call_object WORLD; comm_create]; comm_create]")])
def test_a_long_call_is_recorded_once(tmp_path, step, call):
    """A long call is in the file before and after it has ended."""
    path = tmp_path / "qmpi-trace" / "rank-0.qtrace"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        result = pool.submit(run, MANY, step, cwd=tmp_path)
        assert wait_until(lambda: hanging(path))
        (tmp_path / "go").touch()
    assert result.result().returncode == 0
    process = read(tmp_path / "qmpi-trace")[0][0]
    calls = [re.sub(r"comm_create [^];]*", "comm_create", text) for text in tell(process, process.events[0])]
    assert calls.count(call) == 1 and process.calls().get("MPI_Recv", 1) == 1


def test_a_rank_that_another_rank_ends_leaves_its_call_in_progress(tmp_path):
    path = tmp_path / "qmpi-trace" / "rank-1.qtrace"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        result = pool.submit(run, MANY, "abort", cwd=tmp_path)
        assert wait_until(lambda: hanging(path, 1))
        (tmp_path / "go").touch()
    assert result.result().returncode != 0
    assert hanging(path, 1)[0].startswith("Barrier(")


def test_a_signal_saves_the_ring_buffer(tmp_path):
    """The events are in the file after the signal, while the process still runs."""
    with killed(tmp_path, "trace,format=own,buffer=ring,save-signal=SIGUSR2", "calls=1000", "usr2") as path:
        assert wait_until(lambda: calls_in(path) >= 1000)


def test_a_signal_does_not_end_a_process_that_waits_in_init(tmp_path):
    with Job(tmp_path, "starting", 2, options=",save-signal=SIGUSR2", tool="trace,format=own,buffer=ring") as job:
        job.signal_in_init(signal.SIGUSR2)
        with pytest.raises(subprocess.TimeoutExpired):
            job.process.wait(timeout=1)


def calls_in(path):
    processes, _ = read(path) if path.exists() and path.stat().st_size else ({}, [])
    return processes[0].calls().get("MPI_Initialized", 0) if processes else 0


def test_a_forked_child_records_nothing(tmp_path):
    result = run(STEPS, *WORK, "fork=0", "finalize", cwd=tmp_path, ranks=1)
    assert result.returncode == 0 and result.messages == []
    process = read(tmp_path / "qmpi-trace")[0][0]
    assert process.traits["end"] == "1" and len(list((tmp_path / "qmpi-trace").iterdir())) == 1


def test_a_file_that_reaches_the_size_limit_ends_with_a_whole_block(tmp_path):
    """The file ends with a whole block, and the program is not disturbed."""
    result = run(MANY, "limit=500000", "calls=300000", cwd=tmp_path, ranks=1, tools="trace,format=own,compress=no")
    assert result.returncode == 0
    assert [line for line in result.messages if "the trace ends here" in line]
    process, warnings = read(tmp_path / "qmpi-trace")
    assert process[0].calls()["MPI_Initialized"] < 300000 and process[0].traits["unfinished"] == "0"


# ---- Directories ---------------------------------------------------------------------------------

def test_an_existing_trace_is_replaced_but_other_files_are_kept(tmp_path):
    """A trace is replaced. If the directory contains other files, it is kept, and the run does not
    begin."""
    trace(tmp_path, STEPS, "init", "finalize", archive=False)
    trace(tmp_path, STEPS, "init", "finalize", archive=False, ranks=1)
    assert [path.name for path in (tmp_path / "qmpi-trace").iterdir()] == ["rank-0.qtrace"]
    (tmp_path / "qmpi-trace" / "mine").write_text("mine")
    result = run(STEPS, "init", "finalize", cwd=tmp_path)
    assert result.returncode == 2 and len([line for line in result.messages if "contains mine" in line]) == 1
    assert sorted(path.name for path in (tmp_path / "qmpi-trace").iterdir()) == ["mine", "rank-0.qtrace"]


def write_foreign_archive(directory):
    otf2 = pytest.importorskip("otf2", reason="python3-otf2 is not installed")
    with otf2.writer.open(str(directory), timer_resolution=1) as writer:
        definitions = writer.definitions
        machine = definitions.system_tree_node("machine")
        definitions.location("thread", group=definitions.location_group("process", system_tree_parent=machine))


@pytest.mark.parametrize("name", ["traces.otf2", "traces", "trace.json"])
def test_the_trace_of_another_tool_is_kept(tmp_path, name):
    """The files of an archive in OTF2 have the same names in all tools. An incomplete one has no file traces.otf2."""
    directory = tmp_path / "qmpi-trace"
    if name == "trace.json":
        directory.mkdir()
        (directory / name).write_text("[]")
    else:
        write_foreign_archive(directory)
    if name == "traces":
        (directory / "traces.otf2").unlink()
        (directory / "traces.def").unlink()
    before = {path: path.is_file() and path.read_bytes() for path in directory.rglob("*")}
    result = run(STEPS, "init", "finalize", cwd=tmp_path)
    assert result.returncode == 2 and len([line for line in result.messages if f"contains {name}," in line]) == 1
    assert {path: path.is_file() and path.read_bytes() for path in directory.rglob("*")} == before


def test_an_archive_of_which_only_the_files_in_otf2_were_kept_is_replaced(tmp_path):
    trace(tmp_path, STEPS, "init", "finalize", ranks=1)
    (tmp_path / "qmpi-trace" / "rank-0.qtrace").unlink()
    (tmp_path / "qmpi-trace" / "traces" / "7.evt").write_text("")
    trace(tmp_path, STEPS, "init", "finalize", ranks=1, archive=False)
    assert [path.name for path in (tmp_path / "qmpi-trace").iterdir()] == ["rank-0.qtrace"]


@pytest.mark.parametrize("tools, words", [
    ("trace,output=a:trace,output=a", "layer 2 (trace) writes to the same directory"),
    ("trace,output=no/a", "cannot create this directory"),
    ("trace,output=a%q", "invalid value output=a%q"),
    ("trace,memory=1", "invalid value memory=1"),
    ("trace,full=maybe", "invalid value full=maybe"),
    ("trace,format=json", "format=json is no longer possible"),
    ("trace,keep=3", "keep= and save-signal= require buffer=ring"),
    ("trace,depth=3", "depth= requires sites=yes"),
    ("trace,begin=3,end=2", "end= must be later than begin="),
    ("trace,functions=MPI_Nothing", "'MPI_Nothing' matches no function"),
    ("trace,ranks=x", "invalid value ranks=x"),
    ("trace,interval=soon", "invalid value interval=soon"),
    ("trace,save-signal=SIGKILL,buffer=ring", "invalid value save-signal=SIGKILL"),
])
def test_bad_options_are_refused_with_a_hint(tmp_path, tools, words):
    result = run(STEPS, "init", "finalize", cwd=tmp_path, ranks=1, tools=tools)
    assert result.returncode == 2 and words in " ".join(result.messages)
    assert any("hint:" in line for line in result.messages)


def test_two_layers_record_the_same_calls(tmp_path):
    processes = trace(tmp_path, STEPS, "init", "barrier", "finalize", options=",output=qmpi-trace:trace,format=own,output=other%t")
    others = read(tmp_path / "other2")[0]
    for rank in (0, 1):
        calls = [[call for call in tell(process, process.events[0]) if not call.startswith("flush")]
                 for process in (processes[rank], others[rank])]
        assert calls[0] == calls[1]


def test_csv_contains_the_seconds_of_the_tools_own_work(tmp_path):
    """The work of the tool at the end of MPI_Init is recorded without bytes, and not as a call."""
    trace(tmp_path, STEPS, "init", "barrier", "finalize")
    table = list(csv.DictReader(qmpi_trace(tmp_path, "--to=csv").stdout.splitlines()))
    flushes = [place for place, row in enumerate(table) if row["event"] == "flush"]
    assert len(flushes) == 2
    for row, following in ((table[place], table[place + 1]) for place in flushes):
        assert row["bytes"] == ""
        assert 0 < float(row["value"]) <= float(following["time"]) - float(row["time"]) + 1e-6


@pytest.mark.skipif(not shutil.which("otf2-print"), reason="otf2-print is not installed")
def test_names_that_are_not_utf8_are_converted_in_archives(tmp_path):
    """Bytes that are not UTF-8 are replaced. Readers of OTF2 stop at a string that has such bytes."""
    names = ["\udcff\udcfe bad", "m\udcf6glich", "\u00e9t\u00e9"]
    steps = [step for name in names for step in (f"region={name}", "barrier", f"end={name}")]
    result = run(STEPS, "init", *steps, "finalize", cwd=tmp_path, tools="trace")
    assert result.returncode == 0 and not result.messages
    done = subprocess.run(["otf2-print", "-G", tmp_path / "qmpi-trace" / "traces.otf2"], capture_output=True, timeout=60, check=True)
    found = set(re.findall(r'^REGION .* Name: "(.*?)" <.*Paradigm: "USER"', done.stdout.decode("utf-8"), re.MULTILINE))
    assert found == {re.sub("[\udc80-\udcff]", "\ufffd", name) for name in names}


def test_names_that_are_not_text_are_converted_in_csv(tmp_path):
    """Bytes that are not UTF-8, and control characters, are replaced."""
    names = ["\udcff\udcfe bad", "C1 \x9b", 'a "name"', "\u00e9t\u00e9"]
    steps = [step for name in names for step in (f"region={name}", "barrier", f"end={name}")]
    result = run(STEPS, "init", *steps, "finalize", cwd=tmp_path,
                 tools="trace,format=own:profile,output=profile,format=csv")
    assert result.returncode == 0
    expected = {re.sub("[\udc80-\udcff\x7f-\x9f]", "\ufffd", name) for name in names}

    def rows(*command):
        done = subprocess.run([QMPI, *command, "qmpi-trace"], capture_output=True, timeout=60, cwd=tmp_path, check=True)
        return list(csv.DictReader(io.StringIO(done.stdout.decode("utf-8"), newline="")))

    assert {row["object"] for row in rows("trace", "--to=csv") if row["event"] == "region_begin"} == expected
    profile = csv.DictReader(io.StringIO((tmp_path / "profile").read_bytes().decode("utf-8"), newline=""))
    for table in (rows("report", "--format=csv"), list(profile)):
        assert {row["region"] for row in table if row["table"] == "region"} >= expected


def test_the_joined_files_of_the_ranks_equal_the_merged_file(tmp_path):
    """The files of the ranks, joined, contain the same as the merged file. A later run replaces the files."""
    path = tmp_path / "qmpi-trace"
    result = run(CALLS, "x.data", cwd=tmp_path, tools="trace,ranks=0,format=perfetto")
    assert result.returncode == 0 and result.messages == []
    # Messages to and from the other rank have no flow, because only one end is known.
    single = perfetto_reader.Perfetto(path / "rank-0.perfetto-trace", perfetto_reader.load_messages())
    assert single.arrows() and all(begin.track == end.track for begin, end in single.arrows())
    result = run(CALLS, "x.data", cwd=tmp_path, tools="trace,sites=yes,format=perfetto")
    assert result.returncode == 0 and result.messages == []
    assert sorted(file.name for file in path.iterdir()) == sorted(
        f"rank-{rank}.{end}" for rank in (0, 1) for end in ("perfetto-trace", "qtrace"))
    merged = tmp_path / "run.perfetto-trace"
    subprocess.run([QMPI, "trace", "merge", "-o", merged, path], check=True, timeout=60)
    parts = [(path / f"rank-{rank}.perfetto-trace").read_bytes() for rank in (0, 1)]
    messages = perfetto_reader.load_messages()
    joined, whole = (perfetto_reader.Perfetto(data, messages) for data in (b"".join(parts), merged))
    assert joined.everything() == whole.everything()
    assert joined.arrows() and joined.calls()
    single = perfetto_reader.Perfetto(parts[0], messages)
    assert single.snapshots == whole.snapshots and len(single.snapshots) == 1
    assert any(len(ends) == 1 for ends in single.flows.values())
