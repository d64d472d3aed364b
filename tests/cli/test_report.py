# SPDX-License-Identifier: MIT
"""Tests qmpi report: how it prints and merges saved files, and how it reports errors in them."""
import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import tempfile
import termios
from pathlib import Path

import jsonschema
import pytest
from support import QMPI, SOURCE, clean_environment, run_command

REPORTS = SOURCE / "tests" / "cli" / "reports"
SCHEMA = json.loads((SOURCE / "docs" / "run" / "qmpi-profile-2.schema.json").read_text())
FILES = sorted(REPORTS.glob("*.json"))
CRASHED = [f"crash.{rank}.json" for rank in range(3)]


def report(*arguments, cwd=REPORTS):
    return run_command([QMPI, "report", *arguments], clean_environment(), cwd=cwd, timeout=60)


def printed(*arguments, **more):
    result = report(*arguments, **more)
    assert result.returncode == 0 and result.stderr == ""
    return result.stdout


def as_json(*arguments, **more):
    return json.loads(printed("--format=json", *arguments, **more))


def as_rows(*arguments):
    return list(csv.DictReader(io.StringIO(printed("--format=csv", *arguments), newline="")))


def titles(text):
    """Returns the first word, or `Call sites`, of the title of each table in a text, except `Where`, `Findings` and
    `Efficiency`."""
    return [title for title in re.findall(r"(?m)^\n([A-Z]\w+(?: sites)?)", text) if title not in ("Where", "Findings", "Efficiency")]


def test_a_report_without_some_ranks_does_not_say_that_there_are_no_problems():
    assert "because the data of 2 of 3 processes is\nmissing\n" in printed("crash.1.json")
    assert "is missing" not in printed(*CRASHED)


def test_a_report_of_an_inefficient_run_does_not_say_that_there_are_no_problems():
    text = printed(*CRASHED)
    assert re.search(r"parallel efficiency +0\.600", text) and "no problems found" not in text
    assert "The data of rank 0 ends 2.00 s (67 %) before that of rank 2\n" in text


def test_no_rank_is_outside_mpi_for_longer_than_it_runs(tmp_path):
    """Reads a file that was edited so that a rank is outside MPI for longer than it runs."""
    document = json.loads((REPORTS / "heat.json").read_text())
    document["processes"][1]["useful"] = 1000
    (tmp_path / "edited.json").write_text(json.dumps(document))
    whole = as_json(tmp_path / "edited.json")
    assert whole["processes"][1]["useful"] == whole["processes"][1]["application"]
    assert all(0 <= value <= 1 for name, value in whole["efficiency"].items() if name != "elapsed")
    assert abs(sum(part["seconds"] for part in whole["budget"]["parts"]) - whole["budget"]["total"]) < 1e-6
    rows = csv.DictReader(io.StringIO(printed("--format=csv", tmp_path / "edited.json"), newline=""))
    assert all(float(row["useful"]) <= float(row["application"]) for row in rows if row["table"] == "process")


# ---- files and their contents

@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_saved_files_fit_the_schema(file):
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(file.read_text()))


@pytest.mark.parametrize("name", ["heat.json", "crash.1.json"])
def test_files_that_the_schema_does_not_allow_are_not_read(tmp_path, name):
    """Removes each member in turn, in arrays those of the first element. The schema and the reader must require the
    same members."""
    whole = json.loads((REPORTS / name).read_text())
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def objects(value, path=()):
        if isinstance(value, dict):
            yield path
        for key, part in (value.items() if isinstance(value, dict) else
                           list(enumerate(value))[:1] if isinstance(value, list) else ()):
            yield from objects(part, (*path, key))

    optional = {"wait", "function", "file", "line", "useful", "nodes", "efficiency", "min_rank", "max_rank",
                "by_rank", "inlined", "budget", "findings", "windows"}
    seen = 0
    for path in objects(whole):
        for member in list(_at(whole, path)):
            document = json.loads(json.dumps(whole))
            del _at(document, path)[member]
            (tmp_path / "file.json").write_text(json.dumps(document))
            status = subprocess.run([QMPI, "report", tmp_path / "file.json"], capture_output=True,
                                    env=clean_environment(), timeout=60).returncode
            may_lack = "findings" in path or path[:1] == ("nodes",) or "budget" in path or member in optional and path[-2:-1] != ("nodes",) or "efficiency" in path or (
                path == () and member in ("rank", "ending")) or (
                member == "ranks" and path[-2:-1] == ("functions",)) or (
                path[-1:] == ("by_rank",) and member in ("sent", "received")) or (
                path == ("windows",) and member not in ("width", "ranks")) or (
                member == "messages" and path[:1] == ("callsites",)) or (
                path == () and member == "outside") or (
                path[:1] == ("outside",) and len(path) == 2 and member in ("from", "to"))
            assert validator.is_valid(document) == (status == 0) == may_lack, (path, member)
            seen += 1
    assert seen > 60


def _at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_json_is_printed_as_it_was_read(file):
    assert printed("--format=json", file) == file.read_text()


def test_files_of_the_previous_schema_are_read_and_keep_that_schema(tmp_path):
    lines = (REPORTS / "heat.json").read_text().splitlines(keepends=True)
    old = "".join(line for line in lines if not line.startswith(('"unfinished_receives"', '"in_flight"')))
    old = old.replace("qmpi-profile/2", "qmpi-profile/1")
    old = re.sub(r',"useful":(?:\{[^}]*\},"nodes":\[[^]]*\]|[\d.e-]+)|,?\n?"efficiency":\{[^}]*\}', "", old)
    (tmp_path / "old.json").write_text(old)
    again = as_json(tmp_path / "old.json")
    whole = json.loads((REPORTS / "heat.json").read_text())
    assert again.pop("schema") == "qmpi-profile/1"
    # The efficiency of all ranks is computed from other members; that of a region is not.
    assert again.pop("efficiency") == pytest.approx(whole["efficiency"])
    assert not {"unfinished_receives", "in_flight"} & set(again)
    assert "useful" not in again["regions"][0] and "efficiency" not in again["regions"][0]
    assert again["functions"] == whole["functions"]
    same, text = (re.sub(" +", " ", printed("--functions", "--processes", path))
                  for path in ("heat.json", tmp_path / "old.json"))
    assert text == same
    assert re.search("(?m)^solve +4000 .* - +- +-$", printed("--regions", tmp_path / "old.json"))


def test_calls_in_flight_of_several_processes_are_one_table():
    text = printed("--in-flight", *CRASHED)
    assert "Calls in flight when the processes were saved" in text
    assert re.search(r"(?m)^MPI_Allreduce +1 +100 ms +2024-05-16T07:30:01.900Z$", text)
    row, = (row for row in as_rows(*CRASHED) if row["table"] == "in_flight")
    assert (row["name"], row["rank"], row["time_sum"], row["text"]) == (
        "MPI_Allreduce", "1", "0.1", "step (/opt/heat/src/heat.c:31)")
    assert "(the completion of 2 nonblocking or persistent receives was not seen" in printed(*CRASHED)
    assert as_json(*CRASHED)["unfinished_receives"] == 2


def test_csv_has_the_same_columns_in_every_row_and_every_figure():
    whole = json.loads((REPORTS / "heat.json").read_text())
    text = printed("--format=csv", "heat.json")
    assert len({len(row) for row in csv.reader(io.StringIO(text, newline=""))}) == 1
    rows = as_rows("heat.json")
    functions = {row["name"]: row for row in rows if row["table"] == "function" and not row["region"]}
    assert set(functions) == {function["name"] for function in whole["functions"]}
    for function in whole["functions"]:
        row = functions[function["name"]]
        assert int(row["calls"]) == function["calls"]
        assert float(row["time_stddev"]) == function["time"]["stddev"]
        assert int(row["sent"]) == function["bytes"]["sent"]
        assert bool(row["wait_sum"]) == ("wait" in function)
        sizes = [row for row in rows if row["table"] == "size" and row["name"] == function["name"]
                 and not row["region"] and row["at_least"] != "0"]
        assert [[int(float(row["at_least"])).bit_length() - 1, int(row["calls"])] for row in sizes] == \
            function["sizes"]
    matrix = [(int(row["from"]), int(row["to"]), int(row["bytes"])) for row in rows
              if row["table"] == "matrix"]
    assert matrix == [(cell["from"], cell["to"], cell["bytes"]) for cell in whole["matrix"]]
    for table, members in (("function_rank", whole["functions"]), ("callsite_rank", whole["callsites"])):
        listed = [(row["name"], int(row["rank"]), int(row["calls"]), float(row["time_sum"]))
                  for row in rows if row["table"] == table]
        assert listed == [(member["name"], *figures) for member in members if "by_rank" in member
                          for figures in zip(*(member["by_rank"][key] for key in ("rank", "calls", "time")))]
        assert len(listed) > 8
    assert (functions["MPI_Allreduce"]["time_max_rank"], functions["MPI_Allreduce"]["wait_max_rank"],
            functions["MPI_Allreduce"]["ranks"]) == ("3", "0", "4")
    sites = [row for row in rows if row["table"] == "callsite"]
    assert sites[0]["text"] == "exchange (/opt/heat/src/halo.c:43) < main (/opt/heat/src/heat.c:58)"
    assert {row["table"] for row in rows} == {
        "run", "total", "budget", "finding", "efficiency", "window", "window_rank", "process", "function", "function_rank", "callsite_rank", "size", "time", "callsite", "outside", "outside_rank", "matrix", "communicator",
        "file", "region", "region_mpi", "region_useful"}


def test_csv_quotes_names_with_special_characters(tmp_path):
    name = 'a "name", of\r\ntwo lines'
    whole = json.loads((REPORTS / "heat.json").read_text())
    whole["files"][0]["name"] = name
    (tmp_path / "file.json").write_text(json.dumps(whole))
    printed("--format=csv", "--output", tmp_path / "file.csv", tmp_path / "file.json")
    with open(tmp_path / "file.csv", newline="") as stream:
        assert [row["name"] for row in csv.DictReader(stream) if row["table"] == "file"] == [name]


# ---- text

@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_line_is_wider_than_80_characters(file):
    lines = printed(file).splitlines() + printed("--top=0", file).splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def on_a_terminal(columns, *arguments):
    """Returns the output of the command on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([QMPI, "report", *arguments], stdout=slave, cwd=REPORTS, env=clean_environment())
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):  # reading fails at the end of the output
        while part := os.read(master, 65536):
            text += part
    os.close(master)
    assert process.wait(timeout=60) == 0
    return text.decode().replace("\r\n", "\n")


def test_a_wider_terminal_shows_more_columns():
    narrow, wide = on_a_terminal(60, "heat.json"), on_a_terminal(140, "heat.json")
    assert narrow == printed("heat.json") == on_a_terminal(80, "heat.json")
    assert 80 < max(map(len, wide.splitlines())) <= 140
    heading, = re.findall("(?m)^function +calls.*received$", wide)[:1]
    assert heading.split() == ["function", "calls", "time", "%", "mean", "rank", "min", "on", "max", "on",
                               "stddev", "sent", "received"]
    assert "mean rank" not in re.findall("(?m)^function +calls.*$", narrow)[0]
    with tempfile.TemporaryDirectory() as folder:  # the width of a file does not depend on the terminal
        on_a_terminal(140, "heat.json", "--output", f"{folder}/file")
        assert Path(folder, "file").read_text() == narrow


def test_percentages_are_of_the_application_time_everywhere():
    text = printed("heat.json")
    assert "\npercentages: of the application time of all ranks, 48.1 s\n" in text
    for pattern, time in ((r"MPI_Waitall +4000 +3.50 s +([\d.]+) +800 ms", 3.5),
                          (r"MPI_Waitall +4000 +3.50 s +([\d.]+) +875 us", 3.5),
                          (r"MPI_Allreduce +2.02 s +([\d.]+) ", 2.02), (r"grid .* 1.80 s +([\d.]+) ", 1.804),
                          (r"/scratch/heat/out.dat .* 860 ms +([\d.]+) ", 0.86),
                          (r"solve +4000 +36.1 s +([\d.]+) ", 36.06),
                          (r"(?s)Functions in region.*MPI_Waitall +4000 +3.50 s +([\d.]+) ", 3.5)):
        assert re.search(pattern, text)[1] == f"{100 * time / 48.06:.1f}"


def test_call_sites_have_bytes_per_call_and_message(tmp_path):
    text = printed("--callsites", "heat.json")
    assert re.search(r"(?m)^call site +calls .* bytes/call +message$", text)
    assert re.search(r"(?m)^MPI_Isend +6000 .* 8.00 KiB 8.00 KiB$", text)
    assert re.search(r"(?m)^MPI_Allreduce +4000 .* 16 B$", text)
    whole = json.loads((REPORTS / "heat.json").read_text())
    site, = (site for site in whole["callsites"] if site["name"] == "MPI_Isend")
    site["messages"] = 1500
    (tmp_path / "file.json").write_text(json.dumps(whole))
    assert re.search(r"(?m)^MPI_Isend +6000 .* 8.00 KiB 32.0 KiB$", printed("--callsites", tmp_path / "file.json"))
    row, = (row for row in as_rows(tmp_path / "file.json")
            if row["table"] == "callsite" and row["name"] == "MPI_Isend")
    assert row["messages"] == "1500"
    assert text.endswith("(no debug information in libsolve.so:\ncompile with -g to see source lines)\n")


def test_a_long_name_of_a_function_is_shortened_but_not_its_place(tmp_path):
    whole = json.loads((REPORTS / "heat.json").read_text())
    name = "solver<double>::exchange(" + "int, " * 30 + "int)"
    whole["callsites"][0]["frames"][0]["function"] = name
    (tmp_path / "file.json").write_text(json.dumps(whole))
    line, = re.findall("(?m)^.*solver.*$", printed("--callsites", tmp_path / "file.json"))
    assert len(line) == 80 and line.endswith("... (halo.c:43)")
    assert line[9:].startswith("solver<...>::exchange(int, int, ")
    assert name in printed("--format=csv", tmp_path / "file.json")


def test_all_tables_are_printed_or_those_that_are_named():
    tables = {"functions": "Functions", "callsites": "Call sites", "histograms": "Calls",
              "matrix": "Communication", "waits": "Waiting", "communicators": "Communicators",
              "files": "Files", "regions": "Regions", "processes": "Processes"}
    everything = printed("heat.json")
    assert [title for title in titles(everything) if title in tables.values()] == \
        [*list(tables.values())[:-1], "Functions", "Processes"]  # the second "Functions" are those of the region
    for option, title in tables.items():
        assert titles(printed(f"--{option}", "heat.json"))[0] == title
    assert titles(printed("--files", "--matrix", "heat.json")) == ["Communication", "Files"]


def test_a_large_run_has_pairs_instead_of_a_map_and_extremes_instead_of_all_ranks():
    text = printed("heat-64.json")
    assert "  from 0 1" not in text and "(106 more pairs)" in text
    assert "Processes: the extremes" in text and "node48    63" in text
    assert len(printed("--top=0", "--processes", "heat-64.json").splitlines()) > 64


def test_the_map_shows_who_sends_to_whom():
    text = printed("--matrix", "heat.json")
    lines = text[text.index("  from 0 1 2 3 to"):].splitlines()
    assert lines[1:5] == ["     0   .", "     1 .   .", "     2   .   .", "     3     ."]
    assert lines[5] == "  at least:  . 4.00 MiB"


def test_top_limits_the_rows_and_sums_up_the_rest():
    text = printed("--functions", "--top=2", "heat.json")
    assert re.search(r"(?m)^\(4 more\) +12048 ", text)
    assert re.search(r"(?m)^total +20048 ", text)


# ---- order and selection

@pytest.mark.parametrize("order, first", [("time", "MPI_Waitall"), ("calls", "MPI_Irecv"),
                                          ("bytes", "MPI_Irecv"), ("name", "MPI_Allreduce")])
def test_functions_and_call_sites_are_in_the_order_of_the_option_sort(order, first):
    whole = as_json(f"--sort={order}", "heat.json")
    assert whole["functions"][0]["name"] == whole["callsites"][0]["name"] == first


def test_a_filter_ignores_case_and_applies_to_functions_call_sites_and_regions():
    whole = as_json("--filter=*ISEND", "heat.json")
    assert [function["name"] for function in whole["functions"]] == ["MPI_Isend"]
    assert [site["name"] for site in whole["callsites"]] == ["MPI_Isend"]
    assert [function["name"] for function in whole["regions"][0]["functions"]] == ["MPI_Isend"]
    assert len(whole["matrix"]) == 6
    result = report("--filter=nothing", "heat.json")
    assert result.returncode == 0 and result.messages == ["heat.json: no function matches 'nothing'"]


# ---- several files

def test_files_of_single_processes_of_one_run_become_one():
    whole = as_json(*CRASHED)
    assert whole["ranks"] == 3 and "rank" not in whole
    assert whole["ending"] == "signal SIGTERM, MPI_Abort"
    allreduce = whole["functions"][0]
    assert allreduce["calls"] == 600 and allreduce["bytes"] == {"sent": 4800, "received": 4800}
    assert allreduce["time"]["min"] == 0.1 and allreduce["time"]["max"] == 0.3
    assert allreduce["longest"] == 0.03
    abort = whole["functions"][1]
    assert abort["name"] == "MPI_Abort" and abort["time"]["min"] == 0
    assert abort["time"]["mean"] == pytest.approx(1e-5 / 3)
    assert len(whole["callsites"]) == len(whole["communicators"]) == 1
    assert allreduce["time"]["min_rank"] == 0 and allreduce["time"]["max_rank"] == 2
    assert (allreduce["ranks"], abort["ranks"]) == (3, 1)
    assert whole["callsites"][0]["ranks"] == 3
    wanted = {"rank": [0, 1, 2], "calls": [100, 200, 300], "time": [0.1, 0.2, 0.3],
              "sent": [800, 1600, 2400], "received": [800, 1600, 2400]}
    assert allreduce["by_rank"] == whole["callsites"][0]["by_rank"] == wanted
    assert abort["by_rank"]["calls"] == [0, 1, 0]
    assert [process["rank"] for process in whole["processes"]] == [0, 1, 2]
    assert [cell["from"] for cell in whole["matrix"]] == [0, 1, 2]
    jsonschema.Draft202012Validator(SCHEMA).validate(whole)


def test_joining_is_the_same_in_any_order_and_in_steps(tmp_path):
    first = as_json(*CRASHED)
    printed("--format=json", "--output", tmp_path / "two.json", "crash.2.json", "crash.0.json")
    steps = as_json(tmp_path / "two.json", "crash.1.json")
    assert steps.pop("ending") == "signal SIGTERM, MPI_Abort" == first.pop("ending")

    def compare(one, other):
        assert type(one) is type(other)
        if isinstance(one, dict):
            assert one.keys() == other.keys()
        if isinstance(one, (dict, list)):
            assert len(one) == len(other)
            for key in one if isinstance(one, dict) else range(len(one)):
                compare(one[key], other[key])
        else:
            assert one == (pytest.approx(other, rel=1e-12, abs=1e-12) if isinstance(one, float) else other)

    compare(first, steps)


def test_files_of_several_runs_are_printed_one_after_the_other():
    text = printed("heat.json", *CRASHED, "heat-faster.json")
    assert re.findall(r"(?m)^(\S+json.*):$", text) == ["heat.json", "crash.0.json and 2 more",
                                                      "heat-faster.json"]
    text = printed("crash.0.json", "crash.0.json")  # the same rank twice is not one run
    assert text.count("rank 0 alone") == 2


@pytest.mark.parametrize("name, shown", [("new\nline.json", "new\\nline.json"),
                                         ("esc\x1b[31m.json", "esc\\x1b[31m.json"), (b"bad\xff.json", "bad\\xff.json")])
def test_names_of_files_in_titles_are_printable(name, shown, tmp_path):
    path = tmp_path / os.fsdecode(name)
    shutil.copy(REPORTS / "heat.json", path)
    text = printed("--files", "heat-faster.json", path)
    assert f"\n\n{tmp_path}/{shown}:\n" in text


def test_json_and_csv_hold_one_run():
    for form in ("json", "csv"):
        result = report(f"--format={form}", "heat.json", *CRASHED)
        assert result.returncode == 2 and result.stdout == ""
        assert result.messages[0].startswith("the files belong to 2 runs")
        assert result.messages[1].startswith("hint: ")


# ---- addresses that nobody has looked up yet

def test_addresses_of_an_unchanged_program_are_looked_up(tmp_path):
    (tmp_path / "a.c").write_text("void f(void);\nvoid f(void) { }\nint main(void)\n{\n    f();\n}\n")
    subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    dump = subprocess.run(["objdump", "-d", "--disassemble=main", "a"], cwd=tmp_path, check=True,
                          capture_output=True, text=True).stdout.splitlines()
    call = next(number for number, line in enumerate(dump) if "<f>" in line)
    offset = int(dump[call + 1].split(":")[0], 16) - 0x400000
    whole = json.loads((REPORTS / "crash.0.json").read_text())
    whole["callsites"][0]["frames"] = [{"module": str(tmp_path / "a"), "offset": offset}]
    for begin, expected in (("2124-05-16T07:30:00Z", "main (a.c:5)"),
                            ("2004-05-16T07:30:00Z", f"a+{offset:#x}")):  # the program was built after this run
        whole["begin"] = begin
        (tmp_path / "file.json").write_text(json.dumps(whole))
        assert f"    from {expected}\n" in printed("--callsites", tmp_path / "file.json")


# ---- errors

def test_bad_files_get_one_message_each_and_the_others_are_printed(tmp_path):
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "newer.json").write_text('{"schema": "qmpi-profile/3"}')
    (tmp_path / "count.json").write_text('{"schema": "qmpi-count/1", "ranks": 2}')
    result = report("none.json", tmp_path / "empty.json", "heat.json", tmp_path / "newer.json",
                    tmp_path / "count.json", tmp_path)
    assert result.returncode == 2
    assert result.stdout == printed("heat.json")
    problems = [line for line in result.messages if not line.startswith("hint: ")]
    for problem, words in zip(problems, [
            "cannot read none.json: No such file", "the file is empty", "qmpi-profile/3 is newer",
            "schema: expected qmpi-profile/2 or less, found 'qmpi-count/1'", "contains no trace of qmpi"], strict=True):
        assert words in problem
    result = report("--compare", "heat.json", "none.json")
    assert result.returncode == 2 and result.stdout == ""


def test_a_file_that_cannot_be_written_is_reported(tmp_path):
    for path, reason in (("/dev/full", "No space left"), (tmp_path / "none" / "x", "No such file")):
        result = report("--output", path, "heat.json")
        assert result.returncode == 2
        assert result.messages[0].startswith(f"cannot write {path}: {reason}")
    with open("/dev/full", "w") as full:
        result = subprocess.run([QMPI, "report", REPORTS / "heat.json"], stdout=full, timeout=60,
                                stderr=subprocess.PIPE, text=True, env=clean_environment())
    assert result.returncode == 2 and "cannot write: No space left" in result.stderr


def test_the_format_follows_the_name_of_the_file(tmp_path):
    for name, form in (("a.json", "json"), ("b.csv", "csv"), ("c.txt", "text"), ("d", "text")):
        printed("--output", tmp_path / name, "heat.json")
        assert (tmp_path / name).read_text() == printed(f"--format={form}", "heat.json")
    printed("--format=csv", "--output", tmp_path / "e.json", "heat.json")
    assert (tmp_path / "e.json").read_text() == printed("--format=csv", "heat.json")


def test_output_to_a_file_is_the_same_as_on_stdout(tmp_path):
    for form in ("text", "json", "csv"):
        assert printed(f"--format={form}", "--output", tmp_path / "file", "heat.json") == ""
        assert (tmp_path / "file").read_text() == printed(f"--format={form}", "heat.json")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("arguments, words", [
    ([], "missing file"),
    (["--format=xml", "heat.json"], "--format must be text, json, csv or html, not 'xml'"),
    (["--sort=size", "heat.json"], "--sort must be time, calls, bytes or name, not 'size'"),
    (["--top=-1", "heat.json"], "not '-1'"), (["--top=1x", "heat.json"], "not '1x'"),
    (["-f", "csv", "--functions", "heat.json"], "CSV output always contains all tables"),
    (["-o", "none/out.json", "--matrix", "heat.json"], "JSON output always contains all tables"),
    (["-f", "json", "--top=5", "heat.json"], "JSON output always contains all rows: --top requires text output"),
])
def test_errors_of_use_are_explained(arguments, words):
    result = report(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert words in result.stderr


def test_no_mpi_library_is_needed(tmp_path):
    """Checks that the command is not linked with an MPI library."""
    shutil.copy(REPORTS / "heat.json", tmp_path)
    needed = subprocess.run([QMPI], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needed and "libmpi" not in needed
    assert "MPI_Waitall" in printed("heat.json", cwd=tmp_path)


# ---- the documentation

def test_every_example_of_the_documentation_equals_the_output_of_the_command(tmp_path):
    """Runs each command `$ qmpi report …` of docs/run/profile.md, and compares its output with the text below it, in
    which `...` stands for any lines."""
    for file in FILES:
        shutil.copy(file, tmp_path)
    text = (SOURCE / "docs" / "run" / "profile.md").read_text()
    examples = re.findall(r"(?m)^\$ qmpi (report .*)\n((?:(?!\$ |```).*\n)*)", text)
    assert len(examples) >= 5
    for command, wanted in examples:
        output = printed(*shlex.split(command)[1:], cwd=tmp_path)
        pattern = r"(?:.*\n)*?".join(re.escape(part) for part in wanted.split("...\n"))
        assert re.fullmatch(pattern, output), command


# ---- Files on which the command might wait ----------------------------------------------------------


def shell(command, cwd=REPORTS):
    """Runs a command in a shell that supports `<(…)`; $QMPI is the command qmpi."""
    return run_command([shutil.which("bash") or pytest.skip("bash is not installed"), "-c", command],
                       {**clean_environment(), "QMPI": str(QMPI)}, cwd=cwd, timeout=30)


def test_a_fifo_without_a_writer_is_reported(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    result = report(tmp_path / "fifo", "heat.json")
    assert result.returncode == 2 and "heat" in result.stdout
    assert result.messages == [f"cannot read {tmp_path}/fifo: the FIFO has no writer"]


def test_a_fifo_with_data_is_read(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    result = shell(f'cat heat.json > {tmp_path}/fifo & exec 3< {tmp_path}/fifo; "$QMPI" report /dev/fd/3')
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == printed("heat.json")


@pytest.mark.parametrize("command", [
    'cat heat.json | "$QMPI" report /dev/stdin', '"$QMPI" report <(cat heat.json)',
    '"$QMPI" report /dev/stdin < heat.json',
    '"$QMPI" report <(read -r line < heat.json; cat heat.json)'])
def test_report_waits_for_the_data_of_a_process(command):
    result = shell(command)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == printed("heat.json")


def test_a_process_that_writes_nothing_is_reported():
    result = shell('"$QMPI" report <(true)')
    assert result.returncode == 2 and re.search("has no writer|invalid JSON", result.stderr)


def test_a_fifo_without_a_reader_cannot_be_the_output(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    result = report("-o", tmp_path / "fifo", "heat.json")
    assert result.returncode == 2
    assert result.messages[0] == f"cannot write {tmp_path}/fifo: the FIFO has no reader"
    result = shell(f'cat {tmp_path}/fifo & exec 3> {tmp_path}/fifo; "$QMPI" report -o {tmp_path}/fifo '
                   "heat.json; exec 3>&-; wait")
    assert (result.returncode, result.stdout) == (0, printed("heat.json"))


def test_a_device_without_a_report_is_reported():
    for path, words in (("/dev/null", "invalid JSON"), ("/dev/zero", "invalid JSON")):
        result = report(path)
        assert result.returncode == 2 and words in result.stderr
