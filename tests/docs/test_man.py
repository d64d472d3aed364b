# SPDX-License-Identifier: MIT
"""Tests that manual pages agree with the command: each subcommand, bundled tool and call has its
page, with the current synopsis and options."""
import re
import shutil
import subprocess
import sys

import pytest
from support import ASAN, BUILD, LIBQMPI, QMPI, SOURCE, clean_environment, run_command

sys.path.insert(0, str(SOURCE / "docs" / "man"))
import pages  # noqa: E402  (the generator that the build uses)

ALL = pages.all_pages(SOURCE)
of_pages_alone = pytest.mark.skipif(bool(ASAN), reason="runs nothing that is sanitized")
COMMON = {"-?, --help", "--usage", "-V, --version"}


def qmpi(*arguments):
    result = run_command([QMPI, *arguments], clean_environment())
    assert result.returncode == 0
    return result.stdout


def commands_in_help():
    """Returns {name: description}; a description may extend over several lines."""
    text = qmpi("--help").split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    return {name: " ".join(words.split())
            for name, words in re.findall(r"(?m)^  (\w\S*) +(.*(?:\n {4,}.*)*)", text)}


COMMANDS = commands_in_help()


def section(markdown, title):
    match = re.search(rf"(?ms)^## {title}\n(.*?)(?=^## |\Z)", markdown)
    assert match, f"no section {title}"
    return match[1].strip()


def plain(markdown):
    """Returns text without emphasis: `**--tools**=*STACK*` becomes `--tools=STACK`."""
    return re.sub(r"\\(.)", r"\1", markdown.replace("*", ""))


def options_in_page(page):
    found = re.findall(r"(?m)^(\*\*-.*)\n: ", section(ALL[page][1], "OPTIONS"))
    assert len(found) == len(set(found))
    return {plain(term) for term in found}


def options_in_help(*command):
    options = re.findall(r"(?m)^ {2,6}((?:-\S, )?--\S+)(?: |$)", qmpi(*command, "--help"))
    return set(options)


def usage(*command):
    """Returns the synopses in --help; argp breaks long ones, and puts `or:` before further ones."""
    text = qmpi(*command, "--help")
    block = re.match(r"(Usage:.*(?:\n  (?:or: | +).*)*)", text)[1]
    return {" ".join(part.split()) for part in re.split(r"Usage:|\n *or:", block) if part.strip()}


def synopsis(page):
    lines = section(ALL[page][1], "SYNOPSIS").splitlines()
    return {plain(line).rstrip("\\").strip() for line in lines if line.strip()}


# ---- The command

def test_every_command_has_its_page_and_every_page_its_command():
    written = {path.name for path in (SOURCE / "docs" / "man").glob("qmpi-*.1.md")}
    assert written == {f"qmpi-{name}.1.md" for name in COMMANDS}


def test_the_page_of_qmpi_lists_every_command_in_the_words_of_help():
    listed = dict(re.findall(r"(?m)^\*\*qmpi-(\S+)\*\*\(1\)\n: (.*(?:\n\S.*)*)",
                             section(ALL["qmpi.1"][1], "COMMANDS")))
    assert {name: " ".join(words.split()) for name, words in listed.items()} == COMMANDS


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_synopsis_and_options_are_those_of_help(name):
    command, page = ([name], f"qmpi-{name}.1") if name else ([], "qmpi.1")
    assert synopsis(page) == usage(*command)
    assert options_in_page(page) == options_in_help(*command)
    assert options_in_page(page) >= COMMON


@pytest.mark.parametrize("name", COMMANDS)
def test_the_name_section_of_a_command_is_its_description_in_help(name):
    assert plain(section(ALL[f"qmpi-{name}.1"][1], "NAME")) == f"qmpi-{name} - {COMMANDS[name]}"


# Variables that the command sets for itself or for the processes that it starts. qmpi(1) leaves them out.
INTERNAL_VARIABLES = {"QMPI_CHECK", "QMPI_TRIAL", "QMPI_TOOLS_OPTION", "QMPI_CONFIG_OPTION", "QMPI_VARS",
                      "QMPI_COMMAND_PRELOAD"}


def test_the_page_of_qmpi_has_every_variable_that_is_read():
    text = "".join(path.read_text() for folder in ("src", "cli") for path in (SOURCE / folder).rglob("*.c"))
    read = set(re.findall(r'"((?:QMPI|MPIR_CVAR_QMPI|MPIR_PARAM_QMPI|MPICH_QMPI)_[A-Z_]+)"', text)) - INTERNAL_VARIABLES
    terms = re.findall(r"(?m)^(\*\*[A-Z].*)\n: ", section(ALL["qmpi.1"][1], "ENVIRONMENT"))
    assert {name for name in re.findall(r"\*\*(\w+)\*\*", " ".join(terms))} == read


def test_pages_refer_to_pages_that_exist():
    for page, (_, text) in ALL.items():
        for name, number in re.findall(r"\*\*([\w.\\-]+)\*\*\((\d)\)", text):
            assert f"{plain(name)}.{number}" in ALL, f"{page} names {name}({number})"


# ---- The bundled tools

def announced():
    """Returns {tool: {option: default}} as `qmpi list` shows them."""
    tools = {}
    for line in qmpi("list").splitlines():
        if match := re.match(r"([\w-]+) +\S", line):
            options = tools.setdefault(match[1], {})
        elif match := re.match(r" {15}([^\s=]+)(?:=(\S*))?  ", line):
            options[match[1]] = match[2]
    return tools


TOOLS = announced()


def test_every_bundled_tool_has_a_page_and_is_named_by_the_page_of_qmpi():
    assert {f"qmpi-{tool}.7" for tool in TOOLS} == {page for page in ALL if page.endswith(".7")} - {"qmpi.7"}
    assert set(re.findall(r"\*\*qmpi-(\S+)\*\*\(7\)", section(ALL["qmpi.1"][1], "SEE ALSO"))) == set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tools_page_has_the_options_that_the_tool_announces(tool):
    """The page's list has keys as `key=…`, and `set.*` as `set.NAME=…`."""
    terms = re.findall(r"(?m)^(`.*)\n: ", ALL[f"qmpi-{tool}.7"][1])
    keys = re.findall(r"`([\w.-]+)=", " ".join(terms))
    patterns = [name.removesuffix("*") for name in TOOLS[tool] if name.endswith("*")]
    keys = {next((f"{f}*" for f in patterns if key.startswith(f)), key) for key in keys}
    assert keys == set(TOOLS[tool])


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tools_page_has_the_defaults_that_the_tool_announces(tool):
    """Checks only the defaults that a page shows: some pages' tables have no column for defaults."""
    for keys, default in re.findall(r"(?m)^(`.*)\n: .* \(default: `(.*?)`\)$", ALL[f"qmpi-{tool}.7"][1]):
        key = re.match(r"`([\w.-]+)=", keys)[1]
        assert TOOLS[tool][key] == default


# ---- The calls

def test_every_call_of_the_library_has_a_page_with_its_prototype():
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBQMPI], check=True, capture_output=True,
                             text=True).stdout
    calls = set(re.findall(r" T (QMPIX?_\w+)(?:@@\S+)?$", symbols, re.M))
    headers = " ".join(path.read_text() for path in (SOURCE / "include" / "qmpi").glob("*.h"))
    headers = " ".join(headers.split())
    calls = {call for call in calls if re.search(rf"\b{call}\(", headers)}
    assert len(calls) > 35
    for call in calls:
        text = ALL[f"{call}.3"][1]
        if text.startswith(".so "):
            text = ALL[text.removeprefix(".so man3/").strip()][1]
        shown = " ".join(section(text, "SYNOPSIS").split())
        prototype = re.search(rf"[\w *]+\b{call}\([^;]*?\);", shown)[0].strip()
        if f"static inline {prototype[:-1]}" not in headers:  # some exported calls are inline functions in the headers
            assert f"QMPI_API {prototype}" in headers


# Names without a page of their own: macros and objects for use by the headers alone, the type of a node,
# which tools must not name, types that other pages explain, and the beginning of names that macros make.
NO_PAGES = {"QMPI_API", "QMPI_LIBRARY", "QMPIX_JUMP_TARGET", "QMPIX_Node", "QMPIX_Stack", "QMPIX_stack", "QMPI_Context",
            "QMPI_Functions_enum", "QMPI_"}
OF_HEADERS = {f"{name}.3" for name in ("qmpi.h", "qmpi_observer.h", "qmpi_traits.h", "qmpi_clock.h", "qmpi_service.h", "qmpi_mpit.h", "qmpi_wrappers.h",
                                       "QMPIX_FOR_EACH_FUNCTION")}


def public_names():
    """Returns all names that the public headers declare or use outside comments, except the guards
    of the headers and NO_PAGES."""
    code = ""
    for path in (SOURCE / "include" / "qmpi").glob("*.h"):
        code += re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return {name for name in re.findall(r"\bQMPIX?_\w*", code) if not re.fullmatch(r"QMPI_\w+_H", name)} - NO_PAGES


def test_every_public_name_has_a_page_and_every_page_its_name():
    pages_of_names = {page for page in ALL if page.endswith(".3")} - OF_HEADERS
    assert pages_of_names == {f"{name}.3" for name in public_names()}


CALLS = sorted(page for page, (_, text) in ALL.items() if page.endswith(".3") and "## RETURN VALUE\n" in text)


@pytest.mark.parametrize("page", CALLS)
def test_a_calls_page_shows_the_types_that_the_call_uses_and_no_others(page):
    text = ALL[page][1]
    named = set(re.findall(r"\bQMPIX_\w+", re.sub(r"\b\w+\(", "(", section(text, "SYNOPSIS"))))
    types = section(text, "TYPES") if "## TYPES\n" in text else ""
    shown = set(re.findall(r"(?m)^ *typedef [^;{]*?\b(QMPIX_\w+)(?: \{|\()", types))
    assert shown == named


# ---- Built pages

def built_pages():
    if not (BUILD / "docs" / "man" / "qmpi.1").exists():
        pytest.skip("no manual pages: the converter go-md2man is missing")
    return {page: BUILD / "docs" / "man" / page for page in ALL}


def test_every_page_is_built_with_its_title():
    for page, path in built_pages().items():
        name, _, number = page.rpartition(".")
        text = path.read_text()
        assert text.startswith(".so man") or f'.TH "{name.upper()}" "{number}"' in text


@of_pages_alone
def test_pages_are_formatted_without_a_warning():
    paths = built_pages()
    if not shutil.which("man"):
        pytest.skip("the command man is missing")
    whole = [path for path in paths.values() if not path.read_text().startswith(".so ")]
    result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", *whole], capture_output=True,
                            text=True, env={**clean_environment(), "MANWIDTH": "100", "PAGER": "cat"})
    assert result.returncode == 0
    # A prototype or an example that is wider than the page is acceptable.
    assert not [line for line in result.stderr.splitlines() if "break" not in line and "adjust" not in line]


@of_pages_alone
def test_whatis_finds_the_description_of_each_page():
    paths = built_pages()
    if not shutil.which("lexgrog"):
        pytest.skip("the command lexgrog is missing")
    for page, path in paths.items():
        if path.read_text().startswith(".so "):
            continue
        found = subprocess.run(["lexgrog", path], capture_output=True, text=True).stdout
        assert f'"{page.rpartition(".")[0]} - ' in found, page
