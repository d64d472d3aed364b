# SPDX-License-Identifier: MIT
"""Writes the sources that tools for the standard ABI need, and the code of libqmpi that serves these tools.

    abi.py --numbers FILE --header PREPROCESSED --macros FILE --library LIBRARY --abi-header PREPROCESSED
           --abi-text MPI.H --public HEADER... WHAT=FILE...

WHAT: names    <qmpi/abi/names.h>: the names of functions in such a tool
      header, wrappers  <qmpi/abi/functions.h>, <qmpi/abi/wrappers.h>, as main.py writes them
      exports  the names that such a tool may refer to
      values   the tables that convert predefined handles and constants between this MPI library and the ABI
      calls    the functions under the names of `names`, which convert arguments and results
      entries  the predefined handles and constants, for a test
      standard_functions  what functions mean, by their names: lib/standard
      standard_constants  names of predefined handles and constants, by the values of the ABI
      same     for libqmpi of the ABI itself: its functions under the names of `names`
"""
import argparse
import re

import abi_calls
import abi_values
import emit_header
import emit_standard
import mpi_header
from emit_c import GENERATED, LICENCE, Source

HEAD = f"/* {LICENCE} */\n/* {GENERATED} */\n"


class Input:
    def __init__(self, options: argparse.Namespace) -> None:
        self.numbers = mpi_header.read_numbers(options.numbers)
        with open(options.abi_text, encoding="utf-8") as source:
            self.text = source.read()
        tree = mpi_header.parse(options.abi_header)
        declared = mpi_header.read_names(tree)
        everything = {name for name in declared if re.match(r"MPIX?_[A-Z]", name)}
        self.functions = [function for function in mpi_header.read_functions(tree, list(self.numbers), everything)
                          if function.number < len(self.numbers)]
        self.public = abi_calls.public_functions(options.public)
        if options.header:
            native = mpi_header.parse(options.header)
            with open(options.macros, encoding="utf-8") as source:
                macros = set(re.findall(r"^#define (MPI_\w+)", source.read(), re.M))
            self.declared = mpi_header.read_names(native)
            self.constants = self.declared | macros
            exports = mpi_header.read_exports(options.library, options.nm)
            self.native = {function.name for function in
                           mpi_header.read_functions(native, list(self.numbers), exports)}


def names(given: Input) -> str:
    return abi_calls.names_header(given.public, given.functions, LICENCE)


def source_of(given: Input) -> Source:
    return Source(mpi="abi", numbers=given.numbers, functions=given.functions, declared=set(), objects=[],
                  callbacks=[], mpich=[], mpich_number="")


def exports(given: Input) -> str:
    lines = [HEAD, '#include "loader/library.h"\n', "const char *const qmpi_abi_exports[] = {"]
    lines += [f'    "{name}",' for name in abi_calls.exports(given.public)]
    return "\n".join(lines + ["    0};", ""])


def values(given: Input) -> str:
    lines = [HEAD, '#include "abi/values.h"\n', "void qmpi_abi_read_handles(void)", "{"]
    for kind, name, value in abi_values.read_handles(given.text, given.constants):
        lines.append(f"    qmpi_abi_add_handle(QMPIX_KIND_{abi_values.HANDLES[kind]}, {value:#x}, "
                     f"qmpi_abi_bits_{kind}({name}));")
    lines += ["}", ""]
    rows = []
    for kind, constants in abi_values.read_constants(given.text).items():
        numbers = [f"{{{value}, {name}}}" for name, value in constants if name in given.constants]
        if numbers:
            lines.append(f"static const struct qmpi_abi_number {kind.lower()}[] = {{{', '.join(numbers)}}};")
            bits = "true" if abi_values.CONSTANTS[kind].bits else "false"
            rows.append(f"    [QMPIX_CONSTANTS_{kind}] = {{{kind.lower()}, {len(numbers)}, {bits}}},")
    lines += ["", "const struct qmpi_abi_numbers qmpi_abi_numbers[QMPI_ABI_CONSTANT_KINDS] = {", *rows, "};", ""]
    return "\n".join(lines)


def entries(given: Input) -> str:
    """Lists each predefined handle and constant that the ABI and this MPI library both have, with its name, for the
    test of the tables."""
    lines = [HEAD, '#include "entries.h"\n', "size_t list_handles(struct handle_entry *entries)", "{", "    size_t count = 0;"]
    names = re.findall(r"^#define (MPI_\w+)\s+\(\((MPI_\w+)\)\s*(0x[0-9a-f]+)\)", given.text, re.M)
    for name, kind, value in names:
        if kind in abi_values.HANDLES and name in given.constants:
            lines.append(f'    entries[count++] = (struct handle_entry){{"{name}", QMPIX_KIND_{abi_values.HANDLES[kind]}, '
                         f"{value}, qmpi_abi_bits_{kind}({name})}};")
    lines += ["    return count;", "}", "", "const struct constant_entry constants[] = {"]
    for kind, constants in abi_values.read_constants(given.text).items():
        lines += [f'    {{"{name}", QMPIX_CONSTANTS_{kind}, {value}, {name}}},' for name, value in constants
                  if name in given.constants]
    return "\n".join(lines + ["    {0, 0, 0, 0}};", ""])


def calls(given: Input) -> str:
    text = (HEAD + '#include "abi/convert.h"\n#include "process/process.h"\n#include "registry/registry.h"\n\n#include <qmpi/clock.h>\n#include <qmpi/mpit.h>\n#include <qmpi/service.h>\n#include <qmpi/traits.h>\n\n'
            '#include <stdlib.h>\n#include <string.h>\n\n'
            '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n'
            '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n\n')
    return text + abi_calls.forwarding(given.public) + abi_calls.converting(given.functions, given.native)


EMITTERS = {
    "names": names,
    "header": lambda given: emit_header.header(source_of(given)),
    "wrappers": lambda given: emit_header.wrappers(source_of(given)),
    "exports": exports,
    "values": values,
    "calls": calls,
    "entries": entries,
    "standard_functions": emit_standard.functions,
    "standard_constants": emit_standard.constants,
    "same": lambda given: abi_calls.same_functions(given.public),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outputs", nargs="+", metavar="WHAT=FILE")
    parser.add_argument("--numbers", required=True, help="the committed list of functions")
    parser.add_argument("--header", help="mpi.h of this MPI library, preprocessed; omit it for the standard ABI")
    parser.add_argument("--macros", help="the macros that this mpi.h defines")
    parser.add_argument("--library", help="the MPI library")
    parser.add_argument("--nm", default="nm", help="the command that reads the library")
    parser.add_argument("--abi-header", required=True, help="mpi.h of the standard ABI, preprocessed")
    parser.add_argument("--abi-text", required=True, help="the same file, not preprocessed")
    parser.add_argument("--public", action="append", required=True, help="a public header of libqmpi")
    options = parser.parse_args()
    given = Input(options)
    for each in options.outputs:
        what, path = each.split("=", 1)
        with open(path, "w", encoding="utf-8") as output:
            output.write(EMITTERS[what](given))


if __name__ == "__main__":
    main()
