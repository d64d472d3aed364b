# SPDX-License-Identifier: MIT
"""The tool profile reports between which calls ranks spend their time outside MPI. In the cases of outside.c, ranks
sleep for known times between known calls."""
import csv
import io
import re

import pytest
from findings_support import PROGRAMS, SOURCES, run_case, until
from mpi_in_use import EMULATED
from profile_support import load, profile, report, run_steps

pytestmark = pytest.mark.usefixtures("separate_nodes")

PROGRAM = PROGRAMS / "tools_outside"

# Seconds of a rank in short stretches, which need not be listed. In an emulator, they are longer, because it translates
# code when it is executed first.
SHORT = .01 if EMULATED else .002

# (case, possible kinds of the finding, seconds by which rank 1 is late between the marked lines)
LATE = [
    ("within", ("imbalance", "late-sender"), .3),
    ("everywhere", ("barrier",), .3),
    ("from_many", ("barrier",), .3),
    ("in_regions", ("imbalance",), .3),
    ("switched", ("barrier",), .3),
    ("nested", ("barrier",), .3),
    ("output", ("barrier",), .3),
    ("first", ("barrier", "serial-startup"), 1.5),
    ("last", ("shutdown",), 1.5),
]


def line_of(case, end):
    """Returns the number of the line that is marked as `from` or `to`, the two ends of the time outside MPI."""
    lines = (SOURCES / "outside.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(rf"/\*.*\b{case} {end}\b", line))


def line_at(document, number):
    return document["callsites"][number]["frames"][0]["line"]


def by_rank(entry, rank):
    """Returns the seconds of a rank, or 0 if it is not listed because it spends too little time there."""
    ranks = entry["by_rank"]["rank"]
    return entry["by_rank"]["time"][ranks.index(rank)] if rank in ranks else 0


def check_sum(document):
    """Checks that nearly all time outside MPI is listed, and that no time is listed twice."""
    for process in document["processes"]:
        listed = sum(by_rank(entry, process["rank"]) for entry in document["outside"])
        assert listed <= 1.001 * process["useful"] + 1e-6, document["outside"]
        assert listed >= .95 * process["useful"] - SHORT, (document["outside"], process)


def check_late(tmp_path, case, kinds, seconds, ranks, options=""):
    _, document = run_case(tmp_path, PROGRAM, case, ranks=ranks, options=options)
    check_sum(document)
    found = [finding for finding in document["findings"] if "outside" in finding]
    assert found and found[0]["kind"] in kinds, document["findings"]
    excess = found[0]["outside"]
    assert (excess["from"]["line"], excess["to"]["line"]) == (line_of(case, "from"), line_of(case, "to")), excess
    assert abs(excess["seconds"] - seconds) <= .1 * seconds, excess
    assert document["callsites"][excess["from"]["callsite"]]["frames"][0]["line"] == excess["from"]["line"]
    others = "the others" if ranks > 2 else "the other rank"
    place = r"MPI_\w+ \(outside\.c:{}\)"
    assert re.search(rf" Rank 1 spends [\d.]+ m?s more than {others} between "
                     f"{place.format(excess['from']['line'])} and {place.format(excess['to']['line'])}\\.",
                     found[0]["meaning"]), found[0]
    assert ("No other rank makes the first of these calls." in found[0]["meaning"]) is (case == "output"), found[0]
    return document


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("case, kinds, seconds", LATE, ids=[case[0] for case in LATE])
def test_a_finding_names_the_calls_between_which_a_rank_is_late(tmp_path, case, kinds, seconds, ranks):
    if EMULATED and case == "switched" and ranks == 4:
        pytest.skip("emulated ranks that share a processor switch the profile off at different times")
    until(check_late, tmp_path, case, kinds, seconds, ranks)


def test_a_finding_names_the_calls_around_lost_time_also_with_several_frames(tmp_path):
    until(check_late, tmp_path, "everywhere", ("barrier",), .3, 2, options=",depth=4")


def check_phase(tmp_path, ranks):
    result, document = run_case(tmp_path, PROGRAM, "phase", ranks=ranks)
    begin, end = map(float, re.search(r"phase (\S+) (\S+)", result.stdout).groups())
    first, width = document["findings"][0], document["windows"]["width"]
    assert (first["kind"], first.get("rank"), first.get("region")) == ("barrier", 1, "late")
    assert {"begin", "end"} <= first.keys()
    assert begin - 2 * width <= first["begin"] < first["end"] <= end + 2 * width, (first, begin, end)
    assert first["end"] - first["begin"] >= .5 * (end - begin)
    assert re.search(r' Most of the loss is in region "late", from [\d.]+ m?s to [\d.]+ m?s after MPI_Init\.$', first["meaning"])


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_finding_names_the_region_and_the_part_of_the_run(tmp_path, ranks):
    until(check_phase, tmp_path, ranks)


@pytest.mark.parametrize("case", ["everywhere", "in_regions"])
def test_a_finding_names_no_region_or_part_if_time_is_lost_everywhere(tmp_path, case):
    def check():
        _, document = run_case(tmp_path, PROGRAM, case)
        assert document["findings"]
        assert not any({"region", "begin", "end"} & finding.keys() for finding in document["findings"])
        assert not any("Most of the loss" in finding["meaning"] for finding in document["findings"])
    until(check)


def test_a_healthy_program_has_no_finding_but_its_time_is_listed(tmp_path):
    def check():
        _, document = run_case(tmp_path, PROGRAM, "healthy")
        assert document["findings"] == []
        check_sum(document)
        first = document["outside"][0]
        assert first["time"]["min"] >= .4
        assert document["callsites"][first["from"]]["name"] == document["callsites"][first["to"]]["name"] == "MPI_Barrier"
    until(check)


def test_the_time_after_the_last_call_is_listed(tmp_path):
    result = run_steps("left", cwd=tmp_path, program=PROGRAM, tools="profile,output=%r.json", ranks=1)
    document = load(next(tmp_path.glob("0*.json")))
    assert result.messages
    last = max(document["outside"], key=lambda entry: entry["time"]["sum"])
    assert "to" not in last and last["time"]["sum"] >= .5
    assert line_at(document, last["from"]) == line_of("last", "from")


def test_pauses_between_polling_calls_are_left_out(tmp_path):
    def check():
        _, document = run_case(tmp_path, PROGRAMS / "tools_planted", "polling_pauses")
        polling = max(document["callsites"], key=lambda site: site.get("polling", 0))
        assert polling["polling"] > .2
        number = document["callsites"].index(polling)
        assert all(entry["time"]["max"] < .1 for entry in document["outside"]
                   if entry.get("from") == entry.get("to") == number), document["outside"]
    until(check)


def test_reports_list_the_time_outside_mpi(tmp_path):
    profile(tmp_path, "everywhere", program=PROGRAM)
    out, document = tmp_path / "out.json", load(tmp_path / "out.json")
    text = report("--outside", out)
    assert f"MPI_Barrier at outside.c:{line_of('everywhere', 'from')}" in text
    assert f"    to MPI_Barrier at outside.c:{line_of('everywhere', 'to')}" in text
    rows = list(csv.DictReader(io.StringIO(report("--format=csv", out))))
    listed = [row for row in rows if row["table"] == "outside"]
    assert len(listed) == len(document["outside"])
    assert float(listed[0]["time_sum"]) == document["outside"][0]["time"]["sum"]
    assert re.fullmatch(r"main \(.*outside\.c:\d+\) -> .*", listed[0]["text"]) or "everywhere" in listed[0]["text"]
    assert sum(row["table"] == "outside_rank" for row in rows) == sum(
        len(entry["by_rank"]["rank"]) for entry in document["outside"])
    (tmp_path / "again.json").write_text(report("--format=json", out))
    assert load(tmp_path / "again.json")["outside"] == document["outside"]


def test_a_filter_also_removes_the_time_next_to_removed_calls(tmp_path):
    profile(tmp_path, "within", program=PROGRAM)
    (tmp_path / "some.json").write_text(report("--format=json", "--filter=*[ei]*send", tmp_path / "out.json"))
    document = load(tmp_path / "some.json")
    names = {site["name"] for site in document["callsites"]}
    assert names == {"MPI_Isend"} and not document.get("outside")


def test_files_of_single_ranks_are_merged(tmp_path):
    result = run_steps("left", cwd=tmp_path, program=PROGRAM, tools="profile,output=%r.json", ranks=2)
    assert result.messages
    files = sorted(tmp_path.glob("?.json"))
    merged = tmp_path / "merged.json"
    merged.write_text(report("--format=json", *files))
    last = max(load(merged)["outside"], key=lambda entry: entry["time"]["sum"])
    assert last["by_rank"]["rank"] == [0, 1] and last["time"]["min"] >= .5
