# SPDX-License-Identifier: MIT
"""The tool count gives exact numbers, writes one table or file for each layer, and leaves a result even if a process
ends without MPI_Finalize, unless SIGKILL ends it."""
import json

from support import BUILD, BUNDLED_TOOLS, needs_sessions, run_mpi

STEPS_PROGRAM = BUILD / "tests" / "tools" / "programs" / "tools_steps"
STEPS = ["init", "barrier", "barrier", "comm_rank", "finalize"]


def count(*steps, ranks=2, tools="count", **more):
    return run_mpi("calls", *steps, ranks=ranks, tools=tools,
                   env={"QMPI_TOOL_PATH": BUNDLED_TOOLS, **more.pop("env", {})}, **more)


def counts(result):
    """Returns function -> the numbers of its row, in the last table on stderr that has the function."""
    return {parts[0]: [float(number) for number in parts[1:]]
            for parts in (line.split() for line in result.messages)
            if parts and parts[0].startswith("MPI_")}


def test_the_table_sums_over_ranks_and_gives_min_mean_max():
    result = count(*STEPS)
    assert counts(result) == {"MPI_Barrier": [4, 2, 2, 2], "MPI_Comm_rank": [2, 1, 1, 1],
                            "MPI_Init": [2, 1, 1, 1], "MPI_Finalize": [2, 1, 1, 1]}


def test_the_table_is_sorted_by_calls_and_printed_once():
    result = count(*STEPS)
    names = [line.split()[0] for line in result.messages if line.startswith("MPI_")]
    assert names == ["MPI_Barrier", "MPI_Comm_rank", "MPI_Finalize", "MPI_Init"]
    assert sum("MPI calls of 2 ranks" in line for line in result.messages) == 1


def test_pcontrol_pauses_and_resumes_in_each_rank():
    steps = ["init", "barrier", "level=0", "barrier", "rank", "barrier", "level=2", "level=1", "barrier", "finalize"]
    result = run_mpi(STEPS_PROGRAM, *steps, ranks=2, tools="count", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert counts(result) == {"MPI_Pcontrol": [6, 3, 3, 3], "MPI_Barrier": [4, 2, 2, 2],
                              "MPI_Init": [2, 1, 1, 1], "MPI_Finalize": [2, 1, 1, 1]}


def test_counting_begins_with_the_first_pcontrol_that_switches_on():
    steps = ["init", "barrier", "level=2", "barrier", "level=1", "barrier", "level=0", "barrier", "level=1", "finalize"]
    result = run_mpi(STEPS_PROGRAM, *steps, ranks=1, tools="count,@enabled=no", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert counts(result) == {"MPI_Barrier": [1] * 4, "MPI_Pcontrol": [2] * 4, "MPI_Finalize": [1] * 4}


def test_stdout_contains_only_the_output_of_the_program():
    with_tool, without = (count(*STEPS, ranks=1, tools=tools) for tools in ("count", None))
    assert with_tool.stdout == without.stdout


def test_json_has_the_documented_schema(tmp_path):
    result = count(*STEPS, tools="count,output=calls.json", cwd=tmp_path)
    assert not counts(result)
    assert json.loads((tmp_path / "calls.json").read_text()) == {
        "schema": "qmpi-count/1",
        "ranks": 2,
        "functions": {
            "MPI_Barrier": {"calls": 4, "min": 2, "mean": 2.0, "max": 2},
            "MPI_Comm_rank": {"calls": 2, "min": 1, "mean": 1.0, "max": 1},
            "MPI_Finalize": {"calls": 2, "min": 1, "mean": 1.0, "max": 1},
            "MPI_Init": {"calls": 2, "min": 1, "mean": 1.0, "max": 1},
        },
    }


def test_two_layers_count_independently(tmp_path):
    count(*STEPS, tools="count,output=%t.json:empty:count,output=%t.json", cwd=tmp_path)
    upper, lower = (json.loads((tmp_path / name).read_text()) for name in ("1.json", "3.json"))
    assert upper == lower
    assert upper["functions"]["MPI_Barrier"]["calls"] == 4


def test_two_layers_with_one_file_are_refused():
    result = count(*STEPS, tools="count,output=x:count,output=x")
    assert result.returncode == 2
    assert any("%t" in line for line in result.messages)


def test_an_unknown_conversion_in_the_file_name_is_refused():
    result = count(*STEPS, tools="count,output=x%q")
    assert result.returncode == 2
    assert any("%r %p %t %h" in line for line in result.messages)


def test_the_table_goes_to_stderr_if_the_file_cannot_be_written():
    result = count(*STEPS, tools="count,output=/no/such/folder/x.json")
    assert result.returncode == 0
    assert any("cannot write /no/such/folder/x.json" in line for line in result.messages)
    assert counts(result)["MPI_Barrier"] == [4, 2, 2, 2]


@needs_sessions
def test_a_program_with_sessions_alone_gets_its_table():
    """Tests a single process; test_switched.py tests how the counts of several processes are combined."""
    result = count("session_init", "session_finalize", ranks=1)
    assert counts(result) == {"MPI_Session_init": [1, 1, 1, 1], "MPI_Session_finalize": [1, 1, 1, 1]}


def test_a_process_that_ends_without_finalize_reports_for_itself():
    result = count("get_version", "get_version")
    assert counts(result) == {"MPI_Get_version": [2, 2, 2, 2]}
    assert sum("ended without MPI_Finalize" in line for line in result.messages) == 2


def test_a_process_that_ends_without_finalize_writes_a_file_of_its_own(tmp_path):
    result = count("get_version", tools="count,output=x.json", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.0.json", "x.1.json"]
    saved = json.loads((tmp_path / "x.1.json").read_text())
    assert saved["rank"] == 1 and saved["ranks"] == 1
    assert saved["functions"]["MPI_Get_version"]["calls"] == 1
    assert any("x.1.json" in line for line in result.messages)


def test_a_process_that_calls_abort_reports_for_itself(tmp_path):
    """A launcher may kill it before it exits. It may also kill the other process before its file has content."""
    run_mpi(STEPS_PROGRAM, "init", "barrier", "abort=3", cwd=tmp_path, tools="count,output=x.json", ends=[0],
            env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    saved = [json.loads(text) for path in tmp_path.glob("*.json") if (text := path.read_text())]
    assert saved and all(it["functions"]["MPI_Barrier"]["calls"] == 1 for it in saved)
    assert any("MPI_Abort" in it["functions"] for it in saved)


def test_four_threads_are_counted_exactly():
    result = run_mpi("threads", "count", "2000", ranks=1, tools="count:empty:count",
                     env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert counts(result)["MPI_Comm_rank"][0] == 4 * 2000


def test_a_process_that_a_signal_ends_writes_the_same_file_as_at_exit(tmp_path):
    for name, end in (("exit", "exit=0"), ("signal", "raise=15")):
        result = run_mpi(STEPS_PROGRAM, "init", "barrier", "barrier", end, ranks=1, cwd=tmp_path,
                         tools=f"count,output={name}", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
        assert result.returncode == (0 if name == "exit" else -15)
        assert any("ended without MPI_Finalize" in line for line in result.messages)
    exited, killed = (json.loads((tmp_path / f"{name}.0").read_text()) for name in ("exit", "signal"))
    assert killed == exited and killed["functions"]["MPI_Barrier"]["calls"] == 2
    assert (tmp_path / "signal.0").read_text() == (tmp_path / "exit.0").read_text()


def test_a_process_that_a_signal_ends_prints_its_table(tmp_path):
    result = run_mpi(STEPS_PROGRAM, "init", "barrier", "raise=15", ranks=1, cwd=tmp_path,
                     tools="count:count,output=/no/such/folder/x", env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
    assert result.returncode == -15
    assert sum(line.split()[:2] == ["MPI_Barrier", "1"] for line in result.messages) == 2
    assert any("cannot write /no/such/folder/x.0" in line for line in result.messages)
    assert {len(line) for line in result.messages if line.startswith(("function ", "MPI_"))} == {92}  # aligned columns


def test_no_message_reports_signals_after_finalize_or_with_a_handler_of_the_program(tmp_path):
    for steps, status in ((["init", "finalize", "raise=15"], -15),
                          (["handler=15", "init", "raise=15", "finalize"], 0)):
        result = run_mpi(STEPS_PROGRAM, *steps, ranks=1, cwd=tmp_path, tools="count",
                         env={"QMPI_TOOL_PATH": BUNDLED_TOOLS})
        assert result.returncode == status
        assert not any("ended without" in line for line in result.messages)
