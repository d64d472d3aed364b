# SPDX-License-Identifier: MIT
"""Conditions of layers: on which ranks and nodes and in which programs a layer is on, and which
functions it intercepts."""
import json
import re
import socket

import pytest

from support import BUNDLED_TOOLS, HAS_SESSIONS, LIBQMPI, TOOLS, program, run_mpi, tool

RUN = ["init", "comm_rank", "barrier", "finalize"]
CALLS = ["MPI_Init", "MPI_Comm_rank", "MPI_Barrier", "MPI_Finalize"]
ENDS = ["MPI_Init", "MPI_Finalize"]
PATH = {"QMPI_TOOL_PATH": f"{TOOLS}:{BUNDLED_TOOLS}"}
NODE = socket.gethostname()

# A wrapper: even ranks run the first of the two programs that follow; odd ranks run the second one,
# with the variable ODD.
DIFFER = ["sh", "-c", 'odd=$1; shift; rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; '
          'if [ $((rank % 2)) = 1 ]; then ODD=1; export ODD; exec "$odd" "$@"; else exec "$0" "$@"; fi']

# Name -> (the options of a layer, the ranks of four on which the layer is on).
CONDITIONS = {
    "ranks": ("@ranks=1-2", {1, 2}),
    "both": ("@ranks=1-,@ranks=every 2", {2}),
    "nodes": (f"@nodes=none*;{NODE.upper()},@ranks=0", {0}),
    "elsewhere": ("@nodes=none*;another", set()),
    "program": ("@program=odd*;none", {1, 3}),
    "if-env": ("@if-env=ODD", {1, 3}),
    "enabled": ("@enabled=no", set()),
}


def run(*steps, tools, ranks=1, **more):
    env = {**PATH, **more.pop("env", {})}
    return run_mpi("calls", *(steps or RUN), tools=tools, ranks=ranks, env=env, **more)


def notes(text, who):
    """Returns the functions that a layer printed. `who` is the name of its tool, followed by the
    number of the layer if the tool prints it."""
    return re.findall(rf"(?m)^trace: {who} (MPI_\w+)", text)


def run_on_odd_programs(folder, tools, *steps, ranks=4):
    """Runs `calls`. Odd ranks have the variable ODD, and run it under the name odd-calls."""
    odd = folder / "odd-calls"
    odd.symlink_to(program("calls"))
    return run_mpi(odd, *steps, tools=tools, ranks=ranks, env=PATH, cwd=folder, timeout=60,
                   wrapper=[*DIFFER, program("calls")])


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Runs a job of four ranks whose stack has layers of alpha, log, count and profile for each
    condition, and a layer of a PMPI tool for some conditions. Returns the directory of the job, a
    dictionary of the layers, and the ranks. The dictionary is {(condition, tool): (number of the layer,
    name of the tool)}; in its keys, each PMPI tool is called "pmpi"."""
    folder = tmp_path_factory.mktemp("job")
    stack, where = [], {}
    pmpi = iter(["pmpi_call", "pmpi_table", "pmpi_constant", "pmpi_asks"])
    for name, (options, _) in CONDITIONS.items():
        kinds = ["alpha", f"log,output=log.{name}.%r", f"count,output=count.{name}.json",
                 f"profile,format=json,output=profile.{name}.json"]
        if name in ("both", "program", "if-env", "enabled"):
            kinds.append(next(pmpi))
        for kind in kinds:
            stack.append(f"{kind},{options}")
            where[name, kind.split(",")[0].split("_")[0]] = len(stack), kind.split(",")[0]
    result = run_on_odd_programs(folder, ":".join(stack), *RUN)
    assert result.returncode == 0 and result.messages == []
    return folder, where, result.ranks


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_qmpi_tool_sees_all_calls_on_its_ranks_and_none_on_others(job, name):
    _, where, ranks = job
    tool_id, _ = where[name, "alpha"]
    for rank in ranks:
        assert notes(rank.stderr, f"alpha {tool_id}") == (CALLS if rank.number in CONDITIONS[name][1] else [])


@pytest.mark.parametrize("name", ["both", "program", "if-env", "enabled"])
def test_a_pmpi_tool_sees_all_calls_on_its_ranks_and_mpi_init_and_mpi_finalize_on_others(job, name):
    _, where, ranks = job
    _, who = where[name, "pmpi"]
    for rank in ranks:
        assert notes(rank.stderr, who) == (CALLS if rank.number in CONDITIONS[name][1] else ENDS)


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_observer_sees_all_calls_on_its_ranks_and_none_on_others(job, name):
    folder, _, _ = job
    for rank in range(4):
        path = folder / f"log.{name}.{rank}"
        text = path.read_text() if path.exists() else ""
        assert re.findall(r"(?m)^\[\S+ \S+ (MPI_\w+)\(", text) == (CALLS if rank in CONDITIONS[name][1] else [])


@pytest.mark.parametrize("name", CONDITIONS)
def test_tools_that_merge_ranks_report_the_calls_of_ranks_on_which_they_are_on(job, name):
    """This holds even if the layer is off on rank 0, which writes the file. If the layer is off on
    all ranks, nothing is written."""
    folder, _, _ = job
    ranks = CONDITIONS[name][1]
    paths = [folder / f"{tool}.{name}.json" for tool in ("count", "profile")]
    assert [path.exists() for path in paths] == [bool(ranks)] * 2
    if not ranks:
        return
    counted, profiled = (json.loads(path.read_text()) for path in paths)
    assert (counted["ranks"], profiled["ranks"]) == (4, 4)
    assert {key: value["calls"] for key, value in counted["functions"].items()} == dict.fromkeys(CALLS, len(ranks))
    assert {row["name"]: row["calls"] for row in profiled["functions"]} == dict.fromkeys(CALLS, len(ranks))


# ---- @functions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("functions, seen", [
    ("MPI_Barrier", ["MPI_Barrier"]), ("mpi_comm_r*;io", ["MPI_Comm_rank"]),
    ("collective;environment;!MPI_Finalize", ["MPI_Init", "MPI_Barrier"]), ("!collective", [*CALLS[:2], CALLS[3]])])
def test_only_functions_in_the_list_are_intercepted(tmp_path, functions, seen):
    """PMPI tools always see the functions that initialize and finalize MPI."""
    option = f"@functions={functions}"
    result = run(tools=f"alpha,{option}:pmpi_call,{option}:log,output=log,{option}:count,output=json,{option}:"
                       f"profile,format=json,output=profile,{option}", cwd=tmp_path)
    assert (result.returncode, result.messages) == (0, [])
    assert notes(result.stderr, "alpha 1") == seen
    assert notes(result.stderr, "pmpi_call") == [call for call in CALLS if call in [*seen, *ENDS]]
    assert re.findall(r"(?m) (MPI_\w+)\(", (tmp_path / "log").read_text()) == seen
    assert set(json.loads((tmp_path / "json").read_text())["functions"]) == set(seen)
    assert {row["name"] for row in json.loads((tmp_path / "profile").read_text())["functions"]} == set(seen)


def test_several_lists_select_the_functions_that_are_in_each_list():
    result = run(tools="alpha,@functions=MPI_Barrier;MPI_Comm_rank,@functions=collective")
    assert notes(result.stderr, "alpha 1") == ["MPI_Barrier"]


# ---- The rank ------------------------------------------------------------------------------------


def test_a_layer_sees_all_calls_until_the_rank_is_known():
    """Without a launcher, the rank is known only after MPI_Init."""
    result = run("get_version", *RUN, tools="alpha,@ranks=1:alpha,@ranks=0:pmpi_call,@ranks=1")
    assert notes(result.stderr, "alpha 1") == ["MPI_Get_version", "MPI_Init"]
    assert notes(result.stderr, "alpha 2") == ["MPI_Get_version", *CALLS]
    assert notes(result.stderr, "pmpi_call") == ENDS  # pmpi_call has no wrapper of MPI_Get_version
    assert [line for line in result.messages if line[0] != " "] == [
        f"QMPI_TOOLS, entry {entry} '{tool},@ranks=1': no process of this job has a rank in '@ranks'"
        for entry, tool in ((1, "alpha"), (3, "pmpi_call"))]


def test_the_rank_in_mpi_takes_precedence_over_a_variable():
    """A program that a process of a job starts inherits the job's variables, which may contain
    another rank than MPI reports."""
    result = run(tools="alpha,@ranks=3:alpha,@ranks=0", env={"SLURM_PROCID": 3})
    assert notes(result.stderr, "alpha 1") == CALLS[:1]
    assert notes(result.stderr, "alpha 2") == CALLS[1:]


@pytest.mark.skipif(not HAS_SESSIONS, reason="this MPI library has no sessions")
def test_the_rank_is_also_known_after_a_session_is_opened():
    result = run("session_init", "get_version", "session_finalize", tools="alpha,@ranks=1:alpha,@ranks=0")
    assert notes(result.stderr, "alpha 1") == ["MPI_Session_init"]
    assert notes(result.stderr, "alpha 2") == ["MPI_Session_init", "MPI_Get_version", "MPI_Session_finalize"]


def test_a_configuration_file_may_name_ranks_that_the_job_does_not_have(tmp_path):
    (tmp_path / "conf").write_text("[above]\nalpha\n  @ranks = 17\n")
    result = run(tools=None, env={"QMPI_CONFIG": tmp_path / "conf"})
    assert (notes(result.stderr, "alpha 1"), result.messages) == (CALLS[:1], [])


# ---- Switching -----------------------------------------------------------------------------------


def test_a_layer_that_is_off_at_the_start_can_be_switched_on():
    """A switch takes precedence over the conditions, but @functions still limits the layer."""
    tools = "alpha,@enabled=no:alpha,@if-env=NONE,@functions=MPI_Barrier:pmpi_call,@program=none:" \
            "pmpi_tally,@ranks=1"
    result = run_mpi("switch", "init", "rank", "on=1", "on=2", "on=3", "on=4", "rank", "barrier", "off=1",
                     "off=3", "off=4", "rank", "finalize", ranks=1, tools=tools, preload=())
    assert result.returncode == 0
    assert notes(result.stderr, "alpha 1") == ["MPI_Comm_rank", "MPI_Barrier"]
    assert notes(result.stderr, "alpha 2") == ["MPI_Barrier"]
    assert notes(result.stderr, "pmpi_call") == ["MPI_Comm_rank", "MPI_Barrier", "MPI_Finalize"]
    assert notes(result.stderr, "pmpi_tally") == [] and "trace: pmpi_tally counted 1 1 0" in result.stderr


def test_a_layer_that_a_condition_leaves_off_is_called_for_functions_that_it_keeps():
    """This also applies to a function that @functions excludes."""
    for condition in ("@enabled=no", "@functions=MPI_Barrier"):
        result = run(tools=f"keeper,keeps=yes,{condition}:alpha")
        assert notes(result.stderr, "keeper 1") == ["MPI_Comm_rank"]
        assert ("while it is off" in result.stderr) == (condition == "@enabled=no")
        assert notes(result.stderr, "alpha 2") == CALLS


def test_pcontrol_switches_on_layers_that_only_the_option_enabled_left_off():
    """MPI_Pcontrol(1) switches on the layers, of any tool, that only @enabled=no has left off. A layer
    that was switched in another way stays as it is."""
    tools = "alpha,@enabled=no:alpha,@enabled=no,@ranks=1:pmpi_call,@enabled=no:pmpi_tally,@enabled=no:" \
            "alpha,@enabled=no,@functions=MPI_Barrier"
    result = run_mpi("switch", "init", "rank", "level=0", "level=2", "rank", "on=4", "off=4", "level=1", "rank",
                     "barrier", "off=1", "level=1", "rank", "finalize", ranks=1, tools=tools, preload=())
    assert result.returncode == 0
    assert notes(result.stderr, "alpha 1") == ["MPI_Comm_rank", "MPI_Barrier"]
    assert notes(result.stderr, "alpha 2") == []
    assert notes(result.stderr, "pmpi_call") == ["MPI_Comm_rank", "MPI_Barrier", "MPI_Comm_rank", "MPI_Finalize"]
    assert "trace: pmpi_tally counted 1 0 0" in result.stderr
    assert notes(result.stderr, "alpha 5") == ["MPI_Barrier"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_preloaded_pmpi_tool_can_be_off_at_the_start(order):
    """The tool may be before or after libqmpi in LD_PRELOAD."""
    result = run(tools="pmpi_call,@enabled=no:alpha", preload=[LIBQMPI, tool("pmpi_call")][::order])
    assert (notes(result.stderr, "pmpi_call"), notes(result.stderr, "alpha 2")) == (ENDS, CALLS)


@pytest.mark.skipif(not program("switch_fortran").exists(), reason="no Fortran compiler")
def test_a_fortran_wrapper_is_not_called_for_calls_that_its_layer_does_not_see():
    """The program calls the Fortran wrappers of pmpi_fortran while pmpi_fortran is the topmost layer
    that is on."""
    stacks = {"pmpi_fortran": 2, "pmpi_fortran,@enabled=no": 1, "pmpi_fortran,@functions=MPI_Comm_size": 0}
    for tools, calls in stacks.items():
        result = run_mpi("switch_fortran", ranks=1, tools=f"{tools}:alpha", preload=())
        assert (result.returncode, result.stdout) == (0, "ranks 0 0 0 0\n")
        lines = [line.lower() for line in result.calls if line.startswith("pmpi_fortran")]
        assert sum("comm_rank" in line for line in lines) == calls


# ---- Errors --------------------------------------------------------------------------------------


WRONG = {
    "@ranks=-3": "'-3'", "@ranks=": "''", "@ranks=3-1": "'3-1'", "@ranks=every 0": "'every 0'", "@nodes=;": "';'",
    "@program=": "''", "@if-env=A=B": "'A=B'", "@if-env=": "''", "@enabled=maybe": "'maybe'", "@functions= ": "' '",
    "@optional=2": "'2'",
}


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_value_ends_in_one_message(option):
    result = run(tools=f"alpha,{option}")
    assert result.returncode == 2
    key = option.partition("=")[0]
    assert f"invalid value for option '{key}': {WRONG[option]}" in result.messages[0]
    assert result.stderr.count("hint: ") == 1


def test_an_unknown_function_is_reported_once_for_each_entry():
    result = run(tools="alpha,@functions=MPI_Barrier;MPI_Sned:alpha,@functions=nothing", ranks=2)
    assert result.returncode == 2
    assert [line for line in result.messages if line[0] != " "] == [
        f"QMPI_TOOLS, entry {entry} 'alpha,@functions={value}': @functions: '{item}' matches no function of this MPI"
        for entry, value, item in ((1, "MPI_Barrier;MPI_Sned", "MPI_Sned"), (2, "nothing", "nothing"))]
    skipped = run(tools="alpha,@functions=MPI_Sned:alpha", env={"QMPI_ON_ERROR": "skip"})
    assert notes(skipped.stderr, "alpha 1") == CALLS


@pytest.mark.parametrize("functions", ["!*", "!MPI_*;!MPIX_*", "MPI_Send;!MPI_Send", "collective;!*"])
def test_a_list_that_selects_no_function_is_refused(functions):
    result = run(tools=f"alpha,@functions={functions}")
    assert result.returncode == 2 and result.stderr.count("hint: ") == 1
    assert "@functions: the list selects no function of this MPI" in result.messages[0]


def test_a_tool_that_the_program_contains_cannot_have_conditions():
    result = run_mpi("switch_own", "init", "finalize", ranks=1, tools="switch_own,@ranks=0", preload=())
    assert result.returncode == 2
    assert "the program itself contains this tool" in result.messages[0] and result.stderr.count("hint: ") == 1


# ---- @optional -----------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ["nonesuch", "/none/such.so", "fails", "alpha,@functions=MPI_Sned"])
def test_a_layer_that_cannot_be_used_may_be_optional(entry):
    result = run(tools=f"{entry},@optional=yes:beta", ranks=2)
    assert (result.returncode, result.messages) == (0, [])
    assert sum("beta" in line and "Barrier" in line for line in result.trace) == 2
    traced = run(tools=f"{entry},@optional=yes:beta", env={"QMPI_DEBUG": "load"}).messages
    assert sum("the layer is left out (@optional=yes)" in line for line in traced) == 1
    assert run(tools=f"{entry},@optional=no:beta").returncode == 2


def test_a_misspelt_option_is_an_error_even_if_the_layer_is_optional():
    assert run(tools="alpha,@optional=yes,@rank=3").returncode == 2


# ---- Named stacks --------------------------------------------------------------------------------


def test_the_conditions_of_a_stack_hold_in_addition_to_those_of_its_layers(tmp_path):
    """The first layer is on only on rank 2, which is in both sets. The second layer has only the
    condition of its stack. The missing tool is skipped, because its stack is optional."""
    (tmp_path / "conf").write_text("[stack inner]\nalpha\n  @ranks = 1-2\nalpha\n[stack outer]\ninner\n  @ranks = every 2\n"
                                   "nonesuch\n")
    result = run(tools="outer,@optional=yes,@functions=MPI_Barrier:alpha,@enabled=yes", ranks=4,
                 env={"QMPI_CONFIG": tmp_path / "conf"})
    assert (result.returncode, result.messages) == (0, [])
    for rank in result.ranks:
        assert notes(rank.stderr, "alpha 1") == (["MPI_Barrier"] if rank.number == 2 else [])
        assert notes(rank.stderr, "alpha 2") == (["MPI_Barrier"] if rank.number in (0, 2) else [])
        assert notes(rank.stderr, "alpha 3") == CALLS
