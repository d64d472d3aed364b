# SPDX-License-Identifier: MIT
"""Reads the models of this directory: see README.md."""
import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE = FOLDER.parents[1]


@dataclass
class Model:
    path: Path
    text: str
    code: list = field(default_factory=list)  # (file, function, pieces of its text in their order)
    weaker: list = field(default_factory=list)  # (instruction, what the weaker model has in its place)

    def weakened(self):
        """Returns the text of the weaker model."""
        comment, program = split(self.text)
        for instruction, instead in self.weaker:
            program, count = re.subn(re.escape(instruction) + r"(?!\w)", instead, program)
            if not count:
                raise ValueError(f"{self.path.name}: no instruction '{instruction}'")
        return comment + program


def split(text):
    """Divides a model into the part with its first comment, and the rest."""
    end = text.index("\n*)\n")
    return text[:end], text[end:]


def read_model(path):
    model = Model(path, path.read_text())
    for line in split(model.text)[0].splitlines():
        if line.startswith("Code: "):
            file, function = line.removeprefix("Code: ").split()
            model.code.append((file, function, []))
        elif line.startswith("    ") and model.code:
            model.code[-1][2].append(line.strip())
        elif line.startswith("Weaker: "):
            model.weaker.append(tuple(line.removeprefix("Weaker: ").split(" -> ")))
    return model


def read_models():
    return [read_model(path) for path in sorted(FOLDER.glob("*.litmus"))]


# Where a function begins and ends, by the suffix of its file: a function or a macro of C, a function of Python, a macro
# of the assembler.
PATTERNS = {
    ".c": [r"^[^\n#{{}};]*?\b{}\((?:[^{{;]|\n)*?\n\{{.*?^\}}", r"^#define {}\((?:[^\n]*\\\n)*[^\n]*"],
    ".py": [r"^def {}\(.*?(?=^\S|\Z)"],
    ".inc": [r"^\.macro {}\b.*?^\.endm"],
}
PATTERNS[".h"] = PATTERNS[".c"]


def find_function(path, function):
    """Returns the text of a function, or None if the file has no such function."""
    text = path.read_text()
    for pattern in PATTERNS[path.suffix]:
        found = re.search(pattern.format(re.escape(function)), text, re.DOTALL | re.MULTILINE)
        if found:
            return found.group()
    return None


def without_space(text):
    """Returns the text without blanks and backslashes, in which models and code may differ: lines may be broken
    anywhere, and a model needs a blank between the two characters that would end its comment."""
    return re.sub(r"[\s\\]+", "", text)


def first_missing(text, pieces):
    """Returns the first of the pieces that does not come after its predecessors in the text, or None if all do."""
    rest = without_space(text)
    for piece in pieces:
        before, found, rest = rest.partition(without_space(piece))
        if not found:
            return piece
    return None


# ---- Shared variables ------------------------------------------------------------------------------------------------

# Declarations of atomic variables, accesses by atomic functions, and beginnings of lines with declarations.
ATOMIC = re.compile(r"^(?:static |extern )*(?:_Atomic\b|atomic_\w+ )[^;=\n]*?(\w+)(?:\[[^\]\n]*\])*(?: = [^;]*)?;|"
                    r"^static \w[^;=(\n]*\b_Atomic (\w+)", re.MULTILINE)
ACCESS = re.compile(r"__atomic_\w+\(\s*&(\w+)(?:\[[^\]]*\])*,")
DECLARATION = r"^(?:static |extern |_Atomic|atomic_|\w[\w *]* \**\w+(?:\[|;| =))"


def shared_variables(text):
    """Returns the names of the atomic variables outside of functions, and of the static variables that are accessed by
    atomic functions."""
    names = {one or other for one, other in ATOMIC.findall(text)}
    return names | {name for name in ACCESS.findall(text)
                    if re.search(rf"^static [^;(]*\b{name}\b[^;(]*[;=]", text, re.MULTILINE)}


def has_comment(text, name):
    """Returns whether there is a comment at the declaration of a variable: in its line, above it, or above the
    declarations that come directly before it."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if not re.search(rf"\b{name}\b", line) or not re.match(DECLARATION, line):
            continue
        while i and re.match(r"[\w(]", lines[i - 1]) and lines[i - 1].endswith(";"):
            i -= 1
        if "/*" in line or lines[i - 1].endswith("*/"):
            return True
    return False
