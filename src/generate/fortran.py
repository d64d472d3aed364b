# SPDX-License-Identifier: MIT
"""Writes qmpi.f90, the module for tools in Fortran, with the numbers of all MPI functions.

fortran.py NUMBERS TEMPLATE KIND OUTPUT: KIND is the Fortran kind of integers for the library's C handles.
"""
import sys

from mpi_header import constant_name, read_numbers

numbers, template, kind, output = sys.argv[1:]
with open(template, encoding="utf-8") as source:
    text = source.read()
rows = [f"  integer(c_int), parameter :: {constant_name(name)} = {number}"
        for number, name in enumerate(read_numbers(numbers))]
with open(output, "w", encoding="utf-8") as module:
    module.write(text.replace("@HANDLE@", kind).replace("@NUMBERS@\n", "\n".join(rows) + "\n"))
