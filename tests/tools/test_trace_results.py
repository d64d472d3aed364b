# SPDX-License-Identifier: MIT
"""Traces have the same figures as profile in the same run, in archives in OTF2 and in the profiles that
qmpi report makes from traces."""
import collections
import ctypes.util
import json
import re
import shutil
import subprocess

import pytest

from archives import HAS_READER
from mpi_in_use import EMULATED
from otf2_events import check_archive_of
from profile_support import STEPS, load, run_steps
from support import BUILD, MPI_NAME, QMPI, clean_environment, run_mpi
from trace_support import read
from trace_truth import check_truth

pytestmark = pytest.mark.usefixtures("separate_nodes")

OBSERVE = BUILD / "tests" / "observe" / "programs"
STEPS_TAKEN = ["initialized", "init_threads", "rank", "barrier", "region=a", "bcast", "shift=100", "region=b", "send=5000",
               "end=a", "peers", "nest", "sort", "level=0", "barrier", "rank", "level=1", "comms", "file=x", "window",
               "dup", "name=q", "use", "drop", "types", "open=y%r", "write", "close", "in_dup=barrier", "end=b", "finalize"]
PROGRAMS = {"steps": (STEPS, STEPS_TAKEN), "collectives": (OBSERVE / "observe_collectives", ["."]),
            "one_sided": (OBSERVE / "observe_one_sided", ["."]),
            "completion": (OBSERVE / "observe_completion", ["."])}


def run_both(folder, program, *arguments, options="", **more):
    """Runs a program, with the result of profile in p.json and a trace in trace/."""
    return run_steps(*arguments, program=program, cwd=folder,
                     tools=f"profile,output=p.json:trace,output=trace,sites=yes{options}", **more)


def report(folder, *paths):
    """Returns the profile that qmpi report makes of traces or files."""
    done = subprocess.run([QMPI, "report", "-f", "json", *paths], capture_output=True, text=True, timeout=60,
                          cwd=folder, env=clean_environment(), check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=PROGRAMS)
def run(request, tmp_path_factory):
    """Runs one of PROGRAMS, and returns the directory of the run."""
    folder = tmp_path_factory.mktemp(request.param)
    program, arguments = PROGRAMS[request.param]
    result = run_both(folder, program, *arguments)
    assert result.returncode == 0 and result.messages == [], result
    return folder


# ---- Profiles ------------------------------------------------------------------------------------------

# Figures that depend on when a tool itself reads the clock, and not on when calls begin and end; and
# `polling`, for which profile asks the system whether a process slept between two polls, which a
# trace does not contain.
BY_THE_TOOL = {"by_rank", "callers", "polling", "waits", "efficiency", "useful", "nodes", "stddev", "min_rank",
               "max_rank"}


# profile and trace each measure the rate of the clock at the end. Readings of the clock take longer under an emulator, so
# that these measurements differ more.
TOLERANCE = 2e-5 if EMULATED else 1e-6


def is_about(one, other):
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other)) + 1e-9


def is_equal(one, other, ignored):
    if isinstance(one, dict) and isinstance(other, dict):
        return all(key in one and key in other and is_equal(one[key], other[key], ignored)
                   for key in (one.keys() | other.keys()) - ignored)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(is_equal(a, b, ignored) for a, b in zip(one, other))
    if isinstance(one, float) or isinstance(other, float):
        return is_about(one, other)
    return one == other


def table(result, name, *keys):
    """Returns the rows of a table by their keys."""
    return {json.dumps([row[key] for key in keys]): row for row in result[name]}


def compare(mine, its, name, *keys, ignored=BY_THE_TOOL):
    """Returns the rows of a table that differ."""
    one, other = table(mine, name, *keys), table(its, name, *keys)
    assert one.keys() == other.keys()
    return [(key, one[key], other[key]) for key in one if not is_equal(one[key], other[key], ignored)]


def test_a_profile_of_a_trace_is_that_of_the_run(run):
    profile, trace = load(run / "p.json"), report(run, "trace")
    for name in ("program", "mpi", "ranks", "unfinished_receives"):
        assert profile[name] == trace[name], name
    # `times` is not compared: a time that is a power of two is in one of two bins, depending on the last digit of the
    # clock's rate.
    assert not compare(profile, trace, "functions", "name", ignored=BY_THE_TOOL | {"times"})
    assert not compare(profile, trace, "callsites", "name", "frames")
    assert not compare(profile, trace, "matrix", "from", "to")
    assert not compare(profile, trace, "files", "name")
    # A trace does not contain the communicator of calls such as MPI_Comm_rank.
    assert "steps" in run.name or not compare(profile, trace, "communicators", "name")
    assert is_equal(profile["time"], trace["time"], BY_THE_TOOL)
    for one, other in zip(profile["processes"], trace["processes"], strict=True):
        assert (one["rank"], one["host"]) == (other["rank"], other["host"]) and is_about(one["mpi"], other["mpi"])
    for one, other in zip(profile["regions"], trace["regions"]):
        assert (one["name"], one["entries"]) == (other["name"], other["entries"])
        assert is_equal(one["mpi"], other["mpi"], BY_THE_TOOL)
        assert not compare(one, other, "functions", "name", ignored=BY_THE_TOOL | {"times"})
    assert len(profile["regions"]) == len(trace["regions"])


@pytest.mark.parametrize("program", ["persistent", "point_to_point", "files"])
def test_bytes_and_objects_of_calls_are_those_of_the_run(tmp_path, program):
    assert run_both(tmp_path, OBSERVE / f"observe_{program}", ".", options=",format=own").returncode == 0
    profile, trace = load(tmp_path / "p.json"), report(tmp_path, "trace")
    assert not compare(profile, trace, "functions", "name", ignored=BY_THE_TOOL | {"times"})
    assert not compare(profile, trace, "callsites", "name", "frames")
    assert not compare(profile, trace, "matrix", "from", "to")
    assert not compare(profile, trace, "files", "name")
    assert not compare(profile, trace, "communicators", "name", ignored=BY_THE_TOOL | {"instances"})


def test_a_call_that_completes_many_operations_waits_once_for_each_peer(tmp_path):
    run_both(tmp_path, STEPS.with_name("tools_planted"), "sender_many", ranks=3)
    for profile in (report(tmp_path, "p.json"), report(tmp_path, "trace")):
        site, = [site for site in profile["callsites"] if site["name"] == "MPI_Waitall"]
        waits = site["waits"]
        assert (waits["rank"], sorted(waits["peer"])) == ([0, 0], [1, 2])
        assert 0 < waits["calls"][0] == waits["calls"][1] <= site["calls"]
        assert abs(waits["time"][0] - waits["time"][1]) < 1e-6


def test_files_of_single_processes_are_merged(run):
    whole, parts = report(run, "trace"), report(run, "trace/rank-1.qtrace", "trace/rank-0.qtrace")
    assert is_equal(whole["functions"], parts["functions"], {"by_rank", "callers"})
    assert is_equal(whole["matrix"], parts["matrix"], set())


def test_a_process_is_profiled_up_to_its_exit(tmp_path):
    run_both(tmp_path, STEPS, "init", "region=a", "barrier", "level=0", "barrier", "level=1", "send=100", "exit=0")
    profile, trace = report(tmp_path, "p.0.json", "p.1.json"), report(tmp_path, "trace")
    assert profile["ending"] == trace["ending"] == "exit"
    assert not compare(profile, trace, "functions", "name", ignored=BY_THE_TOOL | {"times"})
    assert not compare(profile, trace, "matrix", "from", "to")


def test_a_call_in_progress_is_in_flight(tmp_path):
    run_both(tmp_path, STEPS, "init", "barrier", "in_dup=exit=0", ranks=1)
    calls = report(tmp_path, "trace")["in_flight"]
    assert [(call["name"], call["rank"], call["frames"][0]["function"]) for call in calls] == [
        ("MPI_Comm_dup", 0, "dup_doing")]


# ---- Archives ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def archive(run):
    """Yields the directory of a run, and the definitions and the events of its archive. The events are
    [(location, event)]."""
    otf2 = pytest.importorskip("otf2", reason="python3-otf2 is not installed")
    with otf2.reader.open(str(run / "trace" / "traces.otf2")) as reader:
        yield run, reader.definitions, list(reader.events)


def test_an_archive_has_the_events_of_the_files(run):
    """If the program has written down its events, the trace must have exactly these."""
    processes, warnings = read(run / "trace")
    assert warnings == []
    if HAS_READER:
        check_archive_of(processes, run / "trace" / "traces.otf2")
    if (run / "expected.0").exists():
        check_truth(processes, run)


def world_rank(communicator, rank):
    return int(communicator.group.members[rank].group.name.removeprefix("MPI Rank "))


def test_an_archive_has_the_calls_of_the_run(archive):
    run, definitions, events = archive
    calls, regions, open_calls = collections.Counter(), collections.Counter(), {}
    for location, event in events:
        kind = type(event).__name__
        if kind == "Enter":
            open_calls.setdefault(location, []).append(event.region)
            (regions if event.region.name in "ab" else calls)[event.region.name] += 1
        elif kind == "Leave":
            assert open_calls[location].pop() is event.region
    assert not any(open_calls.values())
    profile = load(run / "p.json")
    assert calls == {function["name"]: function["calls"] for function in profile["functions"]}
    assert regions.keys() == {region["name"] for region in profile["regions"]}
    counts = collections.Counter(location for location, _ in events)
    assert {location: location.number_of_events for location in definitions.locations} == counts


def test_an_archive_has_the_messages_of_the_run(archive):
    run, _, events = archive
    sent, received = collections.Counter(), collections.Counter()
    for location, event in events:
        kind, rank = type(event).__name__, int(location.group.name.removeprefix("MPI Rank "))
        if kind in ("MpiSend", "MpiIsend"):
            sent[rank, world_rank(event.communicator, event.receiver), 0] += 1
            sent[rank, world_rank(event.communicator, event.receiver), 1] += event.msg_length
        elif kind in ("MpiRecv", "MpiIrecv"):
            received[world_rank(event.communicator, event.sender), rank, 0] += 1
            received[world_rank(event.communicator, event.sender), rank, 1] += event.msg_length
        elif kind in ("RmaPut", "RmaAtomic"):
            sent[rank, world_rank(event.win.comm, event.remote), 0] += 1
            sent[rank, world_rank(event.win.comm, event.remote), 1] += event.bytes if kind == "RmaPut" else event.bytes_sent
        if kind in ("RmaGet", "RmaAtomic"):
            sent[world_rank(event.win.comm, event.remote), rank, 1] += (
                event.bytes if kind == "RmaGet" else event.bytes_received)
    profile = load(run / "p.json")
    pairs = collections.Counter({(row["from"], row["to"], 1): row["bytes"] for row in profile["matrix"]})
    assert +sent.__class__({key: value for key, value in sent.items() if key[2]}) == +pairs
    if not any(type(event).__name__.startswith("Rma") for _, event in events):
        messages = {(row["from"], row["to"]): row["messages"] for row in profile["matrix"]}
        assert {key[:2]: value for key, value in sent.items() if not key[2]} == messages
    if not profile["unfinished_receives"] and "completion" not in run.name:
        only_messages = {key: value for key, value in sent.items()}
        assert all(only_messages.get(key, 0) >= value for key, value in received.items())


def test_requests_begin_and_end_once(archive):
    _, _, events = archive
    begun, ended = {}, set()
    for location, event in events:
        kind, process = type(event).__name__, location.group
        if kind in ("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest"):
            assert (process, event.request_id) not in begun
            begun[process, event.request_id] = kind
        elif kind in ("MpiIsendComplete", "MpiIrecv", "NonBlockingCollectiveComplete", "MpiRequestCancelled"):
            assert (process, event.request_id) in begun and (process, event.request_id) not in ended
            ended.add((process, event.request_id))
            assert kind in ("MpiRequestCancelled", {"MpiIsend": "MpiIsendComplete", "MpiIrecvRequest": "MpiIrecv"}.get(
                begun[process, event.request_id], "NonBlockingCollectiveComplete"))


# ---- EZTrace's archive of the same program -------------------------------------------------------------

EZTRACE = [ctypes.util.find_library(f"eztrace-{name}") for name in ("lib", MPI_NAME)]


# Functions whose messages EZTrace does not record.
WITHOUT_MESSAGES = {"MPI_Sendrecv"}
EVENT = re.compile(r"(ENTER|LEAVE|MPI_\w+) +(\d+) +\d+ *(.*)")
TOLD = {"MPI_SEND": ("Receiver", "Tag", "Length"), "MPI_ISEND": ("Receiver", "Tag", "Length"),
        "MPI_RECV": ("Sender", "Tag", "Length"), "MPI_IRECV_REQUEST": (), "MPI_COLLECTIVE_END": ("Operation", "Root")}


def communication(anchor):
    """Returns for each of the two ranks, in order: the calls, their messages with peer, tag and bytes, and the
    collective operations with their roots."""
    done = subprocess.run(["otf2-print", anchor], capture_output=True, text=True, timeout=60, check=True)
    found, calls = collections.defaultdict(list), collections.defaultdict(list)
    for kind, location, rest in EVENT.findall(done.stdout):
        if kind == "ENTER":
            calls[location].append(re.search(r'Region: "(.*)"', rest)[1])
            found[int(location)] += [calls[location][-1]] * calls[location][-1].startswith("MPI_")
        elif kind == "LEAVE":
            calls[location].pop()
        elif kind in TOLD and calls[location][-1] not in WITHOUT_MESSAGES:
            told = (re.search(rf"\b{name}: (\w+)", rest)[1] for name in TOLD[kind])
            found[int(location)].append((kind, *told))
    assert len(found) == 2
    return [found[location] for location in sorted(found)]


def kinds_of(events):
    """Returns the functions, kinds of messages, and operations."""
    return {event if isinstance(event, str) else event[:2 if event[0] == "MPI_COLLECTIVE_END" else 1] for event in events}


@pytest.mark.skipif(not all(EZTRACE), reason="EZTrace for this MPI is not installed")
@pytest.mark.skipif(not shutil.which("otf2-print"), reason="otf2-print is not installed")
@pytest.mark.parametrize("program, arguments, least", [
    (STEPS, ["init", "barrier", "bcast", "send=100", "send=5000", "send=0", "bcast", "send=7", "barrier", "finalize"], 16),
    (BUILD / "tests" / "redirect" / "programs" / "exchange_c", ["."], 40)], ids=["steps", "exchange"])
def test_events_that_trace_and_eztrace_both_record_are_the_same(program, arguments, least, tmp_path):
    assert run_both(tmp_path, program, *arguments).returncode == 0
    result = run_mpi(program, *arguments, preload=EZTRACE, cwd=tmp_path,
                     env={"EZTRACE_TRACE": MPI_NAME, "EZTRACE_TRACE_DIR": tmp_path / "eztrace"})
    assert result.returncode == 0
    anchor, = (tmp_path / "eztrace").rglob("*.otf2")
    for mine, its in zip(communication(tmp_path / "trace" / "traces.otf2"), communication(anchor), strict=True):
        known = kinds_of(its)
        assert [event for event in mine if kinds_of([event]) <= known] == its
        assert len(its) >= least
