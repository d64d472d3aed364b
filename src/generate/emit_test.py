# SPDX-License-Identifier: MIT
"""Writes the sources of the test that calls every entry point (tests/generate/every_entry.c).

check: for each function except the variadic MPI_Pcontrol, an interceptor that examines all arguments,
and calls of MPI_X and PMPI_X.
mpich_check: the same interceptors with the prototypes of MPICH's own QMPI. echo: the MPI library
below them. The expected value of an argument follows from its function and its position in the
parameter list (tests/generate/witness.h), so that the caller, the interceptors and the library can
compute it independently. exists: which functions this MPI has, for other tests.
"""
import re

from emit_c import GENERATED, LICENCE, Source
from mpi_header import Function, Parameter, short_name


def declaration(parameter: Parameter) -> str:
    """Returns the parameter with its array type replaced by a pointer, so that sizeof gives the
    size of the argument."""
    return re.sub(rf"\b{parameter.name}\[[^]]*\]", f"(*{parameter.name})", parameter.text, count=1)


def declarations(function: Function, first: str = "") -> str:
    texts = [first] if first else []
    return ", ".join(texts + [declaration(each) for each in function.parameters]) or "void"


def names(function: Function, first: str = "") -> str:
    return ", ".join(([first] if first else []) + [each.name for each in function.parameters])


def variable(parameter: Parameter) -> str:
    """Returns the declaration of a local variable that can be passed for this parameter: neither
    const nor a function."""
    text = declaration(parameter)
    if "*" in text:
        return text
    return f"DECAYED({text.removesuffix(parameter.name).strip()}) {parameter.name}"


def look(function: Function) -> str:
    """Returns the lines that examine all arguments."""
    return "".join(
        f'    witness_argument({position}, "{each.name}", &{each.name}, sizeof {each.name});\n'
        for position, each in enumerate(function.parameters, 1)
    )


def layer(function: Function) -> str:
    return (
        f"static {function.result} layer_{function.short}"
        f"({declarations(function, 'QMPI_Context context')})\n"
        "{\n"
        f"    const int check_place = arrive(context, {function.constant});\n"
        f"{look(function)}"
        f"    {function.result} check_result = QMPIX_NEXT(context, {function.short})"
        f"({names(function, 'QMPIX_NEXT_CONTEXT(context)')});\n"
        "    witness_result(check_place, &check_result, sizeof check_result);\n"
        "    witness_answer(check_place, &check_result, sizeof check_result);\n"
        "    return check_result;\n"
        "}\n"
    )


def call(function: Function) -> str:
    # The parentheses around the name prevent the expansion of a macro of mpi.h.
    arguments = names(function)
    text = f"static void call_{function.short}(bool check_pmpi)\n{{\n"
    for position, each in enumerate(function.parameters, 1):
        text += f"    {variable(each)};\n"
        text += f"    witness_fill(&{each.name}, sizeof {each.name}, {position});\n"
    text += (
        f"    const {function.result} check_result =\n"
        f"        check_pmpi ? (P{function.name})({arguments})\n"
        f"                   : ({function.name})({arguments});\n"
        "    witness_result(WITNESS_APPLICATION, &check_result, sizeof check_result);\n"
        "}\n"
    )
    return text


def check(source: Source) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * For every function an interceptor and a call; see tests/generate/every_entry.c. */\n"
        '#include "every_entry.h"\n\n'
        "/* The type that an argument of type T has once it is passed. */\n"
        "#define DECAYED(T) __typeof__(((void)0, *(T *)0))\n\n"
    )
    for function in source.functions:
        if not function.variadic:
            text += layer(function) + "\n" + call(function) + "\n"
    text += "const struct every_entry every_entry[] = {\n"
    for function in source.functions:
        text += (
            f'    {{"{function.name}", {function.constant}, call_{function.short},\n'
            f"     (void (*)(void))layer_{function.short}}},\n"
        )
    text += f"}};\n\nconst int every_entry_count = {len(source.functions)};\n"
    return text


def mpich_layer(function: Function) -> str:
    # Declares the interceptor with the type QMPI_X_t of mpi.h, so that the compiler checks the prototype below.
    return (
        f"static QMPI_{function.short}_t cross_{function.short};\n".replace("QMPI_X_", "QMPIX_")
        + f"static {function.result} cross_{function.short}"
        f"({declarations(function, 'QMPI_Context context, int tool_id')})\n"
        "{\n"
        f'    const struct cross_next check_next = cross_arrive(tool_id, {function.constant}, '
        f'"{function.name}");\n'
        f"{look(function)}"
        f"    {function.result} check_result = ((__typeof__(cross_{function.short}) *)"
        f"check_next.function)({names(function, 'context, check_next.tool_id')});\n"
        "    witness_result(tool_id, &check_result, sizeof check_result);\n"
        "    witness_answer(tool_id, &check_result, sizeof check_result);\n"
        "    return check_result;\n"
        "}\n"
    )


def mpich_check(source: Source) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * For every function an interceptor of MPICH's variant; see tests/mpich/cross_entry.c. */\n"
        '#include "cross_entry.h"\n\n'
    )
    present = {function.constant: function for function in source.functions}
    covered = [present[name] for name in source.mpich if name in present]
    for function in covered:
        if not function.variadic:
            text += mpich_layer(function) + "\n"
    text += "const struct cross_entry cross_entry[] = {\n"
    for function in covered:
        text += f"    {{{function.constant}, (void (*)(void))cross_{function.short}}},\n"
    return text + f"}};\n\nconst int cross_entry_count = {len(covered)};\n"


def echo_function(function: Function) -> str:
    # The parentheses around the name prevent the expansion of a macro of mpi.h.
    parameters = declarations(function)
    return (
        f"{function.result} (P{function.name})({parameters})\n"
        "{\n"
        f"    {function.result} check_result;\n"
        f'    witness_arrive(0, "{function.name}");\n'
        f"{look(function)}"
        "    witness_answer(0, &check_result, sizeof check_result);\n"
        "    return check_result;\n"
        "}\n"
    )


def echo(source: Source) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * An MPI library that only examines its arguments; the variadic functions are in\n"
        " * tests/generate/echo_pcontrol.c. */\n"
        "#pragma GCC visibility push(default)\n"
        "#include <mpi.h>\n"
        "#ifdef OPEN_MPI\n"
        "#include <mpi-ext.h>\n"
        "#endif\n"
        "#pragma GCC visibility pop\n\n"
        '#include "witness.h"\n\n'
    )
    for function in source.functions:
        if not function.variadic:
            text += echo_function(function) + "\n"
    # Some symbols are added because the kind of the library is determined by them: see
    # process/mpi_kind.c.
    for name in source.objects + (["MPIR_Dup_fn"] if source.mpi == "mpich" else []):
        text += f'__asm__(".comm {name}, 1024, 16");\n'
    text += "/* As in a real MPI library, MPI_X is a weak alias of PMPI_X. */\n"
    for function in source.functions:
        if function.variadic:
            continue
        text += (
            f"{function.result} ({function.name})({declarations(function)})\n"
            f'    __attribute__((weak, alias("P{function.name}")));\n'
        )
    return text


def exists(source: Source) -> str:
    """EXISTS_X is `~, MPI, X` if MPI_X exists, `~, MPIX, X` if there is only MPIX_X, and `~, MPI, Y` or `~, MPIX, Y` if
    X is Y_c and only Y exists, unless Y has arrays of int: a call of Y_c passes other arrays. Otherwise, EXISTS_X is
    not defined. The macros in tests/observe/programs/expect.h read the second and the third element."""
    present = {function.name: function for function in source.functions}
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */"]
    for name in source.numbers:
        small = name.removesuffix("_c")
        plain = present.get(small) or present.get(small.replace("MPI_", "MPIX_"))
        if name in present:
            lines.append(f"#define EXISTS_{short_name(name)} ~, MPI, {short_name(name)}")
        elif plain and (name == small or
                        not any(re.search(r"int \w+\[", each.text) for each in plain.parameters)):
            prefix, _, rest = plain.name.partition("_")
            lines.append(f"#define EXISTS_{short_name(name)} ~, {prefix}, {rest}")
    return "\n".join(lines) + "\n"
