# SPDX-License-Identifier: MIT
"""Messages in traces of ranks whose clocks differ: none arrives before it was sent by more than the bound that
the trace states, and none at all after a repair. tools/skew.c of the tests of observers gives each rank a clock."""
import collections
import csv
import io
import re
import subprocess
import time

import perfetto_reader
import pytest

from support import BUILD, LIBQMPI, QMPI, clean_environment
from trace_support import STEPS, run

SKEW = BUILD / "tests" / "observe" / "tools" / "skew.so"
ROUNDS = 300
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}


def qmpi_trace(folder, *options):
    done = subprocess.run([QMPI, "trace", *options, "qmpi-trace"], capture_output=True, text=True, timeout=60,
                          cwd=folder, env=clean_environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run_skewed(folder, clocks, *last_steps, **more):
    """A run with clocks [(nanoseconds, ppm)] of the ranks, in which each message is waited for."""
    env = {"QMPI_CLOCK": "monotonic", "SKEW_SINCE": time.clock_gettime_ns(time.CLOCK_MONOTONIC),
           "SKEW_CLOCKS": ",".join(f"{shift}/{ppm}" for shift, ppm in clocks)}
    return run(STEPS, "init", *["shift=8"] * ROUNDS, *last_steps, cwd=folder, ranks=len(clocks), env=env,
               preload=[LIBQMPI, SKEW], **more)


def flights(folder, *options):
    """The seconds from the begin of each send to the end of its receive; all communicators have all ranks."""
    moments = collections.defaultdict(lambda: ([], []))
    for row in csv.DictReader(io.StringIO(qmpi_trace(folder, "--to=csv", *options).stdout)):
        received = row["event"] in ("receive", "irecv")
        if received or row["event"] in ("send", "isend"):
            ends = (row["peer"], row["rank"]) if received else (row["rank"], row["peer"])
            moments[*ends, row["communicator"], row["tag"]][received].append(float(row["time"]))
    return [receive - send for sent, arrived in moments.values() for send, receive in zip(sent, arrived)]


def bound(folder):
    text = qmpi_trace(folder).stdout
    number, unit = re.search(r"may be wrong by ([\d.]+) (\w+) against each other", text).groups()
    return float(number) * UNITS[unit]


def files_have_the_corrected_times(folder):
    """Those of the ranks, one after the other, have the clock and the times of the file of all."""
    messages = perfetto_reader.load_messages()
    parts = [path.read_bytes() for path in (folder / "qmpi-trace").glob("*.perfetto-trace")]
    qmpi_trace(folder, "--to=perfetto", "-o", "all")
    joined, whole = (perfetto_reader.Perfetto(data, messages) for data in (b"".join(parts), folder / "all"))
    # Messages may arrive before they were sent by less than the bound, which only the file of all can know.
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
    found = flights(tmp_path)
    assert len(found) == ROUNDS * len(clocks)
    # Digits that the summary does not show.
    assert min(found) >= -1.01 * bound(tmp_path) and bound(tmp_path) < 1
    assert qmpi_trace(tmp_path, "--check").stdout.startswith("no difference")
    assert min(flights(tmp_path, "--repair")) >= 0
    files_have_the_corrected_times(tmp_path)


def test_a_run_without_the_comparison_at_its_end(tmp_path):
    """Its ranks have compared their clocks in MPI_Init alone: seconds are corrected, and the bound grows."""
    # What is older than a second is in the files.
    result = run_skewed(tmp_path, [(0, 0), (5_000_000_000, 50)], "sleep=1500", "abort=3", ends=[])
    assert result.returncode
    found = flights(tmp_path)
    assert len(found) == 2 * ROUNDS and min(found) >= -1.01 * bound(tmp_path) and bound(tmp_path) < 1
    assert min(flights(tmp_path, "--repair")) >= 0
