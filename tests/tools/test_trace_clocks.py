# SPDX-License-Identifier: MIT
"""Messages in traces of ranks whose clocks differ. A message may seem to arrive before it was sent, but not by more
than the bound that `qmpi trace` prints. After a repair, no message arrives before it was sent. If all ranks use the
clock of the machine, no message does so even without a repair.

tests/observe/tools/skew.c gives each rank a clock of its own. The environment variable QMPI_TEST_MESSAGES sets the
number of messages with the clock of the machine, such as 1000000; the default is 20000."""
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
    """Runs a program whose ranks exchange messages by MPI_Sendrecv. `clocks` contains, for each rank, the offset of its
    clock in nanoseconds and the error of its rate in ppm."""
    env = {"QMPI_CLOCK": "monotonic", "SKEW_SINCE": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
           "SKEW_CLOCKS": ",".join(f"{shift}/{ppm}" for shift, ppm in clocks)}
    return run(STEPS, "init", *["shift=8"] * ROUNDS, *last_steps, cwd=folder, ranks=len(clocks), env=env,
               preload=[LIBQMPI, SKEW], **more)


def flights(folder, *options):
    """Returns the seconds from the beginning of each send to the end of its receive. All communicators contain all
    ranks, so peers need no translation."""
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
    """Returns the same as flights, but by the ranks' own clocks, which are not corrected, and in nanoseconds. All
    messages are on MPI_COMM_WORLD."""
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
    """Checks that the files of the ranks, joined, have the same clock and times as the file of all ranks."""
    messages = perfetto_reader.load_messages()
    parts = [path.read_bytes() for path in (folder / "qmpi-trace").glob("*.perfetto-trace")]
    qmpi_trace(folder, "--to=perfetto", "-o", "all")
    joined, whole = (perfetto_reader.Perfetto(data, messages) for data in (b"".join(parts), folder / "all"))
    # The arrows of messages are not compared. By the corrected times, a message may arrive before it was sent. The file
    # of all ranks has no arrow for it, but the files of the ranks do, because each knows the time of one end only.
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


def test_ranks_that_are_killed_have_corrected_times_with_a_larger_bound(tmp_path):
    """Ranks that are killed have compared their clocks only in MPI_Init. So their times are corrected with a larger
    bound."""
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
    """These ranks have not read the clock at the end of the run, so the length of a tick is known less exactly."""
    run(STEPS, "init", *["shift=8"] * ROUNDS, "sleep=1500", "abort=3", cwd=tmp_path, ends=[])
    found = flights(tmp_path)
    assert len(found) == 2 * ROUNDS and min(found) >= 0
    assert "\nclocks       the processes have one clock\n" in qmpi_trace(tmp_path).stdout
