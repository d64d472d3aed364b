# SPDX-License-Identifier: MIT
"""The calls of <qmpi/*.h> as manual pages of section 3, in Markdown, from the headers' own comments.

A page is one comment with the declarations that follow it, named after the first of them; the others
become links to it. So a call that is added to a header has its page, and the two cannot disagree.
"""
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = ("qmpi.h", "observer.h", "mpit.h", "wrappers.h")

# A comment, and the code up to the next comment that begins a line.
BLOCK = re.compile(r"(?m)^/\*(?!-)(.*?)\*/\n(.*?)(?=^/\*|\Z)", re.S)
FUNCTION = re.compile(r"(?m)^(?:QMPI_API|static inline) ([\w\s*]+?\b(QMPIX?_\w+)\([^{;]*\))[;\n]")
MACRO = re.compile(r"(?m)^#define ((QMPIX_[A-Z]\w+)\([^)]*\))")
TYPE = re.compile(r"(?m)^typedef (?:struct|union|enum) (QMPIX_\w+) \{.*?^\} \1;$", re.S)
# Pages are about calls, not about what the header needs for itself.
INTERNAL = {"QMPI_API"}


@dataclass
class Page:
    header: str
    names: list[str]
    prototypes: list[str]
    comment: str
    types: list[tuple[str, str]] = field(default_factory=list)  # (what the header says of it, definition)


def comment_text(raw):
    """A comment without its stars and without the lines that separate sections."""
    lines = [re.sub(r"^ ?\* ?", "", line).rstrip() for line in raw.strip().splitlines()]
    return "\n".join(lines).strip()


def types_used(text, types):
    """The types that a text names, and those that these name, in the header's order."""
    used = set()
    while more := {name for name in types if re.search(rf"\b{name}\b", text)} - used:
        used |= more
        text = " ".join(types[name][1] for name in more)
    return [types[name] for name in types if name in used]


def read(path):
    """The pages of one header, in its order."""
    text = Path(path).read_text(encoding="utf-8")
    types = {match[1]: ("", match[0]) for match in TYPE.finditer(text)}
    pages = []
    for raw, code in BLOCK.findall(text):
        if match := TYPE.match(code):
            types[match[1]] = (comment_text(raw), match[0])
        found = sorted([(m.start(), m[2], " ".join(m[1].split()), True) for m in FUNCTION.finditer(code)] +
                       [(m.start(), m[2], m[1], False) for m in MACRO.finditer(code)])
        found = [entry for entry in found if entry[1] not in INTERNAL]
        if not found or raw.strip().startswith("----") or "SPDX" in raw:
            continue
        # The words of one call are passed on by several macros: the first comment tells of all.
        page = Page(Path(path).name, [entry[1] for entry in found],
                    [entry[2] + (";" if entry[3] else "") for entry in found], comment_text(raw))
        page.types = types_used(" ".join(page.prototypes), types)
        pages.append(page)
    return pages


def overview(path):
    """What the header says of itself, after the licence."""
    text = Path(path).read_text(encoding="utf-8")
    return comment_text(re.match(r"/\*.*?\*/\n/\*(.*?)\*/", text, re.S)[1])


def page_name(header):
    """The header's own page; `observer.h` alone would be anybody's."""
    return header if header == "qmpi.h" else f"qmpi_{header}"


def escape(text):
    """Plain text as Markdown; what stands in backquotes is code there, too."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    return "`".join(part if i % 2 else re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", part)
                    for i, part in enumerate(parts))


def markdown_of(text):
    """Paragraphs as they are; what is indented, or a list, as it stands."""
    result = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if any(re.match(r" {2,}|\s*- ", line) for line in lines):
            # A sentence may lead to the list without a blank line between.
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
    """The first sentence, as a manual's NAME has it."""
    text = re.sub(r" \([^()]*\)", "", " ".join(page.comment.split()))
    first = re.split(r"[.;](?=\s|$)", text)[0]
    if len(first) > 100:
        first = re.split(r":\s", first)[0]
    return first[0].lower() + first[1:] if first[1:2].islower() else first


def wrap_prototype(prototype):
    lines = [""]
    for part in re.split(r"(?<=,) ", prototype):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > 74:
            lines.append("    " + part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return "\n".join(lines)


def page_markdown(page):
    name = page.names[0]
    synopsis = "\n\n".join(wrap_prototype(prototype) for prototype in page.prototypes)
    parts = [f"# {name}(3)", "## NAME", f"{escape(', '.join(page.names))} - {escape(summary(page))}",
             "## SYNOPSIS", textwrap.indent(f"#include <qmpi/{page.header}>\n\n{synopsis}", "    "),
             "## DESCRIPTION", markdown_of(page.comment)]
    if page.types:
        parts.append("## TYPES")
        for said, definition in page.types:
            parts += [markdown_of(said)] * bool(said) + [textwrap.indent(definition, "    ")]
    parts += ["## RETURN VALUE", "Calls of type int: an MPI error class, MPI\\_SUCCESS where it succeeded. "
              "Outputs are set only on success.",
              "## SEE ALSO", f"**{escape(page_name(page.header))}**(3), **qmpi**(1)"]
    return "\n\n".join(parts) + "\n"


def overview_markdown(path, pages):
    name = Path(path).name
    calls = "\n".join(f"**{escape(call)}**(3)\n: {escape(summary(page))}\n"
                      for page in pages for call in page.names)
    text = overview(path)
    first = escape(" ".join(text.split("\n\n")[0].split()).rstrip("."))
    return "\n\n".join([
        f"# {page_name(name)}(3)", "## NAME", f"{escape(page_name(name))} - {first}",
        "## SYNOPSIS", f"    #include <qmpi/{name}>",
        "## DESCRIPTION", markdown_of("\n\n".join(text.split("\n\n")[1:]) or text), "## CALLS",
        calls or "Macros alone: see above.",
        "## SEE ALSO", ", ".join(f"**{escape(page_name(other))}**(3)" for other in HEADERS if other != name) +
        ", **qmpi**(1)"]) + "\n"
