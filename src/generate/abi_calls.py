# SPDX-License-Identifier: MIT
"""The functions that a tool for the standard ABI may call in a program of any MPI library: their
names in the tool's object file, and the functions in libqmpi that convert their arguments."""
import re

from abi_values import HANDLES
from emit_c import parameters
from mpi_header import Function, Parameter
from semantics import converted_constants_of

PREFIX = "QMPIX_abi_"

# The MPI functions that such a tool may call as PMPI_X, without MPI_. They have parameters for handles, statuses and
# constants, but not for callbacks.
CALLS = """
Initialized Finalized Query_thread Is_thread_main Get_version Get_library_version Get_processor_name Wtime Wtick
Error_class Error_string
Comm_rank Comm_size Comm_remote_size Comm_test_inter Comm_compare Comm_group Comm_remote_group Comm_get_name
Comm_get_errhandler Comm_set_errhandler Errhandler_free Comm_dup Comm_idup Comm_split Comm_create
Comm_create_group Comm_free
Group_size Group_rank Group_compare Group_translate_ranks Group_union Group_intersection Group_difference
Group_incl Group_excl Group_free Group_from_session_pset
Topo_test Cartdim_get Cart_get Cart_rank Cart_coords Cart_create Graphdims_get Graph_get Graph_neighbors_count
Graph_neighbors Graph_create Dist_graph_neighbors_count Dist_graph_neighbors Dist_graph_create_adjacent
Type_size Type_size_x Type_get_extent Type_get_true_extent Type_get_name Type_get_envelope Type_get_envelope_c
Type_contiguous Type_commit Type_free
Win_get_group Win_get_name File_get_group
Get_count Get_elements Get_elements_x Test_cancelled Status_set_cancelled Status_set_elements
Status_set_elements_x
Send Ssend Isend Recv Irecv Sendrecv Probe Iprobe Wait Test Recv_init Send_init Start Request_free Request_get_status
Cancel
Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Reduce Allreduce
Reduce_scatter_block Scan Exscan Reduce_local Neighbor_allgather Neighbor_alltoall
Ibarrier Ibcast Igather Iallgather Ialltoall Ireduce Iallreduce Iscan Iexscan Ineighbor_allgather
""".split()

# Functions of libqmpi that a tool for the standard ABI cannot use, because such a tool can only observe.
NOT_READING = {"QMPI_Register_tool_function"}
# Functions that are written by hand in src/abi; all but QMPIX_Enum_create do more than convert their error class.
BY_HAND = {
    "QMPIX_Register_tool_observer", "QMPIX_Call_get_comm", "QMPIX_Call_get_root", "QMPIX_Call_get_peer",
    "QMPIX_Call_for_each_transfer", "QMPIX_Call_for_each_neighbor", "QMPIX_Call_get_started", "QMPIX_Call_get_completed",
    "QMPIX_Call_get_argument", "QMPIX_Call_get_elements", "QMPIX_Call_convert_elements", "QMPIX_Call_get_result",
    "QMPIX_Call_get_request", "QMPIX_Comm_world_rank", "QMPIX_Comm_get_identity",
    "QMPIX_Datatype_get_signature", "QMPIX_Error_class", "QMPIX_Tool_create_comm", "QMPIX_Pvar_create",
    "QMPIX_Cvar_create", "QMPIX_Enum_create",
}

# Functions that MPI 3.1 lacks, so that the MPI library of a run may lack them although the one of the build has them.
LATER = {"MPI_Type_get_envelope_c", "MPI_Group_from_session_pset"}

# Functions whose pointers to a handle or a status are read as well as written.
READ_TOO = r"MPI_(\w+_free|Wait|Test|Start|Cancel|Type_commit|Status_set_\w+)$"
# For a function that reads arrays of ranks: the parameter with the length of these arrays.
RANKS = {"MPI_Group_translate_ranks": "n"}


def public_functions(headers: list[str]) -> list[tuple[str, str, str]]:
    """Returns (result, name, parameters) of each function of libqmpi that the public headers
    declare."""
    found = []
    for path in headers:
        with open(path, encoding="utf-8") as source:
            text = re.sub(r"/\*.*?\*/", "", source.read(), flags=re.S)
        found += [(result.strip(), name, " ".join(given.split())) for result, name, given in
                  re.findall(r"^QMPI_API ([\w \*]+?)(QMPIX?_\w+)\(([^;]*)\);", text, flags=re.M)]
    return found


def is_renamed(result: str, name: str) -> bool:
    return result == "int" and name not in NOT_READING


def abi_name(name: str) -> str:
    """Returns the name for the standard ABI: QMPIX_Call_get_comm -> QMPIX_abi_Call_get_comm,
    PMPI_Send -> QMPIX_abi_PMPI_Send."""
    return PREFIX + re.sub(r"^QMPIX?_", "", name)


def calls_of(functions: list[Function]) -> list[Function]:
    by_name = {function.name: function for function in functions}
    return [by_name["MPI_" + name] for name in CALLS]


def split_parameters(text: str) -> list[tuple[str, str]]:
    """Returns (declaration, name) of each parameter."""
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    parts.append(current.strip())
    pairs = []
    for part in parts:
        if part != "void":
            pairs.append((part, (re.search(r"\(\*(\w+)\)", part) or re.search(r"(\w+)(\[\w*\])?$", part))[1]))
    return pairs


# ---- The header ----------------------------------------------------------------------------------

def names_header(public: list[tuple[str, str, str]], functions: list[Function], licence: str) -> str:
    lines = [
        f"/* {licence} */",
        "/*",
        " * For tools that are compiled for the standard ABI of MPI 5.0. Such a tool refers to functions of libqmpi by",
        " * these names, from which libqmpi recognizes the tool before loading it. In a program of an MPI library that",
        " * has another ABI, these functions convert their arguments and results. Generated by src/generate; do not edit.",
        " */",
        "#ifndef QMPI_ABI_NAMES_H",
        "#define QMPI_ABI_NAMES_H",
        "",
    ]
    for result, name, _ in public:
        if is_renamed(result, name):
            lines.append(f"#define {name} {abi_name(name)}")
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for function in calls_of(functions):
        lines += [f"QMPI_API {function.result} {abi_name('P' + function.name)}({parameters(function)});",
                  f"#define P{function.name} {abi_name('P' + function.name)}"]
    return "\n".join(lines + ["", "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def exports(public: list[tuple[str, str, str]]) -> list[str]:
    """Lists the names to which such a tool may refer. Functions that return no error class have the
    same names in all builds."""
    names = [abi_name(name) if is_renamed(result, name) else name for result, name, _ in public
             if name not in NOT_READING]
    return sorted(names + [abi_name("PMPI_" + name) for name in CALLS])


# ---- libqmpi of the standard ABI -----------------------------------------------------------------

# Functions whose names libraries of MPICH also define, and the hidden names of the same functions: see registry/tool.h.
HIDDEN_NAMES = {"QMPI_Register_tool_name": "qmpi_tool_register_name",
                "QMPI_Register_tool_storage": "qmpi_tool_register_storage"}


def same_functions(public: list[tuple[str, str, str]]) -> str:
    """Writes, in assembler, the names of names_header() as aliases of the functions of libqmpi for the ABI itself."""
    lines = ['#include "dispatch/arch/entry.h"']
    pairs = [(abi_name(name), name) for result, name, _ in public if is_renamed(result, name)]
    pairs += [(abi_name("PMPI_" + name), "PMPI_" + name) for name in CALLS]
    lines += [f"SAME {name}, {HIDDEN_NAMES.get(same, same)}" for name, same in pairs]
    return "\n".join(lines + ["SAMES_END", ""])


# ---- libqmpi of another library ------------------------------------------------------------------

def forwarding(public: list[tuple[str, str, str]]) -> str:
    """Writes the functions of libqmpi that convert only the error class that they return."""
    text = ""
    for result, name, given in public:
        if not is_renamed(result, name) or name in BY_HAND:
            continue
        arguments = ", ".join(argument for _, argument in split_parameters(given))
        text += (f"QMPI_API int {abi_name(name)}({given})\n{{\n"
                 f"    const int result = {HIDDEN_NAMES.get(name, name)}({arguments});\n"
                 "    if (__builtin_expect(result != MPI_SUCCESS, 0))\n"
                 "        return qmpi_abi_from_error(result);\n"
                 "    return MPI_SUCCESS;\n}\n\n")
    return text


def base_of(parameter: Parameter) -> str:
    return re.match(r"(?:const )?(\w+)", parameter.type)[1]


def is_pointer(parameter: Parameter) -> bool:
    return "*" in parameter.type or "[" in parameter.type


def abi_declaration(parameter: Parameter) -> str:
    base = base_of(parameter)
    if base in HANDLES:
        return parameter.text.replace(base, "uintptr_t", 1)
    if base == "MPI_Status":
        return parameter.text.replace(base, "struct qmpi_abi_status", 1)
    return parameter.text


class Call:
    """Writes the function that converts the arguments and results of MPI_X."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.before, self.arguments, self.after, self.end = [], [], [], []
        for parameter in function.parameters:
            self.add(parameter)

    def add(self, parameter: Parameter) -> None:
        base, name = base_of(parameter), parameter.name
        constants = converted_constants_of(self.function, parameter)
        const = parameter.type.startswith("const")
        reads = const or re.match(READ_TOO, self.function.name)
        if base in HANDLES and not is_pointer(parameter):
            self.arguments.append(f"qmpi_abi_to_{base}({name})")
        elif base in HANDLES:
            if "[" in parameter.type or const:
                raise SystemExit(f"{self.function.name}: cannot convert {parameter.text}")
            self.before.append(f"{base} qmpi_{name} = {f'qmpi_abi_to_{base}({name} ? *{name} : 0)' if reads else f'qmpi_abi_to_{base}(0)'};")
            self.arguments.append(f"{name} ? &qmpi_{name} : NULL")
            self.after.append(f"if ({name})\n        *{name} = qmpi_abi_from_{base}(qmpi_{name});")
        elif base == "MPI_Status":
            self.before.append(f"MPI_Status qmpi_{name};")
            if reads:
                self.before.append(f"if ({name})\n        qmpi_abi_to_status({name}, &qmpi_{name});")
            else:
                self.before.append(f"memset(&qmpi_{name}, 0, sizeof qmpi_{name});")
            self.arguments.append(f"{name} ? &qmpi_{name} : MPI_STATUS_IGNORE")
            if not const:
                self.after.append(f"if ({name})\n        qmpi_abi_from_status(&qmpi_{name}, {name});")
        elif base == "void":
            self.arguments.append(f"qmpi_abi_to_buffer({name})")
        elif constants == "WEIGHTS":
            self.arguments.append(f"qmpi_abi_to_weights({name})")
        elif constants != "NONE" and not is_pointer(parameter):
            self.arguments.append(f"qmpi_abi_to_native_number(QMPIX_CONSTANTS_{constants}, {name})")
        elif constants != "NONE" and const and self.function.name in RANKS:
            count = RANKS[self.function.name]
            self.before += [f"int *const qmpi_{name} = qmpi_abi_to_numbers(QMPIX_CONSTANTS_{constants}, {count}, {name});"]
            self.arguments.append(f"qmpi_{name}")
            self.end.append(f"free(qmpi_{name});")
        elif constants != "NONE" and not const and "[" not in parameter.type:
            self.arguments.append(name)
            self.after.append(f"qmpi_abi_from_numbers(QMPIX_CONSTANTS_{constants}, {name} ? 1 : 0, {name});")
        elif constants != "NONE" and not const:
            self.arguments.append(name)
            count = {"ranks2": "n", "neighbors": "maxneighbors", "sources": "maxindegree",
                     "destinations": "maxoutdegree"}[name]
            self.after.append(f"qmpi_abi_from_numbers(QMPIX_CONSTANTS_{constants}, {count}, {name});")
        else:
            self.arguments.append(name)

    def text(self, exists: bool) -> str:
        function = self.function
        declared = ", ".join(abi_declaration(parameter) for parameter in function.parameters) or "void"
        head = f"QMPI_API {function.result} {abi_name('P' + function.name)}({declared})\n{{\n"
        refuse = "return qmpi_abi_from_error(MPI_ERR_UNSUPPORTED_OPERATION);"
        if not exists:
            unused = "".join(f"    (void){parameter.name};\n" for parameter in function.parameters)
            return head + unused + f"    {refuse}\n}}\n\n"
        pointer = f"((__typeof__(&{function.name}))qmpi_pmpi_slots[{function.constant}])"
        call = f"{pointer}({', '.join(self.arguments)})"
        if function.result != "int":
            return head + f"    return {call};\n}}\n\n"
        guard = [f"if (!qmpi_mpi_library_provides({function.constant}))", "    " + refuse] if function.name in LATER else []
        lines = ["qmpi_abi_start();", *guard, *self.before, f"const int qmpi_result = {call};"]
        if self.after:
            lines += ["if (qmpi_result == MPI_SUCCESS) {", *("    " + line for line in self.after), "}"]
        lines += [*self.end, "return qmpi_abi_from_error(qmpi_result);"]
        return head + "".join(f"    {line}\n" for line in lines) + "}\n\n"


def converting(functions: list[Function], native: set[str]) -> str:
    return "".join(Call(function).text(function.name in native) for function in calls_of(functions))
