# SPDX-License-Identifier: MIT
"""The first finding of profile explains why a job hangs: which ranks wait in which calls, and for which rank."""
import json
import re
import signal
import subprocess
import time

import pytest
from findings_support import SOURCES
from hang_support import SECONDS, Job, holds
from profile_support import load
from support import QMPI, clean_environment

DEADLOCK = "deadlock"
REQUESTED = ",save-signal=SIGUSR2"


def line_of(mark):
    lines = (SOURCES / "hangs.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(rf"/\* {mark} \*/", line))


def at(call, mark):
    return f"{call} (hangs.c:{line_of(mark)})"


# case -> number of ranks; kind of the finding; the rank and the peer that it names; parts of its text, in which "TIME"
# stands for any time. The text of a cycle is given in several parts, because its ranks may be in any order.
CASES = {
    "functions": (3, DEADLOCK, 0, 1, [
        f"Ranks 0, 2 have been in {at('MPI_Barrier', 'functions 0')} for TIME, and rank 1 in "
        f"{at('MPI_Allreduce', 'functions 1')}: these calls never meet"]),
    "roots": (2, DEADLOCK, 0, 1, [
        f"Rank 0 has been in {at('MPI_Bcast with root 1', 'roots')} for TIME, and rank 1 in "
        f"{at('MPI_Bcast with root 0', 'roots')}: the roots differ"]),
    "communicators": (2, DEADLOCK, 0, 1, [
        f"Rank 0 has waited in {at('MPI_Barrier', 'communicators 0')} for TIME; rank 1 is in "
        f"{at('MPI_Barrier', 'communicators 1')} on another communicator: it never arrives"]),
    "receives": (3, DEADLOCK, 0, 2, [
        "Ranks 0-2 have waited for each other for TIME: ", at("rank 0 in MPI_Recv from rank 2", "receives"),
        at("rank 2 in MPI_Recv from rank 1", "receives"), at("rank 1 in MPI_Recv from rank 0", "receives")]),
    "sends": (2, DEADLOCK, 0, 1, [
        "Ranks 0, 1 have waited for each other for TIME: ", at("rank 0 in MPI_Ssend to rank 1", "sends"),
        at("rank 1 in MPI_Ssend to rank 0", "sends")]),
    "tags": (2, DEADLOCK, 0, 1, [
        "Ranks 0, 1 have waited for each other for TIME: ", at("rank 0 in MPI_Ssend to rank 1", "tags 0"),
        at("rank 1 in MPI_Recv from rank 0", "tags 1") + ": the tags differ"]),
    "requests": (2, DEADLOCK, 0, 1, [
        "Ranks 0, 1 have waited for each other for TIME: ",
        at("rank 0 in MPI_Waitall for 2 messages", "requests")]),
    "any": (2, DEADLOCK, 0, 1, [
        "Ranks 0, 1 have waited for each other for TIME: ", at("rank 0 in MPI_Recv from any rank", "any")]),
    "absent": (3, DEADLOCK, 0, 1, [
        f"Ranks 0, 2 have waited in {at('MPI_Barrier', 'absent 0')} for TIME; rank 1 is in "
        f"{at('MPI_Recv from rank 0', 'absent 1')}: it never arrives"]),
    "computing": (3, "in-flight", 0, 1, [
        f"Ranks 0, 2 have waited in {at('MPI_Barrier', 'computing')} for TIME; rank 1 is outside MPI: it has not arrived"]),
    "finalized": (2, DEADLOCK, 0, 1, [
        f"Rank 0 has waited in {at('MPI_Probe from rank 1', 'finalized 0')} for TIME; rank 1 is in "
        f"{at('MPI_Finalize', 'finalized 1')}: it never sends the message"]),
    "ended": (2, DEADLOCK, 0, 1, [
        f"Rank 0 has waited in {at('MPI_Recv from rank 1', 'ended 0')} for TIME; rank 1 has ended without MPI_Finalize: "
        "it never sends the message"]),
    "part": (3, DEADLOCK, 0, 2, [
        f"Rank 0 has waited in {at('MPI_Barrier', 'part 0')} for TIME; rank 2 is in "
        f"{at('MPI_Recv from rank 0', 'part 2')}: it never arrives"]),
}


def print_report(*arguments):
    done = subprocess.run([QMPI, "report", *arguments], env=clean_environment(), text=True, capture_output=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def find(paths):
    paths = [path for path in paths if path.exists()]
    if not paths:
        return []
    return json.loads(print_report("--format=json", *paths))["findings"]


def says(finding, parts):
    words = re.sub(r"for [0-9.]+ m?s\b", "for TIME", finding["summary"])
    return all(part in words for part in parts)


def wait_for_verdict(job, kind, parts, request=0):
    """Waits until the first finding has this kind and text. The processes save their data one after the other, so
    the finding is right only after each process has saved its data in its last call. The signal `request`, if any, asks
    the processes to save."""
    end, findings, has_ended = time.monotonic() + SECONDS, [], False
    while time.monotonic() < end and not has_ended:
        has_ended = job.process.poll() is not None
        if request:
            job.signal(request)
        findings = find(job.paths)
        if findings and findings[0]["kind"] == kind and says(findings[0], parts):
            return findings[0]
        time.sleep(.1)
    raise AssertionError(findings, job.describe())


@pytest.mark.parametrize("case", CASES)
def test_the_first_finding_tells_why_a_job_hangs(tmp_path, case):
    ranks, kind, rank, peer, parts = CASES[case]
    with Job(tmp_path, case, ranks, options=REQUESTED) as job:
        first = wait_for_verdict(job, kind, parts, request=signal.SIGUSR2)
    findings = find(job.paths)
    assert (first["rank"], first["peer"]) == (rank, peer)
    assert first["function"] in first["summary"] and f"hangs.c:{first['line']}" in first["summary"]
    assert [finding["kind"] for finding in findings].count("in-flight") == (kind == "in-flight"), findings
    check_text(print_report(*job.paths), findings[0])
    check_page(tmp_path, job.paths, findings[0])


def check_text(text, finding):
    lines = text[text.index("\nFindings, "):].splitlines()
    assert all(len(line) <= 80 for line in lines)
    words = " ".join(" ".join(lines).split())
    assert finding["summary"] in words


def check_page(folder, paths, finding):
    print_report("--html", "-o", folder / "page.html", *paths)
    page = (folder / "page.html").read_text()
    first = page[page.index('<li class="finding"'):]
    assert first.startswith(f'<li class="finding" data-kind="{finding["kind"]}"')
    assert finding["summary"] in first[:first.index("</li>")].replace("&gt;", ">")


def test_a_signal_asks_for_the_data_of_a_job_that_hangs(tmp_path):
    ranks, kind, rank, peer, parts = CASES["tags"]
    with Job(tmp_path, "tags", ranks, options=REQUESTED) as job:
        first = wait_for_verdict(job, kind, parts, request=signal.SIGUSR2)
        assert job.process.poll() is None
        assert [load(path)["ending"] for path in job.paths] == ["checkpoint"] * ranks
    assert (first["rank"], first["peer"]) == (rank, peer)


def test_a_signal_asks_for_the_data_of_a_process_that_waits_in_init(tmp_path):
    with Job(tmp_path, "starting", 2, options=REQUESTED) as job:
        job.signal_in_init(signal.SIGUSR2)
        assert holds(job.paths[0].exists, SECONDS), job.describe()
        assert job.process.poll() is None
    flight, = load(job.paths[0])["in_flight"]
    assert flight["name"] == "MPI_Init" and f"(hangs.c:{line_of('starting')})" in print_report(*job.paths[:1])


def test_checkpoints_go_on_while_a_process_waits_in_finalize(tmp_path):
    ranks, kind, _, _, parts = CASES["finalized"]
    with Job(tmp_path, "finalized", ranks) as job:
        wait_for_verdict(job, kind, parts)

        def time_of_finalize():
            return {flight["name"]: flight["time"] for flight in load(job.paths[1])["in_flight"]}["MPI_Finalize"]
        first = time_of_finalize()
        assert holds(lambda: time_of_finalize() > first + 1, SECONDS)


def test_the_peers_and_tags_for_which_calls_wait_are_in_the_file(tmp_path):
    with Job(tmp_path, "tags", 2) as job:
        wait_for_verdict(job, *(CASES["tags"][i] for i in (1, 4)))
    flights = {rank: load(job.paths[rank])["in_flight"][0] for rank in range(2)}
    assert [flight["communicator"] for flight in flights.values()] == ["MPI_COMM_WORLD"] * 2
    assert [flight["members"] for flight in flights.values()] == ["0-1"] * 2
    assert flights[0]["comm"] == flights[1]["comm"] == flights[0]["awaits"][0]["comm"]
    send, = flights[0]["awaits"]
    receive, = flights[1]["awaits"]
    assert (send["sending"], send["peer"], send["tag"]) == (True, 1, 8)
    assert (receive["peer"], receive["tag"]) == (0, 7) and "sending" not in receive
    text = print_report("--in-flight", *job.paths)
    assert re.search(r"MPI_Ssend +0 .* to rank 1 \(tag 8\)", text)
    assert re.search(r"MPI_Recv +1 .* from rank 0 \(tag 7\)", text)


def test_a_single_file_says_for_whom_its_rank_waits_and_which_data_is_missing(tmp_path):
    ranks, kind, _, _, parts = CASES["absent"]
    with Job(tmp_path, "absent", ranks) as job:
        wait_for_verdict(job, kind, parts)
    finding, *_ = find(job.paths[1:2])
    place = at("MPI_Recv from rank 0", "absent 1")
    assert says(finding, [f"Rank 1 has waited in {place} for TIME; the data of rank 0 is missing"])
    assert "the files of all ranks" in finding["advice"]
    finding, *_ = find(job.paths[:1])
    assert says(finding, ["the data of ranks 1, 2 is missing"])


def end_by_signal(folder, case, ranks):
    """Ends all processes by a signal and returns their files. Returns None if a file is missing: when one process
    has ended, the launcher may kill another one before that has saved its data."""
    folder.mkdir()
    with Job(folder, case, ranks, options="") as job:
        assert holds(lambda: all((folder / f"pid.{number}").exists() for number in range(ranks)), SECONDS)
        time.sleep(2)
        job.signal(signal.SIGTERM)
        return job.paths if holds(lambda: all(path.exists() for path in job.paths), 10) else None


def test_a_job_that_a_signal_ends_has_the_same_verdict(tmp_path):
    ranks, kind, rank, peer, parts = CASES["sends"]
    paths = next(filter(None, (end_by_signal(tmp_path / f"{turn}", "sends", ranks) for turn in range(10))))
    first = find(paths)[0]
    assert (first["kind"], first["rank"], first["peer"]) == (kind, rank, peer) and says(first, parts)
    assert {process["ending"] for path in paths for process in load(path)["processes"]} == {"signal SIGTERM"}
