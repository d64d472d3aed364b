# SPDX-License-Identifier: MIT
"""What PMPI layers change in the process, and what they leave alone: the environment, dlsym, functions outside MPI that
a tool replaces, temporary files and child processes. Also tests the output of `qmpi check`."""
import shutil
import subprocess
import time

import pytest

from mpi_in_use import EMULATED, PROCESSOR
from pmpi_support import (PMPI_TOOLS, RUN, STEPS, entries, one_message, pmpi_program, pmpi_tool, qmpi,
                          run_pmpi, succeed)
from support import ASAN, LIBQMPI, MPI_SONAME, clean_environment, needs_helper

SURROUNDINGS = pmpi_program("surroundings")


def notes_of(result, name):
    return [line for line in result.trace if line.startswith(f"{name} ")]


# ---- The environment of one layer ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["variables", "variables_noplt"])
def test_a_layers_variables_are_its_own(name):
    tools = (f"{name},env.TEST_SET=upper,env.TEST_UNSET=there:native_variables:{name}:"
             rf"{name},env.TEST_SET=a\:b\,c\=d,env.TEST_UNSET=")
    steps = ["getenv=TEST_SET", "getenv=TEST_UNSET"]
    result = succeed(SURROUNDINGS, *steps, "init", *steps, "finalize", *steps, tools=tools,
                     env={"TEST_SET": "outer", "TEST_UNSET": None})
    lowest, middle, upper = "a:b,c=d , secure a:b,c=d", "outer (none), secure outer", \
        "upper there, secure upper"
    assert notes_of(result, name) == [
        *[f"{name} constructor: {values}" for values in (lowest, middle, upper)],
        *[f"{name} MPI_Init: {values}" for values in (upper, middle, lowest)],
        *[f"{name} MPI_Finalize: {values}" for values in (upper, middle, lowest)]]
    assert notes_of(result, "native_variables") == [
        f"native_variables {when}: outer (none)"
        for when in ("constructor", "beginning", "MPI_Init")]
    printed = [line for line in result.stdout.splitlines() if line.startswith("TEST_")]
    assert printed == ["TEST_SET: outer", "TEST_UNSET: (none)"] * 3


def test_a_preloaded_tool_gets_the_variables_of_its_layers():
    """The constructor of the tool has run before the layer exists. Later queries get the values of the layer."""
    result = succeed(SURROUNDINGS, "init", "finalize", "getenv=TEST_SET",
                     tools="variables,env.TEST_SET=mine:variables,env.TEST_SET=below",
                     preload=[LIBQMPI, pmpi_tool("variables")], env={"TEST_SET": "outer"})
    notes = [line.partition(", secure")[0] for line in notes_of(result, "variables")]
    assert [note for note in notes if "constructor" not in note] == [
        f"variables {function}: {value} (none)" for function in ("MPI_Init", "MPI_Finalize")
        for value in ("mine", "below")]
    assert "TEST_SET: outer" in result.stdout


def test_a_layer_gets_its_variables_on_each_of_two_ranks():
    result = succeed(SURROUNDINGS, "init", "finalize", "getenv=TEST_SET", ranks=2,
                     tools="variables,env.TEST_SET=mine:variables", env={"TEST_SET": "outer"})
    for value in ("mine", "outer"):
        assert result.trace.count(
            f"variables MPI_Init: {value} (none), secure {value}") == 2
    assert result.stdout.count("TEST_SET: outer") == 2


@pytest.mark.parametrize("option", ["colour=red", "env.=x", "env=x", "ENV.A=x"])
def test_an_unknown_option_of_a_pmpi_tool_is_refused(option):
    result = run_pmpi("calls", *RUN, tools=f"alpha:now,{option}")
    assert (result.returncode, result.stdout) == (2, "")
    key = option.partition("=")[0]
    one_message(result, f"a PMPI tool has no option '{key}'")
    assert "env.NAME=value" in "\n".join(result.messages)
    assert result.messages[0].startswith(f"QMPI_TOOLS, entry 2 'now,{option}'")


# ---- dlsym keeps its meaning ---------------------------------------------------------------------

without_sanitizer = pytest.mark.skipif(bool(ASAN), reason="the sanitizer replaces functions of the C library")


@without_sanitizer
def test_the_programs_dlsym_keeps_its_meaning():
    plain = run_pmpi(SURROUNDINGS, "init", "names", "finalize", preload=())
    assert f"next malloc in libc.so.6, next MPI_Init in {MPI_SONAME}" in plain.stdout
    for tools in (None, "lazy:alpha"):
        result = succeed(SURROUNDINGS, "names", "init", "names", "finalize", tools=tools)
        names = [line for line in result.stdout.splitlines() if line.startswith("names:")]
        ours = LIBQMPI.name
        assert names == [f"names: next malloc in libc.so.6, next MPI_Init in {ours}, next "
                         f"PMPI_Init in {ours}, any MPI_Init in {ours}, MPI_None in "
                         "nowhere"] * 2


NAMES = ["next getppid in libc.so.6, next malloc in libc.so.6, next MPI_None in nowhere",
         "next PMPI_None in nowhere, libc's malloc in libc.so.6, its MPI_Init in nowhere"]


@without_sanitizer
@pytest.mark.parametrize("tools", [None, "lazy:alpha"])
def test_a_preloaded_librarys_dlsym_keeps_its_meaning(tools):
    """The library is not a tool. Its constructor, which calls dlsym, runs before those of libqmpi."""
    result = succeed(SURROUNDINGS, "getppid", "init", "getppid", "finalize", tools=tools,
                     preload=[LIBQMPI, pmpi_tool("names")])
    assert notes_of(result, "names") == [*[f"names constructor: {text}" for text in NAMES],
                                         "names getppid", "names getppid"]
    assert result.stdout.count("getppid: a process") == 2


@without_sanitizer
def test_dlsym_of_a_library_in_front_of_libqmpi_keeps_its_meaning():
    result = succeed(SURROUNDINGS, "getppid", "init", "finalize", tools="lazy",
                     preload=[pmpi_tool("names"), LIBQMPI])
    assert notes_of(result, "names") == [*[f"names constructor: {text}" for text in NAMES],
                                         "names getppid"]


@without_sanitizer
@pytest.mark.parametrize("preload", ["no", "yes"])
def test_a_tools_dlsym_of_other_names_keeps_its_meaning(preload):
    libraries = [LIBQMPI, pmpi_tool("names_tool")] if preload == "yes" else [LIBQMPI]
    result = succeed(SURROUNDINGS, "init", "comm_rank", "finalize", tools="alpha:names_tool",
                     preload=libraries)
    assert notes_of(result, "names_tool") == [
        f"names_tool {when}: {text}" for when in ("constructor", "MPI_Comm_rank")
        for text in NAMES]


def test_a_process_that_never_calls_mpi_loads_no_tools(tmp_path):
    result = succeed(SURROUNDINGS, "getenv=TEST_SET", "names", "wait", tools="lazy:lazy:nonsense",
                     env={"TMPDIR": tmp_path})
    assert result.stderr.count("trace: ") == 3
    assert result.messages == []
    assert entries(tmp_path) == []


# ---- Functions that a tool replaces outside MPI --------------------------------------------------


def used_files(tmp_path):
    return [f"open={tmp_path}/test-data-1", f"fopen={tmp_path}/test-data-2"]


@pytest.mark.parametrize("tools", ["files", "alpha:files", "files:alpha:files", "lazy:files:now"])
def test_under_qmpi_run_a_tool_sees_the_programs_calls_outside_mpi(tools, tmp_path):
    result = qmpi("run", "-t", tools, SURROUNDINGS, *used_files(tmp_path), "init", "comm_rank",
                  *used_files(tmp_path), "finalize")
    assert result.returncode == 0
    seen = [line for line in result.trace if line.startswith("files ")]
    assert [line for line in seen if "open" in line] == [
        "files open test-data-1", "files fopen test-data-2"] * 2
    assert seen.count("files MPI_Comm_rank") == tools.count("files")
    if "alpha" in tools:
        assert sum(line.startswith("alpha") and line.endswith("MPI_Comm_rank")
                   for line in result.calls) == 1


def missed(result):
    """Returns the messages about functions that a layer does not see. Asserts that there are no other messages."""
    assert not [line for line in result.messages if not line.startswith(("layer ", "  hint: "))]
    return [line for line in result.messages if line.startswith("layer ")]


def test_under_qmpi_run_only_further_copies_miss_calls_outside_mpi_and_a_message_says_so():
    result = qmpi("run", "-t", "files:files", SURROUNDINGS, "init", "finalize")
    lines = missed(result)
    assert len(lines) == 1
    assert lines[0].startswith("layer 2 (files) also replaces ")
    assert "fopen" in lines[0]
    assert missed(qmpi("run", "-t", "files", SURROUNDINGS, "init", "finalize")) == []


@pytest.mark.parametrize("on_error, status", [("stop", 2), ("skip", 0)])
def test_a_tool_that_must_be_preloaded_but_cannot_be_is_refused_or_loaded_later(on_error, status, tmp_path):
    """The loader cannot preload a path with a space. If the user skips errors, the tool is loaded later and sees only
    MPI calls."""
    folder = tmp_path / "a b"
    folder.mkdir()
    path = shutil.copy(pmpi_tool("files"), folder)
    result = qmpi("run", "--on-error", on_error, "-t", path, SURROUNDINGS, "init", "comm_rank",
                  "finalize")
    assert result.returncode == status
    assert result.messages[:2] == [
        f"{path} cannot be preloaded: the dynamic loader does not accept a path with a space or colon",
        "  hint: move it to another path, or give it the option @preload=no"]
    assert ("files MPI_Comm_rank" in result.trace) == (on_error == "skip")


@without_sanitizer
def test_a_message_names_some_of_the_functions_that_a_tool_replaces(tmp_path):
    source = tmp_path / "many.c"
    source.write_text("int MPI_Barrier(long comm) { return comm != 0; }\n" + "".join(
        f"int {name}(void) {{ return 0; }}\n"
        for name in ("lockf", "mkfifo", "nice", "read", "sethostid", "vhangup", "write")))
    path = tmp_path / "libmany.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-o", path, source], check=True)
    lines = missed(succeed("calls", "init", "finalize", tools=str(path), ranks=1))
    assert len(lines) == 1 and " and 2 more)" in lines[0]
    assert "read" in lines[0] and "write" in lines[0]


def test_without_qmpi_run_a_message_names_the_functions_that_a_tool_misses(tmp_path):
    result = succeed(SURROUNDINGS, *used_files(tmp_path), "init", "comm_rank",
                     *used_files(tmp_path), "finalize", tools="alpha:files", ranks=1)
    lines = missed(result)
    assert len(lines) == 1
    assert lines[0].startswith("layer 2 (files) also replaces ")
    assert "fopen" in lines[0] and ("open," in lines[0] or "open64," in lines[0])
    assert "qmpi run" in "\n".join(result.messages)
    assert "files MPI_Comm_rank" in result.trace
    assert not [line for line in result.trace if line.startswith("files") and "open" in line]


def test_only_one_rank_says_that_a_tool_misses_functions():
    result = succeed(SURROUNDINGS, "init", "finalize", tools="files", ranks=2)
    assert len(missed(result)) == 1


# ---- Temporary copies ----------------------------------------------------------------------------


def is_emptied(folder, seconds=60):
    """Waits until the directory is empty, but not longer than `seconds`, and returns whether it is empty. After a
    process was killed, its clean-up process removes the copies some time later. Skips the test under an emulator, where
    this process cannot start."""
    if EMULATED:
        pytest.skip(needs_helper.kwargs["reason"])
    end = time.monotonic() + seconds
    while entries(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return entries(folder) == []


COPIES = ["now:alpha:now", "helped:helped:now:now"]


@pytest.mark.parametrize("tools", COPIES)
def test_copies_exist_only_while_the_program_runs(tools, tmp_path):
    result = succeed(SURROUNDINGS, f"list={tmp_path}", "init", f"list={tmp_path}", "finalize",
                     f"list={tmp_path}", tools=tools, env={"TMPDIR": tmp_path})
    assert entries(tmp_path) == []
    lists = [line for line in result.stdout.splitlines() if line.startswith("list:")]
    assert lists == ["list: 0", "list: 1", "list: 1"]


@pytest.mark.parametrize("tools, copies", [
    ("now:lazy:needs_counter:alpha:needs_counter_too", 0), ("now:helped", 1)])
def test_only_libraries_that_call_mpi_are_copied_for_a_single_layer_of_a_tool(tools, copies, tmp_path):
    result = succeed(SURROUNDINGS, "init", f"list={tmp_path}", "finalize", tools=tools,
                     env={"TMPDIR": tmp_path})
    assert f"list: {copies}\n" in result.stdout


@pytest.mark.parametrize("tools", COPIES)
@pytest.mark.parametrize("end", ["leave", "kill"])
def test_copies_are_gone_after_an_exit_without_handlers_or_a_kill(tools, end, tmp_path):
    result = run_pmpi(SURROUNDINGS, "init", f"list={tmp_path}", end, tools=tools,
                        env={"TMPDIR": tmp_path})
    assert result.returncode == {"leave": 0, "kill": -9}[end]
    assert "list: 1" in result.stdout
    assert is_emptied(tmp_path)


@pytest.mark.parametrize("tools", COPIES)
def test_copies_are_gone_after_mpi_abort_on_one_of_two_ranks(tools, tmp_path):
    result = run_pmpi(SURROUNDINGS, "init", f"list={tmp_path}", "abort_one", tools=tools, ranks=2,
                        env={"TMPDIR": tmp_path})
    assert result.returncode == 3
    assert is_emptied(tmp_path)


@pytest.mark.parametrize("tools", [
    "crash_constructor:now:now", "crash_init:now:now", "now:crash_init:crash_init"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_copies_are_gone_after_a_tool_crashed(tools, ranks, tmp_path):
    options = "handle_segv=0:" + clean_environment()["ASAN_OPTIONS"]
    result = run_pmpi(SURROUNDINGS, "init", "finalize", tools=tools, ranks=ranks,
                        env={"TMPDIR": tmp_path, "ASAN_OPTIONS": options})
    assert result.returncode != 0
    if ranks > 1 and not is_emptied(tmp_path, seconds=5):
        # The launcher may kill the process group of a rank before the clean-up process has left it. In that case, the
        # next run removes the copies.
        succeed(SURROUNDINGS, "init", "finalize", tools="now:now", env={"TMPDIR": tmp_path})
    assert is_emptied(tmp_path)


def test_copies_are_gone_after_a_refusal(tmp_path):
    """Copies have already been made when libqmpi finds that another layer cannot be loaded."""
    result = run_pmpi(SURROUNDINGS, "init", "finalize", tools="undefined:now:now",
                        env={"TMPDIR": tmp_path})
    assert result.returncode == 2
    assert is_emptied(tmp_path)


def test_the_program_has_no_child_that_it_did_not_create(tmp_path):
    result = succeed(SURROUNDINGS, "wait", "init", "wait", "fork", "wait", "finalize", "wait",
                     tools="now:now", env={"TMPDIR": tmp_path})
    assert [line for line in result.stdout.splitlines() if line[:4] in ("wait", "fork")] == [
        "wait: no child", "wait: no child", "fork: its own child, status 7", "wait: no child",
        "wait: no child"]


def test_a_child_that_ends_does_not_take_the_copies_away(tmp_path):
    result = succeed(SURROUNDINGS, "init", "fork", f"list={tmp_path}", "finalize", tools="now:now",
                     env={"TMPDIR": tmp_path})
    assert "list: 1" in result.stdout
    assert entries(tmp_path) == []


def test_no_process_keeps_the_launchers_pipes_open(tmp_path):
    """run_pmpi reads the output until all processes have closed it, so it would wait for such a process."""
    succeed(SURROUNDINGS, "init", "leave", tools="now:now", env={"TMPDIR": tmp_path})
    assert is_emptied(tmp_path)


# ---- qmpi check ----------------------------------------------------------------------------------


def layers_of(text):
    layers, current = [], None
    for line in text.splitlines():
        if line.startswith("layer "):
            current = {"head": line, "functions": []}
            layers.append(current)
        elif line.startswith("     "):
            current["functions"] += line.split()
        else:
            key, _, value = line.strip().partition(" ")
            current[key] = value.strip()
    return layers


def test_check_shows_how_pmpi_layers_are_bound():
    result = qmpi("check", "-t", "alpha:lazy:noplt:table:next_pmpi")
    assert result.returncode == 0
    layers = layers_of(result.stdout)
    assert [layer["head"] for layer in layers] == [
        "layer 1: alpha", "layer 2: lazy", "layer 3: noplt", "layer 4: table", "layer 5: next_pmpi"]
    assert layers[0]["binding"] == "QMPI tool"
    # For an address in data, the linker for aarch64 creates two references.
    twice = 6 if PROCESSOR == "aarch64" else 0
    for layer, calls, table, data in ((1, 6, 0, 0), (2, 0, 6, 0), (3, twice, 0, 6), (4, 0, 0, 0)):
        assert layers[layer]["binding"].startswith(
            f"PMPI tool; reaches PMPI through {calls} call, {table} table and {data} data references")
        assert sorted(layers[layer]["functions"]) == sorted(STEPS.values())
    assert layers[4]["binding"].endswith("through dlsym")
    assert layers[1]["library"] == str(pmpi_tool("lazy"))


def test_check_shows_the_libraries_that_belong_to_a_layer():
    result = qmpi("check", "-t", "helped:ends:now")
    layers = layers_of(result.stdout)
    assert layers[0]["binding"].endswith(f"private dependencies: {PMPI_TOOLS}/libpmpihelper.so")
    assert layers[1]["binding"].endswith(f"private dependencies: {PMPI_TOOLS}/libpmpimiddle.so")
    assert sorted(layers[1]["functions"]) == sorted(STEPS.values())
    assert "private" not in layers[2]["binding"]


def test_check_of_two_layers_of_a_tool_leaves_no_copy(tmp_path):
    assert qmpi("check", "-t", "now:now", env={"TMPDIR": tmp_path}).returncode == 0
    assert is_emptied(tmp_path)
