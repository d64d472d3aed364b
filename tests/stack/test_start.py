# SPDX-License-Identifier: MIT
"""The first MPI call builds the stack. MPI calls before MPI_Init and after MPI_Finalize also pass through the stack."""
import shutil
import subprocess

import pytest

from support import (ABI, ASAN, LIBQMPI, MPI_NAME, MPI_SONAME, MPICC, OPEN_MPI, QMPI, TOOLS, clean_environment, needs_sessions,
                     run_command, run_mpi, tool)

FIRST_CALLS = {
    "init": "MPI_Init",
    "init_thread": "MPI_Init_thread",
    "initialized": "MPI_Initialized",
    "finalized": "MPI_Finalized",
    "get_version": "MPI_Get_version",
    "session_init": "MPI_Session_init",
    "t_init_thread": "MPI_T_init_thread",
    "wtime": "MPI_Wtime",
}


def steps_after(first):
    """Returns the steps that complete a correct program that begins with `first`."""
    return {
        "init": ["finalize"],
        "init_thread": ["finalize"],
        "session_init": ["session_finalize"],
        "t_init_thread": ["t_finalize"],
    }.get(first, ["init", "finalize"])


@pytest.mark.parametrize("first", [
    pytest.param(first, marks=needs_sessions if first == "session_init" else ())
    for first in FIRST_CALLS])
def test_the_first_call_goes_through_the_stack(first):
    steps = [first, *steps_after(first)]
    result = run_mpi("calls", *steps, ranks=1, tools="alpha:beta")
    assert result.trace[:7] == [f"app {first}", "load beta", "init beta 2", "load alpha",
                                "init alpha 1", f"alpha 1 {FIRST_CALLS[first]}",
                                f"beta 2 {FIRST_CALLS[first]}"]
    raw = run_mpi("calls", *steps, ranks=1, preload=())  # MPICH refuses MPI_Wtime before MPI_Init
    assert (result.returncode, result.stdout) == (raw.returncode, raw.stdout)
    assert first == "wtime" or result.returncode == 0


def test_calls_after_finalize_go_through_the_stack():
    after = {"finalized": "MPI_Finalized", "get_version": "MPI_Get_version",
             "initialized": "MPI_Initialized", "wtime": "MPI_Wtime"}
    steps = ["init", "finalize", *after]
    result = run_mpi("calls", *steps, ranks=1, tools="alpha:beta")
    raw = run_mpi("calls", *steps, ranks=1, preload=())  # MPICH refuses MPI_Wtime after MPI_Finalize
    assert (result.returncode, result.stdout) == (raw.returncode, raw.stdout)
    expected = []
    for step, function in after.items():
        expected += [f"app {step}", f"alpha 1 {function}", f"beta 2 {function}"]
    assert result.calls[result.calls.index("app finalized"):] == expected
    assert "finalized: result 0, flag 1" in result.stdout


@needs_sessions
def test_a_program_of_sessions_alone_goes_through_the_stack():
    steps = ["session_init", "get_version", "session_finalize"]
    result = run_mpi("calls", *steps, ranks=1, tools="alpha")
    assert result.returncode == 0
    assert [line for line in result.calls if line.startswith("alpha")] == [
        "alpha 1 MPI_Session_init", "alpha 1 MPI_Get_version", "alpha 1 MPI_Session_finalize"]


@pytest.mark.parametrize("tools", [None, "", ":", ":::"])
def test_without_tools_the_program_runs_as_without_libqmpi(tools):
    steps = ["init", "comm_size", "barrier", "finalize"]
    result = run_mpi("calls", *steps, tools=tools)
    raw = run_mpi("calls", *steps, preload=())
    assert (result.returncode, sorted(result.stdout.splitlines())) == (
        0, sorted(raw.stdout.splitlines()))
    assert result.messages == []


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's library would have to come first")
@pytest.mark.parametrize("program", [("calls", "init", "comm_size", "finalize"), ("/bin/echo", "hello")],
                         ids=["MPI", "no MPI"])
def test_a_tool_that_is_preloaded_without_libqmpi_does_no_harm(program):
    """The tool loads libqmpi, which then comes after the C library in the loader's order, so the loader
    finds the functions of the C library before those of libqmpi."""
    raw = run_mpi(*program, ranks=1, preload=())
    result = run_mpi(*program, ranks=1, preload=[TOOLS / "counter.so"])
    assert (result.returncode, result.stdout) == (0, raw.stdout)
    assert result.messages == []


def test_empty_entries_are_skipped():
    result = run_mpi("calls", "init", "comm_rank", "finalize", ranks=1, tools="::alpha::beta:")
    assert result.returncode == 0
    assert [line for line in result.calls if "rank" in line] == [
        "app comm_rank", "alpha 1 MPI_Comm_rank", "beta 2 MPI_Comm_rank"]


@pytest.mark.parametrize("tools", ["alpha", "no_such_tool"])
def test_a_process_that_never_calls_mpi_does_not_even_load_the_tools(tools):
    result = run_mpi("no_mpi", ranks=1, tools=tools, env={"QMPI_DEBUG": "all,nonsense"})
    assert (result.returncode, result.stdout, result.stderr) == (0, "done without MPI\n", "")


def test_a_program_that_has_nothing_to_do_with_mpi_is_left_alone():
    result = run_mpi("/bin/echo", "hello", ranks=1, tools="no_such_tool", preload=[LIBQMPI])
    assert (result.returncode, result.stdout, result.stderr) == (0, "hello\n", "")


# ---- Errors and aborts pass through --------------------------------------------------------------


def test_error_codes_and_error_handlers_pass_through():
    raw = run_mpi("errors", ranks=1, preload=())
    assert "handler: class" in raw.stdout and raw.returncode == 3
    for tools in (None, "empty", "alpha:empty:alpha"):
        result = run_mpi("errors", ranks=1, tools=tools)
        assert (result.returncode, result.stdout) == (raw.returncode, raw.stdout)


def test_a_fatal_error_ends_the_job_as_without_tools():
    raw = run_mpi("errors", "fatal", ranks=1, preload=())
    assert raw.returncode != 0
    result = run_mpi("errors", "fatal", ranks=1, tools="alpha:empty")
    assert result.returncode == raw.returncode
    assert ("MPI_ERR_RANK" if OPEN_MPI else "Invalid rank has value 99") in result.stderr
    assert result.stdout == raw.stdout


@pytest.mark.parametrize("code", [1, 7, 77])
@pytest.mark.parametrize("ranks", [1, 2])
def test_abort_codes_pass_through(code, ranks):
    steps = ["init", f"abort={code}", "comm_rank"]
    raw = run_mpi("calls", *steps, ranks=ranks, preload=())
    assert raw.returncode == code
    result = run_mpi("calls", *steps, ranks=ranks, tools="empty:alpha")
    assert result.returncode == code
    # MPI_Abort of MPICH 5 returns, and the program continues until the launcher has killed the
    # ranks. So at least one of five runs without libqmpi must continue as well.
    if "comm_rank" in result.stdout:
        assert any("comm_rank" in run_mpi("calls", *steps, ranks=ranks, preload=()).stdout for _ in range(5))
    assert "alpha 2 MPI_Abort" in result.calls


# ---- QMPI_DEBUG, QMPI_ON_ERROR -------------------------------------------------------------------


def test_an_unknown_debug_topic_is_reported_once_and_the_run_goes_on():
    result = run_mpi("calls", "init", "finalize", tools="empty",
                     env={"QMPI_DEBUG": "nonsense,,parse"})
    assert result.returncode == 0
    reports = [line for line in result.messages if "unknown topic" in line]
    assert len(reports) == 1 and "'nonsense'" in reports[0]
    assert "  hint: use parse, find, load, base, chain or all" in result.messages


def test_debug_topics_are_traced_with_the_rank_and_never_on_stdout():
    result = run_mpi("calls", "init", "comm_rank", "finalize", tools="empty:alpha",
                     env={"QMPI_DEBUG": "all"})
    raw = run_mpi("calls", "init", "comm_rank", "finalize", preload=())
    assert sorted(result.stdout.splitlines()) == sorted(raw.stdout.splitlines())
    for rank in (0, 1):
        for topic in ("parse", "find", "load", "base", "chain"):
            assert [line for line in result.messages if line.startswith(f"rank {rank}: {topic}: ")]


def test_only_the_topics_that_are_asked_for_are_traced():
    result = run_mpi("calls", "init", "finalize", ranks=1, tools="empty:alpha",
                     env={"QMPI_DEBUG": "load"})
    assert result.messages and all(line.startswith("load: ") for line in result.messages)


def test_an_unknown_value_of_on_error_is_reported_and_the_run_stops_as_usual():
    result = run_mpi("calls", "init", "finalize", tools="no_such_tool",
                     env={"QMPI_ON_ERROR": "perhaps"})
    assert result.returncode == 2
    reports = [line for line in result.messages if "QMPI_ON_ERROR" in line]
    assert len(reports) == 1 and "'perhaps'" in reports[0]
    assert result.stdout == ""


# ---- MPI libraries that are not as expected ------------------------------------------------------

MARK = "PMPI_Abi_get_version" if ABI else "ompi_mpi_comm_world" if OPEN_MPI else "MPIR_Dup_fn"
STUB = f"int {MARK};" """
int PMPI_Init(int *a, char ***b); int PMPI_Init(int *a, char ***b) { return a || b; }
int MPI_Init(int *a, char ***b); int MPI_Init(int *a, char ***b) { return PMPI_Init(a, b); }
int PMPI_Comm_rank(long comm, int *a); int PMPI_Comm_rank(long comm, int *a) { return comm || a; }
int PMPI_Get_library_version(char *a, int *b); int PMPI_Get_library_version(char *a, int *b) { return !a || !b; }
#ifdef WHOLE
int MPI_Barrier(long comm); int MPI_Barrier(long comm) { return comm != 0; }
#endif
"""
CALLER = """
int MPI_Init(void *a, void *b), MPI_Barrier(long comm), puts(const char *text);
int main(void)
{
    const int started = MPI_Init(0, 0) == 0, first = MPI_Barrier(0), second = MPI_Barrier(0);
    return puts(started && first && second ? "errors" : "none") < 0;
}
"""


def compile_c(folder, name, source, *arguments):
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["cc", "-o", folder / name, folder / f"{name}.c", *arguments], check=True)
    return folder / name


outside_asan = pytest.mark.skipif(bool(ASAN), reason="the program is not sanitized")


@outside_asan
@pytest.mark.parametrize("tools", [None, "empty"])
def test_a_function_that_an_older_mpi_library_lacks_ends_the_program_with_one_message(tools, tmp_path):
    shared = ("-shared", "-fPIC", f"-Wl,-soname,{MPI_SONAME}")
    library = compile_c(tmp_path, MPI_SONAME, STUB, *shared, "-DWHOLE")
    caller = compile_c(tmp_path, "caller", CALLER, library, f"-Wl,-rpath,{tmp_path}")
    compile_c(tmp_path, MPI_SONAME, STUB, *shared)
    result = run_mpi(caller, ranks=1, tools=tools, env={"LD_LIBRARY_PATH": tmp_path})
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.messages) == 2 and result.messages[1].startswith("hint: ")
    assert result.messages[0] == f"MPI_Barrier was called, but {library} does not provide it"


@outside_asan
def test_a_program_linked_only_with_libqmpi_needs_an_mpi_library_that_can_be_loaded(tmp_path):
    caller = compile_c(tmp_path, "caller", CALLER, LIBQMPI, "-Wl,--allow-shlib-undefined",
                       f"-Wl,-rpath,{LIBQMPI.parent}")
    (tmp_path / MPI_SONAME).write_text("no library\n")
    result = run_mpi(caller, ranks=1, preload=(), env={"LD_LIBRARY_PATH": tmp_path})
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.messages) == 2 and result.messages[1].startswith("hint: ")
    assert f"no MPI library is loaded, and {MPI_SONAME} cannot be" in result.messages[0]


# ---- Changes by the program before its first MPI call --------------------------------------------

LEAVES = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (chdir(argv[1]) != 0)
        return 3;
    for (int i = 2; i < argc; i++)
        unsetenv(argv[i]);
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
"""


@pytest.fixture(scope="module")
def leaves(tmp_path_factory):
    """Compiles a program that changes to the directory given as its first argument and unsets the
    variables named by its other arguments before it initializes MPI."""
    folder = tmp_path_factory.mktemp("leaves")
    (folder / "leaves.c").write_text(LEAVES)
    subprocess.run([MPICC, "-o", folder / "leaves", folder / "leaves.c"], check=True)
    return folder / "leaves"


@pytest.fixture
def relative(tmp_path):
    """Creates a directory with a tool, a directory of tools, and a configuration file that lists the
    tool."""
    folder = tmp_path / "here, a:b"
    (folder / "tools").mkdir(parents=True)
    for place in (folder, folder / "tools"):
        shutil.copy(tool("alpha"), place)
    (folder / "my.conf").write_text("alpha\n")
    return folder


RELATIVE = [{"QMPI_TOOLS": "./alpha.so"}, {"QMPI_TOOLS": "tools/../alpha.so,functions=Init"},
            {"QMPI_TOOLS": "alpha", "QMPI_TOOL_PATH": "none:tools"},
            {"QMPI_TOOLS": "alpha.so", "QMPI_TOOL_PATH": "."}]


@pytest.mark.parametrize("variables", [*RELATIVE, {"QMPI_CONFIG": "my.conf", "QMPI_TOOL_PATH": str(TOOLS)}])
def test_relative_paths_begin_in_the_directory_in_which_the_program_was_started(leaves, relative, variables):
    for folder in (".", "/"):
        result = run_mpi(leaves, folder, ranks=1, cwd=relative, env={"QMPI_TOOL_PATH": None, **variables})
        assert result.returncode == 0 and "alpha 1 MPI_Init" in result.trace


@pytest.mark.skipif(bool(ASAN), reason="qmpi run would preload the sanitizer's library for the shell, too")
@pytest.mark.parametrize("variables", RELATIVE)
def test_relative_paths_begin_in_the_directory_of_qmpi_run(leaves, relative, variables):
    options = ["-t", variables["QMPI_TOOLS"]]
    if "QMPI_TOOL_PATH" in variables:
        options += [f"--tool-path={folder}" for folder in variables["QMPI_TOOL_PATH"].split(":")]
    if "," in str(relative) and "QMPI_TOOL_PATH" in variables:  # lists of directories have no escapes
        relative = relative.rename(relative.parent / "plain")
    for command in ([leaves, "/"], ["sh", "-c", f"cd / && exec {leaves} /"]):
        result = run_command([QMPI, "run", *options, "--", *command], clean_environment(), cwd=relative)
        assert result.returncode == 0 and "alpha 1 MPI_Init" in result.trace


@pytest.mark.parametrize("name", ["QMPI_TOOLS", "MPICH_QMPI_TOOL_LIST"])
def test_variables_that_the_program_removes_are_mentioned_once_in_a_job(leaves, name):
    removed = (name, "PMI_RANK", "PMI_SIZE", "PMI_FD", "PMI_PORT", "PMI_ID") if MPI_NAME == "mpich" else (name,)
    result = run_mpi(leaves, "/", *removed, ranks=2, env={name: "alpha"})
    assert result.returncode == 0 and result.trace == []
    assert result.messages == [
        f"{name} was set when this process was started, but the program has removed it from its environment: it has "
        "no effect", "  hint: keep the variables of qmpi in the environment until the first MPI call"]


def test_removing_a_variable_that_selects_no_tools_is_not_mentioned(leaves):
    for arguments, env in ((["QMPI_TOOLS"], {}), (["QMPI_TOOL_PATH"], {"QMPI_TOOLS": "empty"})):
        assert run_mpi(leaves, "/", *arguments, ranks=1, env=env).messages == []
