# SPDX-License-Identifier: MIT
"""Reads what C files declare and define at file scope. Macros are not expanded."""
import re

WORD = re.compile(r"(?<![.\w])(?<!->)[A-Za-z_]\w*")


def strip(text):
    """Returns the text without comments, preprocessor directives, attributes, alignments and static assertions, and
    with `""` in place of each string and character. ElfW and _Atomic lose their arguments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', '""', text)
    text = re.sub(r"\b(__attribute__|__asm__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text)
    text = re.sub(r"\b(?:_Alignas|_Static_assert)\s*\((?:[^()]|\([^()]*\))*\)", "", text)
    return re.sub(r"\b(ElfW|_Atomic)\s*\([^()]*\)", r"\1", text)


def split(text):
    """Yields the declarations at file scope, each with `{}` in place of the text in braces."""
    depth, current = 0, ""
    for char in strip(text):
        if char == "}":
            depth -= 1
            is_function = re.search(r"\)[\s\w]*\{\}\s*$", current) and not current.lstrip().startswith("typedef")
            if depth == 0 and is_function:
                yield " ".join(current.split())
                current = ""
        elif char == "{":
            current += " {} " if depth == 0 else ""
            depth += 1
        elif depth == 0 and char == ";":
            yield " ".join(current.split())
            current = ""
        elif depth == 0:
            current += char


def classify(declaration):
    """Returns (kind, name) of a declaration. The kind is "type"; "declaration" or "definition" for a function; or None
    for anything else."""
    if declaration.startswith("typedef"):
        found = (re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration) or
                 re.search(r"(\w+)\s*\([^{]*\)$", declaration) or
                 re.search(r"(\w+)\s*(\[[^\]]*\]\s*)*$", declaration))
        return "type", found.group(1)
    found = re.match(r"(?:struct|union|enum) (\w+) ?\{\}", declaration)
    if found:
        return "type", found.group(1)
    found = (re.match(r"[^=({]*\( ?\* ?(\w+) ?\(", declaration) or  # returns a pointer to a function
             re.match(r"[^=({]*?[ *](\w+) ?\((?! ?\*)", declaration))
    if found:
        is_definition = declaration.endswith("{}") and "=" not in declaration
        return ("definition" if is_definition else "declaration"), found.group(1)
    return None, None


def names(text):
    """Returns [(kind, name, whether it is static)] of a file."""
    found = []
    for declaration in split(text):
        kind, name = classify(declaration)
        if kind:
            found.append((kind, name, bool(re.match(r"(?:\w+ )?static\b", declaration))))
    return found
