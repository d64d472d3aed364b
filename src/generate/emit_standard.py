# SPDX-License-Identifier: MIT
"""Writes the tables of lib/standard: the meanings of functions by name, and the names of handles
and constants. They depend only on the MPI standard, and are the same in all builds."""
import re
from typing import Any

import abi_values
from emit_c import GENERATED, LICENCE
from emit_observe import KINDS, Pool
from semantics import CONSTANTS, flags_of, group_of, rule_of

HEAD = f"/* {LICENCE} */\n/* {GENERATED} */\n" + '#include "standard/standard.h"\n\n'
# Aliases that mpi.h defines before the usual names. They are left out, because the first name in mpi.h is used.
SYNONYMS = {"MPI_C_COMPLEX"}
OVERLONG = '#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n'


def functions(given: Any) -> str:
    pool = Pool()
    rows = []
    for name in sorted(given.numbers):
        rule = rule_of(name)
        flags = " | ".join(f"QMPIX_TRAIT_{flag}" for flag in flags_of(name)) or "0"
        rows.append(f"    {{{pool.place(name)}, {flags}, QMPIX_GROUP_{group_of(name)}, QMPIX_ROLE_{rule.role}, "
                    f"QMPIX_COLLECTIVE_{rule.collective}, QMPIX_FLOW_{rule.flow}, QMPIX_ACCESS_{rule.access}}},")
    return "\n".join([HEAD + OVERLONG + "const char standard_function_names[] =", *pool.lines()]) + ";\n\n" + "\n".join(
        ["const struct standard_function standard_functions[] = {", *rows, "};",
         f"const int standard_function_count = {len(rows)};", ""])


def constants(given: Any) -> str:
    """The kinds of handles and of constants, one after the other. If a value has several names, the first one in mpi.h
    is used."""
    pool = Pool()
    rows: list[str] = []
    starts: dict[str, tuple[int, int]] = {}
    names = set(re.findall(r"\bMPI_\w+", given.text))

    def add(kind: str, entries: list[tuple[str, int]]) -> None:
        starts[kind] = (len(rows), len(entries))
        rows.extend(f"    {{{value}, {pool.place(name)}}}," for name, value in entries)

    handles = abi_values.read_handles(given.text, names - SYNONYMS)
    for handle, kind in abi_values.HANDLES.items():
        add(f"QMPIX_KIND_{kind}", [(name, value) for each, name, value in handles if each == handle])
    for name, handle in re.findall(r"^#define (MPI_T_\w+_NULL)\s+\(\((MPI_T_\w+)\)\s*0x0\)", given.text, re.M):
        add(f"QMPIX_KIND_{KINDS[handle]}", [(name, 0)])
    handle_kinds = len(starts)
    for kind, entries in abi_values.read_constants(given.text).items():
        if CONSTANTS[kind].bits:
            entries.sort(key=lambda entry: CONSTANTS[kind].pattern.index(entry[0].removeprefix("MPI_MODE_")))
        add(f"QMPIX_CONSTANTS_{kind}", entries)
    add("QMPIX_CONSTANTS_UNDEFINED", [("MPI_UNDEFINED", dict(abi_values.read_constants(given.text)["RANK"])["MPI_UNDEFINED"])])
    places = [f"    [{kind}] = {{{start}, {count}}}," for kind, (start, count) in starts.items()]
    bits = [f"    [QMPIX_CONSTANTS_{kind}] = true," for kind, each in CONSTANTS.items() if each.bits]
    return "\n".join(
        [HEAD + OVERLONG + "const char standard_constant_names[] =", *pool.lines()]) + ";\n\n" + "\n".join(
        ["const struct standard_constant standard_constants[] = {", *rows, "};", "",
         "const struct standard_range standard_handles[STANDARD_HANDLE_KINDS] = {", *places[:handle_kinds], "};", "",
         "const struct standard_range standard_numbers[STANDARD_NUMBER_KINDS] = {", *places[handle_kinds:], "};", "",
         "const bool standard_are_bits[STANDARD_NUMBER_KINDS] = {", *bits, "};", ""])
