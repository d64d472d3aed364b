# SPDX-License-Identifier: MIT
"""PMPI tools that do more than wrap functions: they call MPI themselves, start early, finish late, have wrappers with
variable arguments, and run in threads."""
import pytest

from pmpi_support import compile_library, pmpi_program, pmpi_tool, qmpi, succeed
from support import LIBQMPI

pytestmark = pytest.mark.usefixtures("separate_nodes")


def notes_of(result, *names):
    return [line for line in result.trace if line.startswith(tuple(f"{name} " for name in names))]


def between(calls, first, last):
    begin = calls.index(first) + 1
    return calls[begin:calls.index(last, begin)]


# ---- Tools that call MPI themselves --------------------------------------------------------------


@pytest.mark.parametrize("name", ["self_call", "self_table", "self_default", "self_handle"])
def test_an_mpi_call_of_a_tool_reaches_its_own_wrapper_or_the_next_layer(name):
    steps = ["init", "barrier", "finalize"]
    for stack in ((name,), ("alpha", name), ("alpha", name, "beta"), ("now", name, "lazy"),
                  (name, "alpha", name)):
        result = succeed("calls", *steps, tools=":".join(stack))
        expected = []
        def add(function, start):
            for tool_id, layer in enumerate(stack[start:], start + 1):
                if layer in ("alpha", "beta"):
                    expected.append(f"{layer} {tool_id} {function}")
                elif layer in ("now", "lazy"):
                    expected.append(f"{layer} {function}")
                elif function in ("MPI_Barrier", "MPI_Comm_rank"):
                    expected.append(f"{layer} {function}")
                    if function == "MPI_Barrier":
                        add("MPI_Comm_rank", tool_id - 1)
                        add("MPI_Comm_size", tool_id)
                        expected.append(f"{layer} is rank 0 of 1")
        add("MPI_Barrier", 0)
        calls = between(result.calls, "app barrier", "app finalize")
        counted = [" ".join(line.split()[:2]) if line.startswith(("now ", "lazy ")) else line
                   for line in calls]
        assert counted == expected, stack


def test_a_tool_may_use_the_tool_information_interface():
    for stack in (("information",), ("alpha", "information", "beta"), ("information", "alpha"),
                  ("information", "now", "information")):
        result = succeed("calls", "init", "finalize", tools=":".join(stack))
        assert result.calls.count("information finds control variables: yes") == \
            stack.count("information")
        for tool_id, layer in enumerate(stack, 1):
            if layer in ("alpha", "beta"):
                lower = tool_id > stack.index("information") + 1
                for function, count in (("init_thread", 1), ("cvar_get_num", 2), ("finalize", 1)):
                    note = f"{layer} {tool_id} MPI_T_{function}"
                    assert result.calls.count(note) == count * lower


def test_the_programs_own_calls_of_the_tool_information_interface_reach_a_pmpi_layer():
    result = succeed("calls", "init", "t_init_thread", "t_finalize", "finalize",
                     tools="alpha:information:beta")
    assert between(result.calls, "app t_init_thread", "app t_finalize") == [
        "alpha 1 MPI_T_init_thread", "information MPI_T_init_thread", "beta 3 MPI_T_init_thread"]


# ---- Early and late ------------------------------------------------------------------------------


@pytest.mark.parametrize("preload", [[], ["early"], ["early_wraps"]], ids=["no", "plain", "wraps"])
@pytest.mark.parametrize("name", ["early", "early_wraps"])
def test_mpi_calls_of_a_constructor_reach_no_layers_above_the_tool(name, preload):
    """This also holds for preloaded tools, whose constructors run before the stack exists."""
    if preload not in ([], [name]):
        pytest.skip("this case would preload another tool than the tested one")
    itself = [f"{name} MPI_Initialized"] * (name == "early_wraps")
    libraries = [LIBQMPI, *[pmpi_tool(each) for each in preload]]
    for stack in ((name,), ("alpha", name), ("alpha", name, "beta"), ("now", name, "now")):
        result = succeed("calls", "init", "comm_rank", "finalize", tools=":".join(stack),
                         preload=libraries)
        beta = "beta" in stack
        lower = ["beta 3 MPI_Initialized"] * beta
        calls = [line for line in result.trace if not line.startswith(("load ", "init "))]
        begin = calls.index(f"{name} constructor begins") + 1
        end = calls.index(f"{name} constructor ends: 0 0 0")
        assert [line for line in calls[begin:end] if not line.startswith("app ")] == [
            *lower, f"{name} by MPI", *itself, *lower, *["beta 3 MPI_Finalized"] * beta], stack
        assert result.trace.count(f"{name} constructor begins") == 1
        assert result.calls.count(f"{name} MPI_Comm_rank") == 1


# Two tools that each wrap only one of the functions that initialize MPI, and a tool that wraps both and calls
# PMPI_Init_thread in both wrappers.
DECLARE = "int PMPI_Init(int *c, char ***v);\nint PMPI_Init_thread(int *c, char ***v, int r, int *p);\n"
WRAP_INIT = "int MPI_Init(int *c, char ***v);\nint MPI_Init(int *c, char ***v) { "
WRAP_THREAD = ("int MPI_Init_thread(int *c, char ***v, int r, int *p);\n"
               "int MPI_Init_thread(int *c, char ***v, int r, int *p) { ")
STARTS = {"init": f"{DECLARE}{WRAP_INIT}return !!PMPI_Init(c, v); }}\n",
          "init_thread": f"{DECLARE}{WRAP_THREAD}return !!PMPI_Init_thread(c, v, r, p); }}\n",
          "raises": f"{DECLARE}{WRAP_INIT}int p; return PMPI_Init_thread(c, v, 3, &p); }}\n"
                    f"{WRAP_THREAD}return PMPI_Init_thread(c, v, r, p); }}\n"}


@pytest.mark.parametrize("stack, step, missing", [
    ("init", "init", None), ("init", "init_thread", "layer 1 (init) wraps MPI_Init, but not MPI_Init_thread"),
    ("init_thread", "init_thread", None),
    ("init_thread", "init", "layer 1 (init_thread) wraps MPI_Init_thread, but not MPI_Init"),
    ("alpha:init:alpha", "init_thread", "layer 2 (init) wraps MPI_Init, but not MPI_Init_thread"),
    ("raises:init", "init", "layer 2 (init) wraps MPI_Init, but not MPI_Init_thread"),
    ("raises:init", "init_thread", "layer 2 (init) wraps MPI_Init, but not MPI_Init_thread"),
    ("init:raises", "init", None), ("init,@enabled=no", "init_thread", None)])
def test_a_message_names_a_tool_that_does_not_start(stack, step, missing, tmp_path):
    """The tool cannot report by itself that it was not started, and its results may look correct."""
    for name, code in STARTS.items():
        compile_library(tmp_path, f"lib{name}.so", code)
    tools = ":".join(f"{tmp_path}/lib{entry.replace(',', '.so,') if ',' in entry else entry + '.so'}"
                     if entry.split(",")[0] in STARTS else entry for entry in stack.split(":"))
    result = succeed("calls", step, "barrier", "finalize", tools=tools, ranks=2)
    if missing:
        assert result.all_messages[0].startswith(f"{missing}, which was called: ")
        assert len(result.all_messages) == 2 and result.all_messages[1].startswith("  hint: ")
    else:
        assert result.all_messages == []


def test_check_names_a_tool_that_does_not_always_start(tmp_path):
    tools = {name: compile_library(tmp_path, f"lib{name}.so", code) for name, code in STARTS.items()}
    lines = {name: [line for line in qmpi("check", "-t", tool).stdout.splitlines() if line.startswith("  starts ")]
             for name, tool in tools.items()}
    assert lines == {
        "init": ["  starts      in MPI_Init, but not in MPI_Init_thread, which it does not wrap"],
        "init_thread": ["  starts      in MPI_Init_thread, but not in MPI_Init, which it does not wrap"], "raises": []}


@pytest.mark.parametrize("tools", ["threaded", "alpha:threaded:beta", "threaded:alpha:threaded"])
def test_a_constructor_may_wait_for_a_thread_that_calls_mpi(tools):
    result = succeed("calls", "init", "comm_rank", "finalize", tools=tools)
    assert result.trace.count("threaded thread: 0 0") == tools.count("threaded")
    assert result.calls.count("threaded MPI_Comm_rank") == tools.count("threaded")


@pytest.mark.parametrize("stack", [
    ("{}",), ("alpha", "{}"), ("{}", "alpha"), ("{}", "now", "{}"), ("now", "{}", "alpha", "{}")])
@pytest.mark.parametrize("name", ["in_atexit", "in_destructor"])
def test_a_tool_may_finish_after_main(name, stack):
    stack = [layer.format(name) for layer in stack]
    result = succeed("calls", "init", "comm_rank", "finalize", tools=":".join(stack))
    assert result.calls.count(f"{name} at the end: 3 calls, finalized 1") == stack.count(name)
    assert result.calls.index(f"{name} at the end: 3 calls, finalized 1") > \
        result.calls.index("app finalize")
    if stack[-1] == "alpha":
        assert f"alpha {len(stack)} MPI_Finalized" in result.trace


@pytest.mark.parametrize("stack", [
    ("finalizes",), ("alpha", "finalizes"), ("finalizes", "alpha"), ("now", "finalizes", "table"),
    ("alpha", "finalizes", "beta", "now")])
def test_a_tool_may_finalize_mpi_in_atexit(stack):
    """IPM does this. The layers above see MPI_Finalize when the program calls it, and those below only when the process
    ends."""
    result = succeed("calls", "init", "comm_rank", "finalize", tools=":".join(stack))
    notes = notes_of(result, "finalizes")
    assert notes == ["finalizes MPI_Finalize", "finalizes at the end: 3 calls, finalized 0",
                     "finalizes finalizes 0", "finalizes has finalized 1"]
    at = result.trace.index("finalizes finalizes 0")
    for tool_id, layer in enumerate(stack, 1):
        if layer == "finalizes":
            continue
        finalize = [n for n, line in enumerate(result.trace)
                    if line.startswith(f"{layer} ") and "MPI_Finalize" in line.split()]
        assert len(finalize) == 1
        assert (finalize[0] > at) == (tool_id > stack.index("finalizes") + 1)


def test_a_tool_may_finalize_in_atexit_on_each_of_two_ranks():
    result = succeed("calls", "init", "comm_rank", "finalize", tools="finalizes:alpha", ranks=2)
    assert result.trace.count("finalizes has finalized 1") == 2


# ---- Arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", [
    ("pcontrol",), ("native_pcontrol", "pcontrol"), ("pcontrol", "native_pcontrol"),
    ("pcontrol", "pcontrol"), ("pcontrol", "native_pcontrol", "pcontrol", "native_pcontrol"),
    ("native_pcontrol", "pcontrol", "native_pcontrol")])
def test_pcontrol_keeps_its_words_and_doubles(stack):
    result = succeed(pmpi_program("surroundings"), "init", "pcontrol", "finalize",
                     tools=":".join(stack))
    assert between(result.calls, "app pcontrol", "app finalize") == [
        f"{layer} MPI_Pcontrol 5 phase 2.5 4200000000000000 -1.25" for layer in stack]


# ---- Callers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", [
    ("now", "caller"), ("caller", "now"), ("now", "lazy", "caller"),
    ("now", "caller", "lazy", "caller"), ("alpha", "now", "caller", "now")])
def test_a_native_layer_knows_the_caller_above_below_and_between_pmpi_layers(stack):
    result = succeed("callers", tools=":".join(stack))
    for function, caller in (("MPI_Init_thread", "caller_of_init"),
                             ("MPI_Comm_rank", "caller_of_rank"),
                             ("MPI_Finalize", "caller_of_finalize")):
        notes = [line for line in result.trace if f" {function} from" in line]
        assert notes == [f"caller {tool_id} {function} from {caller}"
                         for tool_id, layer in enumerate(stack, 1) if layer == "caller"]


@pytest.mark.parametrize("stack", [("tally", "caller"), ("tally", "caller", "tally", "caller")])
def test_four_threads_each_have_their_own_caller_below_pmpi_layers(stack):
    result = succeed("callers", "threads", tools=":".join(stack))
    for tool_id in [n for n, layer in enumerate(stack, 1) if layer == "caller"]:
        assert f"caller {tool_id} right 20000 wrong 0" in result.trace


# ---- Threads -------------------------------------------------------------------------------------

COUNTED = "counted 1 40000 40000"


@pytest.mark.parametrize("stack", [
    ("tally",), ("tally", "counter"), ("counter", "tally"), ("tally", "tally", "counter", "tally"),
    ("tally", "counter", "tally", "counter")])
@pytest.mark.parametrize("now", [None, "1"], ids=["lazily", "at once"])
def test_counts_of_four_threads_are_exact(stack, now):
    result = succeed("threads", "count", 10000, tools=":".join(stack), env={"LD_BIND_NOW": now})
    assert result.stdout == "done\n"
    assert notes_of(result, "tally") == [f"tally {COUNTED}"] * stack.count("tally")
    for tool_id in [n for n, layer in enumerate(stack, 1) if layer == "counter"]:
        for function in ("MPI_Comm_rank", "MPI_Iprobe"):
            assert f"counter {tool_id} {function} 40000" in result.trace


def test_a_first_call_of_four_threads_at_once_starts_pmpi_layers_once():
    for _ in range(20):
        result = succeed("threads", "race", tools="tally:alpha:tally")
        assert result.stdout == "done\n"
        assert notes_of(result, "tally") == ["tally counted 1 0 0"] * 2
        assert result.calls.count("alpha 2 MPI_Initialized") == 4
