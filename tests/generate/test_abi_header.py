# SPDX-License-Identifier: MIT
"""Tests that the project's mpi.h of the standard ABI states the same facts as the headers of
installed MPI libraries."""
import copy
import glob
import re

import generate_support as support
import pytest
from pycparser import c_ast, c_generator

import mpi_header

OUR_FOLDER = support.SOURCE / "include/qmpi/mpi-abi"
LIBRARIES = "/usr/lib/*"
INSTALLED = {
    "MPICH": f"{LIBRARIES}/mpi_abi_mpich/include",
    "Open MPI": f"{LIBRARIES}/openmpi/include/standard_abi",
}

# Deviations of installed headers from the standard: for each library, name -> (ours, theirs).
DIFFERENT = {
    "MPICH": {
        # The standard has a single version of each of these two functions, whose count has the type MPI_Count.
        "MPI_Psend_init": (
            "int (const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *)",
            "int (const void *, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *)",
        ),
        "MPI_Precv_init": (
            "int (void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *)",
            "int (void *, int, int, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *)",
        ),
    },
    "Open MPI": {"MPI_DISPLACEMENT_CURRENT": ("MPI_Offset 8 bytes -1", "int 4 bytes -1")},
}
# Names that only the installed headers have: those that need MPI_Fint, large-count versions that the
# standard does not have, synonyms that MPI 4.0 removed, and include guards.
NOT_OURS = re.compile(
    r"MPI_\w+_(c2f|f2c|c2f08|f082c)$|MPI_P(send|recv)_init_c$|MPI_F(08)?_STATUS(ES)?_IGNORE$|MPI_Fint$"
    r"|MPI_F08_Status$|MPI_(Comm|File|Session|Win)_errhandler_fn$|MPI_H_ABI$"
)
# These are deprecated since MPI 2: Open MPI declares none of them in its header of the standard
# ABI.
DEPRECATED = re.compile(r"MPI_(Attr_(delete|get|put)|Keyval_(create|free)|(NULL_COPY|DUP|NULL_DELETE)_FN)$")

HANDLES = ["MPI_" + each for each in (
    "Comm", "Datatype", "Errhandler", "File", "Group", "Info", "Message", "Op", "Request", "Session", "Win", "T_enum",
    "T_cvar_handle", "T_pvar_handle", "T_pvar_session", "T_event_registration", "T_event_instance")]
INTEGERS = ["MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_T_source_order", "MPI_T_cb_safety"]
STRUCTURES = {"MPI_Status": ["MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal"]}
PROGRAM = """
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#define KIND(x) _Generic((x), %(kinds)s, default: "other")
int main(void)
{
%(lines)s
    return 0;
}
"""


def installed(library):
    found = glob.glob(INSTALLED[library])
    if not found:
        pytest.skip(f"{library}'s mpi.h of the standard ABI is not installed")
    return found[0]


def preprocess(folder, tmp_path, *options):
    source = tmp_path / "include.c"
    source.write_text("#include <mpi.h>\n")
    return support.run(*support.CC, "-E", *options, f"-I{folder}", source)


def parse(folder, tmp_path):
    path = tmp_path / "mpi.i"
    path.write_text(preprocess(folder, tmp_path, "-D__attribute__(x)="))
    return mpi_header.parse(path)


def plain(node):
    """Returns a type without the names of its parameters. Arrays become pointers, as C defines it for
    parameters."""
    node = copy.deepcopy(node)
    if isinstance(node, c_ast.ArrayDecl):
        return plain(c_ast.PtrDecl([], node.type))
    if isinstance(node, c_ast.TypeDecl):
        node.declname = None
    elif isinstance(node, (c_ast.PtrDecl, c_ast.FuncDecl)):
        node.type = plain(node.type)
        if isinstance(node, c_ast.FuncDecl) and node.args:
            node.args.params = [
                each if isinstance(each, c_ast.EllipsisParam)
                else c_ast.Typename(None, each.quals, None, plain(each.type))
                for each in node.args.params
            ]
    return node


def types(tree):
    """Returns name -> type of every function and typedef of MPI."""
    writer = c_generator.CGenerator()
    found = {}
    for node in tree.ext:
        is_function = isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
        if (is_function or isinstance(node, c_ast.Typedef)) and re.match("P?MPI_", node.name):
            if isinstance(node.type, c_ast.TypeDecl) and isinstance(node.type.type, c_ast.Enum):
                continue  # an enumeration's members are compared as constants
            found[node.name] = writer.visit(c_ast.Typename(None, [], None, plain(node.type)))
    return found


def constants(folder, tree, tmp_path):
    """Returns the names of all constants except those in NOT_OURS: macros without parameters, and enumerators."""
    macros = re.findall(r"^#define (MPI_\w+) ", preprocess(folder, tmp_path, "-dM"), re.MULTILINE)

    class Enumerators(c_ast.NodeVisitor):
        def visit_Enumerator(self, node):
            if node.name.startswith("MPI_"):
                macros.append(node.name)

    Enumerators().visit(tree)
    return {name for name in macros if not NOT_OURS.match(name)}


def measure(folder, names, tmp_path):
    """Returns name -> type, size and value of each constant; the size of each type; the offsets of
    members."""
    kinds = {name: name for name in HANDLES} | {"int64_t": "MPI_Offset", "int": "int", "void *": "void *", "char **": "char **",
              "char ***": "char ***", "int *": "int *", "MPI_Status *": "MPI_Status *"}
    lines = [f'printf("{name}\\t%s %zu bytes %lld\\n", KIND({name}), sizeof({name}), '
             f"(long long)(intptr_t)({name}));" for name in sorted(names)]
    lines += [f'printf("sizeof {name}\\t%zu\\n", sizeof({name}));' for name in [*HANDLES, *STRUCTURES, *INTEGERS]]
    lines += [f'printf("{name}.{member}\\t%zu\\n", offsetof({name}, {member}));'
              for name, members in STRUCTURES.items() for member in members]
    source = tmp_path / "measure.c"
    source.write_text(PROGRAM % {
        "kinds": ", ".join(f'{each}: "{name}"' for each, name in kinds.items()), "lines": "\n".join(lines)})
    support.run(*support.CC, "-std=c11", f"-I{folder}", source, "-o", tmp_path / "measure")
    return dict(line.split("\t") for line in support.run(tmp_path / "measure").splitlines())


def traits(folder, tmp_path):
    tree = parse(folder, tmp_path)
    found = types(tree)
    measured = measure(folder, constants(folder, tree, tmp_path), tmp_path)
    return {name: text for name, text in (found | measured).items() if not NOT_OURS.match(name.removeprefix("P"))}


@pytest.mark.parametrize("library", INSTALLED)
def test_types_constants_and_functions_are_those_of_an_installed_header(library, tmp_path):
    theirs = traits(installed(library), tmp_path)
    ours = traits(OUR_FOLDER, tmp_path)
    if library == "Open MPI":
        ours = {name: text for name, text in ours.items() if not DEPRECATED.match(name.removeprefix("P"))}
    assert len(ours) > 1600
    different = {name: (ours.get(name, "none"), theirs.get(name, "none")) for name in sorted(ours.keys() | theirs.keys())
                 if ours.get(name) != theirs.get(name)}
    expected = DIFFERENT[library] | {"P" + name: pair for name, pair in DIFFERENT[library].items() if "init" in name}
    assert different == expected, "\n".join(f"{name}: {pair[0]} / {library}: {pair[1]}" for name, pair in different.items())


def test_the_header_of_the_standard_abi_compiles_in_c_and_cpp(tmp_path):
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{OUR_FOLDER}"]
    for compiler, name in ((support.CC, "use.c"), (support.CXX, "use.cpp")):
        (tmp_path / name).write_text("#include <mpi.h>\nint main(void) { return MPI_COMM_WORLD == MPI_COMM_NULL; }\n")
        if compiler:
            support.run(*compiler, *strict, tmp_path / name)
