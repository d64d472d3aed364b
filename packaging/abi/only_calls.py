# SPDX-License-Identifier: MIT
"""Removes all functions except the calls of QMPI from a description that libabigail has made of libqmpi. The functions
of MPI are removed, because they are determined by the MPI library.

only_calls.py DESCRIPTION
"""
import sys
import xml.etree.ElementTree as xml

tree = xml.parse(sys.argv[1])
for unit in tree.getroot().iter("abi-instr"):
    for function in unit.findall("function-decl"):
        if not (function.get("elf-symbol-id") or "").startswith(("QMPI_", "QMPIX_")):
            unit.remove(function)
for symbols in tree.getroot().iter("elf-function-symbols"):
    for symbol in symbols.findall("elf-symbol"):
        if not symbol.get("name").startswith(("QMPI_", "QMPIX_")):
            symbols.remove(symbol)
tree.write(sys.argv[1], encoding="unicode")
