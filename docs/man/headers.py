# SPDX-License-Identifier: MIT
"""Makes manual pages of section 3 in Markdown for the public names of <qmpi/*.h>, from the comments of the headers.

A page consists of a comment and the declarations that follow it. It is named after the first of them, and the others
become links to it. So each new call or type has a page, which always agrees with the header. If both types and calls
follow a comment, the types have one page and the calls another.
"""
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

HEADERS = ("qmpi.h", "observer.h", "traits.h", "clock.h", "service.h", "mpit.h", "wrappers.h")

# A comment, and the code up to the next comment that begins a line.
BLOCK = re.compile(r"(?m)^/\*(?!-)(.*?)\*/\n(.*?)(?=^/\*|\Z)", re.S)
FUNCTION = re.compile(r"(?m)^(?:QMPI_API|static inline) ([\w\s*]+?\b(QMPIX?_\w+)\([^{;]*\))[;\n]")
MACRO = re.compile(r"(?m)^#define ((QMPIX_[A-Z]\w+)\([^)]*\))")
VALUE = re.compile(r"(?m)^(#define (QMPIX_[A-Z_]+)) ")  # matches a macro without arguments
TYPE = re.compile(r"(?m)^typedef (?:struct|union|enum) (QMPIX_\w+) \{.*?^\} \1;$", re.S)
CALLBACK = re.compile(r"(?m)^typedef [\w *]+?\b(QMPIX_\w+)\([^;]*\);$")
CONSTANTS = re.compile(r"(?m)^enum \{.*?^\};$", re.S)
CONSTANT = re.compile(r"(?m)^ +(QMPIX_[A-Z0-9_]+)\b")
# Pages do not describe names that only the headers themselves use.
INTERNAL = {"QMPI_API"}


@dataclass
class Page:
    header: str
    names: list[str]
    prototypes: list[str]
    comment: str
    types: dict[str, str]  # {name: definition} of the types in the prototypes
    is_of_types: bool


def comment_text(raw):
    """Returns a comment without its stars."""
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in raw.strip().splitlines()]
    return "\n".join(lines).strip()


def names_of(definition):
    """Returns the name of a type, if the definition has one, and the names of its constants."""
    return [match[1] for match in [TYPE.match(definition) or CALLBACK.match(definition)] if match] + (
        CONSTANT.findall(definition) if re.match(r"(typedef )?enum", definition) else [])


def types_named(text, types, but=()):
    """Returns the types that a text names, except those in `but`, and without the types of their members."""
    return {name: types[name] for name in types if name not in but and re.search(rf"\b{name}\b", text)}


def pages_of(header, raw, code, types):
    """Yields the pages of one comment: that of its types, and that of its calls."""
    comment = comment_text(raw)
    definitions = [match[0] for match in sorted(
        (match for kind in (TYPE, CALLBACK, CONSTANTS) for match in kind.finditer(code)),
        key=lambda match: match.start())]
    calls = sorted([(m.start(), m[2], " ".join(m[1].split()) + ";") for m in FUNCTION.finditer(code)] +
                   [(m.start(), m[2], m[1]) for kind in (MACRO, VALUE) for m in kind.finditer(code)])
    calls = {name: prototype for _, name, prototype in calls if name not in INTERNAL}
    if definitions:
        names = [name for definition in definitions for name in names_of(definition)]
        yield Page(header, names, definitions, comment, types_named(" ".join(definitions), types, names), True)
    if calls:
        # If several calls share a comment, one page describes all of them.
        prototypes = list(calls.values())
        named = types_named(" ".join([*prototypes, *definitions]), types)
        yield Page(header, list(calls), prototypes, comment, named, False)


def read(path):
    """Returns the pages of one header, in its order."""
    text = Path(path).read_text(encoding="utf-8")
    everything = "\n".join((Path(path).parent / name).read_text(encoding="utf-8") for name in HEADERS)
    types = {match[1]: match[0] for kind in (TYPE, CALLBACK) for match in kind.finditer(everything)}
    return [page for raw, code in BLOCK.findall(text) if not raw.strip().startswith("----") and "SPDX" not in raw
            for page in pages_of(Path(path).name, raw, code, types)]


def overview(path):
    """Returns the comment at the beginning of a header, after the licence."""
    text = Path(path).read_text(encoding="utf-8")
    return comment_text(re.match(r"/\*.*?\*/\n/\*(.*?)\*/", text, re.S)[1])


def page_name(header):
    """Returns the name of the header's own page. `observer.h` alone would be ambiguous."""
    return header if header == "qmpi.h" else f"qmpi_{header}"


def escape(text):
    """Converts plain text to Markdown. Text in backquotes remains code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    return "`".join(part if i % 2 else re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", part)
                    for i, part in enumerate(parts))


def markdown_of(text):
    """Converts paragraphs to Markdown. Indented text and lists become preformatted text."""
    result = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if any(re.match(r" {2,}|\s*- ", line) for line in lines):
            # A sentence may introduce the list without a blank line in between.
            opening = []
            while lines and not re.match(r" {2,}|\s*- ", lines[0]):
                opening.append(lines.pop(0))
            if opening:
                result.append(escape(" ".join(opening)))
            result.append(textwrap.indent(textwrap.dedent("\n".join(lines)), "    "))
        else:
            result.append(escape(" ".join(line.strip() for line in lines)))
    return "\n\n".join(result)


def summary(page):
    """Returns the first sentence, in the form of the section NAME."""
    text = re.sub(r" \([^()]*\)", "", " ".join(page.comment.split()))
    first = re.split(r"[.;](?=\s|$)", text)[0]
    if len(first) > 100:
        first = re.split(r":\s", first)[0]
    return first[0].lower() + first[1:] if re.match("[A-Z][a-z]|A ", first) else first


def wrap_prototype(prototype):
    lines = [""]
    for part in re.split(r"(?<=,) ", prototype):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > 74:
            lines.append("    " + part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return "\n".join(lines)


def main_names(page):
    """Returns the names under which a page is listed. Names in capitals, such as those of the constants of a type, are
    listed only if the page has no others."""
    return [name for name in page.names if not name.isupper()] or page.names


def page_markdown(page):
    name = page.names[0]
    synopsis = "\n\n".join(prototype if "{" in prototype else wrap_prototype(prototype)
                           for prototype in page.prototypes)
    parts = [f"# {name}(3)", "## NAME", f"{escape(', '.join(main_names(page)))} - {escape(summary(page))}",
             "## SYNOPSIS", textwrap.indent(f"#include <qmpi/{page.header}>\n\n{synopsis}", "    "),
             "## DESCRIPTION", markdown_of(page.comment)]
    if page.types and not page.is_of_types:
        parts.append("## TYPES")
        parts += [textwrap.indent(definition, "    ") for definition in page.types.values()]
    if any(prototype.startswith("int ") for prototype in page.prototypes):
        parts += ["## RETURN VALUE", "Calls of type int return an MPI error class, MPI\\_SUCCESS on success. "
                  "Outputs are set only on success."]
    parts += ["## SEE ALSO", ", ".join(f"**{escape(other)}**(3)" for other in [*page.types, page_name(page.header)]) +
              ", **qmpi**(1)"]
    return "\n\n".join(parts) + "\n"


def overview_markdown(path, pages):
    name = Path(path).name
    listed = {kind: "".join(f"\n**{escape(name)}**(3)\n: {escape(summary(page))}\n" for page in pages
                            if page.is_of_types == (kind == "TYPES") for name in main_names(page))
              for kind in ("CALLS", "TYPES")}
    text = overview(path)
    first = escape(" ".join(text.split("\n\n")[0].split()).rstrip("."))
    return "\n\n".join([
        f"# {page_name(name)}(3)", "## NAME", f"{escape(page_name(name))} - {first}",
        "## SYNOPSIS", f"    #include <qmpi/{name}>",
        "## DESCRIPTION", markdown_of("\n\n".join(text.split("\n\n")[1:]) or text),
        *(f"## {kind}\n{text}" for kind, text in listed.items() if text),
        "## SEE ALSO", ", ".join(f"**{escape(page_name(other))}**(3)" for other in HEADERS if other != name) +
        ", **qmpi**(1)"]) + "\n"
