# SPDX-License-Identifier: MIT
"""Makes the manual pages, by go-md2man, from Markdown.

    pages.py list SOURCE_ROOT                                  PAGE<tab>SOURCE for each page
    pages.py build SOURCE_ROOT FOLDER VERSION CONVERTER        writes them all

A page comes from one of three places: docs/man/NAME.SECTION.md; a bundled tool's tools/NAME/README.md
(it becomes qmpi-NAME(7)); a comment of a public header (section 3, see headers.py).
"""
import re
import subprocess
import sys
from pathlib import Path

import headers

COMMON_OPTIONS = """
**-?**, **--help**
: prints what there is to know of the command, and ends

**--usage**
: prints the options in short, and ends

**-V**, **--version**
: prints the version and the MPI that it is for, and ends
"""


def written_pages(root):
    """{page: (source, markdown)} of docs/man; the options that all commands have are added."""
    pages = {}
    for path in sorted((root / "docs" / "man").glob("*.[1-8].md")):
        text = path.read_text(encoding="utf-8")
        if path.name.endswith(".1.md"):
            if "\n## OPTIONS\n" not in text:
                text = text.replace("\n## EXIT STATUS\n", "\n## OPTIONS\n\n## EXIT STATUS\n", 1)
            head, title, rest = text.partition("\n## OPTIONS\n")
            end = re.search(r"(?m)^## ", rest)
            at = end.start() if end else len(rest)
            text = head + title + rest[:at].rstrip() + "\n" + COMMON_OPTIONS + "\n" + rest[at:]
        pages[path.name.removesuffix(".md")] = (path, text)
    return pages


def option_tables_to_lists(text):
    """Tables of options: a manual page is narrow, and a list of terms reads better there."""
    def convert(match):
        rows = [re.split(r"(?<!\\)\|", line.strip("|\n"))
                for line in match[0].strip().splitlines()[2:]]
        return "".join(item(*(cell.strip().replace("\\|", "|") for cell in row if cell.strip()))
                       for row in rows)

    def item(name, *cells):
        """The last cell tells; one between is the default."""
        default = f" (default: {cells[0]})" if len(cells) > 1 else ""
        return f"{name}\n: {cells[-1]}{default}\n\n"
    return re.sub(r"(?m)^\| option \|.*\n\|[-|]+\n(?:\|.*\n)+", convert, text)


def tool_pages(root):
    """{page: (source, markdown)} of the bundled tools' READMEs."""
    pages = {}
    for path in sorted((root / "tools").glob("*/README.md")):
        tool = path.parent.name
        heading, text = path.read_text(encoding="utf-8").split("\n", 1)
        assert heading == f"# {tool}", f"{path}: the heading is to be '# {tool}'"
        summary = re.split(r"(?<=[^.])[.:;]\s", text.strip(), maxsplit=1)[0]
        summary = " ".join(summary.split())
        text = option_tables_to_lists(text)
        text = re.sub(r"\[([^]]+)\]\((?!http)[^)]*\)", r"\1", text)  # links lead nowhere in a page
        text = re.sub(r"(?m)^## (.*)", lambda match: "## " + match[1].upper(), text)
        pages[f"qmpi-{tool}.7"] = (path, "\n\n".join([
            f"# qmpi-{tool}(7)", "## NAME", f"qmpi-{tool} - {summary}", "## SYNOPSIS",
            f"**qmpi run -t {tool}**[,*key*=*value*...][:...] -- *PROGRAM* [*ARGUMENT*...]",
            "## DESCRIPTION", text.strip(), "## SEE ALSO", "**qmpi**(1), **qmpi-run**(1)"]) + "\n")
    return pages


def header_pages(root):
    pages = {}
    for name in headers.HEADERS:
        path = root / "include" / "qmpi" / name
        found = headers.read(path)
        pages[f"{headers.page_name(name)}.3"] = (path, headers.overview_markdown(path, found))
        for page in found:
            pages[f"{page.names[0]}.3"] = (path, headers.page_markdown(page))
            for other in page.names[1:]:
                pages[f"{other}.3"] = (path, f".so man3/{page.names[0]}.3\n")
    return pages


def all_pages(root):
    return {**written_pages(root), **tool_pages(root), **header_pages(root)}


def convert(markdown, converter, version):
    """One page in troff; the first line, `# NAME(SECTION)`, becomes the title."""
    if markdown.startswith(".so "):
        return markdown
    heading, text = markdown.split("\n", 1)
    name, section = re.fullmatch(r"# ([\w.-]+)\((\d)\)", heading).groups()
    text = re.sub(r"(?m)^## ", "# ", text)
    troff = subprocess.run([converter], input="# TITLE\n" + text, check=True, capture_output=True,
                           text=True).stdout
    title = f'.TH "{name.upper()}" "{section}" "" "qmpi {version}" "qmpi"'
    troff, count = re.subn(r"(?m)^\.TH.*$", lambda _: title, troff, count=1)
    assert count == 1, f"{name}: the converter made no title"
    return troff


def main(command, root, folder=None, version=None, converter=None):
    pages = all_pages(Path(root))
    if command == "list":
        for page, (source, _) in pages.items():
            print(f"{page}\t{source}")
        return
    for page, (_, markdown) in pages.items():
        (Path(folder) / page).write_text(convert(markdown, converter, version), encoding="utf-8")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main(*sys.argv[1:])
