# SPDX-License-Identifier: MIT
"""Tests more than a hundred bad inputs: stacks, library files, options of the command and of tools.
Each must lead to an error status, usually 2, and a message that names the bad part, or to a right
result. Nothing may crash."""
import random
import re
import shutil
import struct
import subprocess

import pytest
from support import ASAN, BUILD, MPI_SONAME, QMPI, SOURCE, clean_environment, run_command

TOOL = BUILD / "examples" / "barriers.so"


def qmpi(*arguments, **variables):
    return run_command([QMPI, *arguments], {**clean_environment(), **variables})


def check_message(result, *words):
    """Checks that the status is 2, that stdout is empty, and that each line of stderr is one of a message of qmpi. All
    of `words` must be in stderr."""
    assert result.returncode == 2
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line]
    assert lines and all(re.match(r"(\S*/)?qmpi(-openmpi|-abi)?( \w+)?: |Try ", line) for line in lines), lines
    for word in words:
        assert word in result.stderr, word


# ---- Stacks: (text, what the message says)

BAD_STACKS = [
    ("nonesuch", "no such tool"), ("no such tool", "no such tool"), ("EMPTY", "no such tool"),
    ("empty ", "'empty '"), (" empty", "' empty'"), ("empty;count", "'empty;count'"),
    ("-t", "'-t'"), ("--help", "'--help'"), ("*", "'*'"), ("é", "'é'"), ("😀", "'😀'"), ("%r", "'%r'"),
    ("$HOME", "'$HOME'"), ("~", "'~'"), ("empty.so.", "'empty.so.'"), ("libempty", "'libempty'"),
    ("libnonesuch.so", "no such tool"), ("./nonesuch.so", "no such library"), ("/", "a directory"),
    (".", "'.'"), ("..", "'..'"), ("../", "a directory"), ("/dev/null", "not a regular file"),
    ("/etc/passwd", "not an ELF file"), ("//", "a directory"), ("/nonesuch/" + "x" * 5000, "…"),
    ("n" * 5000, "…"), ("libc.so.6", "not a tool"), (MPI_SONAME, "an MPI library"),
    ("/bin/sh", "a program"), ("empty,colour=red", "'colour'"), ("empty,=red", "=red"),
    ("empty,colour", "'colour'"), ("empty,", "''"), ("empty,,", "''"), ("count,output=a,output=b", "twice"),
    ("count,OUTPUT=a", "'OUTPUT'"), ("count, output=a", "' output'"), (",output=a", "no name"),
    ("empty\\", "backslash"), ("em\\pty", "'\\p' is not an escape"), ("empty\\:count", "'empty\\:count'"),
    ("empty=1", "empty=1"), ("empty:nonesuch", "entry 2 'nonesuch'"),
    ("nonesuch:empty", "entry 1 'nonesuch'"), ("empty\ncount", "empty"), ("empty\tcount", "empty"),
    ("count,output=", "output="), ("\x1b[31mred", "red"), (":".join(["empty"] * 256), "255"),
]

# Characters that control a terminal, and a line that looks like a hint of qmpi. SHOWN is how messages show them.
RAW = "a\nhint: b\x1b[31m\r\u009b2J"
SHOWN = "a\\nhint: b\\x1b[31m\\r\\xc2\\x9b2J"
IN_STACK = RAW.replace(":", "\\:")


def raw_configuration(folder, content):
    (folder / RAW).mkdir()
    (folder / RAW / "qmpi.conf").write_bytes(content)
    return str(folder / RAW / "qmpi.conf")


RAW_INPUTS = {  # functions of a folder that return a command's arguments and variables
    "name": lambda folder: (["check", "-t", IN_STACK], {}),
    "path": lambda folder: (["check", "-t", f"/none/{IN_STACK}/x.so"], {}),
    "path of a file": lambda folder: (folder / f"{RAW}.so").write_text("") and None or (
        ["check", "-t", folder / f"{IN_STACK}.so"], {}),
    "option": lambda folder: (["check", "-t", f"empty,{IN_STACK}=1"], {}),
    "option without a value": lambda folder: (["check", "-t", f"empty,{IN_STACK}"], {}),
    "value": lambda folder: (["check", "-t", f"profile,top={IN_STACK}"], {}),
    "value of another tool": lambda folder: (["check", "-t", f"delay,functions={IN_STACK}"], {}),
    "QMPI_TOOL_PATH": lambda folder: (["check", "-t", "nonesuch"], {"QMPI_TOOL_PATH": RAW}),
    "QMPI_ON_ERROR": lambda folder: (["check", "-t", "nonesuch"], {"QMPI_ON_ERROR": RAW}),
    "QMPI_DEBUG": lambda folder: (["check", "-t", "nonesuch"], {"QMPI_DEBUG": RAW}),
    "traces": lambda folder: (["check", "-t", f"/none/{IN_STACK}"], {"QMPI_DEBUG": "all"}),
    "QMPI_CONFIG": lambda folder: (["check"], {"QMPI_CONFIG": "/none/" + RAW.replace(":", "\\:")}),
    "-c": lambda folder: (["check", "-c", f"/none/{RAW}"], {}),
    "a line of a file": lambda folder: (
        ["check", "-c", raw_configuration(folder, b"none\x1b[31m")], {}),
    "a setting of a file": lambda folder: (
        ["check", "-c", raw_configuration(folder, b"colour\x1b[31m = red")], {}),
    "the program": lambda folder: (["run", "-t", "", "--", f"/none/{RAW}"], {}),
    "a program in PATH": lambda folder: (["run", "-t", "", "--", RAW], {}),
    "a function": lambda folder: (["check", "--function", RAW], {}),
    "a file to report": lambda folder: (["report", f"/none/{RAW}"], {}),
    "a number": lambda folder: (["report", "--top", RAW, "none"], {}),
    "a command": lambda folder: ([RAW], {}),
    "a long option": lambda folder: (["check", "--\x1b[31m\r"], {}),
    "a long option of a run": lambda folder: (["run", "-t", "", "--\x1b[31m=1"], {}),
    "an argument": lambda folder: (["check", RAW], {}),
}


@pytest.mark.parametrize("case", RAW_INPUTS)
def test_messages_contain_no_control_characters(case, tmp_path):
    arguments, variables = RAW_INPUTS[case](tmp_path)
    result = qmpi(*arguments, **variables)
    assert result.returncode != 0 and result.stdout == ""
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stderr), result.stderr
    assert "\\x1b[31m" in result.stderr
    lines = result.stderr.splitlines()
    assert not [line for line in lines if re.match(r"(qmpi: +)?hint: b", line)], lines
    assert all(re.match(r"(\S*/)?qmpi(-openmpi|-abi)?( \w+)?: |Try ", line) for line in lines), lines


def test_bytes_that_are_not_utf_8_are_escaped_in_messages():
    process = subprocess.run([QMPI, "check", "-t", b"n\xff\xfe"], env=clean_environment(),
                             capture_output=True, timeout=60)
    assert process.returncode == 2
    assert b"entry 1 'n\\xff\\xfe'" in process.stderr and b"\xff" not in process.stderr


def test_lists_and_findings_contain_no_control_characters(tmp_path):
    # in a list of folders, colons are separators
    raw, shown = (text.replace(":", "") for text in (RAW, SHOWN))
    folder = tmp_path / raw
    folder.mkdir()
    shutil.copy(TOOL, folder / "tool.so")
    (folder / "bad.so").write_text("")
    for arguments, variables in ((["list"], {"QMPI_TOOL_PATH": str(folder)}),
                                 (["check", "-t", folder / "tool.so"], {}),
                                 (["doctor", "-t", folder / "tool.so", "--", folder / "none"], {}),
                                 (["doctor"], {"QMPI_TOOLS": raw, "QMPI_DEBUG": raw})):
        result = qmpi(*arguments, **variables)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.stdout + result.stderr)
        assert shown in result.stdout


# (text, expected layers)
GOOD_STACKS = [
    ("", []), (":", []), (":::::", []), ("empty:", ["empty"]), (":empty", ["empty"]),
    ("empty::empty", ["empty", "empty"]),
    ("count,output=a\\:b", ["count"]), ("count,output==", ["count"]),
    ("empty.so", ["empty"]), (":".join(["empty"] * 255), ["empty"] * 255),
]


@pytest.mark.parametrize("number", range(len(BAD_STACKS)))
def test_a_message_about_a_bad_stack_names_the_mistake(number):
    text, words = BAD_STACKS[number]
    result = qmpi("check", "-t", text)
    check_message(result, "-t", words)
    assert "hint: " in result.stderr and len(result.stderr) < 20_000


@pytest.mark.parametrize("number", range(len(GOOD_STACKS)))
def test_an_unusual_stack_is_accepted(number):
    text, layers = GOOD_STACKS[number]
    result = qmpi("check", "-t", text)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.findall(r"(?m)^layer \d+: (\S+)", result.stdout) == layers


# ---- Library files

HEADER, PROGRAM_HEADER, DYNAMIC_ENTRY = 64, 56, 16
PT_DYNAMIC = 2
# Tags of entries for functions and for versions of symbols. These are left out, because any value may be valid.
LEFT_OUT = {12, 13, 25, 26, 27, 28, 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF}


def structure(data):
    """Returns the offsets of the bytes that describe the file to the loader: the headers, and the values in the dynamic
    section, except those of LEFT_OUT."""
    at, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    places = [*range(HEADER), *range(at, at + count * PROGRAM_HEADER)]
    for i in range(count):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, at + i * PROGRAM_HEADER)
        if kind != PT_DYNAMIC:
            continue
        for entry in range(offset, offset + size, DYNAMIC_ENTRY):
            tag, = struct.unpack_from("<Q", data, entry)
            if tag == 0:
                break
            if tag not in LEFT_OUT:
                places += range(entry + 8, entry + DYNAMIC_ENTRY)
    return places


def check_file(path):
    """Checks that the tool is refused with a message that names its path, or that it is still the same tool. Returns
    the exit status."""
    result = qmpi("check", "-t", path)
    if result.returncode == 0:
        assert "layer 1: barriers" in result.stdout and not result.stderr
    else:
        check_message(result, "-t, entry 1", str(path)[:60], "hint: ")
    return result.returncode


@pytest.mark.parametrize("seed", range(25))
def test_a_library_that_is_cut_anywhere_is_refused(seed, tmp_path):
    data = TOOL.read_bytes()
    path = tmp_path / "cut.so"
    path.write_bytes(data[:random.Random(seed).randrange(len(data))])
    assert check_file(path) == 2
    assert re.search("truncated|not an ELF|empty file", qmpi("check", "-t", path).stderr)


@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
@pytest.mark.parametrize("seed", range(30))
def test_a_library_with_one_changed_bit_is_refused_or_still_works(seed, tmp_path):
    data = bytearray(TOOL.read_bytes())
    choice = random.Random(seed)
    data[choice.choice(structure(data))] ^= 1 << choice.randrange(8)
    path = tmp_path / "changed.so"
    path.write_bytes(data)
    check_file(path)


def dynamic_values(data):
    """Returns {tag: offset of its value}."""
    at, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    headers = [struct.unpack_from("<IIQQQQ", data, at + i * PROGRAM_HEADER) for i in range(count)]
    _, _, offset, _, _, size = next(header for header in headers if header[0] == PT_DYNAMIC)
    return {struct.unpack_from("<Q", data, entry)[0]: entry + 8
            for entry in range(offset, offset + size, DYNAMIC_ENTRY)}


PT_LOAD, P_VADDR, P_FILESZ, P_MEMSZ = 1, 16, 32, 40


def load_segments(data):
    """Returns the offsets of the program headers of the segments that are loaded."""
    at, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    return (place for place in range(at, at + count * PROGRAM_HEADER, PROGRAM_HEADER)
            if struct.unpack_from("<I", data, place)[0] == PT_LOAD)


DT_PLTREL, DT_RELAENT, DT_RELACOUNT, DT_RELA, DT_GNU_HASH = 20, 9, 0x6FFFFFF9, 7, 0x6FFFFEF5


@pytest.mark.parametrize("tag, value, words", [
    (DT_PLTREL, 17, "relocations"), (DT_RELAENT, 23, "relocations"), (DT_RELACOUNT, 1 << 40, "relocations"),
    (DT_RELA, 8, "relocations"), (DT_GNU_HASH, 1 << 40, "hash table"), (DT_GNU_HASH, 65, "hash table"),
])
def test_values_that_the_loader_does_not_check_are_checked_by_qmpi(tag, value, words, tmp_path):
    """Without the checks, the loader would end the process with its own message, which names no tool."""
    data = bytearray(TOOL.read_bytes())
    struct.pack_into("<Q", data, dynamic_values(data)[tag], value)
    path = tmp_path / "damaged.so"
    path.write_bytes(data)
    assert check_file(path) == 2
    assert f"its {words} {'are' if words.endswith('s') else 'is'} damaged" in qmpi("check", "-t", path).stderr


@pytest.mark.parametrize("segment, field, added", [
    (-1, P_FILESZ, 0x1000), (0, P_MEMSZ, 1 << 30), (1, P_VADDR, -0x1000), (-1, P_MEMSZ, -0x2000),
])
def test_segments_with_wrong_sizes_or_addresses_are_refused(segment, field, added, tmp_path):
    data = bytearray(TOOL.read_bytes())
    segments = list(load_segments(data))
    at = segments[segment] + field
    value, = struct.unpack_from("<Q", data, at)
    if field == P_VADDR:  # to overlap the segment before it, the segment must also cross the unused pages between them
        address, = struct.unpack_from("<Q", data, segments[segment - 1] + P_VADDR)
        size, = struct.unpack_from("<Q", data, segments[segment - 1] + P_MEMSZ)
        added -= (value - address - size) // 0x1000 * 0x1000
    struct.pack_into("<Q", data, at, (value + added) % (1 << 64))
    path = tmp_path / "damaged.so"
    path.write_bytes(data)
    assert check_file(path) == 2
    assert "its segments are damaged" in qmpi("check", "-t", path).stderr


@pytest.mark.skipif(bool(ASAN), reason="a sanitizer reports faults in its own way")
def test_a_library_whose_constructor_faults_is_named(tmp_path):
    """The library is in the middle of the stack, so the layers below it are already loaded."""
    path = shutil.copy(BUILD / "tests/pmpi/tools/libcrash_constructor.so", tmp_path / "libfaulty.so")
    for on_error in ("stop", "skip"):
        result = qmpi("check", "-t", f"empty:{path}:count", QMPI_ON_ERROR=on_error)
        assert result.returncode == 2
        assert f"qmpi: -t, entry 2 '{path}'" in result.stderr
        assert "terminated by SIGSEGV while it was loaded" in result.stderr


def test_list_describes_every_file(tmp_path):
    """Tests a list with a folder of files of all kinds, a folder that does not exist, and an empty name
    between them."""
    files = {"a_pmpi.so": BUILD / "tests/pmpi/tools/libtally.so",
             "b_silent.so": BUILD / "tests/stack/tools/silent.so",
             "c_undefined.so": BUILD / "tests/stack/tools/undefined.so", "d_plain.so": "/etc/passwd"}
    files["e_faulty.so"] = BUILD / "tests/stack/tools/dies.so"
    for name, source in files.items():
        shutil.copy(source, tmp_path / name)
    result = qmpi("list", QMPI_TOOL_PATH=f"{tmp_path}::{tmp_path}/none")
    assert result.returncode == 0
    said = dict(re.findall(rf"(?m)^{tmp_path}/(\S+)\n  (.*)$", result.stdout))
    wanted = {"a_pmpi.so": "a PMPI tool", "b_silent.so": "a QMPI tool without a manifest",
              "c_undefined.so": "a QMPI tool without a manifest", "d_plain.so": "not usable: ",
              "e_faulty.so": "a QMPI tool without a manifest", "none": "cannot be read: No such file"}
    for name in (*files, "none"):
        assert said[name].startswith(wanted[name]), name
    assert "count " in result.stdout


# ---- Options of the command: (arguments, what the message says)

BAD_OPTIONS = [
    (["nonesuch"], "nonesuch"), (["Run"], "Run"), ([""], "''"), (["--nonesuch"], "--nonesuch"), (["-x"], "x"),
    (["run"], "missing program"), (["run", "--"], "missing program"), (["run", "-t"], "t"),
    (["run", "--tools"], "--tools"), (["run", "--nonesuch", "true"], "--nonesuch"),
    (["run", "-x", "true"], "x"), (["run", "--on-error=", "true"], "stop or skip"),
    (["run", "--on-error=STOP", "true"], "'STOP'"), (["run", "--debug"], "--debug"),
    (["check", "empty"], "'empty'"), (["check", "--tool"], "--tool"), (["check", "-t"], "t"),
    (["check", "--json"], "--json"), (["list", "--all"], "--all"), (["list", "-t", "empty"], "t"),
    (["functions", "-j"], "j"), (["functions", "--mpi"], "--mpi"), (["report"], "missing file"),
    (["report", "--format=yaml", "x"], "'yaml'"), (["report", "--top=many", "x"], "'many'"),
    (["report", "--top=99999999999", "x"], "'99999999999'"), (["report", "--compare", "x"], "two files"),
    (["report", "/nonesuch"], "/nonesuch"), (["report", "/dev/null"], "/dev/null"),
    (["report", str(SOURCE / "README.md")], "README.md"), (["vars", "--nonesuch"], "--nonesuch"),
    (["vars", "-t", "nonesuch"], "nonesuch"), (["run", "-c"], "c"), (["run", "-c", "/nonesuch", "true"], "/nonesuch"),
    (["check", "-c", "nonesuch"], "nonesuch"), (["check", "--function", "MPI_Sned"], "MPI_Sned"),
    (["check", "--run", "--function=MPI_Send", "-t", "empty", "--", "true"], "--function has no effect with --run"),
    (["check", "--run", "--timeout=1ns", "-t", "empty", "--", "true"], "--timeout has no effect with --run"),
    (["check", "--function"], "--function"), (["doctor", "--nonesuch"], "--nonesuch"), (["doctor", "-c", "x"], "-c x"),
    (["doctor", "-c", ""], "-c : No such file"),
    (["new"], "missing name"), (["new", "a", "b"], "'b'"), (["new", "a b"], "'a b'"), (["new", "--c++", "a"], "--c++"),
]


@pytest.mark.parametrize("arguments, words", BAD_OPTIONS, ids=lambda value: str(value)[:40])
def test_a_bad_option_of_the_command_is_named(arguments, words):
    check_message(qmpi(*arguments), words)


# ---- Options of tools: (stack, what the message says)

BAD_TOOL_OPTIONS = [
    ("profile,format=xml", "xml"), ("profile,format=json", "output="), ("profile,top=-1", "-1"),
    ("profile,top=ten", "ten"), ("profile,depth=0", "0"), ("profile,depth=33", "33"),
    ("profile,depth=1x", "1x"), ("profile,sync=maybe", "maybe"), ("profile,checkpoint=never", "never"),
    ("profile,checkpoint=-1", "-1"), ("mpit,at=noon", "noon"), ("mpit,format=xml", "xml"),
    ("mpit,pvar=x", "'pvar'"), ("count,format=json", "'format'"), ("empty,x=1", "'x'"),
    ("profile,top=", "top"), ("jobs", "no directory"), ("jobs,directory=%q", "%q"), ("jobs,directory=", "directory="),
    ("jobs,directory=${QMPI_NOT_SET}", "QMPI_NOT_SET"), ("jobs,directory=.,on-write-error=stop", "stop"),
]


@pytest.mark.parametrize("stack, words", BAD_TOOL_OPTIONS)
def test_a_bad_option_of_a_tool_is_named_with_its_entry(stack, words):
    result = qmpi("check", "-t", f"empty:{stack}")
    check_message(result, f"-t, entry 2 '{stack}'", words, "hint: ")


# ---- Configuration files: (content, what the message says)

BAD_CONFIGURATIONS = [
    (b"nonesuch\n", "line 1 'nonesuch': no such tool"), (b"empty\n\n# x\nnonesuch", "line 4 'nonesuch'"),
    (b"/nonesuch/tool.so", "no such library"), (b"./nonesuch.so", "qmpi.conf, line 1"),
    (b"/", "a directory"), (b"/etc/passwd", "not an ELF file"), (b"empty:count", "one tool per line"),
    (b"empty,colour=red", "unknown setting 'empty,colour'"), (b"empty count", "one tool per line"),
    (b"empty\n  colour = red", "no option 'colour'"), (b"empty\n  colour", "key = value"),
    (b"empty\n  = red", "key = value"), (b"empty\n  colour # = red", "key = value"),
    (b"count\n output=a\n output=b", "line 3 'output=b': option 'output' is given twice"),
    (b"count\n output = \"a", "closing quote is missing"), (b"count\n output = \"a\" b", "after the closing quote"),
    (b"count\n output = \"\\n\"", "invalid escape"), (b"count\n output = \"\\", "invalid escape"),
    (b"\"count", "closing quote is missing"), (b"\"\"", "has no name"), (b"\" \"", "no such tool"),
    (b"  output = a", "no tool precedes"), (b"\toutput", "no tool precedes it"),
    (b"debug = load\n output = a", "line 2 'output = a'"), (b"colour = red", "unknown setting 'colour'"),
    (b"QMPI_TOOLS = empty", "unknown setting 'QMPI_TOOLS'"), (b"tools = empty", "unknown setting 'tools'"),
    (b"= x", "key = value"), (b"on-error = maybe", "stop or skip"), (b"on-error =", "stop or skip"),
    (b"on-error = Skip", "'Skip'"), (b"internal = 2", "yes or no"), (b"internal = \"1", "closing quote is missing"),
    (b"tool-path = /a\ntool-path = /b", "set twice, first in line 1"), (b"[tools]", "unknown section 'tools'"), (b"[abvoe]", "did you mean [above]?"),
    (b"[stack]", "cannot be the name of a stack"), (b"[stack a/b]", "cannot be the name of a stack"),
    (b"[above", "closing bracket is missing"), (b"[stack a]\n[stack a]", "already in line 1"),
    (b"[above]\ndebug = all", "cannot be set for a section"),
    (b"[below]\non-error = stop\non-error = skip", "set twice for this section"),
    (b"empty;", "no such tool"), (b"empty \\\ncount", "one tool per line"), (b"e\xff\xfe", "no such tool"),
    (b"\xff\xfee\0m\0p\0t\0y\0", "not a text file"), (b"\0", "not a text file"),
    (b"n" * 5000, "\u2026"), (b"empty\n" + b"k" * 5000, "no such tool"), (b"empty\n" * 256, "255"),
    (b"x = y\n" * 5000, "line 1"), (b"#" * (1 << 21), "it is larger than 1 MiB"),
]


@pytest.mark.parametrize("number", range(len(BAD_CONFIGURATIONS)))
def test_a_bad_configuration_file_is_named_with_its_line(number, tmp_path):
    content, words = BAD_CONFIGURATIONS[number]
    path = tmp_path / "qmpi.conf"
    path.write_bytes(content)
    result = qmpi("check", QMPI_CONFIG=str(path))
    check_message(result, str(path), words, "hint: ")
    assert len(result.stderr) < 20_000


# (content, expected layers, or None if a message is expected)
GOOD_CONFIGURATIONS = [
    (b"", []), (b"\n\n \n\t\n", []), (b"#", []), (b"  # x", []), (b"empty", ["empty"]),
    (b"empty#", None), (b"empty #", ["empty"]), (b"\xef\xbb\xbfempty\r\n", ["empty"]),
    (b"empty\n\n\nempty   \n", ["empty", "empty"]), (b'"empty"', ["empty"]), (b"empty.so", ["empty"]),
    (b"count\n\toutput=x", ["count"]), (b"count\n output = a=b:c,d\\", ["count"]),
    (b"on-error = skip\nnonesuch", None), (b"empty\n" * 255, ["empty"] * 255),
]


@pytest.mark.parametrize("number", range(len(GOOD_CONFIGURATIONS)))
def test_an_unusual_configuration_file_is_read_correctly(number, tmp_path):
    content, layers = GOOD_CONFIGURATIONS[number]
    path = tmp_path / "qmpi.conf"
    path.write_bytes(content)
    result = qmpi("check", QMPI_CONFIG=str(path))
    if layers is not None:
        assert (result.returncode, result.stderr) == (0, "")
        assert re.findall(r"(?m)^layer \d+: (\S+)", result.stdout) == layers
    else:
        assert "hint: " in result.stderr


# ---- Inputs that are much too large: they must not take long -------------------------------------

LARGE = {
    "options": ("count\n" + "".join(f" a{i} = 1\n" for i in range(80_000)), "line 1002 'a1000 = 1': more than 1000 options"),
    "conditions": ("count\n" + " @ranks = 0-100000\n" * 50_000, "the option '@ranks' is given too often"),
    "stacks": ("".join(f"[stack s{i}]\n" for i in range(70_000)), "line 1001 '[stack s1000]': the file contains more than 1000"),
    "tool-path": (f"tool-path={':'.join(f'd{i}' for i in range(130_000))}\nnonesuch.so\n", "line 2 'nonesuch.so': no such tool"),
    "text": ("count\n" * 1_700_000, "it is larger than 1 MiB"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_configuration_file_that_is_too_large_leads_to_one_message(name, tmp_path):
    text, words = LARGE[name]
    path = tmp_path / "qmpi.conf"
    path.write_text(text)
    result = qmpi("check", "--timeout=100", QMPI_CONFIG=str(path))
    check_message(result, str(path), words, "hint: ")
    assert len([line for line in result.messages if not line.startswith(" ")]) == 1


@pytest.mark.skipif(bool(ASAN), reason="with the sanitizer, millions of small allocations take minutes")
def test_a_list_of_a_million_tools_leads_to_one_message(tmp_path):
    paths = [tmp_path / "a.conf", tmp_path / "b.conf"]
    for path in paths:
        path.write_text("x\n" * 500_000)
    variables = {"QMPI_CONFIG": ":".join(map(str, paths))}
    result = run_command([QMPI, "run", "--", BUILD / "tests/stack/programs/calls", "init", "finalize"],
                         {**clean_environment(), **variables})
    assert result.returncode == 2
    assert result.messages == [f"{paths[1]}: 1000000 entries, but a stack has at most 255 layers",
                               "  hint: list fewer tools"]
    # Layers that QMPI_DISABLE leaves out do not count.
    assert qmpi("run", "--", BUILD / "tests/stack/programs/calls", "init", "finalize",
                QMPI_DISABLE="x", **variables).messages == []


def test_a_list_that_is_too_long_for_a_variable_leads_to_one_message():
    text = ":".join(["x"] * 60_000)  # the system passes at most 128 KiB of each argument and variable
    for command in (["check"], ["run", "-t", "empty"]):
        result = qmpi(*command, "-t", text, "-t", text)
        check_message(result, "-t: ", "bytes, but the system passes at most ", "hint: list the tools in a file")
        assert len(result.messages) == 2
