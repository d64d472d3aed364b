# SPDX-License-Identifier: MIT
"""Generates the sources that depend on the MPI library's mpi.h and its exported functions, except those of abi.py.

    main.py --numbers FILE --header PREPROCESSED --standard PREPROCESSED --library LIBRARY --mpi NAME WHAT=FILE...

WHAT: header   <qmpi/MPI/functions.h>: numbers, interceptor types, names that clash with mpi.h
      wrappers <qmpi/MPI/wrappers.h>: QMPIX_FOR_EACH_FUNCTION
      entries  the entry points, in assembler
      dispatch_N  for each function: trampoline, terminator, adapter for PMPI layers; in four parts
      dispatch_table  the table of these
      static_pmpi  PMPI_X of the MPI library, for libqmpi.a
      names    the names by number, and whether this MPI has the function
      observe_N  for each function: the interceptor of a layer that observes it; in four parts
      observing  the table of these
      description  descriptions of each function and its parameters
      checked  for lib/validator: functions that check the context and call the observing interceptor
      creators  wrappers of the functions that create communicators
      shapes   the kinds of calls that the descriptions distinguish
      handles  weak references to the MPI library's predefined handles
      link_names  a library with these handles and the MPI library's soname, with which tools are linked
      mpich_N  MPICH's variant of QMPI: the functions between its layers and others; in four parts
      mpich_table  the table of these
      mpich_numbers  the number of functions in this variant, and the type of their numbers
      check    calls of all entry points with distinctive arguments (tests)
      mpich_check  the same under layers of MPICH's variant (tests)
      echo     an MPI library for `check` and `mpich_check`, whose functions only examine their arguments (tests)
      exists   the functions that this MPI has, for tests that do not depend on the MPI
"""
import argparse
import os
import pickle
import sys
from functools import partial
from pathlib import Path

import emit_c
import emit_comms
import emit_mpich
import emit_header
import emit_observe
import emit_test
import mpi_header

EMITTERS = {
    "header": emit_header.header,
    "wrappers": emit_header.wrappers,
    "entries": emit_c.entries,
    "dispatch_table": emit_c.dispatch_table,
    "names": emit_c.names,
    "observing": emit_observe.observing,
    "description": emit_observe.description,
    "checked": emit_observe.checked,
    "creators": emit_comms.creators,
    "shapes": emit_observe.shapes,
    "handles": emit_c.handles,
    "link_names": emit_c.link_names,
    "static_pmpi": emit_c.static_pmpi,
    "mpich_table": emit_mpich.table,
    "mpich_numbers": emit_mpich.numbers,
    "check": emit_test.check,
    "mpich_check": emit_test.mpich_check,
    "exists": emit_test.exists,
    "echo": emit_test.echo,
}
for part in range(emit_c.PARTS):
    EMITTERS[f"dispatch_{part}"] = partial(emit_c.dispatch_functions, part=part)
    EMITTERS[f"observe_{part}"] = partial(emit_observe.observe, part=part)
    EMITTERS[f"mpich_{part}"] = partial(emit_mpich.functions, part=part)


def parse(options: argparse.Namespace) -> emit_c.Source:
    numbers = mpi_header.read_numbers(options.numbers)
    tree = mpi_header.parse(options.header)
    exports = mpi_header.read_exports(options.library, options.nm) if options.library else None
    standard = mpi_header.read_parameter_names(mpi_header.parse(options.standard)) if options.standard else None
    return emit_c.Source(
        mpi=options.mpi,
        numbers=list(numbers),
        functions=mpi_header.read_functions(tree, numbers, exports, standard),
        declared=mpi_header.read_names(tree),
        objects=mpi_header.read_objects(tree),
        callbacks=mpi_header.read_callbacks(tree),
        mpich=mpi_header.read_enumerators(tree, "QMPI_Functions_enum")[:-1],  # without MPI_LAST_FUNC_T
        mpich_number=mpi_header.read_parameter_type(tree, "QMPI_Register_function", 1),
    )


def read_source(options: argparse.Namespace) -> emit_c.Source:
    """Returns the declarations of mpi.h and of the library. The first run saves what it has parsed
    beside the preprocessed header, for the runs of the tests; the saved file is valid if it is
    newer than its inputs."""
    saved = Path(options.header + ".parsed")
    inputs = [options.numbers, options.header, options.library or options.header, options.standard or options.header,
              *Path(__file__).parent.glob("*.py")]
    if saved.exists() and saved.stat().st_mtime > max(Path(path).stat().st_mtime for path in inputs):
        return pickle.loads(saved.read_bytes())
    source = parse(options)
    whole = saved.with_name(f"{saved.name}.{os.getpid()}")
    whole.write_bytes(pickle.dumps(source))
    whole.replace(saved)
    return source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outputs", nargs="+", metavar="WHAT=FILE")
    parser.add_argument("--numbers", required=True, help="the committed list of functions")
    parser.add_argument("--header", required=True, help="mpi.h, preprocessed")
    parser.add_argument("--standard", help="mpi.h of the standard ABI, preprocessed, for the names of parameters; "
                                           "omit it to use the names in mpi.h")
    parser.add_argument("--library", help="the MPI library; omit it to use all functions that mpi.h declares")
    parser.add_argument("--nm", default="nm", help="the command that reads the library")
    parser.add_argument("--mpi", required=True, help="short name of this MPI: mpich, openmpi, abi")
    options = parser.parse_args()
    source = read_source(options)
    numbers = list(source.numbers)
    for function in source.functions:
        if function.number >= len(numbers):
            source.numbers.append(function.name)
            print(
                f"warning: {function.name} is not in {options.numbers}; its number "
                f"{function.number} is valid only in this build",
                file=sys.stderr,
            )
    for each in options.outputs:
        what, path = each.split("=", 1)
        with open(path, "w", encoding="utf-8") as output:
            output.write(EMITTERS[what](source))


if __name__ == "__main__":
    main()
