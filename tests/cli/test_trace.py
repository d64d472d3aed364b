# SPDX-License-Identifier: MIT
"""Tests qmpi trace: its output for traces of invented runs, which make_traces writes."""
import collections
import csv
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from random import Random

import perfetto_reader
import pytest
from archives import check_archives
from cli_support import qmpi
from support import BUILD, QMPI, SANITIZER_REPORT, clean_environment

MAKE_TRACES = BUILD / "tests" / "cli" / "make_traces"
KINDS = ["enter", "leave", "send", "receive", "isend", "isend_complete", "irecv_request", "irecv", "request_test",
         "request_cancelled", "request_freed", "collective_begin", "collective_end", "icollective_request",
         "icollective_complete", "rma_put", "rma_get", "rma_atomic", "rma_complete", "io_request", "io",
         "comm_create", "comm_destroy", "win_create", "win_destroy", "file_open", "file_close", "region_begin",
         "region_end", "counter"]
FUNCTIONS = ["MPI_Init", "MPI_Send", "MPI_Recv", "MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce",
             "MPI_Bcast", "MPI_Barrier", "MPI_Iprobe", "MPI_Finalize", "MPI_Reduce", "MPI_Sendrecv"]
SPECIAL = {-1: "any", -2: "null", -3: "self", -4: ""}


def make(folder, **options):
    subprocess.run([MAKE_TRACES, folder, *(f"{key}={value}" for key, value in options.items())], check=True,
                   env=clean_environment())
    return folder


def trace(*arguments, **more):
    result = qmpi("trace", *arguments, **more)
    assert result.returncode == 0, result.stderr
    if "--to=otf2" in arguments:
        check_archives(arguments[arguments.index("-o") + 1])
    return result


def rows(folder, *options):
    """Returns the rows that `qmpi trace --to=csv` prints, as dictionaries."""
    text = trace("--to=csv", *options, folder).stdout
    found = list(csv.DictReader(text.splitlines()))
    assert all(None not in row and None not in row.values() for row in found)
    return found


@pytest.fixture(scope="module")
def messages():
    return perfetto_reader.load_messages()


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    return make(folder / "trace", ranks=4, threads=2, shift=2, drift=50, truth=folder / "truth")


# ---- Formats

def test_csv_has_every_event_with_all_its_members(good):
    truth = [list(map(int, line.split(","))) for line in (good.parent / "truth").read_text().splitlines()]
    by_rank = {}
    for rank, thread, ticks, kind, function, _, peer, tag, root, sent, received, request in truth:
        by_rank.setdefault(rank, []).append((ticks, thread, KINDS[kind], function, peer, tag, root, sent, received, request))
    found = rows(good)
    assert len(found) == len(truth)
    for rank, events in by_rank.items():
        mine = [row for row in found if row["rank"] == str(rank)]
        for (ticks, thread, kind, function, peer, tag, root, sent, received, request), row in zip(
                # events of the same time are in the order of threads
                sorted(events, key=lambda it: it[:2]), mine, strict=True):
            assert row["event"] == kind and row["thread"] == ("thread 2" if thread else "main thread")
            if kind == "enter":
                assert row["function"] == FUNCTIONS[function]
            for name, value in (("peer", peer), ("tag", tag), ("root", root)):
                assert row[name] == SPECIAL.get(value, str(value))
            assert (row["bytes"] or "0", row["received"] or "0") == (str(sent), str(received))
            assert row["request"] == ("" if request < 0 else str(request))
        times = [float(row["time"]) for row in mine]
        assert times == sorted(times)


def check_perfetto(path, messages, found):
    """Checks that the calls in a file for Perfetto are those in `found`, the rows of CSV. Returns the file and its
    arrows."""
    perfetto = perfetto_reader.Perfetto(path, messages)
    calls = collections.Counter((perfetto.process_of(it.track).process.process_name.split(" (")[0], it.name)
                                for it in perfetto.calls())
    assert calls == collections.Counter((f"rank {row['rank']}", row["function"]) for row in found
                                        if row["event"] == "enter")
    assert all(it.begin <= it.end for it in perfetto.slices)
    assert not [it for it in perfetto.calls() if it.depth]
    return perfetto, perfetto.arrows()


def test_perfetto_has_nested_slices_and_flows_with_both_ends(good, messages, tmp_path):
    trace("--to=perfetto", "-o", tmp_path / "file", good)
    found = rows(good)
    perfetto, arrows = check_perfetto(tmp_path / "file", messages, found)
    assert len(arrows) == sum(row["event"] in ("send", "isend") for row in found) == 150
    # Tests the sender of each receive, with receives that complete in a different order than the
    # messages were sent.
    sent = collections.Counter()
    for begin, end in arrows:
        peers = [perfetto.process_of(it.track).sibling_order_rank for it in (begin, end)]
        sent[tuple(peers)] += 1
    assert sent == {(0, 1): 30, (1, 2): 30, (2, 3): 30, (3, 0): 40, (1, 0): 10, (2, 0): 10}
    waits = [it for it in perfetto.slices if it.name == "receive" and it.annotations.get("tag") == 5]
    assert {(it.annotations["bytes"], begin.begin < it.begin) for begin, it in arrows if it in waits} == {
        (size + i, True) for size in (500, 1000) for i in range(10)}
    # The second send of a pair belongs to the second receive, though that one completes first.
    numbers = {id(end): begin.begin for begin, end in arrows}
    for one, other in zip(waits[::2], waits[1::2], strict=True):
        assert one.annotations["bytes"] > other.annotations["bytes"] and numbers[id(one)] > numbers[id(other)]


def test_perfetto_has_the_arguments_of_calls(good, messages, tmp_path):
    trace("--to=perfetto", "-o", tmp_path / "file", good)
    perfetto = perfetto_reader.Perfetto(tmp_path / "file", messages)
    named = collections.defaultdict(list)
    for it in perfetto.calls():
        named[it.name].append(it)
    assert named["MPI_Send"][0].annotations == {
        "peer": 0, "tag": 0, "bytes": 8, "communicator": "MPI_COMM_WORLD", "site": "heat+0x1139"}
    assert {it.annotations["peer"] for it in named["MPI_Recv"]} == {1, 2, 3}
    assert {it.annotations["peer"] for it in named["MPI_Irecv"]} == {"any", 0, 1, 2, 3}
    both = named["MPI_Sendrecv"]  # the slice has the values of the send, an instant those of the receive
    assert all(it.annotations["peer"] == (perfetto.process_of(it.track).sibling_order_rank + 1) % 4 for it in both)
    received = [it for it in perfetto.slices if it.name == "receive" and it.annotations.get("tag") == 6]
    assert len(received) == len(both) == 40
    assert all(it.annotations["peer"] == (perfetto.process_of(it.track).sibling_order_rank + 3) % 4 for it in received)
    assert {it.annotations["root"] for it in named["MPI_Bcast"]} == {0, 1, 2, 3}
    assert all(it.annotations["bytes"] == it.annotations["received"] == 64 for it in named["MPI_Allreduce"])
    assert {it.category for it in named["MPI_Bcast"]} == {"collective"}
    together = collections.Counter(it.correlation for name in ("MPI_Barrier", "MPI_Bcast", "MPI_Allreduce")
                                   for it in named[name])
    assert len(together) == 30 and set(together.values()) == {4}
    regions = [it for it in perfetto.slices if it.category == "region"]
    assert [it.name for it in regions] == ["solve"] * 40
    assert all(perfetto.tracks[it.track].name == "solve" for it in regions)
    assert [[value for _, value in values] for values in perfetto.counters.values()] == [
        [i % 7 + 0.5 for i in range(10)]] * 4
    names = [it.process.process_name for it in perfetto.tracks.values() if it.HasField("process")]
    assert names == [f"rank {i} (node{i % 2})" for i in range(4)]
    assert len({it.process.pid for it in perfetto.tracks.values() if it.HasField("process")}) == 4


def test_a_file_of_one_rank_has_the_same_numbers_and_times_as_the_merged_one(good, messages, tmp_path):
    """This allows a viewer to merge the files of several ranks."""
    trace("merge", "-o", tmp_path / "all", good)
    merged = perfetto_reader.Perfetto(tmp_path / "all", messages)
    for rank in range(4):
        trace("--to=perfetto", "-o", tmp_path / "one", good / f"rank-{rank}.qtrace")
        one = perfetto_reader.Perfetto(tmp_path / "one", messages)
        assert set(one.tracks) <= set(merged.tracks)
        of_merged = [(it.name, it.begin, it.end, it.correlation) for it in merged.calls() if it.track in one.tracks]
        assert [(it.name, it.begin, it.end, it.correlation) for it in one.calls()] == of_merged
        assert not one.flows  # the other ends of the messages are in other files


def test_the_joined_files_of_all_ranks_equal_the_merged_file(messages, tmp_path):
    """Processes write their files independently, on different hosts with different clocks."""
    make(tmp_path / "trace", convert="yes", threads=3, shift=2, drift=50)
    parts = [(tmp_path / "trace" / f"rank-{rank}.perfetto-trace").read_bytes() for rank in range(4)]
    alone = [perfetto_reader.Perfetto(part, messages) for part in parts]
    joined = perfetto_reader.Perfetto(b"".join(parts), messages)
    trace("merge", "-o", tmp_path / "all", tmp_path / "trace")
    merged = perfetto_reader.Perfetto(tmp_path / "all", messages)
    one, other = joined.everything(), merged.everything()
    # A process that writes its own file does not know when the run began, so each file has a snapshot of the clocks.
    assert len(one.pop("snapshots")) == 4 and len(other.pop("snapshots")) == 1
    assert one == other
    assert len(joined.arrows()) == 150
    assert all(len(ends) == 1 for part in alone for ends in part.flows.values())
    processes = [it.process.pid for it in joined.tracks.values() if it.HasField("process")]
    threads = [(it.thread.pid, it.thread.tid) for it in joined.tracks.values() if it.HasField("thread")]
    assert processes == [1, 2, 3, 4] and len(set(threads)) == 12 and threads[::3] == [(it, it) for it in processes]


def test_an_archive_in_otf2_is_a_directory_with_all_calls(good, tmp_path):
    if not shutil.which("otf2-print"):
        pytest.skip("otf2-tools is missing")
    trace("--to=otf2", "-o", tmp_path / "archive", good)
    text = subprocess.run(["otf2-print", tmp_path / "archive" / "traces.otf2"], check=True, capture_output=True,
                          text=True).stdout
    calls = sum(row["event"] == "enter" for row in rows(good))
    assert len(re.findall(r'(?m)^ENTER .*"MPI_', text)) == len(re.findall(r'(?m)^LEAVE .*"MPI_', text)) == calls


@pytest.mark.skipif(not shutil.which("otf2-print"), reason="otf2-print is not installed")
def test_a_window_of_all_times_leaves_no_event_of_an_archive_out(good, tmp_path):
    """Other ends of messages and collectives are in processes that are not selected, or whose files are missing."""
    def archive(name, *arguments):
        trace("--to=otf2", "-o", tmp_path / name, *arguments)
        return subprocess.run(["otf2-print", tmp_path / name / "traces.otf2"], check=True, capture_output=True).stdout

    missing = shutil.copytree(good, tmp_path / "missing")
    sorted(missing.glob("*.qtrace"))[-1].unlink()
    selected = archive("selected", "--ranks=0,2", good)
    assert selected.count(b"MPI_SEND") and selected.count(b"MPI_COLLECTIVE_END")
    assert archive("selected-window", "--ranks=0,2", "--begin=0s", "--end=1000s", good) == selected
    assert archive("missing-window", "--begin=0s", missing) == archive("missing-alone", missing)


def test_a_call_without_an_end_lasts_until_the_end_of_the_process(messages, tmp_path):
    make(tmp_path / "trace", kill=1)
    trace("--to=perfetto", "-o", tmp_path / "file", tmp_path / "trace")
    perfetto = perfetto_reader.Perfetto(tmp_path / "file", messages)
    found = [it for it in perfetto.slices if "unfinished" in it.annotations]
    assert {it.name for it in found} == {"MPI_Recv", "solve"}
    assert all("killed" in it.annotations["unfinished"] for it in found)
    last = max(it.end for it in perfetto.slices if perfetto.process_of(it.track).sibling_order_rank == 1)
    assert {it.end for it in found} == {last}
    text = trace(tmp_path / "trace").stdout
    assert re.search(r"(?m)^end +MPI_Finalize \(ranks 0, 2-3\)\n +no end: killed, or still running \(rank 1\)$", text)


# ---- Selections

def test_ranks_and_a_window_of_time_are_selected(good, messages, tmp_path):
    everything = rows(good)
    assert {row["rank"] for row in rows(good, "--ranks=1-2")} == {"1", "2"}
    assert {row["rank"] for row in rows(good, "--ranks", "every 3")} == {"0", "3"}
    begin, end = 0.00005, 0.0001
    part = rows(good, "--begin=50us", "--end=0.1ms")
    inside = [row for row in everything if begin <= float(row["time"]) <= end]
    added = [row for row in part if row not in inside]
    assert [row for row in part if row in inside] == inside
    assert {(row["event"], row["time"]) for row in added} <= {
        ("enter", "0.000050000"), ("region_begin", "0.000050000"), ("leave", "0.000100000"), ("region_end", "0.000100000")}
    assert sum(row["event"] == "enter" for row in part) == sum(row["event"] == "leave" for row in part)
    trace("--to=perfetto", "--begin=50us", "--end=100us", "-o", tmp_path / "file", good)
    _, arrows = check_perfetto(tmp_path / "file", messages, part)
    both = sum(row["event"] in ("send", "isend") for row in inside)
    assert 0 < len(arrows) <= both
    trace("--to=perfetto", "--ranks=1,2", "-o", tmp_path / "file", good)
    _, arrows = check_perfetto(tmp_path / "file", messages, rows(good, "--ranks=1,2"))
    assert len(arrows) == 30


# ---- Text

def test_the_summary_describes_the_run(good):
    text = trace(good).stdout
    for pattern in (r"program +heat", r"MPI +MPICH 4\.0\.2", r"ranks +0-3 of 4; 4 processes with 8 threads, on several hosts",
                    r"begin +2023-11-14T22:13:20\.\d{3}Z", r"end +MPI_Finalize \(ranks 0-3\)",
                    r"messages +150 sent, 59\.4 KiB", r"clocks .* 400 ns .*", r"MPI_Send +30 .* 240 B",
                    r"MPI_Iprobe +40 +1\.60 us .* 40 ns +0"):
        assert re.search(f"(?m)^{pattern}$", text), pattern


def test_the_summary_of_one_process_is_in_the_singular_and_compares_no_clocks(good):
    text = trace(good / "rank-2.qtrace").stdout
    assert re.search(r"(?m)^ranks +2 of 4; 1 process with 2 threads, on node0$", text) and "clocks" not in text
    assert "clocks" not in trace("--ranks=2", good).stdout


def on_a_terminal(columns, *arguments):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([QMPI, "trace", *arguments], stdout=slave, env=clean_environment())
    os.close(slave)
    text = b""
    try:
        while part := os.read(master, 65536):
            text += part
    except OSError:  # reading fails at the end of the output
        pass
    os.close(master)
    assert process.wait(timeout=60) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_timeline_fits_the_width_and_has_colours_on_a_terminal_only(good):
    plain = trace("--text", good).stdout
    assert max(map(len, plain.splitlines())) == 80 and "\x1b" not in plain
    lines = dict(re.findall(r"(?m)^(rank \d (?:main thread|thread 2))  ?([A-Z. ]+)$", plain))
    assert len(lines) == 8
    letters = dict(re.findall(r"(?m)^  (\S) (MPI_\w+) ", plain))
    assert len(letters) == len(set(letters)) == 12 and letters["A"] == "MPI_Allreduce"
    assert set("".join(lines.values())) <= {*letters, ".", " "}
    wide = on_a_terminal(120, "--text", good)
    assert "\x1b[30;4" in wide
    assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in wide.splitlines()) == 120


def test_the_times_of_the_axis_differ_and_can_be_given_to_begin(good):
    for options in ([], ["--begin=50us", "--end=50.5us"], ["--begin=50us", "--end=50003ns"], ["--begin=2ns", "--end=9ns"]):
        axis = trace("--text", *options, good).stdout.splitlines()[0]
        times = re.findall(r"\|([\d.]+ [mun]?s)", axis)
        assert len(times) == axis.count("|") == len(set(times)) >= 3 and len(axis) <= 80
    trace("--text", f"--begin={times[1].replace(' ', '')}", good)


# ---- Checks

def test_a_consistent_trace_has_no_difference(good):
    text = trace("--check", good).stdout
    assert text == "no difference; compared: 1756 events, 150 messages, 30 collectives\n"


@pytest.mark.parametrize("plant, first", [
    ("no-receive", r"rank 1, 0\.0\d+ s, MPI_Send: the message of 8 bytes to rank 0 with tag 4 in MPI_COMM_WORLD is not received"),
    ("no-send", r"rank 0, 0\.0\d+ s, MPI_Recv: the message of 8 bytes from rank 1 with tag 5 in MPI_COMM_WORLD was not sent"),
    ("more-bytes", r"rank 0, 0\.0\d+ s, MPI_Recv: 16 bytes are received of the message from rank 1 with tag 2, in which 8 .*"),
    ("overtaken", r"rank 1, 0\.0\d+ s, MPI_Waitall: 1003 bytes are received of the message from rank 0 with tag 5, in which 503 .*"),
    ("no-member", r"rank \d, 0\.0\d+ s, MPI_Barrier: .*"),
    ("function", r"rank 1, 0\.0\d+ s, MPI_Reduce: the call is number 19 of the collectives .* MPI_Allreduce on rank \d"),
    ("root", r"rank 1, 0\.0\d+ s, MPI_Bcast: the root is 3 here, but 2 on rank \d"),
    ("leaves-early", r"rank \d, 0\.0\d+ s, MPI_Barrier: the call ends \d+ ns before rank 1 begins it; clocks may differ by 400 ns"),
    ("no-end", r"rank \d, 0\.0\d+ s, MPI_Recv: the call has no end, but the process ended by MPI_Finalize"),
], ids=lambda value: value if " " not in value else "")
def test_the_first_difference_is_found(plant, first, tmp_path):
    make(tmp_path / "trace", plant=plant)
    result = qmpi("trace", "--check", tmp_path / "trace")
    assert result.returncode == 1
    assert re.fullmatch(first, result.stdout.splitlines()[0]), result.stdout


def test_a_missing_member_at_the_end_is_named(tmp_path):
    make(tmp_path / "trace", plant="no-member", iterations=7)
    result = qmpi("trace", "--check", tmp_path / "trace")
    assert result.returncode == 1
    assert re.fullmatch(r"rank \d, 0\.0\d+ s, MPI_Barrier: rank 1 does not take part: 3 of 4 members .*\n", result.stdout)


def test_messages_with_a_process_that_was_killed_are_no_differences(tmp_path):
    make(tmp_path / "trace", kill=1)
    text = trace("--check", tmp_path / "trace").stdout
    assert text.startswith("no difference;") and "1 process has recorded only parts" in text


@pytest.mark.parametrize("options, compared, said", [
    ({"off": 1}, "114 messages, 12 collectives", "1 process has not recorded all the time"),
    ({"omits": 3, "plant": "no-receive"}, "0 messages, 30 collectives", "4 processes have recorded only chosen functions"),
    ({"omits": 4, "plant": "no-send"}, "0 messages, 0 collectives", "4 processes have recorded only parts"),
], ids=["off", "functions", "beginning"])
def test_events_that_were_not_recorded_are_not_compared(options, compared, said, tmp_path):
    make(tmp_path / "trace", **options)
    text = trace("--check", tmp_path / "trace").stdout
    assert text.startswith("no difference;") and said in text and f"{compared}\n" in text


@pytest.mark.parametrize("omits, said, legend", [
    (3, "recorded     only chosen functions; ", "  . outside of the recorded functions\n"),
    (4, "recorded     only parts of the run\n", "  . outside of MPI\n"),
    (0, "", "  . outside of MPI\n"),
], ids=["functions", "beginning", "all"])
def test_summary_and_timeline_tell_that_only_parts_were_recorded(omits, said, legend, tmp_path):
    make(tmp_path / "trace", omits=omits)
    text = trace(tmp_path / "trace").stdout
    assert said in text and text.count("recorded  ") == bool(omits)
    assert trace("--text", tmp_path / "trace").stdout.endswith(legend)


@pytest.mark.parametrize("options, first", [
    ({"off": 1, "plant": "more-bytes"}, r"rank 0, .* 16 bytes are received of the message from rank 1 with tag 2, .*"),
    ({"off": 2, "plant": "no-send"}, r"rank 0, .* the message of 8 bytes from rank 1 with tag 5 .* was not sent"),
    ({"omits": 3, "plant": "root"}, r"rank 1, .*: the root is 3 here, .*"),
], ids=["before", "others", "collectives"])
def test_a_difference_in_the_recorded_parts_is_found(options, first, tmp_path):
    make(tmp_path / "trace", **options)
    result = qmpi("trace", "--check", tmp_path / "trace")
    assert result.returncode == 1
    assert re.fullmatch(first, result.stdout.splitlines()[0]), result.stdout


# ---- Repair

def collective_ends(found):
    """Returns [(number, rank, begin, end, function, root)] of each rank's collectives, which `number` counts from 0."""
    begun, all_ends, counts = {}, [], collections.Counter()
    for row in found:
        rank = row["rank"]
        if row["event"] == "enter":
            function = row["function"]
        elif row["event"] == "collective_begin":
            begun[rank] = counts[rank], float(row["time"]), function
            counts[rank] += 1
        elif row["event"] == "collective_end":
            number, begin, function = begun[rank]
            all_ends.append((number, rank, begin, float(row["time"]), function, row["root"]))
    return all_ends


@pytest.mark.parametrize("options", [
    {"shift": 3, "drift": 50}, {"shift": -2, "drift": -50, "ranks": 7}, {"shift": 0.00002},
    {"drift": 5000, "ranks": 2, "sync": "no"}], ids=["late", "early", "little", "drift"])
def test_after_a_repair_no_message_arrives_before_it_was_sent(options, messages, tmp_path):
    make(tmp_path / "trace", **{"sync": "wrong", "iterations": 60} | options)
    before = rows(tmp_path / "trace")
    after = rows(tmp_path / "trace", "--repair")
    moved_first = set()
    for rank in {row["rank"] for row in before}:  # the order of events stays, and times never decrease
        one, other = ([row for row in table if row["rank"] == rank] for table in (before, after))
        assert [{**row, "time": ""} for row in one] == [{**row, "time": ""} for row in other]
        times = [float(row["time"]) for row in other]
        assert times == sorted(times)
        assert all(float(row["time"]) >= float(first["time"]) for row, first in zip(other, one))
        first_moved = next((row["event"] for row, first in zip(other, one) if row["time"] != first["time"]), None)
        moved_first.add(first_moved)
    # events before the corrected ones move, too
    assert moved_first - {"receive", "irecv", "collective_end", None}
    result = trace("merge", "--repair", "-o", tmp_path / "file", tmp_path / "trace")
    assert re.fullmatch(r"times were corrected: \d+ receives and \d+ ends of collectives, by at most .*",
                        result.messages[0]) and len(result.messages) == 1
    perfetto, arrows = check_perfetto(tmp_path / "file", messages, after)
    assert len(arrows) == sum(row["event"] in ("send", "isend") for row in before)
    assert min(end.begin - begin.begin for begin, end in arrows) >= 100
    last_begins = collections.defaultdict(float)
    ends = collective_ends(after)
    for number, _, begin, _, _, _ in ends:
        last_begins[number] = max(begin, last_begins[number])
    roots = {number: begin for number, rank, begin, _, _, root in ends if root == rank}
    for number, rank, _, end, function, root in ends:
        if function == "MPI_Bcast":
            assert rank == root or end >= roots[number] + 99e-9
        else:
            assert end >= last_begins[number] + 99e-9


def test_a_repair_leaves_a_trace_without_violations_as_it_is(good):
    result = trace("--to=csv", "--repair", good)
    assert result.stdout == trace("--to=csv", good).stdout
    assert result.messages == ["no time had to be corrected"]


def test_arrows_that_would_lead_back_are_left_out_and_counted(messages, tmp_path):
    make(tmp_path / "trace", sync="wrong", shift=3)
    result = trace("--to=perfetto", "-o", tmp_path / "file", tmp_path / "trace")
    assert re.fullmatch(r"(\d+) messages arrive before they were sent, by at most 9\.00 s; clocks may differ by \d+ ns: "
                        r"no arrows are drawn for them", result.messages[0])
    _, arrows = check_perfetto(tmp_path / "file", messages, rows(tmp_path / "trace"))
    assert len(arrows) == 150 - int(result.messages[0].split()[0])


def test_merge_reads_parts_of_one_run(good, messages, tmp_path):
    for rank in range(4):
        (tmp_path / f"node{rank}").mkdir()
        (tmp_path / f"node{rank}" / f"rank-{rank}.qtrace").write_bytes((good / f"rank-{rank}.qtrace").read_bytes())
    trace("merge", tmp_path / "node0", tmp_path / "node1", tmp_path / "node2" / "rank-2.qtrace", tmp_path / "node3",
          "-o", tmp_path / "parts")
    trace("merge", "-o", tmp_path / "whole", good)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    # merge makes a directory with links to the parts. Messages name the file instead of the link, and the directory
    # is removed.
    path = tmp_path / "node3" / "rank-3.qtrace"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    (tmp_path / "links").mkdir()
    result = qmpi("trace", "merge", "-o", tmp_path / "damaged", *(tmp_path / f"node{rank}" for rank in range(4)),
                  env={"TMPDIR": str(tmp_path / "links")})
    assert result.returncode == 2 and result.messages[0].startswith(f"{path} is damaged: ")
    assert not list((tmp_path / "links").iterdir())


def test_merge_takes_the_anchor_file_of_an_archive_for_its_directory(good, tmp_path):
    shutil.copytree(good, tmp_path / "trace")
    (tmp_path / "trace" / "traces.otf2").touch()
    (tmp_path / "rank-3.qtrace").write_bytes((tmp_path / "trace" / "rank-3.qtrace").read_bytes())
    (tmp_path / "trace" / "rank-3.qtrace").unlink()
    trace("merge", "-o", tmp_path / "parts", tmp_path / "trace" / "traces.otf2", tmp_path / "rank-3.qtrace")
    trace("merge", "-o", tmp_path / "whole", good)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()


# ---- Bad inputs

def broken(*arguments, **more):
    """Runs qmpi trace. Checks that the status is 2, that stdout is empty, and that stderr has one message with a hint.
    Returns stderr."""
    result = qmpi("trace", *arguments, **more)
    assert result.returncode == 2 and result.stdout == "", result
    assert result.messages and sum(not line.startswith(("hint: ", "  ")) for line in result.messages) == 1, result.stderr
    assert any(line.startswith("hint: ") for line in result.messages)
    return result.stderr


def test_a_path_without_a_trace_is_refused(good, tmp_path):
    (tmp_path / "text").write_text("no trace")
    (tmp_path / "empty").mkdir()
    assert "nonesuch" in broken(tmp_path / "nonesuch")
    assert "text" in broken(tmp_path / "text")
    assert "empty" in broken(tmp_path / "empty")
    assert "empty" in broken("merge", "-o", tmp_path / "new", tmp_path / "empty", good)
    assert "nonesuch" in broken("merge", "-o", tmp_path / "new", tmp_path / "nonesuch", good)
    assert "its ranks are 0-3" in broken("--ranks=9", good)
    for action in ("--text", "--check", "--to=csv"):
        assert "--begin=1.00 s: the trace has ended before, at " in broken(action, "--begin=1s", good)
    trace("--text", "--end=1s", good)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["trace", "report"])
def test_the_status_tells_that_a_file_of_a_directory_cannot_be_read(command, good, tmp_path):
    """The files that can be read are printed. A file without the definition of its process has no figures: its rank,
    its clock and the time at which it began are unknown."""
    shutil.copytree(good, tmp_path / "trace")
    whole = (good / "rank-1.qtrace").read_bytes()
    path = tmp_path / "trace" / "rank-1.qtrace"
    for data, words in (b"text", "is not a trace file of qmpi"), (whole[:16], "does not describe its process: "):
        path.write_bytes(data)
        result = qmpi(command, tmp_path / "trace")
        assert result.returncode == 2 and "MPI_Allreduce" in result.stdout
        assert f"{path} {words}" in result.stdout + result.stderr
    assert "rank-1.qtrace does not describe its process: " in broken(path)


def test_a_fifo_without_a_reader_cannot_be_the_output(good, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert f"cannot write {fifo}: the FIFO has no reader" in broken("--to=csv", "-o", fifo, good)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen([QMPI, "trace", "--to=csv", "--ranks=0", "-o", fifo, good], env=clean_environment()) as process:
        os.set_blocking(reader, True)
        text = b""
        while process.poll() is None or not text:
            text += os.read(reader, 65536)
    text += os.read(reader, 1 << 20)
    os.close(reader)
    assert process.returncode == 0 and text.decode() == trace("--to=csv", "--ranks=0", good).stdout


def test_a_truncated_file_is_read_up_to_its_end(tmp_path):
    make(tmp_path / "trace", iterations=2000, ranks=2)
    path = tmp_path / "trace" / "rank-1.qtrace"
    whole = path.read_bytes()
    path.write_bytes(whole[:2 * len(whole) // 3])
    text = trace(tmp_path / "trace").stdout
    assert "no end: killed, or still running (rank 1)" in text
    assert "cut off" in text or "warnings" in text
    trace("--check", tmp_path / "trace")


def test_only_a_file_that_qmpi_has_written_is_replaced(good, tmp_path):
    (tmp_path / "mine").write_text("time,what\n1,2\n")
    for form in ("perfetto", "csv"):
        message = broken(f"--to={form}", "-o", tmp_path / "mine", good)
        assert "mine: the file exists, and was not written by qmpi" in message
    assert (tmp_path / "mine").read_text() == "time,what\n1,2\n"
    assert "is a directory" in broken("--to=csv", "-o", tmp_path, good)
    (tmp_path / "new").touch()
    for form in ("perfetto", "csv", "perfetto"):
        trace(f"--to={form}", "-o", tmp_path / "new", good)
    trace("--to=csv", "-o", "/dev/null", good)
    assert "cannot write /nonesuch/file: No such file or directory" in broken("--to=csv", "-o", "/nonesuch/file", good)
    assert "cannot write" in broken("--to=csv", "-o", "/dev/full", good)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "new"]


@pytest.mark.parametrize("arguments, words", [
    ([], "missing path"), (["merge"], "merge requires --output"), (["a", "b"], "only one path"),
    (["--to=pdf", "a"], "--to must be"), (["--to=json", "a"], "use --to=perfetto"), (["--text", "--check", "a"], "only one of"), (["-o", "x", "a"], "--output requires --to"),
    (["--to=otf2", "a"], "--to=otf2 requires --output"), (["--to=otf2", "-o", "", "a"], "--output requires a name"),
    (["--ranks=x", "a"], "--ranks must be"), (["--ranks=3-1", "a"], "--ranks must be"),
    (["--begin=5m", "a"], "--begin must be"), (["--end=-1s", "a"], "--end must be"),
    (["--begin=2s", "--end=1s", "a"], "--end is before"), (["--check", "--repair", "a"], "without --repair"),
    (["merge", "--text", "-o", "x", "a"], "merge always writes"),
])
def test_wrong_use_is_explained(arguments, words):
    result = qmpi("trace", *arguments)
    assert result.returncode == 2 and result.stdout == "" and words in result.stderr


def test_damaged_files_are_read_without_a_crash(good, tmp_path):
    """No content of a file may cause a crash or a report of a sanitizer."""
    random = Random(18)
    whole = {path.name: path.read_bytes() for path in good.glob("*.qtrace")}
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, data in whole.items():
            damaged = bytearray(data)
            for _ in range(random.randrange(1, 8)):
                damaged[random.randrange(len(damaged))] = random.randrange(256)
            (folder / name).write_bytes(damaged)
        for arguments in ([], ["--check"], ["--text"], ["--to=perfetto", "--repair"], ["--to=csv"]):
            result = subprocess.run([QMPI, "trace", *arguments, folder], env=clean_environment(), capture_output=True,
                                    timeout=60)
            assert result.returncode in (0, 1, 2), result.stderr
            assert not SANITIZER_REPORT.search(result.stderr.decode(errors="replace"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(good, tmp_path):
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "rank-0.qtrace").write_bytes((good / "rank-0.qtrace").read_bytes())
    (tmp_path / "trace" / "rank-0.qtrace").chmod(0)
    assert "Permission denied" in broken(tmp_path / "trace")
