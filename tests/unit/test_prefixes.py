# SPDX-License-Identifier: MIT
"""Tests that names tell where to look: each function and type in a header begins with the name of its file or folder.

The name may begin with the prefix of its part of the project: `qmpi_` in src (where it must), the tool's name in tools,
`tool_` or the folder's name in lib, `cli_` in cli. It continues with the first word, or more words, of the name of the
file or of the folder, in singular or plural: `qmpi_spawn_start` and `qmpi_spawns_end` in src/util/spawn.h,
`qmpi_elf_walk` in src/elf/elf.h, `ring_add` or `log_ring_add` in tools/log/ring.h. A folder arch/ counts as the folder
that contains it.

To list what is wrong in some folders: python3 tests/unit/test_prefixes.py src/elf tools/log
"""
import os
import sys
from pathlib import Path

import declarations

SOURCE = Path(os.environ.get("QMPI_SOURCE_ROOT", Path(__file__).parents[2]))
ROOTS = ["src", "lib", "tools", "cli"]
PUBLIC = ("MPI_", "PMPI_", "MPIX_", "QMPI_", "QMPIX_")  # names that the MPI standard or include/qmpi gives

EXCEPTIONS = {  # "file: name": why it has this name
    # Many folders use these functions often. With longer names, the lines that call them would be harder to read.
    "src/util/memory.h: qmpi_allocate": "as malloc",
    "src/util/memory.h: qmpi_copy": "as strdup",
    "src/util/memory.h: qmpi_copy_part": "as strndup",
    "src/util/memory.h: qmpi_format": "as asprintf",
    "src/util/message.h: qmpi_debug": "as syslog",
    "src/util/message.h: qmpi_getenv": "as getenv",
    "src/util/message.h: qmpi_print": "as puts",
    "src/util/message.h: qmpi_printf": "as printf",
    "tools/trace/file/reader.h: trace": "what the tool records",
} | {f"tools/trace/file/definitions.h: trace_{word}": "an object that events of a trace refer to" for word in (
    "function", "frame", "site", "comm", "window", "region", "counter", "location", "process", "process_end")}


def prefix_of(path):
    """Returns the words with which a name in this file may begin, and whether it must begin with one of them."""
    parts = path.split("/")
    if parts[0] == "src":
        return {"qmpi"}, True
    if parts[0] == "lib":
        return {"tool", parts[1]}, False
    return {parts[1] if parts[0] == "tools" else "cli"}, False


def is_same_word(one, other):
    def stem(word):
        return word[:-3] + "y" if word.endswith("ies") else word[:-2] if word.endswith("ses") else word.rstrip("s")
    return one == other or stem(one) == stem(other)


def is_named_by_its_place(path, name):
    prefixes, is_required = prefix_of(path)
    words = name.split("_")
    folder = [part for part in path.split("/")[:-1] if part != "arch"][-1]
    places = [os.path.basename(path)[:-2].split("_")[0], folder.split("_")[0]]

    def begins_with_place(words):
        return bool(words) and any(is_same_word(words[0], place) for place in places)

    return (words[0] in prefixes and begins_with_place(words[1:])) or (not is_required and begins_with_place(words))


def headers():
    for root in ROOTS:
        for path in sorted((SOURCE / root).rglob("*.h")):
            if not {"templates", "generate"} & set(path.parts):
                yield str(path.relative_to(SOURCE))


def find_wrong():
    """Returns {folder: ["file: name"]} for the names that do not begin with their file or folder."""
    found = {}
    for path in headers():
        for _, name, _ in declarations.names((SOURCE / path).read_text(encoding="utf-8")):
            is_fine = name.isupper() or name.startswith(PUBLIC) or is_named_by_its_place(path, name)
            if not is_fine and f"{path}: {name}" not in EXCEPTIONS:
                wrong = found.setdefault(os.path.dirname(path), [])
                wrong.extend([f"{path}: {name}"] if f"{path}: {name}" not in wrong else [])
    return found


def test_names_in_headers_begin_with_their_file_or_folder():
    wrong = [line for lines in find_wrong().values() for line in lines]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong)


def test_each_exception_exists():
    declared = {f"{path}: {name}" for path in headers()
                for _, name, _ in declarations.names((SOURCE / path).read_text(encoding="utf-8"))}
    assert not set(EXCEPTIONS) - declared


if __name__ == "__main__":
    for folder, lines in find_wrong().items():
        if any((folder + "/").startswith(place.rstrip("/") + "/") for place in sys.argv[1:] or ROOTS):
            print("\n".join(lines))
