# SPDX-License-Identifier: MIT
"""Tests that tools, settings and options of the command read times, sizes, sets, numbers, booleans
and percentages in the same way. tests/unit/test_option_values.c tests how the values are read."""
import pytest
from support import QMPI, clean_environment, run_command

TIMES = ["1min", "5000000000ns", "20000000us", "2500ms", "1.5s", "2", "0.5h", "1e1 s", " 3 s "]
SIZES = ["64KiB", "2097152", "2M", "3mib", "2.5MB", "4KB", "0.5G", "64k"]
SETS = ["3", "0;2;4-7", "0,4-7", "10-", "every 5", ";1;", " 1 ; 3 - 4 "]
BOOLEANS = ["yes", "no", "true", "false", "on", "off", "1", "0"]
NUMBERS = ["1", "07", " 32 "]
PERCENTAGES = ["1", "5%", "100 %"]

# For each kind of value: options of tools, values that all of them accept, and values that none
# accepts. The tool and other options that an option needs precede its key.
KINDS = {
    "time": (["log,min-time", "log,stuck", "trace,buffer=ring,keep", "trace,begin", "trace,end", "trace,interval",
              "profile,checkpoint", "delay,functions=MPI_Barrier,before",
              "delay,functions=MPI_Barrier,after"], TIMES, ["", "s", "5parsecs", "1.5.2s", "-1s", "5 m"]),
    "size": (["log,min-size", "log,max-size"], SIZES, ["", "K", "1q", "-1", "99999999999999999999"]),
    "memory": (["trace,memory"], ["64MiB", "2097152", "2M", "3mib", "2.5MB", "0.5G"], ["", "1", "64KiB", "2 TB", "1q"]),
    "set": (["log,ranks", "trace,ranks", "delay,before=1s,ranks", "delay,before=1s,calls", "empty,@ranks"],
            [value for value in SETS if "," not in value], ["", ";", "x", "3-1", "every 0", "1.5"]),
    "boolean": (["log,enter", "log,caller", "log,args", "trace,sites", "trace,compress", "profile,@force=yes,sync",
                 "delay,error=MPI_ERR_OTHER,carry-out", "delay,before=1s,report", "empty,@optional", "empty,@enabled"],
                BOOLEANS, ["", "maybe", "Yes", "2"]),
    "number": (["log,array", "log,strings", "trace,sites=yes,depth", "profile,top", "profile,depth",
                "delay,before=1s,seed"], NUMBERS, ["", "x", "-1", "1.5", "99999999999999999999"]),
    "percentage": (["profile,threshold", "profile,init-threshold"], PERCENTAGES, ["", "0", "101", "%", "2.5"]),
}


def qmpi(folder, *arguments, **variables):
    return run_command([QMPI, *arguments], {**clean_environment(), **variables}, cwd=folder)


@pytest.mark.parametrize("kind", KINDS)
def test_all_options_of_a_kind_accept_the_same_values(kind, tmp_path):
    options, values, _ = KINDS[kind]
    for option in options:
        layers = [f"{option}={value}" + (",output=trace.%t" if "trace" in option else "") for value in values]
        result = qmpi(tmp_path, "check", "-t", ":".join(layers))
        assert result.returncode == 0, (option, result.stderr)


@pytest.mark.parametrize("kind", KINDS)
def test_all_options_of_a_kind_refuse_the_same_values(kind, tmp_path):
    options, _, wrong = KINDS[kind]
    for option in options:
        key = option.rpartition(",")[2]
        for value in wrong:
            result = qmpi(tmp_path, "check", "-t", f"{option}={value}")
            assert result.returncode == 2 and result.stdout == "", (option, value)
            assert key in result.stderr and value in result.stderr and "hint: " in result.stderr, result.stderr


@pytest.mark.parametrize("option", ["trace,buffer=ring,keep=1min", "log,stuck=1min", "log,stuck=5000ns",
                                    "trace,buffer=ring,keep=5000ns", "log,max-size=64KiB", "profile,checkpoint=5s"])
def test_further_values_are_accepted_by_tools(option, tmp_path):
    assert qmpi(tmp_path, "check", "-t", option).returncode == 0


@pytest.mark.parametrize("option, hint", [
    ("profile,checkpoint=30ms", "give a time of at least 1s, such as 1.5s or 5min"),
    ("trace,memory=64K", "give a size of at least 1M, such as 1.5MiB or 2G"),
    ("log,stuck=0", "give a time above 0, such as 250us, 20ms, 1.5s or 5min"),
    ("log,min-size=x", "give a size such as 4096, 64K, 1.5MiB or 2G"),
])
def test_the_examples_in_a_hint_are_within_the_limits(option, hint, tmp_path):
    assert f"hint: {hint}\n" in qmpi(tmp_path, "check", "-t", option).stderr


@pytest.mark.parametrize("value", TIMES)
def test_settings_and_options_of_the_command_accept_times(value, tmp_path):
    (tmp_path / "qmpi.conf").write_text(f'rank-timeout = "{value}"\nempty\n')
    result = qmpi(tmp_path, "check", "-c", "qmpi.conf", f"--timeout={value}", QMPI_RANK_TIMEOUT=value)
    assert result.returncode == 0 and result.stderr == ""
    for option in "--begin", "--end":  # the command reads the option before the file
        assert "/nonesuch" in qmpi(tmp_path, "trace", f"{option}={value}", "/nonesuch").stderr


@pytest.mark.parametrize("value", SETS)
def test_options_of_the_command_accept_sets(value, tmp_path):
    assert "/nonesuch" in qmpi(tmp_path, "trace", f"--ranks={value}", "/nonesuch").stderr


@pytest.mark.parametrize("value", BOOLEANS)
def test_settings_accept_booleans(value, tmp_path):
    (tmp_path / "qmpi.conf").write_text(f"internal = {value}\nempty\n  @force = {value}\n")
    assert qmpi(tmp_path, "check", "-c", "qmpi.conf").returncode == 0
    result = qmpi(tmp_path, "check", "-t", "empty,@enabled=" + value)
    assert ("@enabled=no" in result.stdout) == (value in ("no", "false", "off", "0"))


@pytest.mark.parametrize("arguments", [["--top= 7"], ["--threshold=5%"], ["--init-threshold=20 %"]])
def test_options_of_report_are_read_in_the_same_way(arguments, tmp_path):
    assert "/nonesuch" in qmpi(tmp_path, "report", *arguments, "/nonesuch").stderr


@pytest.mark.parametrize("arguments, words", [
    (["check", "--timeout=soon", "-t", "empty"], ["--timeout must be a time", "'soon'"]),
    (["trace", "--begin=-1s", "x"], ["--begin must be a time", "'-1s'"]),
    (["trace", "--ranks=x", "x"], ["--ranks must be", "'x'"]),
    (["report", "--threshold=101", "x"], ["--threshold must be a percentage", "'101'"]),
])
def test_wrong_values_of_the_command_are_named(arguments, words, tmp_path):
    result = qmpi(tmp_path, *arguments)
    assert result.returncode == 2 and all(word in result.stderr for word in words)
