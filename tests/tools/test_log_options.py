# SPDX-License-Identifier: MIT
"""The options of the tool log: which calls have a line, where the lines go, and messages about invalid options."""
import re
import subprocess
from collections import Counter
from datetime import datetime, time, timedelta, timezone

import pytest
from log_support import STEPS, WORDS, lines_of, matches, names, read, run_log
from support import BUILD, OPEN_MPI, PROGRAMS, QMPI, SOURCE, clean_environment, run_mpi


# ---- Selected calls ------------------------------------------------------------------------------

STEP_NAMES = ["init", "barrier", "rank", "bcast", "shift=100", "finalize"]


@pytest.mark.parametrize("functions, shown", [
    ("MPI_Barrier", ["MPI_Barrier"]),
    ("mpi_barrier;MPI_*cast", ["MPI_Barrier", "MPI_Bcast"]),
    ("collective", ["MPI_Barrier", "MPI_Bcast"]),
    ("collective;!MPI_B?rrier", ["MPI_Bcast"]),
    ("point-to-point;environment", ["MPI_Init", "MPI_Sendrecv", "MPI_Finalize"]),
    ("!communicator;!collective", ["MPI_Init", "MPI_Sendrecv", "MPI_Finalize"]),
])
def test_functions_are_chosen(functions, shown):
    lines = lines_of(run_log(STEPS, *STEP_NAMES, options=f",functions={functions}"))
    assert names(lines) == shown


def test_functions_that_are_not_chosen_are_not_intercepted():
    output = subprocess.run([QMPI, "check", "-t", "log,functions=MPI_Barrier"],
                            env=clean_environment(), text=True, capture_output=True,
                            timeout=60).stdout
    assert "MPI_Barrier" in output and "MPI_Bcast" not in output


def test_requests_are_shown_without_the_calls_that_created_them_if_functions_are_left_out():
    lines = lines_of(run_log(WORDS, "point_to_point", options=",functions=!MPI_Isend"))
    assert "MPI_Wait" in names(lines) and not any("@" in line.arguments for line in lines)


def test_only_chosen_ranks_have_lines():
    result = run_log(STEPS, *STEP_NAMES, ranks=3, options=",ranks=0;2-9")
    assert Counter(line.rank for line in lines_of(result)).keys() == {0, 2}


def test_calls_are_chosen_by_their_size():
    steps = ["init", "shift=100", "shift=5000", "barrier", "finalize"]
    lines = lines_of(run_log(STEPS, *steps, options=",min-size=1"))
    assert names(lines) == ["MPI_Sendrecv", "MPI_Sendrecv"]
    lines = lines_of(run_log(STEPS, *steps, options=",min-size=101,max-size=5k"))
    assert names(lines) == ["MPI_Sendrecv"] and "sendcount=5000" in lines[0].arguments
    lines = lines_of(run_log(STEPS, *steps, options=",max-size=99"))
    assert "MPI_Sendrecv" not in names(lines) and "MPI_Barrier" in names(lines)


def test_calls_are_chosen_by_their_time():
    assert lines_of(run_log(STEPS, *STEP_NAMES, options=",min-time=1000s")) == []
    assert len(lines_of(run_log(STEPS, *STEP_NAMES, options=",min-time=1ns"))) >= 6


def test_the_option_errors_selects_calls_that_fail():
    lines = lines_of(run_log(WORDS, "wrong", options=",errors=only"))
    assert [(line.function, line.result.split()[0]) for line in lines] == [
        ("MPI_Send", "MPI_ERR_RANK"), ("MPI_Comm_rank", "MPI_ERR_ARG"),
        ("MPI_Comm_rank", "MPI_ERR_COMM"), ("MPI_Recv", "MPI_ERR_COUNT")]
    explained = r"MPI_ERR_RANK \(invalid rank\)" if OPEN_MPI else r"MPI_ERR_RANK \(.*\b5\b.*\)"
    assert re.fullmatch(explained, lines[0].result)
    assert "rank=NULL" in lines[1].arguments
    assert matches("(comm=MPI_COMM_NULL, rank=*)", lines[2].arguments)


def test_statuses_show_their_errors():
    lines = lines_of(run_log(WORDS, "truncated", options=",errors=only"))
    assert len(lines) == 1 and lines[0].result.startswith("MPI_ERR_IN_STATUS")
    assert "error=MPI_ERR_TRUNCATE" in lines[0].arguments


# ---- Output files --------------------------------------------------------------------------------


def test_stdout_contains_only_the_output_of_the_program():
    steps = ["init", "barrier", "finalize"]
    with_tool, without = (run_mpi("calls", *steps, ranks=1, tools=tools,
                                  env={"QMPI_TOOL_PATH": BUILD / "tools"})
                          for tools in ("log", None))
    assert with_tool.stdout == without.stdout


@pytest.mark.parametrize("pattern, files", [
    ("x.%r", ["x.0", "x.1"]), ("x", ["x.0", "x.1"]), ("%t-x", ["1-x.0", "1-x.1"])])
def test_each_rank_has_a_file(tmp_path, pattern, files):
    result = run_log(STEPS, *STEP_NAMES, ranks=2, options=f",output={pattern}", cwd=tmp_path)
    assert result.messages == []
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert [read(tmp_path / name)[0].rank for name in files] == [0, 1]


def test_a_process_without_launcher_writes_the_file_with_exactly_the_given_name(tmp_path):
    run_log(STEPS, "init", f"chdir={PROGRAMS}", "finalize", options=",output=x", cwd=tmp_path)
    assert names(read(tmp_path / "x")) == ["MPI_Init", "MPI_Finalize"]


def test_lines_go_to_stderr_if_the_file_cannot_be_written():
    result = run_log(STEPS, *STEP_NAMES, options=",output=/no/such/folder/x")
    assert result.returncode == 0
    assert "cannot write /no/such/folder/x" in result.messages[0]
    assert "hint:" in result.messages[2]
    assert len([text for text in result.messages if text.startswith("[0]")]) >= 6


def test_times_can_be_left_out():
    lines = lines_of(run_log(STEPS, *STEP_NAMES, options=",time=none"))
    assert all(line.time is None for line in lines)


def test_times_of_day_are_those_of_the_run():
    zone = timezone(timedelta(hours=5, minutes=30))
    begin = datetime.now(zone)
    lines = lines_of(run_log(STEPS, *STEP_NAMES, options=",time=clock", env={"TZ": "TEST-5:30"}))
    end = datetime.now(zone)
    if begin.date() == end.date():
        assert all(begin.time() <= time.fromisoformat(line.time) <= end.time() for line in lines)
    assert [line.time for line in lines] == sorted(line.time for line in lines)


def test_lines_end_with_the_caller():
    lines = lines_of(run_log(STEPS, "init", "barrier", "finalize", options=",caller=yes"))
    assert all(re.fullmatch(r"mpi_step \(steps.c:\d+\)", line.caller) for line in lines)


def test_the_caller_in_a_destructor_is_described():
    """The thread that describes callers has ended when exit begins, and is started again."""
    lines = lines_of(run_log(STEPS.with_name("tools_finalizing"), options=",caller=yes"))
    assert [re.sub(r":\d+", "", line.caller) for line in lines] == [
        "begin_mpi (finalizing.c)", "main (finalizing.c)", "end_mpi (finalizing.c)"]


def test_check_writes_no_log(tmp_path):
    done = subprocess.run([QMPI, "check", "-t", "log,output=x:log"], cwd=tmp_path, text=True,
                          env=clean_environment(), capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
    assert list(tmp_path.iterdir()) == []


# ---- In a stack ----------------------------------------------------------------------------------


def test_two_layers_have_a_line_each():
    lines = lines_of(run_log(STEPS, *STEP_NAMES, tools="log:empty:log,functions=collective"))
    assert [line.function for line in lines if line.layer == 3] == ["MPI_Barrier", "MPI_Bcast"]
    assert names(line for line in lines if line.layer == 1).count("MPI_Barrier") == 1
    assert {line.layer for line in lines} == {1, 3} and {line.depth for line in lines} == {0}


def test_two_layers_with_one_file_are_refused():
    result = run_log(STEPS, *STEP_NAMES, tools="log,output=x:log,output=x")
    assert result.returncode == 2
    assert any("%t" in line for line in result.messages)


@pytest.mark.parametrize("tools", ["log:libtally.so", "libtally.so:log"])
def test_log_works_above_and_below_a_pmpi_tool(tools):
    result = run_log(STEPS, *STEP_NAMES, tools=tools)
    lines = [text for text in result.messages if text.startswith("[0]")]
    assert result.returncode == 0 and sum("MPI_Barrier(" in line for line in lines) == 1


def test_four_threads_have_whole_lines(tmp_path):
    result = run_mpi("threads", "count", "500", ranks=1, tools=f"log,output={tmp_path}/x:log,time=none",
                     env={"QMPI_TOOL_PATH": BUILD / "tools"})
    for lines in read(tmp_path / "x"), lines_of(result):
        assert names(lines).count("MPI_Comm_rank") == 4 * 500
        threads = {line.thread for line in lines if line.function == "MPI_Comm_rank"}
        assert len(threads - {None}) >= 3


# ---- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option, words", [
    ("functions=MPI_Sned", ["'MPI_Sned'", "qmpi functions"]),
    ("functions=", ["functions"]),
    ("functions=collective;!nothing", ["'!nothing'"]),
    ("ranks=1;x", ["ranks=1;x", "3;10-20"]),
    ("ranks=4-2", ["ranks=4-2"]),
    ("ranks=", ["ranks"]),
    ("min-size=1q", ["min-size=1q", "64K"]),
    ("max-size=-1", ["max-size=-1"]),
    ("min-size=99999999999999999999", ["min-size"]),
    ("min-time=5m", ["min-time=5m", "20ms"]),
    ("stuck=0s", ["stuck=0s"]),
    ("errors=yes", ["errors=yes", "only"]),
    ("enter=maybe", ["enter=maybe", "yes or no"]),
    ("caller=2", ["caller=2", "yes or no"]),
    ("args=x", ["args=x", "yes or no"]),
    ("time=utc", ["time=utc", "clock"]),
    ("array=many", ["array=many"]),
    ("strings=-1", ["strings=-1"]),
    ("output=x%q", ["output=x%q", "%r %p %t %h"]),
    ("output=", ["output="]),
    ("colour=yes", ["colour"]),
])
def test_a_bad_option_ends_the_run_with_one_message(option, words):
    result = run_log(STEPS, "init", "finalize", options=f",{option}")
    assert result.returncode == 2
    message = "\n".join(result.messages)
    assert all(word in message for word in words) and "hint:" in message
    assert "MPI_Init" not in message


def test_the_readme_has_every_option():
    readme = (SOURCE / "tools" / "log" / "README.md").read_text()
    output = subprocess.run([QMPI, "check", "-t", "log"], env=clean_environment(), text=True,
                            capture_output=True, timeout=60).stdout
    options = re.findall(r"^  option +([\w-]+)", output, re.MULTILINE)
    assert len(options) == 14
    assert all(f"`{option}=" in readme for option in options)
