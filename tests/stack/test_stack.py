# SPDX-License-Identifier: MIT
"""The order and the independence of layers, how a layer calls the next function, and where tools
are found."""
import os
import shutil
import subprocess

import pytest

from support import LIBQMPI, MPI_LIBRARY, MPI_VERSION, TOOLS, launch, program, run_mpi, tool

RUN = ["init", "comm_rank", "finalize"]


def succeed(*args, **kwargs):
    kwargs.setdefault("ranks", 1)
    result = run_mpi(*args, **kwargs)
    assert result.returncode == 0
    return result


# ---- Order, numbers, storage ---------------------------------------------------------------------


def test_layers_run_in_the_order_of_the_list():
    result = succeed("calls", *RUN, tools="alpha:beta:alpha")
    expected = []
    for step, function in (("init", "MPI_Init"), ("comm_rank", "MPI_Comm_rank"),
                           ("finalize", "MPI_Finalize")):
        expected += [f"app {step}", f"alpha 1 {function}", f"beta 2 {function}",
                     f"alpha 3 {function}"]
    assert result.calls == expected


def test_order_holds_in_each_rank():
    result = succeed("calls", *RUN, tools="alpha:beta:alpha", ranks=2)
    for line in ("alpha 1 MPI_Comm_rank", "beta 2 MPI_Comm_rank", "alpha 3 MPI_Comm_rank"):
        assert result.calls.count(line) == 2
    assert sorted(line for line in result.stdout.splitlines() if line.startswith("comm_rank")) == [
        f"comm_rank: result 0, flag 0, numbers {rank} -1" for rank in (0, 1)]


def test_libqmpi_may_also_be_preloaded_into_the_launcher():
    """With `LD_PRELOAD=libqmpi.so mpiexec …`, the launcher loads libqmpi too, but makes no MPI call,
    so nothing happens in the launcher."""
    result = succeed("/usr/bin/env", "LD_PRELOAD=" + str(LIBQMPI), *launch(2),
                     program("calls"), *RUN, tools="alpha", preload=())
    assert result.calls.count("alpha 1 MPI_Comm_rank") == 2
    assert result.trace.count("load alpha") == 2


def test_layers_are_initialised_from_the_bottom_up():
    result = succeed("calls", *RUN, tools="alpha:beta:alpha")
    assert [line for line in result.trace if line.startswith(("load ", "init "))] == [
        "load alpha", "init alpha 3", "load beta", "init beta 2", "init alpha 1"]


def test_a_library_is_loaded_once_for_all_its_layers():
    result = succeed("calls", *RUN, tools="alpha:alpha:alpha:alpha")
    assert result.trace.count("load alpha") == 1
    assert [line for line in result.calls if line.endswith("MPI_Comm_rank")] == [
        f"alpha {tool_id} MPI_Comm_rank" for tool_id in (1, 2, 3, 4)]


def test_each_layer_has_its_own_storage():
    """The counts are in the storage, so layers of one tool that see different calls have different
    counts."""
    result = succeed("calls", "init", "comm_rank", "comm_rank", "barrier", "finalize",
                     tools="alpha:beta:alpha,functions=Comm_rank+Finalize")
    counts = [line for line in result.trace if "counted" in line]
    assert counts == ["exit alpha 1 counted 5", "exit beta 2 counted 5", "exit alpha 3 counted 3"]
    assert not [line for line in result.trace if "storage of" in line]


def test_calls_are_seen_only_by_layers_that_intercept_the_function():
    result = succeed("calls", "init", "comm_rank", "comm_size", "finalize",
                     tools="alpha,functions=Comm_rank:beta,functions=Comm_size")
    assert result.calls == ["app init", "app comm_rank", "alpha 1 MPI_Comm_rank", "app comm_size",
                            "beta 2 MPI_Comm_size", "app finalize"]


def test_255_layers_work_and_are_numbered():
    entries = ["alpha,functions=Comm_rank"] * 255
    result = succeed("calls", *RUN, tools=":".join(entries))
    assert [line for line in result.calls if line.startswith("alpha")] == [
        f"alpha {tool_id} MPI_Comm_rank" for tool_id in range(1, 256)]


def test_each_layer_has_its_own_options():
    result = succeed("calls", *RUN, tools=r"options,colour=red\,\:green\==\\:options,size=")
    assert [line for line in result.trace if line.startswith("options ")] == [
        "options 2 colour is blue",
        "options 2 size is ",
        "options 2 unknown has none: untouched",
        r"options 1 colour is red,:green==" "\\",
        "options 1 size has none: untouched",
        "options 1 unknown has none: untouched",
    ]


# ---- QMPI_Get_function ---------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["yes", "no"])
def test_get_function_leads_to_the_next_layer(cache):
    result = succeed("calls", *RUN, tools=f"alpha:lookup,cache={cache}:beta")
    at = result.calls.index("app comm_rank")
    assert result.calls[at + 1:at + 4] == ["alpha 1 MPI_Comm_rank", "lookup 2 MPI_Comm_rank",
                                           "beta 3 MPI_Comm_rank"]
    assert "comm_rank: result 0, flag 0, numbers 0 -1" in result.stdout


@pytest.mark.parametrize("cache", ["yes", "no"])
def test_get_function_skips_layers_that_do_not_intercept(cache):
    result = succeed("calls", *RUN, tools=f"lookup,cache={cache}:beta,functions=Barrier:alpha")
    at = result.calls.index("app comm_rank")
    assert result.calls[at + 1:at + 4] == ["lookup 1 MPI_Comm_rank", "alpha 3 MPI_Comm_rank",
                                           "app finalize"]


@pytest.mark.parametrize("cache", ["yes", "no"])
def test_get_function_answers_for_functions_that_the_layer_does_not_intercept(cache):
    result = succeed("calls", "init", "barrier", "finalize",
                     tools=f"alpha:lookup,cache={cache}:beta")
    at = result.calls.index("app barrier")
    assert result.calls[at + 1:at + 8] == [
        "alpha 1 MPI_Barrier", "lookup 2 MPI_Barrier", "beta 3 MPI_Comm_size", "lookup: size 1",
        "beta 3 MPI_Get_version", f"lookup: MPI version {MPI_VERSION}", "beta 3 MPI_Barrier"]


@pytest.mark.parametrize("cache", ["yes", "no"])
def test_get_function_of_the_lowest_layer_leads_to_the_base(cache):
    result = succeed("calls", "init", "comm_rank", "barrier", "finalize",
                     tools=f"lookup,cache={cache}")
    assert [line for line in result.calls if not line.startswith("app")] == [
        "lookup: initialized 0 in init", "lookup 1 MPI_Comm_rank", "lookup 1 MPI_Barrier",
        "lookup: size 1", f"lookup: MPI version {MPI_VERSION}"]


@pytest.mark.parametrize("lower, sees", [(1, ["alpha 2", "beta 4"]), (2, ["beta 4"]),
                                         (3, ["beta 4"]), (4, [])])
def test_get_function_may_be_called_for_any_layer(lower, sees):
    result = succeed("calls", "init", "barrier", "finalize",
                     tools=f"lookup:alpha:lookup,below={lower}:beta")
    calls = result.calls
    begin = calls.index("lookup 3 MPI_Barrier")
    assert calls[begin + 1:calls.index("lookup: size 1", begin)] == [
        f"{layer} MPI_Comm_size" for layer in sees]


def test_cached_functions_stay_callable_after_finalize():
    result = succeed("calls", "init", "finalize", "finalized", tools="lookup,cache=yes:beta")
    at = result.calls.index("app finalized")
    assert result.calls[at + 1:] == ["beta 2 MPI_Finalized", "beta 2 MPI_Get_version",
                                     f"lookup: MPI version {MPI_VERSION}"]


def test_get_function_answers_in_init_with_the_layers_below():
    result = succeed("calls", *RUN, tools="alpha:lookup:beta")
    trace = result.trace
    begin, end = trace.index("init beta 3"), trace.index("init alpha 1")
    assert trace[begin + 1:end] == ["beta 3 MPI_Initialized", "lookup: initialized 0 in init",
                                    "load alpha"]


# ---- MPI calls that a layer makes for itself -----------------------------------------------------


@pytest.mark.parametrize("where", ["constructor", "init"])
def test_mpi_calls_of_a_constructor_or_an_init_go_to_the_layers_below(where):
    result = succeed("calls", *RUN, tools="alpha:nested:beta")
    begin = result.trace.index(f"nested {where} begins")
    assert result.trace[begin + 1:begin + 3] == [
        "beta 3 MPI_Initialized", f"nested {where} ends: result 0, flag 0"]


@pytest.mark.parametrize("where", ["constructor", "init"])
def test_mpi_calls_of_the_lowest_layers_constructor_or_init_go_to_the_base(where):
    result = succeed("calls", *RUN, tools="alpha:nested")
    begin = result.trace.index(f"nested {where} begins")
    assert result.trace[begin + 1] == f"nested {where} ends: result 0, flag 0"


def test_mpi_calls_of_a_layer_enter_at_the_top_and_no_layer_sees_its_pmpi_calls():
    result = succeed("calls", "init", "barrier", "finalize", tools="alpha:nested:beta")
    at = result.calls.index("app barrier")
    calls = [line for line in result.calls[at + 1:] if " caller " not in line]
    assert calls[:6] == ["alpha 1 MPI_Barrier", "nested 2 MPI_Barrier", "alpha 1 MPI_Comm_size",
                         "beta 3 MPI_Comm_size", "nested: rank 0 size 1", "beta 3 MPI_Barrier"]
    assert not [line for line in result.calls if "MPI_Comm_rank" in line]


# ---- Sources of tools ----------------------------------------------------------------------------


def layer_names(result):
    return [line for line in result.trace if line.startswith("init ")]


def copy_tool(name, folder, file_name=None):
    folder.mkdir(exist_ok=True)
    return shutil.copy(tool(name), folder / (file_name or f"{name}.so"))


def test_a_tool_is_found_by_name_in_the_tool_path(tmp_path):
    copy_tool("alpha", tmp_path / "one")
    copy_tool("beta", tmp_path / "two")
    path = f":{tmp_path}/none::{tmp_path}/one:{tmp_path}/two:"
    result = succeed("calls", *RUN, tools="alpha:beta", env={"QMPI_TOOL_PATH": path})
    assert layer_names(result) == ["init beta 2", "init alpha 1"]


def test_a_file_without_the_prefix_lib_takes_precedence(tmp_path):
    """The name `some` means some.so or, if this file does not exist, libsome.so."""
    copy_tool("alpha", tmp_path, "libsome.so")
    env = {"QMPI_TOOL_PATH": tmp_path}
    assert layer_names(succeed("calls", *RUN, tools="some", env=env)) == ["init alpha 1"]
    copy_tool("beta", tmp_path, "some.so")
    assert layer_names(succeed("calls", *RUN, tools="some", env=env)) == ["init beta 1"]


def test_folders_of_the_tool_path_are_searched_in_order_and_before_the_installed_tools(tmp_path):
    copy_tool("alpha", tmp_path / "one", "empty.so")
    copy_tool("beta", tmp_path / "two", "empty.so")
    for first, second, name in (("one", "two", "alpha"), ("two", "one", "beta")):
        path = f"{tmp_path}/{first}:{tmp_path}/{second}"
        result = succeed("calls", *RUN, tools="empty", env={"QMPI_TOOL_PATH": path})
        assert layer_names(result) == [f"init {name} 1"]


def test_a_bundled_tool_is_found_without_a_tool_path():
    result = succeed("calls", *RUN, tools="empty:empty", env={"QMPI_TOOL_PATH": None})
    assert result.messages == []
    assert "comm_rank: result 0" in result.stdout


def test_a_tool_is_found_by_path_absolute_and_relative(tmp_path):
    copy_tool("alpha", tmp_path)
    tools = f"{tool('beta')}:./alpha.so"
    result = succeed("calls", *RUN, tools=tools, env={"QMPI_TOOL_PATH": None}, cwd=tmp_path)
    assert layer_names(result) == ["init alpha 2", "init beta 1"]


def test_one_library_by_name_and_by_path_is_one_tool():
    result = succeed("calls", *RUN, tools=f"alpha:{tool('alpha')}:alpha.so")
    assert result.trace.count("load alpha") == 1
    assert layer_names(result) == ["init alpha 3", "init alpha 2", "init alpha 1"]


def test_colons_and_commas_in_a_path_are_escaped(tmp_path):
    folder = tmp_path / "a:b,c=d\\e"
    copy_tool("alpha", folder)
    escaped = str(folder)
    for character in "\\:,=":
        escaped = escaped.replace(character, "\\" + character)
    result = succeed("calls", *RUN, tools=f"{escaped}/alpha.so")
    assert layer_names(result) == ["init alpha 1"]


def test_a_file_name_is_sought_unchanged_in_the_tool_path(tmp_path):
    copy_tool("alpha", tmp_path, "strange.so.7.2")
    result = succeed("calls", *RUN, tools="strange.so.7.2", env={"QMPI_TOOL_PATH": tmp_path})
    assert layer_names(result) == ["init alpha 1"]


def test_a_file_name_is_sought_where_the_dynamic_loader_looks(tmp_path):
    copy_tool("alpha", tmp_path, "strange.so.7.2")
    env = {"QMPI_TOOL_PATH": None, "LD_LIBRARY_PATH": tmp_path}
    result = succeed("calls", *RUN, tools="strange.so.7.2", env=env)
    assert layer_names(result) == ["init alpha 1"]


def test_a_tools_name_is_the_one_that_it_registers(tmp_path):
    copy_tool("alpha", tmp_path, "renamed.so")
    result = succeed("calls", *RUN, tools="renamed", env={"QMPI_TOOL_PATH": tmp_path})
    assert layer_names(result) == ["init alpha 1"]


def test_a_preloaded_tool_is_found_by_its_name():
    result = succeed("calls", *RUN, tools="alpha:beta:alpha", preload=[LIBQMPI, tool("alpha")],
                     env={"QMPI_TOOL_PATH": TOOLS})
    assert result.trace[0] == "load alpha"
    assert result.trace.count("load alpha") == 1
    assert layer_names(result) == ["init alpha 3", "init beta 2", "init alpha 1"]


def test_a_preloaded_tool_needs_no_file_of_its_name():
    result = succeed("calls", *RUN, tools="alpha", preload=[LIBQMPI, tool("alpha")],
                     env={"QMPI_TOOL_PATH": None})
    assert layer_names(result) == ["init alpha 1"]


def test_a_preloaded_tool_that_is_not_listed_is_no_layer():
    result = succeed("calls", *RUN, tools="beta", preload=[LIBQMPI, tool("alpha")])
    assert layer_names(result) == ["init beta 1"]
    assert not [line for line in result.calls if line.startswith("alpha")]


def test_a_registered_tool_comes_before_a_file_of_its_name(tmp_path):
    copy_tool("beta", tmp_path, "alpha.so")
    result = succeed("calls", *RUN, tools="alpha", preload=[LIBQMPI, tool("alpha")],
                     env={"QMPI_TOOL_PATH": tmp_path})
    assert layer_names(result) == ["init alpha 1"]


def test_a_tool_linked_into_the_program_is_found_by_its_name():
    result = succeed("linked", *RUN, tools="inside:beta:inside", preload=())
    assert layer_names(result) == ["init inside 3", "init beta 2", "init inside 1"]
    at = result.calls.index("app comm_rank")
    assert result.calls[at + 1:at + 4] == [
        "inside 1 MPI_Comm_rank", "beta 2 MPI_Comm_rank", "inside 3 MPI_Comm_rank"]


def test_libqmpi_may_also_be_preloaded_into_a_program_linked_with_libqmpi():
    result = succeed("linked", *RUN, tools="inside:beta")
    assert layer_names(result) == ["init beta 2", "init inside 1"]


def test_a_test_program_is_not_linked_with_libqmpi():
    """The test programs must not load libqmpi themselves."""
    text = subprocess.run(["readelf", "-d", program("calls")], check=True, capture_output=True,
                          text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    assert MPI_LIBRARY in text and "libqmpi" not in text
