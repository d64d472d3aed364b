# SPDX-License-Identifier: MIT
"""Names are standard terms: words that this project once used in a sense of its own are in no name of a
file, function, type, variable or macro. docs/how-it-works.md has the terms in use, with their sources.
"""
import os
import re
from pathlib import Path

SOURCE = Path(os.environ["QMPI_SOURCE_ROOT"])

# The word, and what to write.
REPLACED = {
    "across": "mpich", "below": "next", "cells": "relocations, fields", "course": "lifecycle",
    "demand": "lazy", "dialect": "mpich", "ending": "termination", "endings": "terminations",
    "facts": "traits", "family": "dependencies", "hosted": "pmpi", "join": "combine",
    "keep": "permanent, save", "kept": "saved", "lasts": "terminators", "late": "deferred",
    "lead": "set", "leads": "is_redirected", "lone": "singleton", "mend": "hint", "near": "fast",
    "origin": "error_object, directory", "own": "private, process", "readable": "text",
    "references": "relocations", "resident": "preloaded", "residents": "preloaded",
    "rows": "entries, nodes", "sayf": "printf", "select": "filter", "show": "publish, print",
    "span": "duration", "speaks": "is_reporting", "stand": "insert", "steer": "control",
    "struck": "on_fatal_signal", "stuck": "hang", "ways": "targets",
}

# Names of others, and public ones.
OTHERS = {"pthread_join", "QMPIX_Tool_keep_function"}

# Comments, strings, included files and numbers are no names. A member of a public structure is not ours
# to choose either.
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|\#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'
                       |QMPIX_stack\.below|[A-Za-z_]\w*""", re.DOTALL | re.VERBOSE)


def sources():
    for root in ["src", "lib", "tools"]:
        for path in sorted((SOURCE / root).rglob("*")):
            if path.suffix in {".c", ".h", ".S", ".inc"}:
                yield path.relative_to(SOURCE)


def replaced_words(name):
    return set(re.split(r"_|(?<=[a-z])(?=[A-Z])", name.lower())) & set(REPLACED)


def test_the_names_of_files_are_standard_terms():
    wrong = {str(path) for path in sources()
             if any(replaced_words(part) for part in re.split(r"[/.]", str(path)))}
    assert not wrong


def test_identifiers_are_standard_terms():
    wrong = set()
    for path in sources():
        for token in TOKEN.findall((SOURCE / path).read_text(encoding="utf-8")):
            if re.match(r"\w+$", token) and token not in OTHERS:
                wrong |= {f"{path}: {token}: write {REPLACED[word]}" for word in replaced_words(token)}
    assert not wrong, "\n" + "\n".join(sorted(wrong))
