# SPDX-License-Identifier: MIT
"""Tests that libqmpi exports every function of the MPI library (as MPI_X and PMPI_X), its own API, the
symbols for tools of the standard ABI, the calls of MPICH's variant of QMPI, the functions of other
libraries that it replaces, and nothing else."""
import re

import generate_support as support

# PMPI tools look up MPI functions with dlsym and must get those of the next layer. Libraries that
# they open with dlopen become part of their layer.
REPLACED = {"dlopen", "dlsym"}

# These functions may jump out of MPI calls. Before the jump, libqmpi records the frame of the present call, because
# this frame may no longer be in use afterwards.
REPLACED |= {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"}

# When the program closes a library, libqmpi discards what it knows about the code of that library.
REPLACED |= {"dlclose"}

# The MPI library calls PMIx_Commit after it has put its keys for other processes. libqmpi then puts a
# key that tells that libqmpi is present, and calls the real function.
REPLACED |= {"PMIx_Commit"}

# These functions return the present action of a signal. libqmpi hides from the program the actions that tools have set.
REPLACED |= {"sigaction", "signal", "bsd_signal", "ssignal", "sysv_signal", "__sysv_signal", "sigset"}

# AddressSanitizer calls this function to get its default options. libqmpi's options allow libqmpi to be
# loaded before the sanitizer's library.
REPLACED |= {"__asan_default_options"}

# The calls in which MPICH's own variant of QMPI differs from the draft. libqmpi exports them, too. QMPI_Get_function
# has the name of a call of the draft, but other parameters.
MPICH_CALLS = {"QMPI_Register_function", "QMPI_Get_function", "QMPI_Get_tool_storage",
           "QMPI_Get_calling_address"}


def exported(library):
    listing = support.run("nm", "-D", "--defined-only", library)
    # Lines of type A are the versions of symbols.
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if line.split()[-2] != "A"}
    return {name for name in names if not name.startswith("__odr_asan.")}  # symbols of the sanitizer itself


def mpi_functions():
    """Returns MPI_X for every PMPI_X of the MPI library; for the standard ABI, the functions of its
    header."""
    if support.MPI_NAME == "abi":
        header = (support.SOURCE / "include/qmpi/mpi-abi/mpi.h").read_text(encoding="utf-8")
        return set(re.findall(r"^QMPI_DECLARE\(\w+, (MPI_\w+),", header, re.M))
    names = exported(support.MPI_LIBRARY)
    return {name[1:] for name in names if re.match(r"PMPIX?_\w", name)}


def declared_api():
    """Returns every symbol that the public headers declare as a function or variable of the
    library."""
    headers = [support.SOURCE / "include/qmpi" / name for name in ("qmpi.h", "observer.h", "traits.h", "clock.h", "mpit.h", "service.h")]
    text = "\n".join(header.read_text(encoding="utf-8") for header in headers)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.S | re.M)
    functions = set(
        re.findall(r"^(?:QMPI_API|static inline)\s[^;{(]*?\b(QMPIX?_\w+)\s*\(", text, flags=re.M)
    )
    variables = set(re.findall(r"^QMPI_API extern [^;(]*?\b(QMPIX_\w+);", text, flags=re.M))
    assert functions and variables
    return functions | variables


def abi_names():
    """Reads the generated list of symbols to which tools for the standard ABI may refer."""
    text = (support.BUILD / "src/generate/abi_exports.c").read_text(encoding="utf-8")
    return set(re.findall(r'"(QMPIX_abi_\w+)"', text))


def dynamic_section():
    return support.run("readelf", "-dW", support.LIBRARY)


def test_every_function_of_the_mpi_library_has_an_entry():
    missing = mpi_functions() - exported(support.LIBRARY)
    assert not missing, sorted(missing)


def test_there_are_as_many_entries_as_functions_of_mpich():
    if support.MPI_NAME == "mpich":
        entries = {name for name in exported(support.LIBRARY) if re.match(r"MPIX?_", name)}
        assert len(entries) == len(mpi_functions()) >= 634


def test_every_entry_has_a_pmpi_name():
    names = exported(support.LIBRARY)
    missing = {"P" + name for name in names if re.match(r"MPIX?_", name)} - names
    assert not missing, sorted(missing)


def test_every_call_that_the_public_headers_declare_is_exported():
    # QMPI_Get_function is an inline function; its symbol has a different name, because MPICH's
    # variant of the call already has the draft's name.
    api = declared_api() - {"QMPI_Get_function"} | {"QMPIX_Get_function"}
    missing = api - exported(support.LIBRARY)
    assert not missing, sorted(missing)


def test_every_name_for_tools_of_the_standard_abi_is_exported():
    assert len(abi_names()) > 100
    missing = abi_names() - exported(support.LIBRARY)
    assert not missing, sorted(missing)


def test_the_draft_s_six_calls_are_declared():
    draft = "Register_tool_name Register_tool_storage Register_tool_function Context_get_storage"
    draft += " Context_get_calling_address Get_function"
    assert {"QMPI_" + name for name in draft.split()} <= declared_api()


def test_nothing_else_is_exported():
    functions = mpi_functions()
    allowed = functions | {"P" + name for name in functions}
    allowed |= declared_api() | {"QMPIX_Get_function"} | REPLACED | abi_names()
    allowed |= MPICH_CALLS if support.MPI_NAME == "mpich" else set()
    others = exported(support.LIBRARY) - allowed
    assert not others, sorted(others)


def test_the_calls_of_mpich_s_variant_are_exported():
    if support.MPI_NAME == "mpich":
        assert MPICH_CALLS <= exported(support.LIBRARY)


def test_no_mpi_library_is_needed():
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic_section())
    assert needed
    assert not [name for name in needed if re.match(r"lib(mpi|mpich|pmpi|open-|fabric)", name)]


def test_no_mpi_function_is_left_undefined():
    undefined = support.run("nm", "-D", "--undefined-only", support.LIBRARY)
    assert not re.findall(r"\bP?MPIX?_\w+", undefined)


def test_the_soname_is_that_of_the_abi():
    suffix = "" if support.MPI_NAME == "mpich" else "-" + support.MPI_NAME
    soname = re.search(r"\(SONAME\).*\[(.+)\]", dynamic_section()).group(1)
    assert soname == f"libqmpi{suffix}.so.0"


def test_the_library_needs_no_executable_stack_and_no_text_relocations():
    stack = re.search(r"GNU_STACK.*", support.run("readelf", "-lW", support.LIBRARY)).group(0)
    assert "RWE" not in stack
    assert "TEXTREL" not in dynamic_section()
