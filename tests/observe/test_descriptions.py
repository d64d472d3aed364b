# SPDX-License-Identifier: MIT
"""libqmpi describes each function of this MPI as mpi.h declares it. The function belongs to the group
that corresponds to its chapter in the MPI standard.

The program `describe` prints libqmpi's descriptions. The compiler reads the declarations in mpi.h.
"""
import os
import re
import subprocess
from dataclasses import dataclass, field

import pytest

from mpi_in_use import LINKED
from observe_support import observe_program
from support import LIBQMPI, OPEN_MPI, SOURCE, clean_environment, run_command

CC = os.environ.get("QMPI_TEST_CC", "cc").split("\n")
MPI_INCLUDE = os.environ.get("QMPI_TEST_MPI_INCLUDE", "/usr/include")
KNOWN = set((SOURCE / "src/functions/functions.txt").read_text(encoding="utf-8").split())

GROUPS = ["point_to_point", "completion", "collective", "one_sided", "io", "datatype",
          "communicator", "group", "topology", "environment", "info", "process",
          "tool_information"]
# The names that this file uses for kinds, in the order of QMPIX_Kind. Many are C types.
KINDS = ["other", "int", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_Fint", "double", "char",
         "void", "function", "MPI_Status", "MPI_Comm", "MPI_Datatype", "MPI_Errhandler", "MPI_File",
         "MPI_Group", "MPI_Info", "MPI_Message", "MPI_Op", "MPI_Request", "MPI_Session", "MPI_Win",
         "MPI_T_enum", "MPI_T_cvar_handle", "MPI_T_pvar_handle", "MPI_T_pvar_session", "event",
         "words"]


@dataclass
class Parameter:
    name: str
    type: str
    kind: str
    indirection: int
    is_array: bool
    is_const: bool
    size: int

    @property
    def base(self) -> str:
        """The type without pointers and const."""
        return re.match(r"(?:const\s+)?(?:struct |enum )?(\w+)", self.type)[1]


@dataclass
class Function:
    number: int
    name: str
    groups: list[str]
    result: str
    parameters: list[Parameter] = field(default_factory=list)

    @property
    def is_variadic(self) -> bool:
        return self.name == "MPI_Pcontrol"

    @property
    def declared(self) -> list[Parameter]:
        """The parameters that mpi.h declares, without those that `...` stands for."""
        return self.parameters[:1] if self.is_variadic else self.parameters


def read_descriptions() -> dict[str, Function]:
    program = observe_program("describe")
    result = run_command([program], {**clean_environment(), "LD_LIBRARY_PATH": str(LIBQMPI.parent)})
    assert result.returncode == 0
    functions, counts = {}, {}
    for line in result.stdout.splitlines():
        what, *fields = line.split("|")
        assert what != "wrong", line
        if what == "function":
            number, name, group, kind, count = fields
            groups = [GROUPS[bit] for bit in range(32) if int(group) >> bit & 1]
            latest = functions[name] = Function(int(number), name, groups, KINDS[int(kind)])
            counts[name] = int(count)
        else:
            name, text, kind, indirection, is_array, is_const, size = fields
            latest.parameters.append(Parameter(name, text, KINDS[int(kind)], int(indirection),
                                               is_array == "1", is_const == "1", int(size)))
    assert all(len(functions[name].parameters) == count for name, count in counts.items())
    return functions


@pytest.fixture(scope="module")
def functions():
    return read_descriptions()


def declared_in(include, folder) -> dict[str, list[str]]:
    """Returns the functions that mpi.h in the directory `include` declares, {name: parameters}. Preprocesses
    mpi.h with the compiler, which reads a file in `folder`."""
    source = folder / "mpi_h.c"
    # Only if this macro is 0, Open MPI declares the functions that MPI 3 removed.
    source.write_text("#define OMPI_OMIT_MPI1_COMPAT_DECLS 0\n#include <mpi.h>\n"
                      "#ifdef OPEN_MPI\n#include <mpi-ext.h>\n#endif\n", encoding="utf-8")
    text = subprocess.run([*CC, "-E", "-P", f"-I{include}", source], check=True,
                          capture_output=True, text=True).stdout
    text = re.sub(r'__attribute__\s*\(\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)\)', "", text)
    text = re.sub(r"\s+", " ", text)
    found = {}
    for name, parameters in re.findall(r"\b(MPIX?_\w+) ?\(([^;{}]*)\) ?;", text):
        found[name] = [] if parameters.strip() in ("void", "") else split(parameters)
    return found


@pytest.fixture(scope="module")
def declarations(tmp_path_factory):
    return declared_in(MPI_INCLUDE, tmp_path_factory.mktemp("mpi_h"))


@pytest.fixture(scope="module")
def standard(tmp_path_factory):
    return declared_in(SOURCE / "include/qmpi/mpi-abi", tmp_path_factory.mktemp("standard"))


def name_in(declaration) -> str:
    """Returns the name in the declaration of a parameter, or "" if there is none."""
    found = re.search(r"\b([A-Za-z_]\w*)(?=\s*(?:\[|\)|$))", declaration)
    has_type = found and re.search(r"\b(?!const\b|struct\b|enum\b)\w", declaration[:found.start()])
    return found[1] if has_type else ""


@pytest.fixture(scope="module")
def provided() -> set[str]:
    """Returns the PMPI functions that the MPI library defines."""
    text = subprocess.run(["nm", "-D", "--defined-only", LINKED], check=True, capture_output=True,
                          text=True).stdout
    return set(re.findall(r" (PMPIX?_\w+)", text))


def split(parameters: str) -> list[str]:
    """Splits a list at the commas outside parentheses."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character == "(") - (character == ")")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def exported() -> set[str]:
    """Returns the MPI functions that libqmpi exports, which are those of the MPI library."""
    text = subprocess.run(["nm", "-D", "--defined-only", LIBQMPI], check=True, capture_output=True,
                          text=True).stdout
    return set(re.findall(r"\b(MPIX?_\w+)$", text, flags=re.MULTILINE))


def check_by_compiler(lines, folder):
    """Checks that the compiler accepts these declarations and static assertions. For a wrong one, the
    compiler's error message contains the line."""
    source = folder / "claims.c"
    source.write_text("#include <qmpi/qmpi.h>\n" + "\n".join(lines) + "\n", encoding="utf-8")
    includes = [SOURCE / "include", LIBQMPI.parent / "generate" / "include", MPI_INCLUDE]
    done = subprocess.run(
        [*CC, "-std=gnu11", "-fsyntax-only", "-Wno-deprecated-declarations",
         *(f"-I{path}" for path in includes), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# ---- Against mpi.h -------------------------------------------------------------------------------


def test_every_function_is_described(functions):
    assert len(functions) >= (430 if OPEN_MPI else 600)
    assert set(functions) == exported()
    numbers = [function.number for function in functions.values()]
    assert len(set(numbers)) == len(numbers)


def test_types_are_those_of_the_declaration(functions, tmp_path):
    """A second declaration with the described types must agree with that in mpi.h."""
    lines = []
    for function in functions.values():
        types = [parameter.type for parameter in function.declared]
        types += ["..."] if function.is_variadic else []
        result = "void *" if function.result == "other" else function.result  # MPICH 5: PMPIX_Async_get_state
        # The parentheses prevent the expansion if the function is also a macro.
        lines.append(f"{result} (P{function.name})({', '.join(types) or 'void'});")
    check_by_compiler(lines, tmp_path)


def test_a_wrong_type_would_be_found(tmp_path):
    with pytest.raises(AssertionError, match="conflicting types"):
        check_by_compiler(["int PMPI_Barrier(double);"], tmp_path)


def test_types_are_written_as_in_the_declaration(functions, declarations):
    """test_types_are_those_of_the_declaration cannot distinguish kinds of handles if all of them are ints."""
    for function in functions.values():
        declared = declarations[function.name]
        described = function.declared
        assert len(declared) - function.is_variadic == len(described), function.name
        for text, parameter in zip(declared, described):
            name = name_in(text)
            without = re.sub(rf"\b{name}\b(?=\s*(?:\[|\)|$))", "", text, count=1) if name else text
            assert re.sub(r"\s", "", without) == re.sub(r"\s", "", parameter.type), \
                f"{function.name}: {text} is described as {parameter.type}, {parameter.name}"


def test_names_are_those_of_the_standard(functions, declarations, standard):
    """For functions that are not in the standard, the names are those in mpi.h or, if mpi.h has no names,
    invented ones."""
    unnamed = 0
    for function in functions.values():
        wanted = standard.get(re.sub("^MPIX_", "MPI_", function.name), [])
        if len(wanted) != len(declarations[function.name]):
            wanted = declarations[function.name]
        for text, parameter in zip(wanted, function.declared):
            assert re.fullmatch(r"[A-Za-z_]\w*", parameter.name), function.name
            unnamed += not name_in(text)
            assert parameter.name == (name_in(text) or parameter.name), function.name
    assert unnamed < 100


def test_no_function_has_two_parameters_of_one_name(functions):
    for function in functions.values():
        names = [parameter.name for parameter in function.parameters]
        assert len(set(names)) == len(names), function.name


def test_sizes_are_those_of_the_values_at_the_end_of_the_pointers(functions, tmp_path):
    lines = []
    for function in functions.values():
        for parameter in function.declared:
            if not parameter.size:
                assert parameter.kind in ("void", "function", "other"), (function.name, parameter)
                continue
            at = f"(*(__typeof__({parameter.type}) *)0)" + "[0]" * parameter.indirection
            if parameter.kind == "function":
                at = "(void (*)(void))0"
            lines.append(f'_Static_assert(sizeof({at}) == {parameter.size}, '
                         f'"{function.name}, {parameter.name}");')
    assert len(lines) > (1500 if OPEN_MPI else 2000)
    check_by_compiler(lines, tmp_path)


def test_kinds_are_those_of_the_types(functions):
    for function in functions.values():
        for parameter in function.declared:
            base = parameter.base
            expected = base if base in KINDS else "other"
            if base in ("MPI_T_event_registration", "MPI_T_event_instance"):
                expected = "event"
            if re.search(r"_function(_c|_x)?$", base):
                expected = "function"
            if expected == "other" and base.startswith("MPI_T_"):
                expected = parameter.kind if parameter.kind in ("int", "other", "function") \
                    else expected
            assert parameter.kind == expected, (function.name, parameter)


def test_indirection_arrays_and_const_are_those_of_the_types(functions):
    for function in functions.values():
        for parameter in function.declared:
            where = (function.name, parameter)
            if parameter.kind == "function":
                continue
            levels = parameter.type.count("*") + parameter.type.count("[")
            if re.search(r"\]\s*\[\d+\]", parameter.type):  # an array of rows: each row counts as one element
                assert parameter.indirection in (levels, levels - 1), where
            else:
                assert parameter.indirection == levels, where
            assert parameter.is_array == ("[" in parameter.type), where
            if levels == 1:
                assert parameter.is_const == parameter.type.startswith("const "), where


def test_pcontrol_has_a_parameter_for_the_words_after_the_level(functions):
    level, words = functions["MPI_Pcontrol"].parameters
    assert (level.name, level.kind, words.kind, words.indirection) == ("level", "int", "words", 0)
    assert words.size > 0


# ---- Groups --------------------------------------------------------------------------------------

# Some functions of each group, according to the chapters of the MPI standard.
MEMBERS = {
    "point_to_point": """Send Recv Ssend Bsend Rsend Isend Irecv Issend Ibsend Irsend Sendrecv
        Sendrecv_replace Isendrecv Probe Iprobe Mprobe Improbe Mrecv Imrecv Send_init Recv_init
        Buffer_attach Buffer_detach Buffer_flush Buffer_iflush Comm_attach_buffer Comm_detach_buffer_c
        Comm_iflush_buffer Session_attach_buffer_c Session_flush_buffer Cancel Psend_init Precv_init Pready Pready_range Pready_list
        Parrived Send_c Irecv_c Recv_init_c Buffer_attach_c""",
    "completion": """Wait Waitall Waitany Waitsome Test Testall Testany Testsome Start Startall
        Request_free Request_get_status Get_count Get_elements Get_elements_x Test_cancelled
        Request_get_status_all Request_get_status_any Request_get_status_some Request_toint
        Status_get_source Status_get_tag Status_get_error Status_set_source Status_set_tag Status_set_error
        Status_set_elements Status_set_elements_c Grequest_start Grequest_complete Get_count_c""",
    "collective": """Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall
        Alltoallv Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
        Ibarrier Ibcast Iallreduce Ialltoallw Neighbor_allgather Ineighbor_alltoallw
        Neighbor_alltoallv_init Barrier_init Bcast_init Allreduce_init_c Gatherv_c""",
    "one_sided": """Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap Rput Rget
        Raccumulate Rget_accumulate Win_create Win_allocate Win_free Win_fence Win_lock Win_flush
        Win_post Win_get_attr Win_set_name Win_toint Win_fromint Put_c""",
    "io": """File_open File_close File_read File_write_at_all File_iread_shared File_seek
        File_toint File_fromint File_set_view File_get_size File_write_ordered_begin Register_datarep File_read_c""",
    "datatype": """Type_contiguous Type_vector Type_commit Type_free Type_size Type_get_envelope
        Pack Unpack Pack_size Pack_external Op_create Op_free Reduce_local Get_address Type_dup
        Type_create_struct_c Type_get_value_index Type_toint Type_fromint Op_toint Op_fromint""",
    "communicator": """Comm_rank Comm_size Comm_dup Comm_idup Comm_split Comm_create Comm_free
        Comm_compare Comm_set_name Comm_get_attr Comm_create_keyval Intercomm_create
        Intercomm_merge Comm_remote_size Comm_create_from_group Comm_set_info Comm_toint Comm_fromint""",
    "group": "Group_size Group_rank Group_incl Group_translate_ranks Group_free Group_union Group_toint",
    "topology": """Cart_create Cart_shift Cart_rank Graph_create Dist_graph_create
        Dist_graph_neighbors Dims_create Topo_test Cartdim_get Graphdims_get""",
    "environment": """Init Init_thread Finalize Initialized Finalized Abort Wtime Wtick
        Get_processor_name Get_version Error_string Error_class Add_error_class Alloc_mem Free_mem
        Session_init Session_finalize Query_thread Is_thread_main Abi_get_version Abi_get_info
        Abi_set_fortran_info Abi_get_fortran_booleans Get_hw_resource_info Remove_error_class
        Remove_error_code Remove_error_string Session_toint Errhandler_fromint""",
    "info": "Info_create Info_set Info_get Info_free Info_dup Info_create_env Info_toint",
    "process": """Comm_spawn Comm_spawn_multiple Comm_accept Comm_connect Comm_get_parent Comm_join
        Open_port Close_port Publish_name Lookup_name""",
    "tool_information": """T_init_thread T_finalize T_cvar_read T_pvar_start T_enum_get_info
        T_category_get_num Pcontrol""",
}


def test_every_function_is_in_exactly_one_group(functions):
    for function in functions.values():
        assert len(function.groups) == 1, function


@pytest.mark.parametrize("group", GROUPS)
def test_groups_are_the_standards_chapters(functions, provided, group):
    for short in MEMBERS[group].split():
        function = functions.get(f"MPI_{short}")
        assert f"MPI_{short}" in KNOWN
        if not function and f"PMPI_{short}" not in provided:
            continue
        assert function, f"MPI_{short} is no function of this MPI"
        assert function.groups == [group], function.name


def test_prefixes_tell_the_group(functions):
    """All functions with the same prefix belong to the same group, with few exceptions."""
    prefixes = {"MPI_T_": "tool_information", "MPI_File_": "io", "MPI_Win_": "one_sided",
                "MPI_Type_": "datatype", "MPI_Info_": "info", "MPI_Group_": "group",
                "MPI_Session_": "environment"}
    buffers = {"MPI_Session_": "point_to_point"}  # MPI_Session_attach_buffer and similar functions
    for name, function in functions.items():
        for prefix, group in prefixes.items():
            if name.startswith(prefix):
                allowed = {group, "environment"} if "errhandler" in name else {group}
                allowed = {buffers.get(prefix)} if re.search(r"_buffer(_c)?$", name) else allowed
                assert set(function.groups) <= allowed, function


def test_a_persistent_collective_that_is_an_extension_is_in_the_group_of_the_collective(functions):
    """In Open MPI 4.1, the persistent collectives of MPI 4 are named MPIX_X_init. Their group is that
    of MPI_X."""
    for name, function in functions.items():
        became = functions.get(f"MPI_{name[5:-5]}")
        if re.fullmatch(r"MPIX_\w+_init", name) and became:
            assert function.groups == became.groups, name


def test_a_function_with_large_counts_is_in_the_group_of_the_one_with_int_counts(functions):
    for name, function in functions.items():
        if name.endswith("_c") and name[:-2] in functions:
            assert function.groups == functions[name[:-2]].groups, name
