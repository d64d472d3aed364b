# SPDX-License-Identifier: MIT
"""Tests the command qmpi: its help, `run`, `list`, `check` and `functions`. Other files test the other subcommands."""
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest

from cli_support import qmpi
from support import (ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, PROGRAMS, QMPI, SOURCE, TOOLS, TOOLS_FOLDER,
                     clean_environment, launch, run_command)


def test_version_names_the_mpi():
    assert qmpi("--version").stdout.startswith("qmpi 0.2.0 for ")


def test_the_command_alone_lists_its_commands():
    result = qmpi()
    assert result.returncode == 2 and result.stdout == ""
    for page in (SOURCE / "docs/man").glob("qmpi-*.1.md"):
        name = page.name.removeprefix("qmpi-").removesuffix(".1.md")
        assert f"\n  {name} " in result.stderr


def test_help_exists_for_the_command_and_every_subcommand():
    assert "Commands:" in qmpi("--help").stdout
    pages = sorted((SOURCE / "docs/man").glob("qmpi-*.1.md"))
    assert len(pages) >= 8
    for command in (page.name.removeprefix("qmpi-").removesuffix(".1.md") for page in pages):
        result = qmpi(command, "--help")
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: qmpi {command}")


def test_wrong_or_missing_arguments_are_an_error_of_use():
    for arguments in (["nonsense"], [], ["run"], ["run", "--nonsense"], ["check", "extra"]):
        result = qmpi(*arguments)
        assert result.returncode == 2, arguments
        assert "--help" in result.stderr


def test_run_sets_the_variables_and_becomes_the_program():
    script = "echo $QMPI_TOOLS $QMPI_TOOL_PATH $QMPI_ON_ERROR $QMPI_DEBUG; exit 7"
    result = qmpi("run", "-t", "count:empty", "--tool-path=/a:/b", "--on-error=skip", "--debug=load",
                  "--", "sh", "-c", script)
    assert result.returncode == 7
    assert result.stdout == "count:empty /a:/b skip load\n"


def test_run_preloads_libqmpi_in_front_of_other_libraries():
    other = ASAN or "libm.so.6"
    result = qmpi("run", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": other})
    # AddressSanitizer's library must be the first in LD_PRELOAD.
    assert result.stdout.strip() == (f"{other}:{LIBQMPI.resolve()}" if ASAN else f"{LIBQMPI.resolve()}:{other}")


def test_run_says_that_srun_passes_no_variables_on(tmp_path):
    """Tests also that the command looks at the options of srun, and not at those of the program that srun starts."""
    (tmp_path / "srun").write_text("#!/bin/sh\n")
    (tmp_path / "srun").chmod(0o755)

    def warned(*arguments, **env):
        result = qmpi("run", "-t", "count", "--", tmp_path / "srun", *arguments, env=env)
        assert result.returncode == 0
        return "srun passes no variables of qmpi on (--export=" in result.stderr

    for exports in ("NONE", "NIL", "HOME,PATH"):
        assert warned("-n", "2", f"--export={exports}", "sh")
        assert warned("--export", exports, "sh")
        assert warned("-n", "2", "sh", SLURM_EXPORT_ENV=exports)
        assert not warned("--export=ALL", "sh", SLURM_EXPORT_ENV=exports)
        assert not warned("-n", "2", "sh", f"--export={exports}")
    for exports in ("ALL", "HOME,ALL,A=b", "LD_PRELOAD,QMPI_TOOLS"):
        assert not warned(f"--export={exports}", "sh")


def test_run_leaves_the_programs_options_alone():
    result = qmpi("run", "-t", "empty", "echo", "-t", "--help", "--version")
    assert result.stdout == "-t --help --version\n"


def test_run_says_why_a_program_cannot_be_run(tmp_path):
    result = qmpi("run", "--", "./no-such-program")
    assert result.returncode == 127
    assert "qmpi: cannot run './no-such-program': No such file" in result.stderr
    plain = tmp_path / "plain"
    plain.write_text("")
    assert qmpi("run", "--", plain).returncode == 126
    assert len(qmpi("run", "--", tmp_path).messages) == 2  # nothing about a missing stack


def test_a_program_for_another_processor_is_not_given_to_a_shell(tmp_path):
    data = bytearray((PROGRAMS / "calls").read_bytes())
    data[18:20] = (243).to_bytes(2, "little")  # RISC-V
    path = tmp_path / "calls"
    path.write_bytes(data)
    path.chmod(0o755)
    for name in path, "calls":
        result = qmpi("run", "-t", "empty", "--", name, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
        assert result.returncode == 126
        assert result.stderr == (f"qmpi: cannot run '{name}': Exec format error\n"
                                 "qmpi:   hint: give a program that is built for the processor of this machine\n")


def test_a_script_without_a_shebang_is_given_to_a_shell(tmp_path):
    script = tmp_path / "script"
    script.write_text("echo one $1\n")
    script.chmod(0o755)
    assert qmpi("run", "-t", "empty", "--", script, "two").stdout == "one two\n"


@pytest.mark.parametrize("name, hint", [
    ("count", "hint: correct the name, or give its path; a stack of tools is given with -t"),
    ("here", "hint: write ./here"), ("./plain", "hint: give a program that you are allowed to execute"),
    ("./odd", "hint: give a program that this machine can run"), ("two words", "hint: write './two words'"),
    ("./folder", "'./folder': Is a directory\nqmpi:   hint: give the path of a program"),
    *((name, "No such file or directory\nqmpi:   hint: correct the name, or give its path; ")
      for name in ("", "plain", "folder"))])
def test_run_gives_a_hint_if_a_program_cannot_be_run(name, hint, tmp_path):
    (tmp_path / "folder").mkdir()
    for file, text, mode in (("here", "", 0o755), ("two words", "", 0o755), ("plain", "", 0o644), ("odd", "#!/no/such/shell", 0o755)):
        (tmp_path / file).write_text(text)
        (tmp_path / file).chmod(mode)
    assert hint in qmpi("run", "-t", "empty", "--", name, cwd=tmp_path).stderr


def test_run_without_a_stack_prints_one_message(tmp_path):
    result = qmpi("run", "--", "true", launcher=launch(2))
    assert result.stderr.count("no tools are given: the program runs without a stack of tools") == 1
    assert "hint: give a stack with -t" in result.stderr
    # `qmpi run count` is another mistake, with its own message
    assert "no tools" not in qmpi("run", "count", "--", "true").stderr
    (tmp_path / "empty.conf").write_text("")
    for options, env in (["-t", ""], {}), (["-t", "count"], {}), ([], {"QMPI_TOOLS": ""}), \
            (["-c", tmp_path / "empty.conf"], {}):
        assert "no tools" not in qmpi("run", *options, "--", "true", env=env).stderr


def test_run_rejects_an_unknown_on_error():
    assert "stop or skip" in qmpi("run", "--on-error=maybe", "--", "true").stderr


def test_list_shows_the_bundled_tools_and_their_options():
    output = qmpi("list").stdout
    assert "count " in output and "empty " in output
    assert "\n               output" in output
    assert str(BUNDLED_TOOLS.resolve()) in output or f"/{TOOLS_FOLDER}/count.so" in output


@pytest.mark.parametrize("command", [["list"], ["check", "-t", "mine"]])
def test_a_folder_of_tools_can_be_given(command, tmp_path):
    shutil.copy(BUNDLED_TOOLS / "empty.so", tmp_path / "mine.so")
    assert f"{tmp_path}/mine.so" in qmpi(*command, "--tool-path", tmp_path).stdout


def test_folders_of_tools_add_up(tmp_path):
    for name in ("count", "empty"):
        (tmp_path / name).mkdir()
        shutil.copy(BUNDLED_TOOLS / f"{name}.so", tmp_path / name / f"my_{name}.so")
    folders = ["--tool-path", tmp_path / "count", f"--tool-path={tmp_path}/empty"]
    output = qmpi("check", "-t", "my_count:my_empty", *folders).stdout
    assert f"{tmp_path}/count/my_count.so" in output and f"{tmp_path}/empty/my_empty.so" in output


def test_check_ends_silently_if_nobody_reads_its_output():
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run([QMPI, "check", "-t", "count"], env=clean_environment(), text=True, timeout=60,
                            stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (result.returncode, result.stderr) == (-signal.SIGPIPE, "")


@pytest.mark.parametrize("output, reason", [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_an_error(output, reason, tmp_path):
    message = [f"cannot write to standard output: {reason}", "hint: check where standard output leads"]
    for command in ("--version", "--help", "check --usage", "functions", "list", "doctor", "check -t empty",
                    "check -t empty --function MPI_Send", f"new {tmp_path}/mine"):
        result = run_command(["sh", "-c", f"exec {QMPI} {command} {output}"], clean_environment())
        assert (result.returncode, result.all_messages) == (2, message), command


def test_list_shows_how_tools_are_selected(tmp_path):
    """The name is that of the file also if the manifest has another one, and the command can be copied to a shell."""
    folder = tmp_path / "a b"
    folder.mkdir()
    shutil.copy(BUNDLED_TOOLS / "empty.so", folder / "mine.so")
    (folder / "mine.json").write_text('{"schema": "qmpi-manifest/1", "name": "other", "description": "does nothing"}')
    shutil.copy(TOOLS / "alpha.so", folder / "bare,tool.so")
    output = qmpi("list", env={"QMPI_TOOL_PATH": folder}).stdout
    assert f"mine         other: does nothing\n             {folder}/mine.so\n" in output
    [command] = re.findall("without a manifest; `qmpi (check -t .*)` shows its options", output)
    assert "layer 1: alpha" in qmpi(*shlex.split(command)).stdout


def test_list_takes_no_name_and_recommends_check():
    result = qmpi("list", "count")
    assert result.returncode == 2 and "use `qmpi check -t count` for one" in result.stderr


def test_list_says_why_a_file_is_no_tool(tmp_path):
    (tmp_path / "text.so").write_text("not a library")
    whole = (BUNDLED_TOOLS / "empty.so").read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: len(whole) // 2])
    output = qmpi("list", env={"QMPI_TOOL_PATH": tmp_path}).stdout
    assert "not an ELF file" in output
    assert "truncated" in output
    assert "count " in output


def test_check_shows_every_layer():
    output = qmpi("check", "-t", "count,output=x.json:empty:count").stdout
    assert [line for line in output.splitlines() if line.startswith("layer")] == [
        "layer 1: count 0.2.0", "layer 2: empty 0.2.0", "layer 3: count 0.2.0"]
    assert "output=x.json" in output
    verbs = [line.split(" all ")[0].strip() for line in output.splitlines() if " all " in line]
    assert verbs == ["observes", "intercepts", "observes"]


def test_check_names_the_functions_of_a_layer_that_intercepts_few():
    output = qmpi("check", "-t", "nested", env={"QMPI_TOOL_PATH": TOOLS}).stdout
    assert " functions:\n" in output
    assert "      MPI_" in output


def test_check_reports_errors_as_a_run_does():
    checked = qmpi("check", "-t", "count:no-such-tool")
    ran = qmpi("run", "-t", "count:no-such-tool", "--", PROGRAMS / "calls", "init")
    assert checked.returncode == ran.returncode == 2
    assert checked.messages == ran.messages
    assert "-t, entry 2 'no-such-tool'" in checked.stderr


def test_check_says_that_an_empty_stack_has_no_layers():
    assert "no layers" in qmpi("check", "-t", "").stdout


def test_functions_lists_number_name_and_presence():
    lines = qmpi("functions").stdout.splitlines()
    rows = [line.split() for line in lines]
    assert [int(row[0]) for row in rows] == list(range(len(rows)))
    assert rows[0] == ["0", "MPI_Abort", "yes"]
    present = {row[1]: row[2] for row in rows}
    assert present["MPI_Send"] == "yes"
    assert "no" in present.values()


def test_run_works_behind_the_launcher():
    result = qmpi("run", "-t", "count", "--", PROGRAMS / "calls", "init", "barrier", "finalize",
                  launcher=launch(2))
    assert result.returncode == 0
    assert "count (layer 1): MPI calls of 2 ranks" in result.stderr


# Mistakes, and the suggestions in the messages about them.
SUGGESTED = {
    "command": (["rnu"], "did you mean 'run'?"),
    "tool": (["check", "-t", "cuont"], "did you mean 'count'?"),
    "option of a tool": (["check", "-t", "profile,dpeth=4"], "did you mean 'depth'?"),
    "option of qmpi": (["check", "-t", "count,@prelaod=yes"], "did you mean '@preload'?"),
    "switch": (["check", "-t", "profile,sync"], "write sync=yes "),
    "function": (["check", "--function", "MPI_Comm_rnak"], "did you mean MPI_Comm_rank?"),
    "function without prefix": (["check", "--function", "Sned"], "did you mean MPI_Send?"),
    "variable of a PMPI tool": (["check", "-t", f"{BUILD}/tests/pmpi/tools/libfiles.so,MPIP=-k2"], ": write env.MPIP=-k2\n"),
}


@pytest.mark.parametrize("case", SUGGESTED)
def test_the_intended_word_is_suggested(case):
    arguments, words = SUGGESTED[case]
    result = qmpi(*arguments)
    assert result.returncode == 2 and words in result.stderr
