# SPDX-License-Identifier: MIT
"""Which libraries belong to a PMPI tool: those that it needs or opens, but not those of the program. In the
tool's libraries, a call of MPI_X leads to the tool's own wrapper, if there is one. Other MPI calls lead to the layers
below the tool."""
import shutil

import pytest

from pmpi_support import PMPI_TOOLS, RUN, compile_library, pmpi_program, pmpi_tool, qmpi, readelf, run_pmpi, succeed
from support import ASAN, LIBQMPI

PLUGINS, CONCURRENT = pmpi_program("plugins"), pmpi_program("concurrent")
CALLS = 100


def library(name):
    return PMPI_TOOLS / f"lib{name}.so"


def count(result, note):
    return sum(line.startswith(note) for line in result.trace)


def ranks_seen(result, *tool_ids):
    """Returns how many calls of MPI_Comm_rank each of these native layers saw."""
    return [count(result, f"alpha {tool_id} MPI_Comm_rank") for tool_id in tool_ids]


# ---- Libraries that the program opens ------------------------------------------------------------


@pytest.mark.parametrize("plugin", ["plugin_pmpicaller", "pmpicaller"])
@pytest.mark.parametrize("when", ["early", "starting", "turn", "late"])
def test_calls_of_a_plugin_of_the_program_reach_all_layers(when, plugin):
    tools = "alpha:opens,env.TEST_TURN=1:alpha:opens"
    result = succeed(PLUGINS, when, library(plugin), CALLS, tools=tools)
    assert ranks_seen(result, 1, 3) == [CALLS + 1, CALLS + 1]
    assert count(result, "opens MPI_Comm_rank") == 2 * (CALLS + 1)
    assert result.stdout == "rank 0\n"


@pytest.mark.parametrize("when", ["early", "starting", "late"])
@pytest.mark.parametrize("private", ["pmpicaller", "plugin_pmpicaller"])
def test_a_tool_and_the_program_have_separate_copies_of_a_library_that_both_use(when, private):
    """The tool and the program each have a copy of the library. MPI calls of the tool's copy reach the tool and the
    layers below, and those of the program's copy reach all layers."""
    result = succeed(PLUGINS, when, library(private), CALLS,
                     tools="alpha:needs_pmpicaller,env.TEST_TURN=1:alpha")
    assert ranks_seen(result, 1, 3) == [CALLS + 1, CALLS + 3]
    assert count(result, "needs_pmpicaller MPI_Comm_rank") == CALLS + 3


@pytest.mark.parametrize("stack", ["alpha:opens:alpha", "alpha:opens:alpha:needs_pmpicaller"])
def test_a_library_that_is_opened_while_a_tool_is_loaded_does_not_belong_to_the_tool(stack):
    """While libqmpi searches for the owner of the calling code, tools become layers. Nevertheless, libqmpi must find
    that the code belongs to the program."""
    result = succeed(CONCURRENT, "open", library("plugin_pmpicaller"), tools=stack, timeout=30)
    assert result.stdout == "crossed\n"
    assert ranks_seen(result, 1, 3) == [5, 5]


def test_a_first_call_that_is_made_while_a_tool_is_loaded_goes_through_all_layers():
    result = succeed(CONCURRENT, "call", tools="alpha:opens:alpha", timeout=30)
    assert result.stdout == "crossed\n"
    assert [count(result, f"alpha {layer} MPI_Initialized") for layer in (1, 3)] == [1, 1]


def test_a_constructor_that_calls_mpi_while_another_thread_loads_a_tool_does_not_wait():
    """The loader is locked while the constructor runs, and the thread that loads the tools needs the loader. Therefore,
    the call of the constructor does not wait for this thread. It bypasses the tools, and a message says so."""
    result = succeed(CONCURRENT, "construct", library("constructs"), timeout=30,
                     tools="alpha:needs_pmpicaller,env.TEST_TURN=1:alpha")
    assert result.stdout == "crossed\n"
    assert [count(result, f"alpha {layer} MPI_Initialized") for layer in (1, 3)] == [0, 0]
    assert ranks_seen(result, 1, 3) == [5, 5]
    assert [line for line in result.messages if "constructor" in line] == [
        "a library's constructor calls MPI while another thread is loading the tools: "
        "its calls bypass them"]


# ---- Libraries that the tool opens ---------------------------------------------------------------


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's dlopen replaces that of libqmpi")
@pytest.mark.parametrize("opens", [None, "later"])
@pytest.mark.parametrize("private, seen_by_itself", [("pmpicaller", 2), ("pmpicaller_pmpi", 0)])
def test_a_library_that_a_tool_opens_leads_to_the_layer_below(opens, private, seen_by_itself):
    result = succeed(PLUGINS, "late", library("plugin_pmpicaller"), CALLS, tools="alpha:opens:alpha",
                     env={"TEST_OWN": library(private), "TEST_OPENS": opens})
    assert ranks_seen(result, 1, 3) == [CALLS + 1, CALLS + 3]
    assert count(result, "opens MPI_Comm_rank") == CALLS + 1 + seen_by_itself
    assert count(result, "opens a library") == 1


@pytest.mark.parametrize("opens", [None, "later"])
@pytest.mark.parametrize("private", ["pmpicounter", "pmpicaller"])
def test_a_library_that_a_tool_closes_stays_loaded(opens, private):
    """If the library were really closed, the next library that the program opens could be at the same address. The exit
    handlers of the closed library run only at exit."""
    result = succeed(PLUGINS, "late", library("plugin_pmpicaller"), CALLS, tools="alpha:opens:alpha",
                     env={"TEST_OWN": library(private), "TEST_OPENS": opens, "TEST_CLOSES": 1})
    assert ranks_seen(result, 1, 3) == [CALLS + 1, CALLS + 1]
    assert count(result, "opens MPI_Comm_rank") == CALLS + 1
    assert [line for line in result.trace if "counter" in line] == (
        ["counter at exit 1"] if private == "pmpicounter" else [])
    assert result.stdout == "rank 0\n"


def test_dlopen_of_a_tool_searches_its_own_run_path(tmp_path):
    private = compile_library(tmp_path / "own", "libfound.so", "int next_number(void) { return 7; }")
    tool = compile_library(
        tmp_path, "libfinds.so",
        '#include <dlfcn.h>\n#include <stdio.h>\n'
        'int MPI_Barrier(long c);\nint PMPI_Barrier(long c);\n'
        'int MPI_Barrier(long c) { void *own = dlopen("libfound.so", RTLD_LAZY);\n'
        'fprintf(stderr, "trace: found %d\\n", own ? ((int (*)(void))dlsym(own, "next_number"))()'
        ' : 0);\nreturn PMPI_Barrier(c); }', "-Wl,-rpath,$ORIGIN/own")
    assert private.exists()
    result = succeed("calls", *RUN, tools=f"{tool}:alpha:{tool}")
    assert result.trace.count("found 7") == 2


# ---- The same tool twice -------------------------------------------------------------------------


def numbers(result, name):
    start = f"{name} MPI_Comm_rank "
    return [line[len(start):] for line in result.trace if line.startswith(start)]


@pytest.mark.parametrize("stack", [
    ("needs_counter", "needs_counter"), ("needs_counter", "alpha", "needs_counter"),
    ("needs_counter", "needs_counter", "alpha", "needs_counter")])
@pytest.mark.parametrize("preloaded", [False, True])
def test_each_layer_of_a_tool_has_its_own_copy_of_the_state_in_needed_libraries(stack, preloaded):
    preload = [LIBQMPI, pmpi_tool("needs_counter")] if preloaded else [LIBQMPI]
    result = succeed("calls", "init", "comm_rank", "comm_rank", "finalize", tools=":".join(stack),
                     preload=preload)
    layers = stack.count("needs_counter")
    assert numbers(result, "needs_counter") == [*["1"] * layers, *["2"] * layers]
    assert result.trace.count("counter at exit 2") == layers


@pytest.mark.skipif(bool(ASAN), reason="the sanitizer's dlopen replaces that of libqmpi")
@pytest.mark.parametrize("opens", [None, "later"])
def test_each_layer_of_a_tool_has_its_own_copy_of_the_state_in_opened_libraries(opens):
    result = succeed("calls", "init", "comm_rank", "finalize", tools="opens:alpha:opens:opens",
                     env={"TEST_OWN": library("pmpicounter"), "TEST_OPENS": opens})
    assert numbers(result, "opens") == ["2"] * 3
    assert result.trace.count("counter at exit 2") == 3


COUNTER = "int next_number(void);\nint next_number(void) { static int n; return ++n; }\n"
COUNTS = ("#include <stdio.h>\nint next_number(void);\n"
          "int MPI_Barrier(long c);\nint PMPI_Barrier(long c);\n"
          "int MPI_Barrier(long c) { fprintf(stderr, \"trace: own %d\\n\", next_number());\n"
          "return PMPI_Barrier(c); }\n")
VERSIONS = "COUNTER_1 { global: next_number; local: *; };\n"
SUFFIX = "-Wl,--defsym=so.1=0"  # defines a symbol `so.1`, whose name shares its text with the end of libpart.so.1


@pytest.mark.parametrize("name, arguments, tools_arguments", [
    ("libpart.so", (), ()),
    ("a.so", ("-Wl,-soname,a.so",), ()),
    ("libpart.so.1", ("-Wl,-soname,libpart.so.1", SUFFIX), (SUFFIX,)),
    ("libpart.so.1", ("-Wl,-soname,libpart.so.1", "-Wl,--version-script=versions"), ()),
    pytest.param("libpart.so.1", ("-Wl,-soname,libpart.so.1", "-fuse-ld=gold"), ("-fuse-ld=gold",),
                 marks=pytest.mark.skipif(not shutil.which("ld.gold"), reason="the linker gold is not installed")),
], ids=["no soname", "short", "shared text", "versions", "gold"])
def test_libraries_with_unusual_names_versions_or_linkers_can_be_copied(name, arguments, tools_arguments, tmp_path):
    (tmp_path / "versions").write_text(VERSIONS)
    arguments = [each.replace("=versions", f"={tmp_path}/versions") for each in arguments]
    compile_library(tmp_path, name, COUNTER, *arguments)
    tool = compile_library(tmp_path, "libown.so", COUNTS, f"-l:{name}", "-Wl,-rpath,$ORIGIN",
                           *tools_arguments)
    result = succeed("calls", "init", "barrier", "finalize", tools=f"{tool}:alpha:{tool}")
    assert [line for line in result.trace if line.startswith("own")] == ["own 1", "own 1"]
    assert result.messages == []


def test_libraries_that_need_each_other_can_be_copied(tmp_path):
    left = "int right(void);\nint left(void);\nint left(void) { return right(); }\n"
    compile_library(tmp_path, "libleft.so", left)
    compile_library(tmp_path, "libright.so", COUNTER + "int left(void);\nint right(void);\n"
                    "int right(void) { return left != 0 ? next_number() : 0; }\n", "-l:libleft.so",
                    "-Wl,-rpath,$ORIGIN")
    compile_library(tmp_path, "libleft.so", left, "-l:libright.so", "-Wl,-rpath,$ORIGIN")
    tool = compile_library(tmp_path, "libown.so", COUNTS.replace("next_number", "left"),
                           "-l:libleft.so", "-Wl,-rpath,$ORIGIN")
    result = succeed("calls", "init", "barrier", "barrier", "finalize", tools=f"{tool}:{tool}")
    assert [line for line in result.trace if line.startswith("own")] == ["own 1"] * 2 + ["own 2"] * 2


@pytest.mark.skipif(not pmpi_tool("cpp").exists(), reason="no C++ compiler")
def test_run_time_libraries_of_languages_are_not_copied(tmp_path):
    result = succeed(pmpi_program("surroundings"), "init", "maps", "finalize", tools="cpp:alpha:cpp",
                     env={"TMPDIR": tmp_path})
    names = {line.split()[-1] for line in result.stdout.splitlines() if line.startswith("map: ")}
    assert sum("libstdc++" in name for name in names) == 1
    assert sum("libcpp.so" in name for name in names) == 2


# ---- Data of which the loader uses only one definition -------------------------------------------

has_unique = pytest.mark.skipif(
    not pmpi_tool("unique").exists() or "UNIQUE" not in readelf("--dyn-syms", pmpi_tool("unique")),
    reason="no C++ compiler that creates unique symbols")


def unique_counts(result):
    return [line.split("counted ")[1] for line in result.trace if line.startswith("unique counted")]


@has_unique
@pytest.mark.parametrize("name", ["unique", "unique_sysv"])
def test_each_layer_of_a_tool_has_its_own_unique_data_which_all_its_libraries_share(name):
    """The constructors of the tool and of two libraries count once, and the tool and one library in each MPI_Barrier.
    With the sanitizer, the tool opens no library, because the sanitizer's dlopen replaces that of libqmpi."""
    opened = None if ASAN else library(f"pmpi{name}_opened")
    result = succeed("calls", "init", "barrier", "barrier", "finalize", tools=f"{name}:alpha:{name}:{name}",
                     env={"TEST_OWN": opened})
    calls = 2 + 2 * 2 + bool(opened)
    assert unique_counts(result) == [f"{calls} {calls} {calls}"] * 3
    assert result.messages == []


@has_unique
def test_unique_data_of_a_library_that_the_program_uses_too_are_shared():
    """The library is not copied, so it has one state, and the layers of the tool use this state as well."""
    result = succeed("calls", "init", "barrier", "finalize", tools="unique:alpha:unique",
                     preload=[LIBQMPI, library("pmpiunique")])
    calls = 1 + 2 + 2 * 2
    assert unique_counts(result) == [f"{calls} {calls} {calls}"] * 2


# ---- Wrappers in a library that the tool needs, as in Score-P ------------------------------------

WRAPS = ("#include <stdio.h>\nint (*also)(long c, int *r);\nint inner(void);\n"
         "int PMPI_Comm_rank(long c, int *r);\nint MPI_Comm_rank(long c, int *r);\n"
         "int inner(void) { return also != 0; }\n"
         "int MPI_Comm_rank(long c, int *r) { fprintf(stderr, \"trace: inner MPI_Comm_rank\\n\");\n"
         "if (also) also(c, r);\nreturn PMPI_Comm_rank(c, r); }\n")
OUTER = "int inner(void);\nint outer(void);\nint outer(void) { return inner(); }\n"
# A library of the tool that calls PMPI and does not contain the wrappers.
PART = ("int PMPI_Comm_rank(long c, int *r);\nextern int (*also)(long c, int *r);\n"
        "static int call(long c, int *r) { return PMPI_Comm_rank(c, r); }\n"
        "__attribute__((constructor)) static void begin(void) { also = call; }\n")


def parts(folder, *needed):
    """Builds a tool, and a library that the tool needs and that contains the tool's wrappers. Returns both."""
    inner = compile_library(folder, "libinner.so", WRAPS)
    outer = compile_library(folder, "libouter.so", OUTER, "-l:libinner.so", *needed, "-Wl,-rpath,$ORIGIN")
    return outer, inner


@pytest.mark.parametrize("preloaded", [False, True])
@pytest.mark.parametrize("stack, seen", [("OUTER:alpha", [2]), ("alpha:OUTER:alpha", [1, 3]),
                                         ("alpha:OUTER:OUTER:alpha", [1, 4])])
def test_wrappers_in_a_library_that_a_tool_needs_belong_to_the_tool(stack, seen, preloaded, tmp_path):
    outer, _ = parts(tmp_path)
    result = succeed("calls", *RUN, preload=[LIBQMPI, *([outer] if preloaded else [])],
                     tools=stack.replace("OUTER", str(outer)))
    assert count(result, "inner MPI_Comm_rank") == stack.count("OUTER")
    assert ranks_seen(result, *seen) == [1] * len(seen)
    assert result.messages == []


def test_a_preloaded_tool_that_is_not_listed_has_the_wrappers_of_a_library_that_it_needs(tmp_path):
    outer, inner = parts(tmp_path)
    for library, name in ((outer, "outer"), (inner, "inner")):
        result = succeed("calls", *RUN, preload=[LIBQMPI, library], tools="alpha", env={"QMPI_DEBUG": "load"})
        assert count(result, "inner MPI_Comm_rank") == 1 and ranks_seen(result, 1) == [1]
        assert f"layer 2: tool {name} from" in result.stderr


def test_a_preloaded_tool_may_be_listed_by_the_library_with_its_wrappers(tmp_path):
    outer, inner = parts(tmp_path)
    result = succeed("calls", *RUN, preload=[LIBQMPI, outer], tools=f"alpha:{inner}:alpha")
    assert count(result, "inner MPI_Comm_rank") == 1 and ranks_seen(result, 1, 3) == [1, 1]


@pytest.mark.parametrize("how", ["needed", "preloaded", "another needs it"])
def test_no_library_of_a_preloaded_tool_bypasses_the_layers_below(how, tmp_path):
    outer, _ = parts(tmp_path)
    part = compile_library(tmp_path, "libpart.so", PART, "-l:libinner.so", "-Wl,-rpath,$ORIGIN")
    preload = [LIBQMPI, outer]
    if how == "needed":
        parts(tmp_path, "-l:libpart.so")
    elif how == "preloaded":
        preload.append(part)
    else:  # This library does not use MPI, and might belong to the program.
        preload.append(compile_library(tmp_path, "libanother.so", "int another;", "-l:libpart.so", "-Wl,-rpath,$ORIGIN"))
        parts(tmp_path, "-l:libpart.so")
    result = succeed("calls", *RUN, preload=preload, tools=f"alpha:{outer}:alpha")
    assert count(result, "inner MPI_Comm_rank") == 1
    assert ranks_seen(result, 1, 3) == [1, 2]


# ---- Libraries that layers share -----------------------------------------------------------------


def test_check_names_the_library_that_two_layers_share():
    result = qmpi("check", "-t", "needs_counter:needs_counter_too:needs_counter:needs_counter")
    assert [line.strip() for line in result.stdout.splitlines() if "shares " in line] == [
        "shares      libpmpicounter.so with layer 4 (needs_counter)"]


def test_doctor_names_the_library_that_two_layers_share():
    result = qmpi("doctor", env={"QMPI_TOOLS": "needs_counter:needs_counter_too"})
    assert "shares libpmpicounter.so with layer 2 (needs_counter_too)" in result.stdout


@pytest.mark.parametrize("stack", ["needs_counter:alpha:needs_counter", "helped:helped_too", "now"])
def test_check_names_no_shared_library_if_layers_share_none(stack):
    assert "shares" not in qmpi("check", "-t", stack).stdout


def test_layers_that_share_a_library_share_its_state():
    result = run_pmpi("calls", "init", "comm_rank", "finalize",
                        tools="needs_counter:needs_counter_too")
    assert result.returncode == 0
    assert numbers(result, "needs_counter") == ["1"]
    assert numbers(result, "needs_counter_too") == ["2"]
