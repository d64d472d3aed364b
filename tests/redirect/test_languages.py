# SPDX-License-Identifier: MIT
"""The exchange of exchange.c, in several languages and with several ways to reach MPI. Native layers and a PMPI
layer between them see the same calls, each of them once."""
import pytest

from mpi_in_use import PYTHON
from redirect_support import (EXCHANGE, GOT, counted, in_each_rank, needs, of_the_static_library,
                           outside_asan, reach, redirect_program, tallied)
from support import ASAN, FORTRAN_LIBRARIES, LIBQMPI, MPI_LIBRARY, OPEN_MPI

# The static program contains libqmpi.a, and a tool that needs libqmpi.so also loads this library, which then does
# nothing. The sanitizer must not report that there are two copies.
TWO_COPIES = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:detect_odr_violation=0"}

PRELOADED = (LIBQMPI,)
# Name -> (program, arguments before the folder, environment, libraries to preload).
BINDINGS = {
    "C": ("exchange_c", (), {}, PRELOADED),
    "C, bound at once": ("exchange_c", (), {"LD_BIND_NOW": "1"}, PRELOADED),
    "C++": ("exchange_cpp", (), {}, PRELOADED),
    "mpif.h": ("exchange_mpif_h", (), {}, PRELOADED),
    "use mpi": ("exchange_mpi", (), {}, PRELOADED),
    "use mpi_f08": ("exchange_f08", (), {}, PRELOADED),
    "use mpi_f08, bound at once": ("exchange_f08", (), {"LD_BIND_NOW": "1"}, PRELOADED),
    "dlsym, local handle": ("exchange_by_name", (), {"REDIRECT_WAY": "local"}, PRELOADED),
    "dlsym, global handle": ("exchange_by_name", (), {"REDIRECT_WAY": "global"}, PRELOADED),
    "dlsym, RTLD_DEFAULT": ("exchange_by_name", (), {"REDIRECT_WAY": "default"}, PRELOADED),
    "plugin in C": ("plugin_host", ("plugin_c", "local"), {}, PRELOADED),
    "plugin in C, global": ("plugin_host", ("plugin_c", "global"), {}, PRELOADED),
    "plugin by mpif.h": ("plugin_host", ("plugin_mpif_h", "local"), {}, PRELOADED),
    "plugin by mpi_f08": ("plugin_host", ("plugin_f08", "local"), {}, PRELOADED),
    "linked, libqmpi first": ("linked_qmpi_first", (), {}, ()),
    "linked, MPI first": ("linked_mpi_first", (), {}, ()),
    "linked, MPI first, bound at once": ("linked_mpi_first", (), {"LD_BIND_NOW": "1"}, ()),
    "linked and preloaded": ("linked_mpi_first", (), {}, PRELOADED),
    "mpi_f08, linked, libqmpi first": ("linked_f08_qmpi_first", (), {}, ()),
    "mpi_f08, linked, MPI first": ("linked_f08_mpi_first", (), {}, ()),
    "static": ("exchange_static", (), TWO_COPIES, ()),
}

every_binding = pytest.mark.parametrize("binding", BINDINGS)


def exchange(binding, folder, tools, **more):
    name, arguments, env, preload = binding if isinstance(binding, tuple) else BINDINGS[binding]
    arguments = [redirect_program(f"{argument}.so") if argument.startswith("plugin") else argument
                 for argument in arguments]
    if ASAN and "mpi_first" in name and not preload:
        pytest.skip("in this program, tools are opened with RTLD_DEEPBIND, which AddressSanitizer refuses")
    files = folder / "files"
    files.mkdir()
    result = reach(name, *arguments, files, tools=tools, preload=preload, cwd=folder,
                   env={"REDIRECT_TALLY": folder / "tally", **env}, **more)
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == GOT
    assert result.messages == []
    assert [len((files / f"file.{rank}").read_bytes()) for rank in (0, 1)] == [12, 12]
    return result


def exchanged(binding):
    """Returns the calls that count as calls of the program. They include those of the C++ bindings of
    Open MPI, which are inlined, and those of a static MPI library."""
    if binding == "static":
        redirect_program(BINDINGS[binding][0])
        return {**EXCHANGE, **of_the_static_library()}
    more = {"MPI_Cartdim_get": 2, "MPI_Comm_test_inter": 1, "MPI_Initialized": 5,
            "MPI_Topo_test": 2}
    return {**EXCHANGE, **(more if OPEN_MPI and binding == "C++" else {})}


@every_binding
def test_each_call_is_counted_once(binding, tmp_path):
    exchange(binding, tmp_path, "count,output=calls.json")
    assert counted(tmp_path / "calls.json") == in_each_rank(exchanged(binding))


@every_binding
def test_a_pmpi_tool_between_native_layers_sees_the_same_calls(binding, tmp_path):
    exchange(binding, tmp_path, "count,output=%t.json:tally:count,output=%t.json")
    assert counted(tmp_path / "1.json") == in_each_rank(exchanged(binding))
    assert counted(tmp_path / "3.json") == in_each_rank(exchanged(binding))
    tally = tallied(tmp_path)
    assert len(tally) > 10
    assert tally == {name: 2 * exchanged(binding)[name] for name in tally}


@every_binding
def test_two_pmpi_layers_alone_see_the_same_calls(binding, tmp_path):
    exchange(binding, tmp_path, "tally:tally")
    tally = tallied(tmp_path)
    assert len(tally) > 10
    assert tally == {name: 2 * 2 * exchanged(binding)[name] for name in tally}


@every_binding
def test_without_tools_the_program_is_undisturbed(binding, tmp_path):
    exchange(binding, tmp_path, None)


@pytest.mark.parametrize("env,calls", [({}, {"MPI_Initialized": 1}), ({"REDIRECT_INITIALIZED": "1"}, {})],
                         ids=["first call", "MPI_Init"])
@pytest.mark.parametrize("how", ["local", "global"])
@pytest.mark.parametrize("order", ["qmpi_first", "mpi_first"])
def test_a_plugin_that_is_opened_after_a_call_is_seen_in_a_stack_without_pmpi_tools(order, how, env, calls, tmp_path):
    """Before it opens the plugin, the program calls MPI_Initialized, or MPI_Init if REDIRECT_INITIALIZED
    is set. libqmpi does nothing when the plugin is opened."""
    exchange((f"plugin_host_{order}", ("plugin_c", how), env, ()), tmp_path, "count,output=%t.json")
    assert counted(tmp_path / "1.json") == in_each_rank({**EXCHANGE, **calls})


@pytest.mark.parametrize("env", [{}, {"LD_BIND_NOW": "1"}], ids=["lazily", "at once"])
@pytest.mark.parametrize("how", ["local", "global", "deep"])
@pytest.mark.parametrize("order", ["qmpi_first", "mpi_first"])
def test_a_plugin_that_is_opened_after_a_call_is_seen_by_native_and_pmpi_layers(order, how, env, tmp_path):
    """The plugin is opened after libqmpi has examined the loaded libraries. If the MPI library comes
    before libqmpi, the loader would bind the plugin's calls to the MPI library. libqmpi prevents this by
    changing the symbols of the MPI library."""
    if how == "deep" and (order == "qmpi_first" or ASAN):
        pytest.skip("with RTLD_DEEPBIND, calls are missed if libqmpi comes first; AddressSanitizer refuses this flag")
    exchange((f"plugin_host_{order}", ("plugin_c", how), env, ()), tmp_path,
             "count,output=%t.json:tally:count,output=%t.json")
    calls = {**EXCHANGE, "MPI_Initialized": 1}
    assert counted(tmp_path / "1.json") == in_each_rank(calls)
    assert counted(tmp_path / "3.json") == in_each_rank(calls)
    tally = tallied(tmp_path)
    assert tally == {name: 2 * calls[name] for name in tally}


@pytest.mark.parametrize("order", ["qmpi_first", "mpi_first"])
def test_a_plugin_is_seen_if_another_library_has_loaded_libqmpi(order, tmp_path):
    if ASAN and order == "mpi_first":
        pytest.skip("in this program, tools are opened with RTLD_DEEPBIND, which AddressSanitizer refuses")
    exchange(("plugin_host", ("plugin_c", "local"),
              {"REDIRECT_FIRST": redirect_program(f"brings_{order}.so")}, ()), tmp_path,
             "count,output=calls.json:tally")
    assert counted(tmp_path / "calls.json") == in_each_rank(EXCHANGE)


@pytest.mark.parametrize("binding", ["C", "linked, libqmpi first", "static"])
def test_the_caller_below_a_pmpi_layer_is_the_program(binding, tmp_path):
    result = exchange(binding, tmp_path, "libwrappers.so:site")
    notes = [line for line in result.trace if line.startswith("site 2 Barrier")]
    assert len(notes) == 2 * EXCHANGE["MPI_Barrier"]
    assert all(f" from {BINDINGS[binding][0]} " in note for note in notes)


def test_the_programs_are_linked_as_their_names_say():
    """The tests above rely on this."""
    assert not any("mpi" in name for name in needs(redirect_program("exchange_by_name")))
    assert not any("mpi" in name for name in needs(redirect_program("plugin_host")))
    assert any(MPI_LIBRARY in name for name in needs(redirect_program("plugin_c.so")))
    for program, first, second in (("linked_qmpi_first", LIBQMPI.name, MPI_LIBRARY),
                                   ("linked_mpi_first", MPI_LIBRARY, LIBQMPI.name),
                                   ("linked_f08_qmpi_first", LIBQMPI.name, FORTRAN_LIBRARIES["f08"].removesuffix(".40").removesuffix(".12")),
                                   ("linked_f08_mpi_first", MPI_LIBRARY, LIBQMPI.name)):
        names = [name.partition(".so")[0] + ".so" for name in needs(redirect_program(program))]
        assert names.index(first) < names.index(second), program


def test_the_static_program_needs_neither_library():
    names = needs(redirect_program("exchange_static"))
    assert not any("libmpi" in name or "libqmpi" in name for name in names)


# The Fortran binding calls these conversions. In a static program, these calls are bound when the program is
# linked, so they cannot be distinguished from calls of the program.
CONVERSIONS = {"MPI_File_f2c", "MPI_File_c2f"}


def test_calls_of_a_static_program_by_mpif_h_are_counted_except_conversions_of_files(tmp_path):
    exchange(("exchange_static_mpif_h", (), TWO_COPIES, ()), tmp_path,
             "count,output=%t.json:tally:count,output=%t.json")
    for name in ("1.json", "3.json"):
        calls = {function: numbers for function, numbers in counted(tmp_path / name).items()
                 if function not in CONVERSIONS}
        assert calls == in_each_rank({**EXCHANGE, **of_the_static_library()})


@pytest.mark.parametrize("program, preload", [("addresses", PRELOADED), ("addresses_mpi_first", ())],
                         ids=["preloaded", "linked, MPI first"])
def test_functions_have_one_address_in_a_program_that_is_not_position_independent(program, preload, tmp_path):
    """Such a program contains the address of a function: an entry of its procedure linkage table, which
    the loader takes for all references to the function."""
    if ASAN and not preload:
        pytest.skip("in this program, tools are opened with RTLD_DEEPBIND, which AddressSanitizer refuses")
    result = reach(program, ranks=1, tools="count,output=%t.json:tally:count,output=%t.json", preload=preload,
                   cwd=tmp_path, env={"REDIRECT_TALLY": tmp_path / "tally"})
    assert result.returncode == 0
    assert result.stdout == "same before MPI_Init: 1, after: 1\n"
    calls = {"MPI_Init": 1, "MPI_Barrier": 3, "MPI_Finalize": 1}
    assert counted(tmp_path / "1.json") == counted(tmp_path / "3.json") == in_each_rank(calls, 1)
    assert +tallied(tmp_path) == calls


BY_CTYPES = """
import ctypes, os, sys
mpi = ctypes.CDLL(os.environ["REDIRECT_MPI"])
rank = ctypes.c_int(-1)
world = {"openmpi": lambda: ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")),
         "mpich": lambda: 0x44000000, "abi": lambda: ctypes.c_void_p(0x101)}[os.environ["QMPI_TEST_MPI"]]()
assert mpi.MPI_Init(None, None) == 0
assert mpi.MPI_Comm_rank(world, ctypes.byref(rank)) == 0
assert mpi["MPI_Barrier"](world) == 0
assert mpi.PMPI_Barrier(world) == 0
assert mpi.MPI_Finalize() == 0
sys.stdout.write(f"rank {rank.value}\\n")
"""


@outside_asan("the Python interpreter is not built with the sanitizer")
def test_calls_of_python_through_ctypes_are_counted(tmp_path):
    result = reach(PYTHON, "-c", BY_CTYPES, tools="count,output=calls.json", cwd=tmp_path)
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == ["rank 0", "rank 1"]
    assert counted(tmp_path / "calls.json") == in_each_rank(
        {name: 1 for name in ("MPI_Init", "MPI_Comm_rank", "MPI_Barrier", "MPI_Finalize")})
