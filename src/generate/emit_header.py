# SPDX-License-Identifier: MIT
"""The generated public headers: numbers and types of one MPI's functions, and wrappers.h."""
from emit_c import GENERATED, LICENCE, Source, arguments, parameters
from mpi_header import constant_name


def guard(source: Source, name: str) -> str:
    return f"QMPI_{source.mpi.upper()}_{name}_H"


def header(source: Source) -> str:
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */"]
    lines += [f"#ifndef {guard(source, 'FUNCTIONS')}", f"#define {guard(source, 'FUNCTIONS')}", ""]
    if source.mpi == "openmpi":
        lines += ["#include <mpi-ext.h> /* Open MPI's MPIX functions */", ""]
        lines += ["/* The type of a parameter of MPI_Errhandler_create, which mpi.h no longer declares. */"]
        lines += ["typedef void(MPI_Handler_function)(MPI_Comm *, int *, ...);", ""]
    declared = ["QMPI_Context", "QMPI_Functions_enum", "QMPI_Get_function", "MPI_LAST_FUNC"]
    declared += [constant_name(name) for name in source.numbers]
    declared += [f"QMPI_{function.short}_t" for function in source.functions]
    clashes = [name for name in declared if name in source.declared]
    if clashes:
        lines.append("/* This mpi.h declares another variant of QMPI; names that are in both are renamed here. */")
        lines += [f"#define {name} qmpix_{name}" for name in clashes]
        lines.append("")
    lines += [
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        "typedef const struct QMPIX_Node *QMPI_Context;",
        "",
        "/* The number of every MPI function, whether this MPI has it or not. Numbers never change. */",
        "enum QMPI_Functions_enum {",
    ]
    for number, name in enumerate(source.numbers):
        lines.append(f"    {constant_name(name)} = {number},")
    lines += [f"    MPI_LAST_FUNC = {len(source.numbers)}", "};", ""]
    lines += ["/* The numbers of this MPI's functions, named after them, for QMPIX_REGISTER. */", "enum {"]
    lines += [f"    QMPI_{function.short}_number = {constant_name(function.name)}," for function in source.functions]
    lines += ["};", ""]
    lines.append("/* QMPI_X_t: an interceptor of MPI_X. */")
    for function in source.functions:
        lines.append(
            f"typedef {function.result} QMPI_{function.short}_t"
            f"({parameters(function, 'QMPI_Context context')});"
        )
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "#endif", ""]
    return "\n".join(lines)


def wrappers(source: Source) -> str:
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */"]
    lines += [f"#ifndef {guard(source, 'WRAPPERS')}", f"#define {guard(source, 'WRAPPERS')}", ""]
    lines += [
        "/* W(result type, X, number, (parameters), (arguments for the next interceptor)) for every",
        " * function MPI_X of this MPI, except the variadic MPI_Pcontrol. The first parameter is",
        " * the QMPI_Context `context`; the first argument is QMPIX_NEXT_CONTEXT(context). */",
        "#define QMPIX_FOR_EACH_FUNCTION(W) \\",
    ]
    rows = []
    for function in source.functions:
        if function.variadic:
            continue
        rows.append(
            f"    W({function.result}, {function.short}, {function.constant}, "
            f"({parameters(function, 'QMPI_Context context')}), "
            f"({arguments(function, 'QMPIX_NEXT_CONTEXT(context)')}))"
        )
    lines.append(" \\\n".join(rows))
    lines += ["", "#endif", ""]
    return "\n".join(lines)
