# SPDX-License-Identifier: MIT
"""Tests the order of the folders: what a file includes lies in its own folder or on a lower floor.

The floors are those of the table in docs/how-it-works.md. Of another folder, a file may include only one header: the
one with the name of that folder or, in a part of a tool, the name of the tool. Headers for assembly code are
exceptions, and the folders of one tool may include all headers of each other. Files may not include each other in a
circle, even within a folder. The files of a folder may not call each other in a circle either. Code that depends on the
processor is in folders `arch/`.

To list the circles of calls in some folders: QMPI_SOURCE_ROOT=. python3 tests/unit/test_floors.py src/elf tools/log
"""
import os
import re
import sys
from pathlib import Path

import declarations

SOURCE = Path(os.environ["QMPI_SOURCE_ROOT"])
ROOTS = ["src", "lib", "tools", "cli"]
PREFIXES = ["src/", "lib/", ""]  # the directories in which the compiler searches for headers


def floors():
    """Returns {folder: floor}. tools/NAME stands for every tool."""
    text = (SOURCE / "docs/how-it-works.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `([^`]+)/` \|", text, re.MULTILINE)
    assert len(rows) == len({folder for _, folder in rows})
    return {folder: int(floor) for floor, folder in rows}


FLOORS = floors()


def folder_of(path):
    """Returns the folder of the table that contains a file. A tool that is not in the table has a folder of its own."""
    parts = path.split("/")
    for length in 3, 2, 1:
        if "/".join(parts[:length]) in FLOORS:
            return "/".join(parts[:length])
    return "/".join(parts[:2]) if parts[0] == "tools" else None


def tool_of(folder):
    return folder.split("/")[1] if folder.startswith("tools/") else None


def floor_of(folder):
    return FLOORS.get(folder, FLOORS["tools/NAME"])


def files():
    suffixes = {".c", ".h", ".S", ".inc"}
    found = []
    for root in ROOTS:
        for path in sorted((SOURCE / root).rglob("*")):
            if path.suffix in suffixes and not {"templates", "generate"} & set(path.parts):
                found.append(str(path.relative_to(SOURCE)))
    return found


def find(path, name):
    """Returns the file that `path` includes as `name`, or None if the build generates that file."""
    if name.startswith("generate/") or name in ("cli/commands.h", "cli/site_folder.h") or \
            name == f"tools/{path.split('/')[1]}_manifest.h":
        return None
    for place in [prefix + name for prefix in PREFIXES]:
        if (SOURCE / place).exists():
            return place
    raise AssertionError(f"{path} includes {name}: write its path from src, lib or the top folder")


def read_includes():
    """Returns [(file, included file)] for all files."""
    pattern = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
    found = []
    for path in files():
        for name in pattern.findall((SOURCE / path).read_text(encoding="utf-8")):
            target = find(path, name)
            if target:
                found.append((path, target))
    return found


INCLUDES = read_includes()


def is_allowed(path, target):
    home, other = folder_of(path), folder_of(target)
    return home == other or floor_of(other) < floor_of(home)


def circles(arrows):
    """Returns the sets of nodes that can be reached from each other."""
    def reach(start, arrows):
        seen, todo = set(), [start]
        while todo:
            for target in arrows.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reached = {start: reach(start, arrows) for start in arrows}
    found = []
    for start in sorted(arrows):
        circle = {other for other in reached[start] if start in reached.get(other, ())}
        if circle and circle not in found:
            found.append(circle)
    return found


def in_modules():
    """Returns {module: modules that it includes}. A source and its header are one module."""
    arrows = {}
    for path, target in INCLUDES:
        one, other = os.path.splitext(path)[0], os.path.splitext(target)[0]
        if one != other:
            arrows.setdefault(one, set()).add(other)
    return arrows


def test_every_file_is_in_a_folder_of_the_table():
    assert not [path for path in files() if not folder_of(path)]
    for folder in FLOORS:
        assert folder == "tools/NAME" or (SOURCE / folder).is_dir(), folder


def test_a_folder_includes_only_its_own_files_and_those_of_lower_floors():
    broken = {arrow for arrow in INCLUDES if not is_allowed(*arrow)}
    assert not broken, f"{len(broken)}:\n" + "\n".join(f"{a} -> {b}" for a, b in sorted(broken))


# These headers contain macros for assembly code, which files in all folders may use.
ASSEMBLY = {"src/dispatch/arch/entry.h", "src/util/arch/assembly_aarch64.inc"}


def test_other_folders_include_one_header_of_a_folder():
    allowed = {f"{folder}/{os.path.basename(folder)}.h" for folder in FLOORS} | ASSEMBLY
    allowed |= {f"{folder}/{tool_of(folder)}.h" for folder in FLOORS if tool_of(folder)}

    def is_elsewhere(path, target):
        home, other = folder_of(path), folder_of(target)
        return home != other and not (tool_of(home) and tool_of(home) == tool_of(other))

    broken = {(path, target) for path, target in INCLUDES if is_elsewhere(path, target) and target not in allowed}
    assert not broken, f"{len(broken)}:\n" + "\n".join(f"{a} -> {b}" for a, b in sorted(broken))


def test_no_files_include_each_other_in_a_circle():
    found = circles(in_modules())
    assert not found, f"{len(found)}:\n" + "\n".join(" ".join(sorted(circle)) for circle in found)




def calls():
    """Returns {module: modules of the same folder whose functions it uses}, for functions that a header declares."""
    used, declared, defined = {}, set(), {}
    for path in files():
        text = (SOURCE / path).read_text(encoding="utf-8")
        module = os.path.splitext(path)[0]
        found = declarations.names(text)
        words = set(declarations.WORD.findall(declarations.strip(text)))
        used.setdefault(module, set()).update(words - {name for kind, name, _ in found if kind == "declaration"})
        for kind, name, _ in found:
            if kind != "type" and path.endswith(".h"):
                declared.add(name)
            if kind == "definition":
                defined.setdefault(name, set()).add(module)
    owner = {name: modules.pop() for name, modules in defined.items() if name in declared and len(modules) == 1}
    arrows = {}
    for module, words in used.items():
        targets = {owner[word] for word in words & owner.keys()}
        arrows[module] = {target for target in targets - {module} if folder_of(target) == folder_of(module)}
    return arrows


def circles_of_calls():
    return [circle for circle in circles(calls()) if len(circle) > 1]


def test_no_files_call_each_other_in_a_circle():
    found = circles_of_calls()
    assert not found, f"{len(found)}:\n" + "\n".join(" ".join(sorted(circle)) for circle in found)


PROCESSOR = re.compile(r"(?i:x86)|amd64|aarch64|arm64|\bEM_[A-Z\d]|\bR_[A-Z\d]+_\d*[A-Z]|rdtsc|cpuid|__asm__ volatile"
                       r"|%[re]?[abcd]x\b|%[re]?[sd]i\b|%[re]?[sb]p\b|%r\d|\b[re](ax|bx|cx|dx|si|di|sp|bp)\b")


def test_the_processor_is_named_in_folders_of_its_own():
    found = []
    for root in [*ROOTS, "include"]:
        for path in sorted((SOURCE / root).rglob("*")):
            if path.suffix not in {".c", ".h", ".S", ".inc", ".py", ".in", ".build"} or "arch" in path.parts:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if PROCESSOR.search(line):
                    found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert not found, "\n" + "\n".join(found)


# Tests of code that depends on the processor, and tests that mention such a path as /usr/lib/x86_64-linux-gnu.
# Folders named aarch64, fuzz and litmus (where files are named after memory models, such as x86) are not searched.
TESTS_OF_THE_PROCESSOR = {
    "bench/measure.py", "bench/processors", "tests/cli/test_doctor.py", "tests/cli/test_preload.py",
    "tests/observe/observe_support.py", "tests/observe/test_clock.py",
    "tests/observe/test_sites.py", "tests/pmpi/test_bound.py", "tests/pmpi/test_surroundings.py", "tests/roots/root", "tests/stack/programs/stepped.c",
    "tests/stack/test_bad_input.py", "tests/stack/test_signals.py", "tests/storm/programs/signals.c",
    "tests/tools/programs/every_step.c", "tests/tools/test_interrupted.py", "tests/unit/test_floors.py",
    "tests/unit/test_frame_table.c"}
PROCESSOR_IN_TESTS = re.compile(r"(?i:x86)|amd64|aarch64|arm64|\bR_[A-Z\d]+_\d*[A-Z]|rdtsc|cpuid"
                                r"|%[re]?[sb]p\b|%r\d|\br(ax|bx|cx|dx|si|di|sp|bp)\b")


def test_few_tests_name_the_processor():
    """Checks that the listed files, and no others, name a processor or its registers or instructions."""
    found = set()
    for root in "tests", "bench":
        for path in (SOURCE / root).rglob("*"):
            parts = path.relative_to(SOURCE).parts
            if not path.is_file() or path.suffix in {".md", ".pyc"} or "arch" in parts or \
                    parts[1] in {"aarch64", "litmus", "fuzz"}:
                continue
            if PROCESSOR_IN_TESTS.search(path.read_text(encoding="utf-8", errors="replace")):
                found.add("/".join(parts))
    assert found == TESTS_OF_THE_PROCESSOR


if __name__ == "__main__":
    for circle in circles_of_calls():
        if any((module + "/").startswith(place) for module in circle for place in sys.argv[1:] or ROOTS):
            print(" ".join(sorted(circle)))
