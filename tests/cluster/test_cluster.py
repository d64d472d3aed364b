# SPDX-License-Identifier: MIT
"""Tests jobs that Slurm or the launchers of MPI start on two nodes. `./check cluster` runs these tests on the head node
of the cluster that the script `cluster` makes. The nodes share all files except those in /tmp."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
PLUGINS = {"mpich": "pmi2", "openmpi": "pmix"}  # the argument of srun --mpi
MPIS = sorted(PLUGINS)


def build(mpi):
    return SOURCE / f"build-cluster-{mpi}"


def qmpi(mpi):
    return str(build(mpi) / "cli" / {"mpich": "qmpi", "openmpi": "qmpi-openmpi"}[mpi])


@pytest.fixture(scope="session")
def program():
    """Returns a function that maps an MPI to the path of the program for it. The path is the same on both nodes."""
    folder = build("mpich") / "tests-cluster"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for mpi in MPIS:
        subprocess.run([f"mpicc.{mpi}", "-g", "-o", folder / mpi, HERE / "program.c"], check=True)
    return lambda mpi: str(folder / mpi)


@pytest.fixture
def folder(request):
    """Returns an empty folder that both nodes see."""
    path = build("mpich") / "tests-cluster-output" / re.sub(r"\W+", "-", request.node.name)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def run(*command, cwd, limit=60, env=None):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **(env or {})}
    print("$", *command)
    begin = time.monotonic()
    result = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, text=True, capture_output=True,
                            timeout=limit, check=False)
    result.seconds = time.monotonic() - begin
    print(result.stdout, result.stderr, f"-> {result.returncode} after {result.seconds:.1f} s", sep="\n")
    result.messages = [line[6:] for line in result.stderr.splitlines() if line.startswith("qmpi: ")]
    return result


def srun(mpi, *words, ranks=4):
    return ["srun", "--quiet", "--nodes=2", f"--ntasks={ranks}", f"--mpi={PLUGINS[mpi]}", *words]


def check_profile(path, ranks=4):
    result = json.loads(path.read_text())
    assert [process["rank"] for process in result["processes"]] == list(range(ranks))
    assert {process["host"] for process in result["processes"]} == {"n1", "n2"}
    calls = {function["name"]: function["calls"] for function in result["functions"]}
    assert calls["MPI_Sendrecv"] == 100 * ranks
    return result


# ---- The place of `qmpi run` --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", MPIS)
def test_qmpi_run_works_after_srun(mpi, program, folder):
    result = run(*srun(mpi, qmpi(mpi), "run", "-t", "profile,output=out.json:count", "--", program(mpi), "ring"), cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n"
    assert [line for line in result.messages if "MPI calls of" in line] == ["count (layer 2): MPI calls of 4 ranks"]
    check_profile(folder / "out.json")
    assert [file.name for file in folder.iterdir()] == ["out.json"]


@pytest.mark.parametrize("mpi", MPIS)
def test_qmpi_run_works_before_srun(mpi, program, folder):
    result = run(qmpi(mpi), "run", "-t", "profile,output=out.json", "--", *srun(mpi, program(mpi), "ring"), cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n"
    check_profile(folder / "out.json")


@pytest.mark.parametrize("mpi", MPIS)
def test_each_step_of_each_member_of_an_array_has_its_own_file(mpi, program, folder):
    """Each member of the array has a job number of its own, and therefore files of its own."""
    steps = [" ".join(srun(mpi, qmpi(mpi), "run", "-t", f"profile,output=out-%j-{step}.json", "--", program(mpi), "ring"))
             for step in range(2)]
    (folder / "job").write_text("\n".join(["#!/bin/sh", *steps, ""]))
    result = run("sbatch", "--wait", "--quiet", "--nodes=2", "--ntasks=4", "--array=1-2", "--output=log-%a", "job", cwd=folder)
    assert result.returncode == 0, [file.read_text() for file in folder.glob("log-*")]
    files = list(folder.glob("out-*.json"))
    assert len(files) == 4, files
    for file in files:
        check_profile(file)


@pytest.mark.parametrize("mpi", MPIS)
def test_one_command_runs_programs_of_all_mpis(mpi, prefix, program, folder):
    """The program among the arguments of srun decides which libqmpi the ranks get."""
    result = run(f"{prefix}/bin/qmpi", "run", "-t", "profile,output=out.json", "--", *srun(mpi, program(mpi), "ring"), cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n"
    check_profile(folder / "out.json")


def test_a_warning_is_printed_if_srun_passes_no_variables_on(program, folder):
    stack = "profile,output=out.json"
    arguments = ["--", "srun", "--quiet", "--nodes=2", "--ntasks=4", "--mpi=pmi2"]
    end = [program("mpich"), "ring"]
    result = run(qmpi("mpich"), "run", "-t", stack, *arguments, "--export=NONE", *end, cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n" and not list(folder.iterdir())
    assert result.messages[0].startswith("srun passes no variables of qmpi on (--export=NONE)")
    result = run(qmpi("mpich"), "run", "-t", stack, *arguments, "--export=ALL,A=b", *end, cwd=folder)
    assert result.returncode == 0 and "srun passes" not in result.stderr
    check_profile(folder / "out.json")


def test_the_ranks_of_a_step_may_have_different_stacks(program, folder):
    """Rank 3 has a tool that the other ranks lack."""
    command = f"{qmpi('mpich')} run -t"
    end = f"-- {program('mpich')} ring"
    (folder / "steps").write_text(f"0-2 {command} count {end}\n3 {command} count:profile,output=out.json {end}\n")
    result = run(*srun("mpich", "--multi-prog", "steps"), cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n"
    assert [line for line in result.messages if "MPI calls of" in line] == ["count (layer 1): MPI calls of 4 ranks"]
    assert [process["rank"] for process in json.loads((folder / "out.json").read_text())["processes"]] == [3]


@pytest.mark.parametrize("mpi", MPIS)
def test_qmpi_run_works_before_and_after_the_launcher_of_mpi(mpi, program, folder):
    """The launcher starts its processes on the nodes with `rsh`, which, like ssh, passes no variables on."""
    launch = {"mpich": ["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", HERE / "rsh", "-hosts", "n1,n2", "-n", "4"],
              "openmpi": ["mpiexec.openmpi", "--prtemca", "plm", "ssh", "--prtemca", "plm_ssh_agent", HERE / "rsh",
                          "--host", "n1:2,n2:2", "--wdir", folder, "-n", "4"]}[mpi]
    command = [qmpi(mpi), "run", "-t", "profile,output=out.json", "--"]
    for words in ([*launch, *command, program(mpi), "ring"], [*command, *launch, program(mpi), "ring"]):
        result = run(*words, cwd=folder)
        assert result.returncode == 0 and result.stdout == "rank 0 of 4\n"
        check_profile(folder / "out.json")
        (folder / "out.json").unlink()


# ---- Jobs that MPI does not recognize -----------------------------------------------------------------------------


@pytest.mark.parametrize("mpi, hint", [("mpich", "srun --mpi=pmi2"), ("openmpi", "srun --mpi=pmix")])
def test_one_warning_is_printed_if_each_process_is_a_job_of_its_own(mpi, hint, program, folder):
    """With --mpi=none, each process is rank 0 of 1. There must be one warning for all, and a file of each process."""
    result = run("srun", "--quiet", "--nodes=2", "--ntasks=4", "--mpi=none", qmpi(mpi), "run", "-t", "profile,output=out.json", "--",
                 program(mpi), "ring", cwd=folder, env={"OMPI_MCA_ess_singleton_isolated": "1"})
    assert result.stdout == "rank 0 of 1\n" * 4 and result.returncode == 0
    warnings = [line for line in result.messages if "rank 0 of 1" in line]
    assert len(warnings) == 1 and warnings[0].startswith("Slurm started 4 processes, but each of them is rank 0 of 1")
    assert any(hint in line for line in result.messages)
    assert len(list(folder.glob("out*.json"))) == 4


def test_no_warning_is_printed_if_srun_starts_a_single_process(program, folder):
    result = run("srun", "--quiet", "--ntasks=1", "--mpi=none", qmpi("mpich"), "run", "-t", "empty", "--", program("mpich"), cwd=folder)
    assert result.returncode == 0 and result.messages == []


# ---- Errors and ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpi", MPIS)
def test_an_error_of_all_ranks_is_printed_once(mpi, program, folder):
    result = run(*srun(mpi, qmpi(mpi), "run", "-t", "missing", "--", program(mpi)), cwd=folder)
    assert result.returncode == 2 and result.stdout == "" and result.seconds < 20
    assert [line for line in result.messages if "no such tool" in line] == ["-t, entry 1 'missing': no such tool"]


def test_an_error_of_one_rank_ends_the_job(program, folder):
    """With PMI-2, the other ranks would wait in MPI_Init for the rank that has ended, so libqmpi must end the job."""
    command = f"{qmpi('mpich')} run -t"
    (folder / "steps").write_text(f"0-2 {command} count -- {program('mpich')}\n3 {command} missing -- {program('mpich')}\n")
    result = run(*srun("mpich", "--multi-prog", "steps"), cwd=folder)
    assert result.returncode != 0 and result.stdout == "" and result.seconds < 20
    assert [line for line in result.messages if "no such tool" in line] == ["rank 3 on n2: -t, entry 1 'missing': no such tool"]


@pytest.mark.parametrize("mpi", MPIS)
def test_a_job_that_is_cancelled_has_a_report(mpi, program, folder):
    """scancel sends SIGTERM, and SIGKILL after KillWait."""
    command = " ".join(srun(mpi, qmpi(mpi), "run", "-t", "profile,output=out.json", "--", program(mpi), "ring", "sleep=50"))
    (folder / "job").write_text(f"#!/bin/sh\n{command}\n")
    job = run("sbatch", "--parsable", "--nodes=2", "--ntasks=4", "--output=log", "job", cwd=folder).stdout.strip()
    limit = time.monotonic() + 40
    while f"{job}.0" not in run("squeue", "--steps", "--noheader", cwd=folder).stdout and time.monotonic() < limit:
        time.sleep(0.5)
    time.sleep(5)
    run("scancel", job, cwd=folder)
    while run("squeue", "--noheader", cwd=folder).stdout and time.monotonic() < limit:
        time.sleep(0.5)
    files = [json.loads(file.read_text()) for file in folder.glob("out*.json")]
    ranks = sorted(process["rank"] for result in files for process in result["processes"])
    assert ranks == [0, 1, 2, 3], (folder / "log").read_text()


def records(folder):
    return [json.loads(path.read_text()) for path in folder.glob("2*Z-*.json")]


def wait_for_end(cwd, limit):
    """Waits until no job runs. The test fails after `limit` seconds."""
    end = time.monotonic() + limit
    while run("squeue", "--noheader", cwd=cwd).stdout:
        assert time.monotonic() < end
        time.sleep(1)


def test_jobs_that_reach_their_time_limit_have_reports_and_records(program, folder):
    """Slurm sends SIGTERM, upon which each rank writes its report, and SIGKILL to processes that ignore SIGTERM. The
    argument of --time is in minutes."""
    cases = {"mpich": ("mpich", "ring"), "openmpi": ("openmpi", "ring"), "ignoring": ("mpich", "ignore")}
    for case, (mpi, step) in cases.items():
        (folder / case).mkdir()
        command = " ".join(srun(mpi, qmpi(mpi), "run", "-t", f"profile,output=out.json:jobs,directory={folder}/{case}", "--",
                                program(mpi), step, "sleep=300"))
        (folder / case / "job").write_text(f"#!/bin/sh\n{command}\n")
        run("sbatch", "--time=1", "--nodes=2", "--ntasks=4", "--output=log", "job", cwd=folder / case)
    wait_for_end(folder, 240)
    for case in cases:
        record, = records(folder / case)
        files = [json.loads(file.read_text()) for file in (folder / case).glob("out*.json")]
        ranks = sorted(process["rank"] for result in files for process in result["processes"])
        log = (folder / case / "log").read_text()
        if case == "ignoring":
            assert (record["state"], record["signal"], ranks) == ("running", None, []), log
        else:
            assert (record["state"], record["signal"]) == ("signal", "SIGTERM"), log
            assert ranks == [0, 1, 2, 3], log
        assert (record["ranks"], record["node_count"], record["exit"]) == (4, 2, None)


def processes_of(node):
    """Returns the ID of the process that represents a node, as text, and the IDs of all other processes on the node, as
    numbers."""
    first = Path(f"/run/node-{node}").read_text().strip()
    name = os.readlink(f"/proc/{first}/ns/uts")
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.name != first and os.readlink(path / "ns" / "uts") == name:
                found.append(int(path.name))
        except OSError:
            pass  # The process has ended.
    return first, found


@pytest.fixture
def second_node():
    """Returns a function that kills all processes on the node n2, except the one that represents the node. Starts the
    Slurm daemon of the node again after the test."""
    def kill():
        for process in processes_of("n2")[1]:
            os.kill(process, signal.SIGKILL)
    yield kill
    subprocess.run(["nsenter", "--target", processes_of("n2")[0], "--net", "--uts", "--ipc", "--mount", "--root", "--wd=/",
                    "slurmd"], check=True)
    subprocess.run(["scontrol", "update", "nodename=n2", "state=resume"], check=False)
    for _ in range(60):
        if run("sinfo", "--noheader", "--Node", "--format=%T", cwd="/").stdout.split() == ["idle", "idle"]:
            break
        time.sleep(1)


@pytest.mark.parametrize("mpi", MPIS)
def test_a_job_ends_if_one_of_its_nodes_dies(mpi, second_node, program, folder):
    """The job ends, and its record contains what was known. Rank 0 is on the node that survives."""
    command = " ".join(srun(mpi, qmpi(mpi), "run", "-t", f"profile,output=out.json:jobs,directory={folder}", "--",
                            program(mpi), "ring", "sleep=300"))
    (folder / "job").write_text(f"#!/bin/sh\n{command}\n")
    run("sbatch", "--no-requeue", "--nodes=2", "--ntasks=4", "--output=log", "job", cwd=folder)
    end = time.monotonic() + 60
    while not any(record["state"] == "running" for record in records(folder)):
        assert time.monotonic() < end
        time.sleep(0.5)
    second_node()
    wait_for_end(folder, 120)
    record, = records(folder)
    assert (record["ranks"], record["nodes"], record["exit"]) == (4, ["n1", "n2"], None)
    assert (record["state"], record["signal"]) in [("running", None), ("signal", "SIGTERM")]
    files = [json.loads(file.read_text()) for file in folder.glob("out*.json")]
    assert {process["host"] for result in files for process in result["processes"]} <= {"n1"}


# ---- A site, and clocks -------------------------------------------------------------------------------------------


@pytest.fixture
def prolog():
    """Returns a function that installs packaging/site/task-prolog as the task prolog of this cluster, with further
    variables."""
    installed, sample = Path("/etc/slurm/task-prolog"), SOURCE / "packaging" / "site" / "task-prolog"
    before = installed.read_text()

    def install(prefix, *lines):
        text = sample.read_text().replace("${QMPI_PREFIX:-/opt/qmpi}", str(prefix))
        installed.write_text(text.replace("\nexit 0\n", "".join(f"\necho export {line}" for line in lines) + "\nexit 0\n"))
    yield install
    installed.write_text(before)


@pytest.fixture(scope="session")
def prefix():
    """Installs both builds in one prefix, as a site does."""
    folder = build("mpich") / "tests-cluster-prefix"
    shutil.rmtree(folder, ignore_errors=True)
    for mpi in MPIS:
        subprocess.run(["meson", "install", "-C", build(mpi), "--no-rebuild", "--destdir", folder], check=True,
                       capture_output=True)
    return next(path.parents[1] for path in folder.rglob("bin/qmpi"))


@pytest.mark.parametrize("mpi", MPIS)
def test_the_task_prolog_gives_jobs_the_stack_of_the_site(mpi, prefix, prolog, program, folder):
    """The prolog of each task prints variables, which Slurm sets. One library serves both MPIs."""
    prolog(prefix, f"QMPI_TOOLS=profile,output={folder}/site.json:jobs,directory={folder}")
    result = run(*srun(mpi, program(mpi), "ring"), cwd=folder)
    assert result.returncode == 0 and result.stdout == "rank 0 of 4\n" and result.messages == []
    check_profile(folder / "site.json")
    (folder / "site.json").unlink()
    record, = records(folder)
    assert (record["ranks"], record["node_count"], record["nodes"]) == (4, 2, ["n1", "n2"])
    assert record["job"] and record["step"] == "0" and (record["state"], record["exit"]) == ("exited", 0)


def test_the_trace_of_a_job_on_two_nodes_passes_the_check(program, folder):
    """The check must find no difference, such as a message that was received before it was sent."""
    result = run(*srun("mpich", qmpi("mpich"), "run", "-t", "trace,output=trace", "--", program("mpich"), "ring"), cwd=folder)
    assert result.returncode == 0, result.stderr
    text = run(qmpi("mpich"), "trace", "--check", folder / "trace", cwd=folder)
    assert text.returncode == 0
