# SPDX-License-Identifier: MIT
"""Names are standard terms: words that this project once used in a sense of its own are in no name of a
file, function, type, variable or macro. docs/how-it-works.md has the terms in use, with their sources.

A test case is named by a whole sentence, in which these words have their everyday meaning.
"""
import ast
import os
import re
from pathlib import Path

SOURCE = Path(os.environ["QMPI_SOURCE_ROOT"])
GENERATED = Path(os.environ["QMPI_BUILD_ROOT"]) / "src" / "generate"
ROOTS = ["src", "lib", "tools", "include", "tests", "examples", "bench", "docs", "subprojects"]

# The word, and what to write.
REPLACED = {
    "across": "mpich", "below": "next, lower", "cells": "relocations, fields", "course": "lifecycle",
    "crossing": "mpich", "demand": "lazy", "demanded": "used", "dialect": "mpich", "ending": "termination",
    "endings": "terminations", "facts": "traits", "families": "groups", "family": "dependencies",
    "hosted": "pmpi", "join": "combine", "keep": "permanent, save", "kept": "saved", "lasts": "terminators",
    "late": "deferred", "lead": "set", "leads": "is_redirected", "lone": "singleton", "mend": "hint",
    "near": "fast", "origin": "error_object, directory", "origins": "error_objects", "own": "private, process",
    "readable": "text", "references": "relocations", "resident": "preloaded", "residents": "preloaded",
    "rows": "entries, nodes", "sayf": "printf", "select": "filter", "show": "publish, print",
    "shows": "prints", "span": "duration", "spans": "durations", "speaks": "is_reporting", "stand": "insert",
    "stands": "is", "steer": "control", "struck": "on_fatal_signal", "stuck": "hang", "way": "target, direction",
    "ways": "targets",
}

# Names with such a word that stay, and why.
OTHERS = {
    "pthread_join": "POSIX",
    "sun_family": "POSIX, <sys/un.h>",
    ".join": "std::thread of C++, strings of Meson",
    "ORIGIN_BUFFER": "MPI: the parameters of the origin of one-sided communication",
    "on_demand": "the usual phrase: built when asked for",
    "QMPIX_Tool_keep_function": "public", "QMPIX_abi_Tool_keep_function": "public",
    "QMPIX_stack.below": "public: read by functions in the header that are part of tools",
    "*below": "its declaration",
}
# Of functions and parameters of MPI, which are parts of generated names.
MPI = re.compile("comm_join|origin_(addr|count|datatype)", re.IGNORECASE)
# In Python, tables that are printed have rows of cells, and so have CSV files and pages.
TABLES = {"rows", "cells"}

C = {".c", ".h", ".S", ".inc", ".cc", ".cpp", ".hpp"}
FORTRAN = {".f90", ".F90"}
# Comments, strings, included files and numbers are no names.
C_TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|\#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
                         |QMPIX_stack\.below|\*below(?=;)|\.join(?=\(\))|[A-Za-z_]\w*""", re.DOTALL | re.VERBOSE)
FORTRAN_TOKEN = re.compile(r"""![^\n]*|"[^"\n]*"|'[^'\n]*'|select[ ]case|end[ ]select|[A-Za-z_]\w*""")
MESON_TOKEN = re.compile(r"""\#[^\n]*|'(?:\\.|[^'\\\n])*'|\.join(?=\()|[A-Za-z_]\w*""")
CMOCKA_TEST = re.compile(r"^static void (\w+)\(void \*\*", re.MULTILINE)


def sources():
    for root in ROOTS:
        for path in sorted((SOURCE / root).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(SOURCE)


def wrong_words(name, allowed=frozenset()):
    words = re.split(r"[-_]|(?<=[a-z])(?=[A-Z])", MPI.sub("", name.lstrip(".*")))
    return set() if name in OTHERS else {word.lower() for word in words} & set(REPLACED) - allowed


def report(wrong):
    return "\n".join(["these words have other meanings in this field (REPLACED in tests/unit/test_names.py):",
                      *sorted(wrong)])


def names_in_python(text):
    """What a file defines. A name that it uses is defined in another file, or is not ours."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def names_in(path):
    if path.suffix in C or path.name.endswith((".c.in", ".h.in")):
        text = path.read_text(encoding="utf-8")
        return set(C_TOKEN.findall(text)) - set(CMOCKA_TEST.findall(text))
    if path.suffix in FORTRAN:
        return set(FORTRAN_TOKEN.findall(path.read_text(encoding="utf-8")))
    if path.name == "meson.build":
        return set(MESON_TOKEN.findall(path.read_text(encoding="utf-8")))
    if path.suffix == ".py" or not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python3"):
        return {name for name in names_in_python(path.read_text(encoding="utf-8"))
                if not name.startswith("test_")}
    return set()


def wrong_names(path, shown):
    allowed = TABLES if path.suffix in {"", ".py"} else frozenset()
    return {f"{shown}: {name}: write {REPLACED[word]}" for name in names_in(path)
            if re.fullmatch(r"[.*]?[A-Za-z_][\w.]*", name) for word in wrong_words(name, allowed)}


def test_the_names_of_files_are_standard_terms():
    wrong = {str(path) for path in sources() for part in re.split(r"[/.]", str(path)) if wrong_words(part)}
    assert not wrong, report(wrong)


def test_identifiers_are_standard_terms():
    wrong = set().union(*(wrong_names(SOURCE / path, path) for path in sources()))
    assert not wrong, report(wrong)


def test_generated_identifiers_are_standard_terms():
    paths = sorted(path for path in GENERATED.rglob("*") if path.suffix in C)
    assert paths
    wrong = set().union(*(wrong_names(path, path.name) for path in paths))
    assert not wrong, report(wrong)
