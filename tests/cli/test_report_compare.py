# SPDX-License-Identifier: MIT
"""Tests qmpi report --compare: changes between runs, their places, and limits."""
import csv
import io
import json
import re
import subprocess

import jsonschema
import pytest
from support import (BUNDLED_TOOLS, LIBQMPI, MPI_NAME, MPICC, QMPI, SOURCE, clean_environment, run_command,
                     run_mpi)

REPORTS = SOURCE / "tests" / "cli" / "reports"
SCHEMA = json.loads((SOURCE / "docs" / "run" / "qmpi-comparison-1.schema.json").read_text())
RUNS = 6  # a test of times may fail on a busy machine, but must pass in one of this many runs


def compare(*arguments, cwd=REPORTS):
    return run_command([QMPI, "report", "--compare", *arguments], clean_environment(), cwd=cwd, timeout=60)


def printed(*arguments, status=0, **more):
    result = compare(*arguments, **more)
    assert result.returncode == status, result.stderr
    return result.stdout


def as_json(*arguments, **more):
    document = json.loads(printed("--format=json", *arguments, **more))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def as_rows(*arguments, **more):
    return list(csv.DictReader(io.StringIO(printed("--format=csv", *arguments, **more), newline="")))


def read(name):
    return json.loads((REPORTS / name).read_text())


def changed(tmp_path, change, name="changed.json", base="heat.json"):
    """Writes a file that differs from the base by the effect of `change` on its document."""
    document = read(base)
    change(document)
    (tmp_path / name).write_text(json.dumps(document))
    return tmp_path / name


def named(entries, name):
    entry, = (entry for entry in entries if entry["name"] == name)
    return entry


def first_line(text, title):
    """Returns the first line of a table below its headings, as words."""
    return text[text.index(f"\n{title}"):].splitlines()[3].split()


# ---- figures and selections

def test_figures_are_those_of_the_files():
    before, after = read("heat.json"), read("heat-faster.json")
    document = as_json("heat.json", "heat-faster.json")
    assert [run["file"] for run in document["runs"]] == ["heat.json", "heat-faster.json"]
    assert [run["begin"] for run in document["runs"]] == [before["begin"], after["begin"]]
    assert document["totals"]["time"] == [run["application"]["max"] for run in (before, after)]
    assert document["totals"]["mpi"] == [run["time"]["mean"] for run in (before, after)]
    assert document["totals"]["calls"] == [20048, 20080]
    assert document["totals"]["memory"] == [max(rank["memory"] for rank in run["processes"]) for run in (before, after)]
    assert document["efficiency"].pop("serialisation") == document["efficiency"].pop("transfer") == [None, None]
    for name, values in document["efficiency"].items():
        assert values == pytest.approx([run["efficiency"][name] for run in (before, after)])
    functions = {name for run in (before, after) for name in (function["name"] for function in run["functions"])}
    assert {entry["name"] for entry in document["functions"]} == functions
    for entry in document["functions"]:
        for run, whole in enumerate((before, after)):
            its = [function for function in whole["functions"] if function["name"] == entry["name"]]
            if not its:
                assert {values[run] for key, values in entry.items() if key != "name"} == {None}
                continue
            function, = its
            assert (entry["time"][run], entry["time_sum"][run], entry["calls"][run]) == (
                function["time"]["mean"], function["time"]["sum"], function["calls"])
            assert (entry["sent"][run], entry["received"][run]) == tuple(function["bytes"].values())
    # the second run did not measure the waiting
    assert named(document["functions"], "MPI_Allreduce")["wait"] == [0.505, None]
    ranks = {entry["rank"]: entry for entry in document["ranks"]}
    assert sorted(ranks) == [0, 1, 2, 3]
    assert ranks[2]["useful"] == [run["processes"][2]["useful"] for run in (before, after)]
    region, = document["regions"]
    assert region["time"] == [run["regions"][0]["time"]["mean"] for run in (before, after)]
    assert region["entries"] == [run["regions"][0]["entries"] for run in (before, after)]
    for name in document["efficiency"]:
        assert region[name] == pytest.approx([run["regions"][0]["efficiency"][name] for run in (before, after)])
    assert len(document["callsites"]) == len(before["callsites"])
    for entry in document["callsites"]:
        assert entry["frames"][0] == entry["frames"][1] and None not in entry["time"]


def test_csv_has_the_same_values_as_json():
    document = as_json("heat.json", "heat-faster.json", "heat-64.json")
    rows = as_rows("heat.json", "heat-faster.json", "heat-64.json")
    for table, entries in (("function", document["functions"]), ("region", document["regions"]),
                           ("total", [document["totals"]]), ("efficiency", [document["efficiency"]])):
        for entry in entries:
            for figure, values in entry.items():
                if figure == "name":
                    continue
                its = [row for row in rows if (row["table"], row["name"], row["figure"]) == (
                    table, entry.get("name", ""), figure)]
                assert [int(row["run"]) for row in its] == [0, 1, 2]
                assert [float(row["value"]) if row["value"] else None for row in its] == pytest.approx(values)
                base, value = values[:2]
                if base and value:
                    assert float(its[1]["base"]) == pytest.approx(base)
                    assert float(its[1]["difference"]) == pytest.approx(value - base)
                    assert float(its[1]["ratio"]) == pytest.approx(value / base)
    sites = [row for row in rows if row["table"] == "callsite" and row["figure"] == "time" and row["run"] == "1"]
    assert sites[0]["text"] == "exchange (/opt/heat/src/halo.c:43) < main (/opt/heat/src/heat.c:58)"
    assert {row["table"] for row in rows} == {"run", "finding", "total", "efficiency", "function", "callsite", "region"}


def test_the_largest_change_is_first_and_small_ones_are_left_out():
    text = printed("heat.json", "heat-faster.json")
    assert text.splitlines()[0] == "A  heat.json: /opt/heat/bin/heat, 4 ranks, 2024-05-14T09:12:45Z"
    assert re.search(r"(?m)^elapsed time +12.0 s +9.63 s +-2.40 s +0.80$", text)
    assert first_line(text, "Functions: time") == "MPI_Waitall 875 ms 395 ms -480 ms 0.45".split()
    assert first_line(text, "Call sites") == "MPI_Waitall 875 ms 395 ms -480 ms 0.45".split()
    assert re.search(r"(?m)^MPI_Bcast +- +400 us +\+400 us +- +new$", text)
    assert re.search(r"(?m)^MPI_Barrier +1.00 ms +- +-1.00 ms +0.00 +gone$", text)
    assert "MPI_Isend" not in text and "\n(3 more change by less than 60.1 ms, 0.5 % of the run)\n" in text
    assert "MPI_Isend" in printed("--top=0", "heat.json", "heat-faster.json")
    assert "Findings that are gone\nA  Rank 3 is last" in text


def test_calls_and_bytes_are_listed_where_they_change():
    text = printed("--functions", "heat.json", "heat-faster.json")
    tables = text[text.index("Functions with other numbers of calls"):]
    assert re.findall(r"(?m)^(MPI_\w+)", tables) == ["MPI_Bcast", "MPI_Barrier", "MPI_Bcast"]
    assert re.search(r"(?m)^MPI_Bcast +- +40 +\+40 +- +new$", tables)
    assert "other numbers" not in printed("heat.json", "heat.json")


def test_the_order_and_the_tables_can_be_chosen():
    text = printed("--functions", "--sort=name", "--top=0", "heat.json", "heat-faster.json")
    names = re.findall(r"(?m)^(MPI_\w+)", text[:text.index("Functions with other")])
    assert names == sorted(names) and len(names) == 7
    assert "Call sites" not in text and "Ranks" not in text
    text = printed("--callsites", "--filter=*all*", "heat.json", "heat-faster.json")
    assert re.findall(r"(?m)^(MPI_\w+)", text) == ["MPI_Waitall", "MPI_Allreduce"]


def test_no_line_is_wider_than_80_characters():
    for files in (["heat-64.json"], ["heat-faster.json", "heat-64.json"], ["heat-faster.json"] * 5):
        lines = printed("--top=0", "heat.json", *files).splitlines()
        assert max(len(line) for line in lines if not re.match(r"[A-H]  ", line)) <= 80
        assert all(line == line.rstrip() for line in lines)


def test_more_runs_than_text_can_contain_are_refused_unless_csv_is_asked_for():
    files = ["heat.json"] * 9
    result = compare(*files)
    assert result.returncode == 2 and result.stdout == ""
    assert result.messages[0] == "--compare: the files belong to 9 runs, but text output supports at most 6"
    assert {row["run"] for row in as_rows(*files)} == {str(run) for run in range(9)}


def test_different_programs_libraries_and_numbers_of_ranks_are_reported(tmp_path):
    other = changed(tmp_path, lambda it: it.update(program="/opt/other", mpi="Open MPI v4.1.4"))
    text = printed("heat.json", other)
    assert "\n(the runs are of different programs)\n" in text
    assert "\n   with MPICH Version: 4.0.2\nB  " in text and "\n   with Open MPI v4.1.4\n" in text
    assert "\n(the runs used different MPI libraries)\n" in text
    text = printed("heat.json", "heat-64.json")
    assert "\n(the runs have different numbers of ranks: single ranks are not compared)\n" in text
    assert as_json("heat.json", "heat-64.json")["ranks"] == []
    moved = changed(tmp_path, lambda it: it.update(program="/other/place/heat"))
    assert "\n(" not in printed("--processes", "--top=0", "heat.json", moved)


def test_serialisation_and_transfer_are_compared_if_both_runs_have_them(tmp_path):
    def follow(document, path):
        for process in document["processes"]:
            process["path"] = path
    with_path = [changed(tmp_path, lambda it, path=path: follow(it, path), f"{path}.json") for path in (11.0, 11.5)]
    document = as_json(*with_path)
    assert document["efficiency"]["transfer"] == pytest.approx([11 / 12.03, 11.5 / 12.03])
    assert document["efficiency"]["serialisation"] == pytest.approx([10.563 / 11, 10.563 / 11.5])
    assert re.search(r"(?m)^    serialisation +0.960 +0.919 +-0.042 +0.96$", printed(*with_path))
    assert compare("--fail-over=serialisation:3%", *with_path).returncode == 1
    assert compare("--fail-over=serialisation:5%,transfer:0%", *with_path).returncode == 0
    without = compare("--fail-over=transfer:5%", with_path[0], "heat.json")
    assert without.returncode == 2
    assert without.messages[1].startswith("hint: record traces ") and "--path" in without.messages[1]


def test_figures_that_older_files_lack_are_unknown_and_not_zero(tmp_path):
    def age(document):
        for part in document["functions"] + document["callsites"]:
            part.pop("waits", None)
        for part in document["functions"]:
            part.pop("ranks", None)
            part.pop("wait", None)

    def wait(document):
        document["callsites"][0]["waits"] = {"rank": [1], "peer": [0], "calls": [7], "time": [0.5]}

    old, new = changed(tmp_path, age, "old.json"), changed(tmp_path, wait, "new.json")
    document = as_json(old, new)
    assert document["waits"][0]["time"] == [None, 0.5]
    assert named(document["functions"], "MPI_Allreduce")["ranks"] == [None, 4]
    text = printed("--waits", old, new)
    assert re.search(r"(?m)^MPI_\w+, 1 for 0 +- +500 ms +- +-", text)
    assert re.search(r"(?m)^MPI_\w+, 1 for 0 +- +500 ms +\+500 ms +- +new", printed("--waits", "heat.json", new))


# ---- several files of one run

def test_files_of_single_processes_are_combined_into_runs(tmp_path):
    for name in ("crash.0.json", "crash.1.json", "crash.2.json"):
        document = read(name)
        # these processes began so soon after the others that they could belong to the same run
        document["begin"] = "2024-05-16T07:30:20Z"
        (tmp_path / name).write_text(json.dumps(document))
    first = ["crash.0.json", "crash.1.json"]
    second = sorted(tmp_path.iterdir())
    document = as_json(*first, *second)
    assert [(run["ranks"], run["files"], run["ending"]) for run in document["runs"]] == [
        (2, 2, "signal SIGTERM, MPI_Abort"), (3, 3, "signal SIGTERM, MPI_Abort")]
    text = printed(*first, *second)
    assert text.startswith("A  crash.0.json and 1 more: /opt/heat/bin/heat, 2 ranks, ")
    assert "\n   ended by signal SIGTERM, MPI_Abort\n" in text
    assert "rank 2 alone" in printed("crash.2.json", "heat.json")
    result = compare(*first)
    assert result.returncode == 2 and result.stdout == ""
    assert result.messages == ["--compare: all files belong to one run",
                               "hint: give the files of two runs or more"]


# ---- call sites

def site(name, *frames, time=1.0):
    spread = {"sum": time, "mean": time / 4, "min": 0, "max": time, "stddev": 0}
    return {"name": name, "frames": [dict(zip(("module", "offset", "function", "file", "line"), frame))
                                     for frame in frames],
            "ranks": 4, "calls": 4, "time": spread, "shortest": 0, "longest": time, "bytes": {"sent": 0, "received": 0}}


def main_frame(line, offset=100, function="main", file="/src/a.c", module="/bin/a"):
    return (module, offset, function, file, line)


def matched(tmp_path, before, after):
    """Returns the call sites that match: pairs of indices in both lists, with None for a site
    without a match."""
    for number, sites in enumerate((before, after)):
        for index, entry in enumerate(sites):
            entry["calls"] = index + 1
        changed(tmp_path, lambda it, sites=sites: it.update(callsites=sites, outside=[]), f"{number}.json")
    entries = as_json(tmp_path / "0.json", tmp_path / "1.json")["callsites"]
    return sorted((tuple(count - 1 if count else None for count in entry["calls"]) for entry in entries), key=str)


def test_a_call_site_matches_wherever_its_line_has_moved(tmp_path):
    before = [site("MPI_Send", main_frame(10)), site("MPI_Recv", main_frame(12)), site("MPI_Send", main_frame(20, 300, "f"))]
    after = [site("MPI_Send", main_frame(27, 999, "f")), site("MPI_Send", main_frame(17, 888)),
             site("MPI_Recv", main_frame(19, 777, module="/other/a", file="/other/src/a.c"))]
    assert matched(tmp_path, before, after) == [(0, 1), (1, 2), (2, 0)]


def test_call_sites_in_a_function_match_in_the_order_of_their_lines(tmp_path):
    before = [site("MPI_Send", main_frame(line)) for line in (30, 10, 20)]
    after = [site("MPI_Send", main_frame(line)) for line in (20, 30, 40)]  # ten lines were added above
    assert matched(tmp_path, before, after) == [(0, 2), (1, 0), (2, 1)]


def test_only_the_same_lines_match_if_a_function_has_more_call_sites_than_before(tmp_path):
    before = [site("MPI_Send", main_frame(line)) for line in (10, 20)]
    after = [site("MPI_Send", main_frame(line)) for line in (10, 15, 21)]
    assert matched(tmp_path, before, after) == [(0, 0), (1, None), (None, 1), (None, 2)]


def test_a_call_site_without_function_matches_by_module_and_offset(tmp_path):
    before = [site("MPI_Send", ("/lib/a.so", 16)), site("MPI_Send", ("/lib/a.so", 32))]
    after = [site("MPI_Send", ("/usr/lib/a.so", 32)), site("MPI_Send", ("/lib/b.so", 16)),
             site("MPI_Send", main_frame(1, 16, module="/lib/a.so"))]
    assert matched(tmp_path, before, after) == [(0, None), (1, 0), (None, 1), (None, 2)]


def test_callers_tell_call_sites_apart_but_suffixes_of_the_compiler_do_not(tmp_path):
    def chain(line, *callers):
        return [main_frame(line, function="exchange"), *(main_frame(5, function=caller) for caller in callers)]
    before = [site("MPI_Send", *chain(8, "left", "main")), site("MPI_Send", *chain(8, "right", "main")),
              site("MPI_Send", *chain(8, "left"))]
    after = [site("MPI_Send", *chain(9, "right", "main")), site("MPI_Send", *chain(9, "left.part.0", "main")),
             site("MPI_Send", *chain(9, "left", "main", "start"))]
    assert matched(tmp_path, before, after) == [(0, 1), (1, 0), (2, None), (None, 2)]


# ---- findings

def test_findings_are_new_gone_or_remain():
    text = printed("heat-faster.json", "heat.json")
    assert "\nNew findings\nB  Rank 3 is last " in text
    text = printed("heat.json", "heat.json")
    assert re.search(r"\nFindings that remain\nA  Rank 3 is last.*\n   .*\nB  Rank 3 is last", text)
    document = as_json("heat.json", "heat-faster.json")
    finding, = document["findings"]
    assert (finding["kind"], finding["change"]) == ("imbalance", "gone") and finding["runs"][1] is None
    assert finding["runs"][0]["rank"] == 3 and "callsite" not in finding["runs"][0]
    assert as_json("--threshold=50", "heat.json", "heat-faster.json")["findings"] == []


def test_a_loss_that_has_not_grown_in_seconds_is_not_new(tmp_path):
    """The wait exceeds 5 % of the run only because the run has become shorter."""
    def wait(document, seconds):
        document["callsites"][0]["waits"] = {"rank": [1], "peer": [0], "calls": [700], "time": [seconds]}

    def shorten(document, longer=0):
        wait(document, 0.55)
        document["application"]["max"] = 10
        for figure in ("mean", "max", "sum"):
            document["callsites"][0]["time"][figure] += longer
    before = changed(tmp_path, lambda it: wait(it, 0.55), "before.json")
    after = changed(tmp_path, shorten, "after.json")
    pairs = {pair["kind"]: pair for pair in as_json(before, after)["findings"]}
    assert pairs["late-sender"]["runs"][0] is None and pairs["late-sender"]["change"] == "remains"
    assert "New findings" not in printed(before, after)
    longer = changed(tmp_path, lambda it: shorten(it, 1), "longer.json")
    pairs = {pair["kind"]: pair for pair in as_json(before, longer)["findings"]}
    assert pairs["late-sender"]["change"] == "new" and "New findings\nB  Rank 1 waits" in printed(before, longer)


def test_findings_of_one_place_match_even_if_their_kinds_differ(tmp_path):
    def wait(document):
        document["callsites"][0]["waits"] = {"rank": [1], "peer": [0], "calls": [700], "time": [3.5]}

    def wait_for_unknown(document):
        document["callsites"][0]["waits"] = {"rank": [1], "peer": [-1], "calls": [700], "time": [3.5]}
    files = [changed(tmp_path, change, f"{change.__name__}.json") for change in (wait, wait_for_unknown)]
    pair, = (pair for pair in as_json(*files)["findings"] if pair["kind"] != "imbalance")
    assert [run["kind"] for run in pair["runs"]] == ["late-sender", "slow-requests"] and pair["change"] == "remains"


def sentence(*arguments):
    text = printed(*arguments)
    return " ".join(text[text.index("\n\nB ") + 2:].split("\n\n")[0].split())


def test_the_first_sentence_says_how_much_faster_a_run_is_and_where(tmp_path):
    assert sentence("heat.json", "heat-faster.json") == (
        "B takes 20 % less time (9.63 s instead of 12.0 s): 1.83 s less outside MPI, 480 ms less in MPI_Waitall at "
        "halo.c:43; nothing of 1 % or more got worse")
    assert sentence("heat-faster.json", "heat.json").startswith(
        "B takes 25 % more time (12.0 s instead of 9.63 s): 1.83 s more outside MPI, 480 ms more in MPI_Waitall at halo.c:")
    assert sentence("heat.json", "heat.json") == (
        "B takes as long as A (12.0 s); nothing of 1 % or more got worse")

    def speed_up(document):
        document["application"]["max"] = 2.406
        next(it for it in document["callsites"] if it["name"] == "MPI_Allreduce")["time"]["mean"] += 0.5
    faster = changed(tmp_path, speed_up)
    assert sentence("heat.json", faster) == (
        "B is 5.0 times faster (2.41 s instead of 12.0 s); 500 ms more in MPI_Allreduce at libsolve.so+0x1203")
    assert [run.get("summary", "")[:5] for run in as_json("heat.json", faster)["runs"]] == ["", "B is "]


def test_a_finding_of_another_rank_at_the_same_place_remains(tmp_path):
    def wait(document, rank):
        document["callsites"][0]["waits"] = {"rank": [rank], "peer": [rank - 1], "calls": [700], "time": [3.5]}
    files = [changed(tmp_path, lambda it, rank=rank: wait(it, rank), f"{rank}.json") for rank in (1, 2)]
    pairs = [pair for pair in as_json(*files)["findings"] if pair["kind"] != "imbalance"]
    assert [[run["rank"] for run in pair["runs"]] for pair in pairs] == [[1, 2]]


def test_the_finding_that_changes_most_is_first(tmp_path):
    def wait(document, seconds):
        document["callsites"][0]["waits"] = {"rank": [1], "peer": [0], "calls": [700], "time": [seconds]}
    first = changed(tmp_path, lambda it: wait(it, 0.7), "first.json")
    for seconds, kinds in ((3.5, ["late-sender", "imbalance"]), (0.71, ["late-sender", "imbalance"])):
        pairs = as_json(first, changed(tmp_path, lambda it, seconds=seconds: wait(it, seconds)))["findings"]
        assert [pair["kind"] for pair in pairs] == kinds
    text = printed(first, changed(tmp_path, lambda it: wait(it, 3.5)))
    assert re.search(r"Findings that remain\nA  Rank 1 waits 700 ms.*\nB  Rank 1 waits 3.50 s.*\nA  Rank 3 is last", text)


def test_runs_on_one_node_have_no_load_balance_between_nodes(tmp_path):
    def move(document):
        for process in document["processes"]:
            process["host"] = "node1"
    assert "between nodes" in printed("heat.json", "heat-faster.json")
    files = [changed(tmp_path, move, f"{name}.json", f"{name}.json") for name in ("heat", "heat-faster")]
    text = printed(*files)
    assert "nodes" not in text and "  load balance" in text
    assert "between nodes" in printed(files[0], "heat-faster.json")


# ---- limits

@pytest.mark.parametrize("limits, status", [
    ("10%", 1), ("30%", 0), ("24", 1), ("25", 0), ("time:24.9%", 1), ("time:25%", 0), ("mpi:58%", 1), ("mpi:59%", 0),
    ("time:50%,mpi:50%", 1), ("efficiency:2.9%", 1), ("efficiency:3.1%", 0), ("communication:3%", 1),
    ("load-balance:0%", 0), ("calls:0%", 0), ("memory:0%", 0), ("bytes:0,calls:0", 0)])
def test_a_run_that_is_worse_by_more_than_a_limit_fails(limits, status):
    result = compare(f"--fail-over={limits}", "heat-faster.json", "heat.json")
    assert result.returncode == status
    assert (status == 1) == ("exceeded" in result.stdout) == bool(result.messages)
    same = compare(f"--fail-over={limits}", "heat.json", "heat.json")
    assert same.returncode == 0 and same.messages == []


def test_every_run_is_compared_with_the_first_one():
    result = compare("--fail-over=time:4%", "heat.json", "heat-faster.json", "heat-64.json", "heat.json")
    assert result.returncode == 1
    assert result.messages == ["heat-64.json: time is 5.0 % worse than in heat.json; the limit is 4 %"]
    document = as_json("--fail-over=time:4%,calls:0%", "heat.json", "heat-faster.json", "heat-64.json", "heat.json",
                       status=1)
    assert [(limit["figure"], limit["percent"], limit["exceeded"]) for limit in document["limits"]] == [
        ("time", 4, [False, False, True, False]), ("calls", 0, [False, True, True, False])]
    assert document["limits"][0]["worse"][2] == pytest.approx(100 * (12.63 / 12.03 - 1), rel=1e-2)


def test_a_limit_of_an_unknown_figure_is_an_error(tmp_path):
    def forget(document):
        document["processes"] = []
    result = compare("--fail-over=efficiency:5%", "heat.json", changed(tmp_path, forget))
    assert result.returncode == 2 and result.stdout == ""
    assert result.messages[0].endswith("--fail-over=efficiency: the figure is unknown in this run or in the first one")


@pytest.mark.parametrize("limits", ["", "x", "-1%", "10%%", "time", "time:", "time:x", "tim:1%", "1%,", "1e16", "inf", "0x", "1..2"])
def test_a_wrong_limit_is_explained(limits):
    result = compare(f"--fail-over={limits}", "heat.json", "heat.json")
    assert result.returncode == 2 and result.stdout == "" and "--fail-over" in result.stderr


@pytest.mark.parametrize("arguments, words", [
    (["--compare", "heat.json"], "requires two files or more, not 1"),
    (["--compare", "--files", "heat.json", "heat.json"], "only the tables --functions"),
    (["--fail-over=1%", "heat.json"], "--fail-over requires --compare"),
    (["--compare", "heat.json", "none.json"], "none.json"),
])
def test_errors_of_use_are_explained(arguments, words):
    result = run_command([QMPI, "report", *arguments], clean_environment(), cwd=REPORTS, timeout=60)
    assert result.returncode == 2 and result.stdout == "" and words in result.stderr


def test_output_goes_to_a_file_and_the_status_remains(tmp_path):
    result = compare("--fail-over=10%", "-o", tmp_path / "diff.json", "heat-faster.json", "heat.json")
    assert result.returncode == 1 and result.stdout == ""
    assert result.messages == ["heat.json: time is 24.9 % worse than in heat-faster.json; the limit is 10 %"]
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads((tmp_path / "diff.json").read_text()))


# ---- real runs

PROGRAM = """#include <mpi.h>
#include <time.h>
static int rank;
{added}
static void compute(double seconds)
{{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec - begin.tv_sec + 1e-9 * (now.tv_nsec - begin.tv_nsec) < seconds);
}}

static void exchange(void)
{{
    int out = rank, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}}

static void reduce(void)
{{
    int one = 1, all;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}}

int main(void)
{{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {{
        compute(0.03);
        exchange();
        reduce();
    }}
    MPI_Finalize();
    return 0;
}}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Builds the program, and its next version, in which all functions are two lines further down."""
    folder = tmp_path_factory.mktemp("programs")
    for name, added in (("before", ""), ("after", "/* a comment\n of\n three lines */")):
        (folder / name).mkdir()
        (folder / name / "work.c").write_text(PROGRAM.format(added=added))
        subprocess.run([MPICC, "-g", "-O0", "-o", "work", "work.c"], cwd=folder / name, check=True)
    return folder


def profile(program, output, cwd, above=""):
    result = run_mpi(program, ranks=2, cwd=cwd, timeout=120, tools=f"{above}profile,output={output},depth=2",
                     preload=(LIBQMPI,), env={"QMPI_TOOL_PATH": str(BUNDLED_TOOLS)})
    assert result.returncode == 0 and result.messages == []


def check_delayed(programs, tmp_path):
    profile(programs / "before" / "work", "base.json", tmp_path)
    profile(programs / "before" / "work", "same.json", tmp_path)
    # Rank 1 reaches MPI_Allreduce 100 ms late, ten times: rank 0 waits there for about a second.
    profile(programs / "after" / "work", "slow.json", tmp_path,
            "delay,functions=MPI_Allreduce,ranks=1,before=100ms:")
    files = ["base.json", "same.json", "slow.json"]
    document = as_json(*files, cwd=tmp_path)
    assert document["functions"][0]["name"] == document["callsites"][0]["name"] == "MPI_Allreduce"
    chains = [[frame["function"] for frame in frames] for frames in document["callsites"][0]["frames"]]
    assert chains == [["reduce", "main"]] * 3
    lines = [frames[0]["line"] for frames in document["callsites"][0]["frames"]]
    assert lines[0] == lines[1] and lines[2] == lines[0] + 2
    base, _, slow = document["functions"][0]["time_sum"]
    assert slow - base == pytest.approx(1, rel=0.2)
    base, same, slow = document["totals"]["time"]
    assert slow - base == pytest.approx(1, rel=0.2) and abs(same - base) < 0.5 * base
    if any(pair["kind"] == "no-processor" and pair["runs"][2] for pair in document["findings"]):
        pytest.skip("other programs take the processors")
    found = [pair["runs"][2]["rank"] for pair in document["findings"] if pair["kind"] == "imbalance" and pair["runs"][2]]
    assert found == [1], document["findings"]
    text = printed("base.json", "slow.json", cwd=tmp_path)
    assert first_line(text, "Functions: time")[0] == first_line(text, "Call sites")[0] == "MPI_Allreduce"
    assert f"\n    from reduce (work.c:{lines[2]})\n" in text and "\nB  Rank 1 is last " in text
    assert compare("--fail-over=50%", "base.json", "same.json", cwd=tmp_path).returncode == 0
    assert compare("--fail-over=50%", "base.json", "slow.json", cwd=tmp_path).returncode == 1
    assert compare("--fail-over=500%", "base.json", "slow.json", cwd=tmp_path).returncode == 0


def test_the_function_and_the_call_site_that_became_slower_come_first(programs, tmp_path):
    for attempt in range(RUNS):
        try:
            return check_delayed(programs, tmp_path)
        except AssertionError:
            if attempt == RUNS - 1:
                raise


@pytest.mark.skipif(MPI_NAME != "mpich", reason="the commands are those for MPICH")
def test_the_documented_commands_for_continuous_integration_work(programs, tmp_path):
    """Runs the commands of docs/run/profile.md with this program."""
    text = (SOURCE / "docs" / "run" / "profile.md").read_text()
    script = re.search(r"(?s)```sh\n(set -e.*?)```", text)[1]
    assert "--fail-over=" in script
    (tmp_path / "solver").symlink_to(programs / "before" / "work")
    environment = {**clean_environment(), "PATH": f"{QMPI.parent}:/usr/bin:/bin",
                   "QMPI_TOOL_PATH": str(BUNDLED_TOOLS)}
    profile(programs / "before" / "work", "baseline.json", tmp_path)
    quick = read_json(tmp_path / "baseline.json")
    for factor, status in ((3, 0), (0.1, 1)):
        for key in ("sum", "mean", "min", "max"):
            quick["application"][key] *= factor
        (tmp_path / "baseline.json").write_text(json.dumps(quick))
        result = run_command(["sh", "-c", script], environment, cwd=tmp_path)
        assert result.returncode == status, result.stderr
        assert (tmp_path / "change.txt").read_text().startswith("A  baseline.json: ")


def read_json(path):
    return json.loads(path.read_text())
