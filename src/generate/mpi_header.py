# SPDX-License-Identifier: MIT
"""Reads the preprocessed mpi.h of the MPI library with pycparser.

Most generated files are written from the list of Function records that read_functions() returns.
"""
from __future__ import annotations  # for Python 3.9

import re
import subprocess
from dataclasses import dataclass, field

import c_extensions
from pycparser import c_ast, c_generator, c_parser

PUBLIC = re.compile(r"MPIX?_\w+$")


@dataclass
class Parameter:
    """A parameter, with the name that read_parameters() chooses; `text` is its declaration, `type` its type alone."""

    name: str
    text: str
    type: str


@dataclass
class Function:
    name: str  # MPI_Send
    number: int
    result: str  # int
    parameters: list[Parameter] = field(default_factory=list)
    variadic: bool = False

    @property
    def short(self) -> str:
        """The part of the name in QMPI_<short>_t and QMPIX_NEXT(c, <short>)."""
        return short_name(self.name)

    @property
    def constant(self) -> str:
        return constant_name(self.name)


def short_name(name: str) -> str:
    """MPI_Send -> Send, MPIX_Comm_agree -> X_Comm_agree."""
    return "X_" + name[5:] if name.startswith("MPIX_") else name[4:]


def constant_name(name: str) -> str:
    return name.upper() + "_T"


def read_numbers(path: str) -> list[str]:
    """Reads the committed list, in which the position of a function is its number."""
    with open(path, encoding="utf-8") as lines:
        names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    constants = [constant_name(name) for name in names]
    if len(set(constants)) != len(constants):
        raise SystemExit(f"{path}: a name is listed twice")
    return names


def read_exports(library: str, nm: str = "nm") -> set[str]:
    """Returns the names of the functions that the MPI library defines, without the leading P."""
    listing = subprocess.run(
        [nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
    return {name[1:] for name in names if re.match(r"PMPIX?_\w", name)}


def parse(preprocessed: str) -> c_ast.FileAST:
    with open(preprocessed, encoding="utf-8") as source:
        return c_parser.CParser().parse(c_extensions.simplify(source.read()), preprocessed)


def rename(node, name):
    """Sets the name in the declarator that the type `node` contains; None makes it an abstract declarator."""
    while not isinstance(node, c_ast.TypeDecl):
        node = node.type
    node.declname = name


def read_parameters(decl: c_ast.FuncDecl, standard: list[str] | None = None) -> tuple[list[Parameter], bool]:
    """Returns the parameters, and whether the function is variadic. `standard` contains names for the parameters; they
    are used if there is one for each parameter."""
    writer = c_generator.CGenerator()
    parameters, variadic = [], False
    given = decl.args.params if decl.args else []
    for position, node in enumerate(given):
        if isinstance(node, c_ast.EllipsisParam):
            variadic = True
            continue
        name = getattr(node, "name", None) or f"argument{position + 1}"
        if standard and len(standard) == len(given):
            name = standard[position] or name  # f(void) has a parameter without a name
        rename(node.type, name)
        text = writer.visit(c_ast.Decl(name, node.quals, [], [], [], node.type, None, None))
        if text == f"void {name}":
            continue
        rename(node.type, None)
        parameters.append(Parameter(name, text, writer.visit(c_ast.Typename(None, node.quals, None, node.type))))
    return parameters, variadic


def declared_functions(tree: c_ast.FileAST):
    """Yields each function that mpi.h declares."""
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            yield node


def read_parameter_names(tree: c_ast.FileAST) -> dict[str, list[str]]:
    """Returns the names of the parameters of each function, which are those of the MPI standard,
    from the mpi.h of the standard ABI. Some libraries use other names (`indx`, `mpi_assert`,
    `type`)."""
    return {node.name: [getattr(parameter, "name", None) or "" for parameter in node.type.args.params]
            for node in declared_functions(tree) if node.type.args and PUBLIC.match(node.name)}


def read_functions(tree: c_ast.FileAST, numbers: list[str], exports: set[str] | None,
                   standard: dict[str, list[str]] | None = None) -> list[Function]:
    """Returns each MPI function that is declared and exported (exported is None: all that are
    declared), ordered by number. `standard`, from read_parameter_names(), gives the names of the
    parameters. Functions that are not in `numbers` get the next numbers."""
    number_of = {name: number for number, name in enumerate(numbers)}
    writer = c_generator.CGenerator()
    found = {}
    for node in declared_functions(tree):
        name = node.name
        if not PUBLIC.match(name) or name in found or (exports is not None and name not in exports):
            continue
        number = number_of.setdefault(name, len(number_of))
        # An extension may have become a function of the standard later: MPIX_Bcast_init.
        names = (standard or {}).get(name.replace("MPIX_", "MPI_", 1))
        parameters, variadic = read_parameters(node.type, names)
        result = writer.visit(node.type.type).replace(name, "").strip()
        found[name] = Function(name, number, result, parameters, variadic)
    return sorted(found.values(), key=lambda function: function.number)


def read_names(tree: c_ast.FileAST) -> set[str]:
    """Returns all ordinary identifiers, and the tags of enumerations, in mpi.h."""
    names = set()

    class Visitor(c_ast.NodeVisitor):
        def visit_Typedef(self, node):
            names.add(node.name)
            self.generic_visit(node)

        def visit_Decl(self, node):
            names.add(node.name)
            self.generic_visit(node)

        def visit_Enum(self, node):
            names.add(node.name)
            self.generic_visit(node)

        def visit_Enumerator(self, node):
            names.add(node.name)

    Visitor().visit(tree)
    return {name for name in names if name}


def read_objects(tree: c_ast.FileAST) -> list[str]:
    """Returns the data behind the predefined handles of Open MPI; in other libraries, these handles
    are numbers."""
    found = {}
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and not isinstance(node.type, c_ast.FuncDecl):
            if node.name and node.name.startswith("ompi_"):
                found[node.name] = None
    return list(found)


def read_callbacks(tree: c_ast.FileAST) -> list[str]:
    """Returns the functions behind Open MPI's predefined callbacks, such as MPI_COMM_DUP_FN."""
    return list(dict.fromkeys(node.name for node in declared_functions(tree) if node.name.startswith("OMPI_C_")))


def read_enumerators(tree: c_ast.FileAST, tag: str) -> list[str]:
    """Returns the enumerators of `enum tag` in the order of their values, which must be 0, 1, …; empty if mpi.h has no
    such enum."""
    found = []

    class Visitor(c_ast.NodeVisitor):
        def visit_Enum(self, node):
            if node.name == tag and node.values:
                found.extend(each.name for each in node.values.enumerators)

    Visitor().visit(tree)
    return found


def read_parameter_type(tree: c_ast.FileAST, name: str, position: int) -> str:
    """Returns the type of one parameter of the function `name`; empty if mpi.h does not declare
    it."""
    for node in tree.ext:
        if isinstance(node, c_ast.Decl) and node.name == name:
            return read_parameters(node.type)[0][position].type
    return ""
