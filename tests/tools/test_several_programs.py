# SPDX-License-Identifier: MIT
"""Several MPI programs in one run: in a script, at the same time, as spawned processes, and by `mpiexec a : b`. No
program replaces a file of another one, and printed output names the programs."""
import json
import shutil
import time

import pytest
from support import (ASAN, BUILD, BUNDLED_TOOLS, LIBQMPI, MPIEXEC, OPEN_MPI, QMPI, YIELDING, can_spawn,
                     clean_environment, program, run_command, run_mpi)

STEPS = BUILD / "tests" / "tools" / "programs" / "tools_steps"
SPAWN = BUILD / "tests" / "redirect" / "programs" / "spawn"
PROGRAMS = {"pre": 3, "solve": 30, "post": 5}  # program -> how often each rank calls MPI_Barrier
TOOLS = "profile,output=p.json:count,output=c.json:log,output=log.txt:mpit,output=m,csv=s.csv:trace,output=t"


def environment(**more):
    result = clean_environment() | {"QMPI_TOOL_PATH": str(BUNDLED_TOOLS)} | more
    preloaded = [ASAN, more.get("LD_PRELOAD", ""), str(YIELDING or "")]
    return result | {"LD_PRELOAD": ":".join(filter(None, preloaded))}


def job(name, ranks=2, steps=""):
    steps = steps or " ".join(["init", *["barrier"] * PROGRAMS[name], "finalize"])
    return f"{MPIEXEC} -n {ranks} ./{name} {steps}"


def make_script(folder, *commands):
    """Makes a script in a folder, with copies of one program under several names."""
    for name in PROGRAMS:
        shutil.copy(STEPS, folder / name)
    (folder / "job.sh").write_text("\n".join(commands or map(job, PROGRAMS)) + "\n")
    return ["sh", "job.sh"]


def run(folder, tools, *command, env=None):
    result = run_command([QMPI, "run", "-t", tools, "--", *command], environment(**(env or {})), cwd=folder)
    assert result.returncode == 0
    return result


def barriers(path):
    """Returns the number of calls of MPI_Barrier in a file of profile or count."""
    functions = json.loads(path.read_text())["functions"]
    if isinstance(functions, list):
        return sum(each["calls"] for each in functions if each["name"] == "MPI_Barrier")
    return functions.get("MPI_Barrier", {"calls": 0})["calls"]


def made(folder, *known):
    return sorted(path.name for path in folder.iterdir() if path.name not in {*PROGRAMS, "job.sh", *known})


def is_said(result, old, new):
    return sum(f"another program has written {old} during this run" in line and line.endswith(f" writes {new}")
               for line in result.messages)


def test_each_program_of_a_script_has_files(tmp_path):
    result = run(tmp_path, TOOLS, *make_script(tmp_path))
    numbers = {"pre": "", "solve": ".2", "post": ".3"}
    for name, number in numbers.items():
        assert barriers(tmp_path / f"p{number}.json") == 2 * PROGRAMS[name]
        assert barriers(tmp_path / f"c{number}.json") == 2 * PROGRAMS[name]
        for rank in (0, 1):
            text = (tmp_path / f"log{number}.{rank}.txt").read_text()
            assert text.count("MPI_Barrier(") == PROGRAMS[name]
            assert (tmp_path / f"s{number}.{rank}.csv").read_text().startswith("rank,sample")
            assert list((tmp_path / f"t{number}").glob(f"rank-{rank}.qtrace"))
        assert "categor" in (tmp_path / f"m{number}").read_text()
    assert len(made(tmp_path)) == 3 * len(["p", "c", "log 0", "log 1", "m", "s 0", "s 1", "t"])
    for number in (".2", ".3"):
        assert is_said(result, "p.json", f"p{number}.json") == 1
        assert is_said(result, "c.json", f"c{number}.json") == 1
        assert is_said(result, "s.0.csv", f"s{number}.0.csv") == 1
        assert is_said(result, "m", f"m{number}") == 1
        assert is_said(result, tmp_path / "log.0.txt", tmp_path / f"log{number}.0.txt") == 1
        assert is_said(result, tmp_path / "t", tmp_path / f"t{number}") == 1
    assert sum("another program" in line for line in result.messages) == 12
    assert any("%x" in line for line in result.messages if line.startswith("  hint: "))


def test_the_next_run_replaces_the_files(tmp_path):
    run(tmp_path, TOOLS, *make_script(tmp_path))
    first = made(tmp_path)
    result = run(tmp_path, TOOLS, *make_script(tmp_path, job("post")))
    assert result.messages == [] and made(tmp_path) == first
    assert barriers(tmp_path / "p.json") == barriers(tmp_path / "c.json") == 2 * PROGRAMS["post"]
    assert barriers(tmp_path / "p.2.json") == 2 * PROGRAMS["solve"]
    assert (tmp_path / "log.1.txt").read_text().count("MPI_Barrier(") == PROGRAMS["post"]


def test_each_qmpi_run_behind_a_launcher_is_a_run(tmp_path):
    tools = "profile,output=p.json:count,output=c.json"
    make_script(tmp_path)
    for name in PROGRAMS:
        command = job(name).replace("./", f"{QMPI} run -t {tools} -- ./")
        result = run_command(command.split(), environment(), cwd=tmp_path)
        assert result.returncode == 0 and result.messages == []
    assert made(tmp_path) == ["c.json", "p.json"] and barriers(tmp_path / "p.json") == 2 * PROGRAMS["post"]


def test_without_qmpi_run_a_script_with_the_settings_is_a_run(tmp_path):
    settings = environment(LD_PRELOAD=str(LIBQMPI), QMPI_TOOLS="count,output=c.json")
    assert run_command(make_script(tmp_path), settings, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == ["c.2.json", "c.3.json", "c.json"]
    assert barriers(tmp_path / "c.3.json") == 2 * PROGRAMS["post"]


def test_without_qmpi_run_a_launcher_with_the_settings_is_a_run(tmp_path):
    make_script(tmp_path)
    for name in PROGRAMS:
        settings = environment(LD_PRELOAD=str(LIBQMPI), QMPI_TOOLS="count,output=c.json:log,output=log")
        assert run_command(job(name).split(), settings, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == ["c.json", "log.0", "log.1"]
    assert barriers(tmp_path / "c.json") == 2 * PROGRAMS["post"]


@pytest.mark.parametrize("old", [False, True], ids=["new", "replaced"])
def test_programs_at_one_time_do_not_share_a_file(tmp_path, tmp_path_factory, old):
    """Each program waits until the other one has begun. With `old`, both find files of an earlier run."""
    sessions = tmp_path_factory.mktemp("sessions")
    tools = "profile,output=p.json:count,output=c.json:log,output=log:trace,output=t"
    if old:
        run(tmp_path, tools, *make_script(tmp_path, "./post init barrier finalize"))
    # Launchers of Open MPI that start at the same time conflict when they create their session
    # directories.
    together = [f"OMPI_MCA_orte_tmpdir_base={sessions / mine} "
                f"./{mine} init barrier make={mine}.on await={other}.on {'barrier ' * PROGRAMS[mine]} finalize &"
                for mine, other in (("pre", "solve"), ("solve", "pre"))]
    run(tmp_path, tools, *make_script(tmp_path, *together, "wait"))
    assert made(tmp_path, "pre.on", "solve.on") == [
        "c.2.json", "c.json", "log", "log.2", "p.2.json", "p.json", "t", "t.2"]
    for kind in "pc":
        assert sorted(barriers(tmp_path / f"{kind}{number}.json") for number in ("", ".2")) == [4, 31]
    assert sorted((tmp_path / name).read_text().count("MPI_Barrier(") for name in ("log", "log.2")) == [4, 31]
    assert all((tmp_path / name / "rank-0.qtrace").exists() for name in ("t", "t.2"))


@pytest.mark.parametrize("tools", ["profile,output=out.json", "count,output=out.json"])
def test_ranks_of_a_program_have_the_same_number(tmp_path, tools):
    """The processes end without MPI_Finalize, and the first program has only rank 0. They sleep before they begin: the
    start of a process is known with a resolution of 10 ms, so files must not be written too soon after the launcher has
    started."""
    ends = f"sh -c 'sleep 0.05; exec {program('calls')} \"$@\"' -"
    commands = [f"{MPIEXEC} -n {ranks} {ends} {'get_version ' * ranks}" for ranks in (1, 2)]
    run(tmp_path, tools, *make_script(tmp_path, *commands))
    assert made(tmp_path) == ["out.0.json", "out.2.0.json", "out.2.1.json"]
    saved = [json.loads((tmp_path / name).read_text()) for name in made(tmp_path)]
    assert [each["rank"] for each in saved] == [0, 0, 1]


def test_a_rank_that_starts_when_another_has_ended_has_the_same_number(tmp_path):
    """A script serves as the launcher, because no launcher of an MPI library starts a rank late on
    request."""
    launcher = tmp_path / "mpiexec.late"
    launcher.write_text('for rank; do sleep 0.05\n'
                        'PMI_RANK=$rank OMPI_COMM_WORLD_RANK=$rank PMI_SIZE=$# OMPI_COMM_WORLD_SIZE=$# '
                        f'{program("calls")} get_version\n'
                        'done\n')
    commands = [f"sh {launcher} {ranks}" for ranks in ("0", "0 1")]
    run(tmp_path, "count,output=out.json", *make_script(tmp_path, *commands))
    assert made(tmp_path, launcher.name) == ["out.0.json", "out.2.0.json", "out.2.1.json"]


def test_spawned_processes_have_files(tmp_path):
    if not can_spawn(SPAWN, "fatal"):
        pytest.skip("this MPI library cannot spawn")
    result = run_mpi(SPAWN, "return", cwd=tmp_path, env={"QMPI_TOOL_PATH": BUNDLED_TOOLS}, spawns=True,
                     tools="count,output=c.json:profile,output=p.json:trace,output=t")
    assert result.returncode == 0
    for kind, suffix in (("c", ".json"), ("p", ".json"), ("t", "")):
        assert made(tmp_path, *(path.name for path in tmp_path.iterdir() if path.name[0] != kind)) == sorted(
            f"{kind}{number}{suffix}" for number in ("", ".2", ".3"))


def test_names_contain_the_program_the_job_and_the_user(tmp_path):
    env = {"SLURM_JOB_ID": "4711", "LOGNAME": "ann"}
    result = run(tmp_path, "count,output=%x-%j-%u.json", *make_script(tmp_path), env=env)
    assert made(tmp_path) == sorted(f"{name}-4711-ann.json" for name in PROGRAMS)
    assert not any("another program" in line for line in result.messages)


def test_steps_of_a_batch_job_have_files(tmp_path):
    """The steps are started as by `srun qmpi run …`: variables describe the step, and there is no launcher of MPI."""
    make_script(tmp_path)
    step = [QMPI, "run", "-t", "count,output=%j.json", "--", tmp_path / "pre", "init", "barrier", "finalize"]
    for number in (0, 1):
        env = environment(SLURM_JOB_ID="4711", SLURM_STEP_ID=str(number))
        assert run_command(step, env, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == ["4711.0.json", "4711.1.json"]


def test_launchers_of_a_batch_job_of_slurm_are_one_run(tmp_path):
    """In a batch job, all launchers are one run, even if `qmpi run` stands behind each launcher. In an interactive job,
    each launcher is a run."""
    make_script(tmp_path)
    began = str(int(time.time()) - 1)
    commands = [job(name).replace("./", f"{QMPI} run -t count,output=c.json -- ./").split() for name in PROGRAMS]
    for command in commands:
        env = environment(SLURM_JOB_START_TIME=began, ENVIRONMENT="INTERACTIVE")
        assert run_command(command, env, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == ["c.json"]
    (tmp_path / "c.json").unlink()
    for command in commands:
        env = environment(SLURM_JOB_START_TIME=began, ENVIRONMENT="BATCH")
        assert run_command(command, env, cwd=tmp_path).returncode == 0
    assert made(tmp_path) == ["c.2.json", "c.3.json", "c.json"]
    assert barriers(tmp_path / "c.3.json") == 2 * PROGRAMS["post"]


def test_the_table_of_count_names_the_program(tmp_path):
    result = run(tmp_path, "count", *make_script(tmp_path))
    assert [line for line in result.messages if "MPI calls" in line] == [
        f"count (layer 1): MPI calls of 2 ranks of {name}" for name in PROGRAMS]
    result = run_command(job("pre").replace("./", f"{QMPI} run -t count -- ./").split(), environment(),
                         cwd=tmp_path)
    assert "count (layer 1): MPI calls of 2 ranks" in result.messages


def test_the_table_of_count_names_the_programs_of_a_job(tmp_path):
    make_script(tmp_path)
    sides = [f"-n 1 {QMPI} run -t count -- ./{name} init barrier finalize" for name in ("pre", "post")]
    result = run_command([*MPIEXEC.split(), *" : ".join(sides).split()], environment(), cwd=tmp_path)
    assert "count (layer 1): MPI calls of 2 ranks of pre, post" in result.messages


def together(folder, tools, **programs):
    """Runs programs of one MPI job, one rank each, with their arguments."""
    sides = (f"-n 1 {QMPI} run -t {tools} -- ./{name} {arguments}" for name, arguments in programs.items())
    return run_command([*MPIEXEC.split(), *" : ".join(sides).split()], environment(), cwd=folder)


def report(folder, *arguments):
    result = run_command([QMPI, "report", *arguments], environment(), cwd=folder)
    assert result.returncode == 0
    return result.stdout.splitlines()


def test_files_of_a_crashed_job_of_several_programs_are_merged(tmp_path):
    for name in ("ocean", "ice"):
        shutil.copy(program("calls"), tmp_path / name)
    together(tmp_path, "profile", ocean="get_version", ice="get_version get_version")
    text = report(tmp_path, "--functions", "qmpi-profile.0.json", "qmpi-profile.1.json")
    assert text[0] == "profile (layer 1): 2 ranks"
    assert text[1:3] == [f"program  {tmp_path / 'ocean'} (rank 0)", f"program  {tmp_path / 'ice'} (rank 1)"]
    again = report(tmp_path, "--functions", "qmpi-profile.1.json", "qmpi-profile.0.json")
    assert text[:3] == again[:3]


def test_two_jobs_of_one_program_are_two_runs(tmp_path):
    """The jobs are not taken for one, although they run within a minute and have left the files of different ranks."""
    for rank, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        shutil.copy(program("calls"), tmp_path / "ocean")
        command = [*MPIEXEC.split(), "-n", "2", QMPI, "run", "-t", f"profile,output={folder}/p.json", "--",
                   "./ocean", "get_version"]
        run_command(command, environment(), cwd=tmp_path)
        (tmp_path / folder / f"p.{1 - rank}.json").unlink()
    text = report(tmp_path, "--functions", "a/p.0.json", "b/p.1.json")
    assert [line for line in text if line.startswith("profile (")] == [
        "profile (layer 1): rank 0 alone", "profile (layer 1): rank 1 alone"]


def test_a_profile_of_several_programs_tells_them_apart(tmp_path):
    for name in ("ocean", "ice"):
        shutil.copy(STEPS, tmp_path / name)
    result = together(tmp_path, "profile,output=p.json", ocean="init barrier finalize", ice="init barrier finalize")
    assert result.returncode == 0
    saved = json.loads((tmp_path / "p.json").read_text())
    assert saved["program"] == str(tmp_path / "ocean") and saved["job"]
    assert saved["command"].endswith("ocean init barrier finalize")
    assert [each.get("program") for each in saved["processes"]] == [None, str(tmp_path / "ice")]
    text = report(tmp_path, "p.json")
    assert f"program  {tmp_path / 'ocean'} (rank 0)" in text and f"program  {tmp_path / 'ice'} (rank 1)" in text
    for name in ("ocean", "ice"):
        assert any(f"in {name})" in line or f"({name}+0x" in line for line in text)
    rows = report(tmp_path, "--format=csv", "p.json")
    assert sum(row.startswith("run,") and str(tmp_path) in row for row in rows) == 2
    page = "\n".join(report(tmp_path, "--html", "p.json"))
    assert "<h1>ocean, ice</h1>" in page and "program of rank 1" in page


def test_a_trace_of_several_programs_names_the_programs(tmp_path):
    for name in ("ocean", "ice"):
        shutil.copy(STEPS, tmp_path / name)
    together(tmp_path, "trace,output=t", ocean="init barrier finalize", ice="init barrier finalize")
    result = run_command([QMPI, "trace", "t"], environment(), cwd=tmp_path)
    summary = [line.split(maxsplit=1)[1] for line in result.stdout.splitlines() if line.startswith("program ")]
    assert [line.partition(" (")[0] for line in summary] == [str(tmp_path / "ocean"), str(tmp_path / "ice")]
    assert "0)" in summary[0] and "1)" in summary[1]
    text = report(tmp_path, "t")
    assert f"program  {tmp_path / 'ocean'} (rank 0)" in text and f"program  {tmp_path / 'ice'} (rank 1)" in text


def test_a_profile_of_one_program_names_no_module(tmp_path):
    shutil.copy(STEPS, tmp_path / "ocean")
    together(tmp_path, "profile,output=p.json", ocean="init barrier finalize")
    assert not any("in ocean" in line for line in report(tmp_path, "p.json"))
