# SPDX-License-Identifier: MIT
"""Messages in traces of ranks whose clocks differ: none arrives before it was sent by more than the
bound that the trace states, and none at all after a repair. tools/skew.c of the tests of observers
gives each rank a clock. With the clock of the machine, no message arrives before it was sent. The
environment variable QMPI_TEST_MESSAGES is the number of messages, such as 1000000; the default is
20000."""
import collections
import csv
import os
import re
import time

import perfetto_reader
import pytest

from support import BUILD, LIBQMPI
from trace_support import MANY, STEPS, qmpi_trace, read, run

SKEW = BUILD / "tests" / "observe" / "tools" / "skew.so"
ROUNDS = 300
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}


def run_skewed(folder, clocks, *last_steps, **more):
    """Runs with clocks [(nanoseconds, ppm)] of the ranks; each message is waited for."""
    env = {"QMPI_CLOCK": "monotonic", "SKEW_SINCE": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
           "SKEW_CLOCKS": ",".join(f"{shift}/{ppm}" for shift, ppm in clocks)}
    return run(STEPS, "init", *["shift=8"] * ROUNDS, *last_steps, cwd=folder, ranks=len(clocks), env=env,
               preload=[LIBQMPI, SKEW], **more)


def flights(folder, *options):
    """Returns the seconds from the begin of each send to the end of its receive. All communicators
    contain all ranks."""
    moments = collections.defaultdict(lambda: ([], []))
    qmpi_trace(folder, "--to=csv", "-o", "run.csv", *options)
    with open(folder / "run.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            received = row["event"] in ("receive", "irecv")
            if received or row["event"] in ("send", "isend"):
                ends = (row["peer"], row["rank"]) if received else (row["rank"], row["peer"])
                moments[*ends, row["communicator"], row["tag"]][received].append(float(row["time"]))
    return [receive - send for sent, arrived in moments.values() for send, receive in zip(sent, arrived)]


def uncorrected(folder):
    """Does the same with the ranks' own clocks, in nanoseconds. All messages are on
    MPI_COMM_WORLD."""
    moments = collections.defaultdict(lambda: ([], []))
    for rank, process in read(folder / "qmpi-trace")[0].items():
        for event in process.kinds("send", "recv"):
            ends = [rank, event["peer"]] if event["kind"] == "send" else [event["peer"], rank]
            moments[*map(int, ends)][event["kind"] == "recv"].append(int(event["ticks"]))
    return [receive - send for sent, arrived in moments.values() for send, receive in zip(sent, arrived)]


def bound(folder):
    text = qmpi_trace(folder).stdout
    number, unit = re.search(r"error is at most ([\d.]+) (\w+) when times", text).groups()
    return float(number) * UNITS[unit]


def files_have_the_corrected_times(folder):
    """The files of the ranks, joined, have the clock and the times of the file of all ranks."""
    messages = perfetto_reader.load_messages()
    parts = [path.read_bytes() for path in (folder / "qmpi-trace").glob("*.perfetto-trace")]
    qmpi_trace(folder, "--to=perfetto", "-o", "all")
    joined, whole = (perfetto_reader.Perfetto(data, messages) for data in (b"".join(parts), folder / "all"))
    # Messages may arrive before they were sent, by less than the bound. Only the file of all ranks
    # can show that.
    one, other = ([*sorted((it.track, it.begin, it.end, it.name) for it in trace.calls()), trace.snapshots,
                   trace.everything()["tracks"]] for trace in (joined, whole))
    assert one == other and len(whole.snapshots) == 1


@pytest.mark.parametrize("clocks", [
    [(0, 0), (5_000_000_000, 50)],
    [(0, -50), (-3_000_000_000, 50), (7_000_000_000, 0), (2_000_000, -50)],
], ids=["of two", "of four"])
def test_no_message_arrives_before_it_was_sent_by_more_than_the_bound(clocks, tmp_path):
    result = run_skewed(tmp_path, clocks, "finalize", tools="trace,format=perfetto")
    assert result.returncode == 0 and result.messages == []
    found, raw = flights(tmp_path), uncorrected(tmp_path)
    assert len(found) == len(raw) == ROUNDS * len(clocks)
    assert min(raw) < -1_000_000_000
    # The summary rounds the bound.
    assert min(found) >= -1.01 * bound(tmp_path) and bound(tmp_path) < 1
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
    assert min(flights(tmp_path, "--repair")) >= 0
    files_have_the_corrected_times(tmp_path)


def test_a_run_without_the_comparison_at_its_end(tmp_path):
    """Ranks that are killed have compared their clocks only in MPI_Init: times are corrected, and
    the bound grows."""
    # The files contain all events that are older than a second.
    result = run_skewed(tmp_path, [(0, 0), (5_000_000_000, 50)], "sleep=1500", "abort=3", ends=[])
    assert result.returncode
    found = flights(tmp_path)
    assert len(found) == 2 * ROUNDS and min(found) >= -1.01 * bound(tmp_path) and bound(tmp_path) < 1
    assert min(flights(tmp_path, "--repair")) >= 0


def test_no_message_arrives_early_with_the_clock_of_the_machine(tmp_path):
    count = int(os.environ.get("QMPI_TEST_MESSAGES", "20000"))
    result = run(MANY, f"trips={count // 2}", cwd=tmp_path)
    assert result.returncode == 0 and result.messages == []
    found = flights(tmp_path)
    assert len(found) == count // 2 * 2 and min(found) >= 0
    assert "\nclocks       the processes have one clock\n" in qmpi_trace(tmp_path).stdout


def test_ranks_that_are_killed_have_the_clock_of_the_machine(tmp_path):
    """The clocks were not compared at the end, so the length of a tick is only as exact as at that
    time."""
    run(STEPS, "init", *["shift=8"] * ROUNDS, "sleep=1500", "abort=3", cwd=tmp_path, ends=[])
    found = flights(tmp_path)
    assert len(found) == 2 * ROUNDS and min(found) >= 0
    assert "\nclocks       the processes have one clock\n" in qmpi_trace(tmp_path).stdout
