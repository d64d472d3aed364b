# SPDX-License-Identifier: MIT
"""MPICH's variant of QMPI: its function numbers, and the functions between its layers and others."""
from emit_c import (ENTER_FRAME, GENERATED, LICENCE, Source, arguments, attribute, collect, if_entered_in_c, parameters,
                    part_of)
from mpi_header import Function, constant_name

CONTEXT = "struct qmpi_dispatch_mpich_context"
FIXED_ROWS = 2  # the value of QMPI_FIXED_ROWS in dispatch/node.h
KINDS = ["enter", "into", "through", "terminator"] + [f"fixed_{place}" for place in range(FIXED_ROWS)]


def covered(source: Source) -> dict[str, Function]:
    """The functions that have a number in the variant, by the name of that number."""
    present = {function.constant: function for function in source.functions}
    return {name: present[name] for name in source.mpich if name in present}


def numbers(source: Source) -> str:
    return (
        f"/* {LICENCE} */\n/* {GENERATED} */\n"
        "#ifndef QMPI_MPICH_NUMBERS_H\n#define QMPI_MPICH_NUMBERS_H\n\n"
        "/* The number of functions in the QMPI that mpi.h itself declares; 0: it declares none. */\n"
        f"#define QMPI_MPICH_COUNT {len(source.mpich)}\n\n"
        "/* The type of a function number in the calls of that QMPI. */\n"
        f"#define QMPI_MPICH_NUMBER {source.mpich_number}\n\n"
        "#endif\n"
    )


def signature(function: Function) -> str:
    return parameters(function, f"{CONTEXT} qmpi_context, int qmpi_tool_id")


def pointer(function: Function) -> str:
    return f"{function.result} (*)({signature(function)})"


def enter_function(function: Function) -> str:
    return (
        f"{attribute(function)}QMPI_TRAMPOLINE {function.result} mpich_enter_{function.name}"
        f"({parameters(function)})\n"
        "{\n"
        f"{collect(function)}"
        f"{ENTER_FRAME}\n"
        "    const struct qmpi_node *const qmpi_head =\n"
        f"        qmpi_node_at(&qmpi_heads[{function.constant}]);\n"
        f"    return (({pointer(function)})qmpi_head->mpich_function)\n"
        f"        ({arguments(function, 'qmpi_node_as_mpich_context(&qmpi_head->node), qmpi_head->node.tool_id')});\n"
        "}\n"
    )


def into_function(function: Function) -> str:
    return (
        f"{attribute(function)}{function.result} mpich_into_{function.name}"
        f"({parameters(function, 'QMPI_Context qmpi_node')})\n"
        "{\n"
        f"{collect(function)}"
        f"    return (({pointer(function)})\n"
        "            QMPIX_JUMP_TARGET(((const struct qmpi_node *)qmpi_node)->mpich_function))\n"
        f"        ({arguments(function, 'qmpi_node_as_mpich_context(qmpi_node), qmpi_node->tool_id')});\n"
        "}\n"
    )


def through_function(function: Function) -> str:
    return (
        f"{attribute(function)}{function.result} mpich_through_{function.name}"
        f"({signature(function)})\n"
        "{\n"
        "    (void)qmpi_context;\n"
        f"{collect(function)}"
        f"    const QMPI_Context qmpi_node = qmpi_node_of_layer(qmpi_tool_id, {function.constant});\n"
        f"    return ((QMPI_{function.short}_t *)QMPIX_JUMP_TARGET(qmpi_node->function))"
        f"({arguments(function, 'qmpi_node')});\n"
        "}\n"
    )


def fixed_function(function: Function, place: int) -> str:
    """Like through_function, but for the layer with `place` layers below it. The row of its nodes has a fixed address,
    so that the tool_id is not looked up."""
    return (
        f"{attribute(function)}{function.result} mpich_fixed_{place}_{function.name}"
        f"({signature(function)})\n"
        "{\n"
        "    (void)qmpi_context;\n"
        "    (void)qmpi_tool_id;\n"
        f"{collect(function)}"
        f"    const QMPI_Context qmpi_node = qmpi_node_at_depth({place}, {function.constant});\n"
        f"    return ((QMPI_{function.short}_t *)QMPIX_JUMP_TARGET(qmpi_node->function))"
        f"({arguments(function, 'qmpi_node')});\n"
        "}\n"
    )


def terminator_function(function: Function) -> str:
    return (
        f"{attribute(function)}{function.result} mpich_terminator_{function.name}"
        f"({signature(function)})\n"
        "{\n"
        "    (void)qmpi_context;\n"
        "    (void)qmpi_tool_id;\n"
        f"{collect(function)}"
        f"    return (({function.result}(*)({parameters(function)}))"
        f"QMPIX_JUMP_TARGET(qmpi_terminator_targets[{function.constant}]))({arguments(function)});\n"
        "}\n"
    )


def functions(source: Source, part: int) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * Calls to and from layers of MPICH's variant, see mpich/mpich.h.\n"
        " * mpich_enter_X: the trampoline if such a layer is on top. mpich_into_X: the function of such a layer's\n"
        " * node. To reach a layer of another kind, such a layer calls mpich_through_X, which finds the node by\n"
        " * the tool_id, or mpich_fixed_N_X, which calls the node of the layer with N layers below it; for PMPI_X,\n"
        " * it calls mpich_terminator_X. */\n"
        '#include "dispatch/node.h"\n\n'
        '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n'
        '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n\n'
    )
    text += f'_Static_assert(QMPI_FIXED_ROWS == {FIXED_ROWS}, "generated for another number");\n\n'
    present = part_of(list(covered(source).values()), part)
    text += if_entered_in_c("".join(enter_function(function) for function in present))
    for function in present:
        text += into_function(function) + "\n"
        text += through_function(function) + "\n" + terminator_function(function) + "\n"
        text += "".join(fixed_function(function, place) + "\n" for place in range(FIXED_ROWS))
    return text


def table(source: Source) -> str:
    text = f"/* {LICENCE} */\n/* {GENERATED} */\n"
    text += '#include "dispatch/node.h"\n\n#include <stddef.h>\n\n'
    found = covered(source)
    for function in found.values():
        for kind in KINDS:
            text += f"extern qmpi_function mpich_{kind}_{function.name} QMPI_HIDDEN;\n"
    text += "\nconst struct qmpi_dispatch_mpich_functions\n    qmpi_dispatch_mpich_functions[QMPI_FUNCTION_COUNT] = {\n"
    for function in found.values():
        name = function.name
        fixed = ", ".join(f"mpich_fixed_{place}_{name}" for place in range(FIXED_ROWS))
        text += (
            f"    [{function.constant}] = {{mpich_enter_{name}, "
            f"mpich_into_{name},\n"
            f"        mpich_through_{name}, mpich_terminator_{name},\n"
            f"        {{{fixed}}}}},\n"
        )
    text += "    [QMPI_FUNCTION_COUNT - 1] = {.terminator = NULL},\n" if not found else ""
    text += "};\n\nconst short qmpi_mpich_numbers[QMPI_MPICH_COUNT + 1] = {\n"
    known = {constant_name(name) for name in source.numbers}
    present = {function.number for function in source.functions}
    lacking = next(n for n in range(len(source.numbers) + 1) if n not in present)
    for place, name in enumerate(source.mpich):
        text += f"    [{place}] = {name if name in known else lacking},\n"
    return text + "    [QMPI_MPICH_COUNT] = -1,\n};\n"
