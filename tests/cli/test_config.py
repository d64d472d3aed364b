# SPDX-License-Identifier: MIT
"""Tests QMPI_CONFIG and -c: a stack and settings from a file, in runs and in the subcommands."""
import os
import re

import pytest

from cli_support import MPI_NAME, SONAMES, qmpi_messages, qmpi
from support import ASAN, BUILD, PROGRAMS, SOURCE, TOOLS, folder_open_to_all, program, run_mpi, tool

RUN = ["init", "comm_rank", "finalize"]
STACK = """\
# a stack for the tests
tool-path = {tools}

alpha   # first
  functions = Comm_rank
beta
\tfunctions = "Comm_rank+Barrier"
"""
BOTH = ["alpha 1 MPI_Comm_rank", "beta 2 MPI_Comm_rank"]


@pytest.fixture
def config(tmp_path):
    """Returns a function that writes a configuration file. In its text, `{tools}` stands for the test tools' folder."""
    def write(text, name="qmpi.conf"):
        path = tmp_path / name
        path.write_text(text.replace("{tools}", str(TOOLS)))
        return path
    return write


def run(path, tools=None, ranks=1, **env):
    return run_mpi("calls", *RUN, ranks=ranks, tools=tools,
                   env={"QMPI_CONFIG": path, "QMPI_TOOL_PATH": None, **env})


def tool_calls(result):
    return [line for line in result.calls if not line.startswith("app")]


# ---- A run ---------------------------------------------------------------------------------------


def test_a_file_gives_the_stack_and_its_options(config):
    result = run(config(STACK))
    assert (result.returncode, result.messages) == (0, [])
    assert tool_calls(result) == BOTH


def test_every_rank_reads_the_file(config):
    result = run(config(STACK), ranks=2)
    assert sorted(tool_calls(result)) == sorted(BOTH * 2)


def test_a_stack_in_the_environment_wins_but_the_settings_hold(config):
    path = config(STACK)
    assert tool_calls(run(path, tools="beta,functions=Comm_rank")) == ["beta 1 MPI_Comm_rank"]
    other = {"MPIR_CVAR_QMPI_TOOL_LIST": "beta,functions=Comm_rank"}
    assert tool_calls(run(path, **other)) == ["beta 1 MPI_Comm_rank"]


def test_an_empty_stack_in_the_environment_wins_too(config):
    assert tool_calls(run(config(STACK), tools="")) == []


def test_a_setting_in_the_environment_wins(config, tmp_path):
    path = config("tool-path = /nonesuch\nalpha\n  functions = Comm_rank\n")
    assert run(path).returncode == 2
    assert tool_calls(run(path, QMPI_TOOL_PATH=TOOLS)) == ["alpha 1 MPI_Comm_rank"]


def test_paths_are_relative_to_the_file(config, tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/alpha.so").symlink_to(tool("alpha"))
    option = "\n  functions = Comm_rank\n"
    for text in (f"./tools/alpha.so{option}", f"tools/alpha.so{option}",
                 f"tool-path = tools\nalpha{option}"):
        assert tool_calls(run(config(text))) == ["alpha 1 MPI_Comm_rank"]


def test_the_path_of_the_file_may_be_relative_to_the_current_directory(config, tmp_path):
    (tmp_path / "alpha.so").symlink_to(tool("alpha"))
    config("./alpha.so\n  functions = Comm_rank\n")
    result = run_mpi("calls", *RUN, ranks=1, env={"QMPI_CONFIG": "qmpi.conf"}, cwd=tmp_path)
    assert tool_calls(result) == ["alpha 1 MPI_Comm_rank"]


def test_an_option_in_a_file_needs_no_escapes(config):
    path = config("count\n  output = a:b,c=d\\e.json\n")
    assert "  option      output=a:b,c=d\\e.json " in qmpi("check", "-c", path).stdout


def test_debug_and_internal_can_be_set(config):
    result = run(config("debug = parse\ninternal = 0\n"))
    assert [line for line in result.messages if line.startswith("parse: ")]


@pytest.mark.parametrize("path", ["", "/dev/null"])
def test_an_empty_name_or_file_is_no_configuration(path):
    result = run(path)
    assert (result.returncode, result.messages, tool_calls(result)) == (0, [], [])


def test_the_example_in_the_manual_page_is_read_as_documented(tmp_path):
    text = (SOURCE / "docs/man/qmpi.conf.5.md").read_text().split("```")[1]
    (tmp_path / "qmpi.conf").write_text(text)
    result = qmpi("check", "-c", "qmpi.conf", "-t", "quick", cwd=tmp_path)
    assert result.returncode == 0
    assert [line.split()[2] for line in result.stdout.splitlines() if line.startswith("layer")] == [
        "profile", "count"]
    assert "output=/scratch/counts/%h-%p.json" in result.stdout
    assert "depth=4" in result.stdout and "top=10" in result.stdout
    assert len([line for line in result.messages if "no such library" in line]) == 1


# ---- Errors --------------------------------------------------------------------------------------

# (text, the line that the message names, words of the message, what a run with QMPI_ON_ERROR=skip leaves out, or None
# for the whole file)
WRONG = {
    "setting": ("alpha\ncolour = red\n", "line 2 'colour = red'", "unknown setting 'colour'", "line"),
    "value": ("on-error = perhaps\nalpha\n", "line 1 'on-error = perhaps'", "stop or skip", "line"),
    "twice": ("internal = 0\ninternal = 1\nalpha\n", "line 2", "set twice", "line"),
    "option above": ("  output = x\nalpha\n", "line 1", "no tool precedes", "line"),
    "option": ("alpha\nbeta\n  output\n", "line 3 'output'", "key = value", "layer"),
    "option twice": ("beta\n  k = 1\n  k = 2\nalpha\n", "line 3", "given twice", "layer"),
    "quote": ("alpha\n\"beta\n", "line 2", "closing quote is missing", "layer"),
    "two tools": ("beta:alpha\nalpha\n", "line 1 'beta:alpha'", "one tool per line", "layer"),
    "unknown tool": ("alpha\n\nnonesuch\n", "line 3 'nonesuch'", "no such tool", "layer"),
    "unknown path": ("alpha\n/none/such.so\n", "line 2", "no such library", "layer"),
    "unknown option": ("alpha\nempty\n  colour = red\n", "line 2", "no option 'colour'", "layer"),
    "no tool": ("alpha\nplain\n", "line 2 'plain'", "is not a tool", "layer"),
    "bytes": ("alpha\0\n", "", "not a text file", None),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_line_stops_the_run_with_one_message(case, config):
    text, line, said, _ = WRONG[case]
    path = config(text)
    result = run(path, ranks=2, QMPI_TOOL_PATH=TOOLS)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.messages[0].startswith(f"{path}, {line}" if line else f"{path}: ")
    text = "\n".join(result.messages)
    assert said in text
    assert text.count("hint: ") == 1


@pytest.mark.parametrize("case", [case for case in WRONG if WRONG[case][3]])
def test_with_skip_the_rest_of_the_file_is_in_force(case, config):
    text, line, said, without = WRONG[case]
    path = config(text)
    result = run(path, QMPI_TOOL_PATH=TOOLS, QMPI_ON_ERROR="skip")
    assert result.returncode == 0
    assert result.messages[0].startswith(f"{path}, {line}")
    assert said in "\n".join(result.messages)
    assert f"continues without this {without}" in result.messages[-1]
    assert any(line.startswith("alpha ") for line in result.calls)


def test_the_file_may_set_on_error_to_skip(config):
    result = run(config("nonesuch\nalpha\n  functions = Comm_rank\non-error = skip\n"),
                 QMPI_TOOL_PATH=TOOLS)
    assert result.returncode == 0
    assert any(line.endswith(" MPI_Comm_rank") for line in tool_calls(result))


@pytest.mark.parametrize("kind", ["absent", "folder", "pipe", "large", "endless"])
def test_a_file_that_cannot_be_read_is_an_error(kind, tmp_path):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        path.write_bytes(b"#" * (1 << 21))
    elif kind == "endless":
        path = "/dev/zero"
    result = run(path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.messages[0].startswith(f"QMPI_CONFIG: cannot read the file '{path}': ")
    assert "hint: " in result.messages[1]
    skipped = run(path, QMPI_ON_ERROR="skip")
    assert skipped.returncode == 0
    assert "continues without it" in skipped.messages[-1]


def test_a_privileged_program_ignores_qmpi_config(config):
    """tests/stack/test_secure.py tests the same for the other variables."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a program another owner")
    if ASAN:
        pytest.skip("in a privileged program, the sanitizer ignores ASAN_OPTIONS, and its leak check fails")
    placeholder = b"/qmpi-test-folder/" + b"." * 64
    with folder_open_to_all(program("secure")) as folder:
        path = folder / "secure"
        path.write_bytes(path.read_bytes().replace(
            placeholder, str(folder).encode().ljust(len(placeholder), b"\0")))
        (folder / "qmpi.conf").write_text("nonesuch\n")
        (folder / "qmpi.conf").chmod(0o644)
        env = {"QMPI_CONFIG": folder / "qmpi.conf", "LD_LIBRARY_PATH": folder}
        plain = run_mpi(path, *RUN, ranks=1, preload=(), env=env, cwd=folder)
        os.chown(path, 65534, 65534)
        path.chmod(0o4755)
        secure = run_mpi(path, *RUN, ranks=1, preload=(), env=env, cwd=folder)
    assert plain.returncode == 2 and "no such tool" in plain.stderr
    assert (secure.returncode, secure.messages) == (0, [])


# ---- The command ---------------------------------------------------------------------------------


def test_run_sets_qmpi_config_to_the_whole_path_of_the_file(config, tmp_path):
    config(STACK)
    result = qmpi("run", "-c", "qmpi.conf", "--", "sh", "-c", "echo $QMPI_CONFIG", cwd=tmp_path)
    assert result.stdout == f"{tmp_path}/qmpi.conf\n"
    result = qmpi("run", "--config", config(STACK), "--", PROGRAMS / "calls", *RUN)
    assert tool_calls(result) == BOTH


def test_run_says_that_a_file_does_not_exist():
    result = qmpi("run", "-c", "nonesuch.conf", "--", "true")
    assert result.returncode == 2
    assert result.messages[0] == "-c nonesuch.conf: No such file or directory"
    assert result.messages[1].startswith("hint: ")


def test_a_folder_given_with_the_option_is_refused_in_the_name_of_the_option(tmp_path):
    result = qmpi("check", "-c", tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.messages == [f"-c: cannot read the file '{tmp_path}': it is a directory",
                               "  hint: name a configuration file that you can read"]


def test_run_says_where_the_environment_wins_over_the_file(config):
    path = config(STACK)
    command = ["--", PROGRAMS / "calls", *RUN]
    result = qmpi("run", "-c", path, *command, env={"QMPI_TOOLS": "empty"})
    assert qmpi_messages(result) == [f"QMPI_TOOLS replaces the tools that stand outside a section in {path}"]
    assert tool_calls(result) == []
    asked = qmpi("run", "-c", path, "-t", "empty", *command)
    assert qmpi_messages(asked) == [f"-t replaces the tools that stand outside a section in {path}"]


def test_run_preloads_a_tool_in_the_file_like_a_tool_of_the_option_t(config):
    """The tool of this test must be preloaded, because it also replaces functions outside MPI."""
    tool_file = BUILD / "tests/pmpi/tools/libfiles.so"
    listed = qmpi("run", "-t", tool_file, "--", "sh", "-c", "echo $LD_PRELOAD").stdout
    assert str(tool_file) in listed
    path = config(f"{tool_file}\n")
    assert qmpi("run", "-c", path, "--", "sh", "-c", "echo $LD_PRELOAD").stdout == listed


def test_check_and_list_read_the_file(config):
    path = config(STACK)
    for result in (qmpi("check", "-c", path), qmpi("check", env={"QMPI_CONFIG": path})):
        assert [line for line in result.stdout.splitlines() if line.startswith("layer")] == [
            "layer 1: alpha", "layer 2: beta"]
    listed = qmpi("list", env={"QMPI_CONFIG": path}).stdout
    assert str(TOOLS / "alpha.so") in listed


@pytest.mark.skipif(bool(ASAN), reason="with the MPI library preloaded, tools are opened with RTLD_DEEPBIND, which "
                                       "AddressSanitizer refuses")
def test_check_reads_a_file_even_if_the_mpi_library_is_preloaded(config):
    """If the MPI library is preloaded, libqmpi asks for a setting before the command has read its options."""
    result = qmpi("check", "-c", config(STACK), env={"LD_PRELOAD": SONAMES[MPI_NAME]})
    assert "layer 2: beta" in result.stdout


def test_every_wrong_line_is_reported_at_once(config):
    path = config("colour = red\ncount\n  colour\nnonesuch\n[oops]\nprofile\n  =\n[below]\ncuont\non-error = perhaps\n")
    for result in (qmpi("check", "-c", path), run(path, ranks=2)):
        assert (result.returncode, result.stdout) == (2, "")
        lines = [re.match(f"{path}, line ([0-9]+) ", line) for line in result.messages]
        assert sorted(int(line[1]) for line in lines if line) == [1, 3, 4, 5, 9, 10]


def test_check_reports_a_wrong_file_as_a_run_does(config):
    path = config("count\n  colour = red\n")
    checked = qmpi("check", "-c", path)
    ran = qmpi("run", "-c", path, "--", PROGRAMS / "calls", "init")
    assert checked.returncode == ran.returncode == 2
    assert checked.messages == ran.messages
