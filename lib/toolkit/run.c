/* SPDX-License-Identifier: MIT */
/* See run.h. */
#define _GNU_SOURCE
#include "toolkit/run.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GENERATIONS = 64, BILLION = 1000000000 };

static bool is_found;
static struct timespec run_begin, program_begin, process_begin;
static char *job;
static bool has_programs, is_child;

static bool is_before(const struct timespec *time, const struct timespec *other)
{
    return time->tv_sec < other->tv_sec ||
           (time->tv_sec == other->tv_sec && time->tv_nsec < other->tv_nsec);
}

/* ---- Processes ------------------------------------------------------------------------------- */

struct process {
    long pid, parent, group;
    unsigned long long start; /* This is in clock ticks since the system started. */
};

static FILE *open_proc(long pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, what);
    return fopen(path, "re");
}

/* Returns false if the process is init (1), does not exist, or is not described in /proc. */
static bool read_process(long pid, struct process *process)
{
    char text[1024];
    FILE *stream = pid > 1 ? open_proc(pid, "stat") : NULL;
    const size_t length = stream ? fread(text, 1, sizeof text - 1, stream) : 0;
    if (stream)
        fclose(stream);
    text[length] = '\0';
    /* The name of the program is in parentheses and may itself contain parentheses and blanks. */
    const char *fields = strrchr(text, ')');
    *process = (struct process){.pid = pid};
    return fields && sscanf(fields,
                            ") %*c %ld %ld %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                            "%*d %*d %*d %*d %llu",
                            &process->parent, &process->group, &process->start) == 3;
}

/* Returns the time at which the system started, in nanoseconds since the Epoch. CLOCK_REALTIME and
 * CLOCK_BOOTTIME cannot be read at the same time, so they are read several times, and the attempt
 * that took the least time is used. */
static long long system_start(void)
{
    enum { TRIES = 10, SOON = 20000 };
    long long start = 0, least = LLONG_MAX;
    for (int i = 0; i < TRIES && least > SOON; i++) {
        struct timespec first, boot, last;
        clock_gettime(CLOCK_REALTIME, &first);
        clock_gettime(CLOCK_BOOTTIME, &boot);
        clock_gettime(CLOCK_REALTIME, &last);
        const long long duration =
            ((long long)last.tv_sec - first.tv_sec) * BILLION + last.tv_nsec - first.tv_nsec;
        if (duration >= 0 && duration < least) {
            least = duration;
            start =
                ((long long)first.tv_sec - boot.tv_sec) * BILLION + first.tv_nsec - boot.tv_nsec;
        }
    }
    return start;
}

/* Returns the time at which a process started, rounded up to the end of the clock tick. */
static struct timespec time_of(const struct process *process)
{
    const long long per_second = sysconf(_SC_CLK_TCK) > 0 ? sysconf(_SC_CLK_TCK) : 100;
    const long long ticks = (long long)process->start + 1;
    const long long time =
        system_start() + ticks / per_second * BILLION + ticks % per_second * BILLION / per_second;
    return (struct timespec){time / BILLION, time % BILLION};
}

/* ---- Arguments and environment of processes -------------------------------------------------- */

static bool is_rank(const char *variable)
{
    /* The variables of Slurm are missing here because Slurm also sets them for batch scripts. */
    static const char *const names[] = {"PMI_RANK=",
                                        "PMI_ID=",
                                        "PMIX_RANK=",
                                        "OMPI_COMM_WORLD_RANK=",
                                        "MV2_COMM_WORLD_RANK=",
                                        "PALS_RANKID=",
                                        "ALPS_APP_PE=",
                                        "FLUX_TASK_RANK="};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strncmp(variable, names[i], strlen(names[i])))
            return true;
    }
    return false;
}

static bool is_setting(const char *variable)
{
    return !strncmp(variable, "QMPI_TOOLS=", 11) || !strncmp(variable, "QMPI_CONFIG=", 12) ||
           (!strncmp(variable, "LD_PRELOAD=", 11) && strstr(variable, "libqmpi"));
}

/* Returns whether a file of /proc contains a string for which `is_wanted` returns true. The strings
 * in the file end with null characters. */
static bool has_string(long pid, const char *what, bool (*is_wanted)(const char *))
{
    FILE *stream = open_proc(pid, what);
    char *string = NULL;
    size_t room = 0;
    bool found = false;
    while (stream && !found && getdelim(&string, &room, '\0', stream) > 0)
        found = is_wanted(string);
    free(string);
    if (stream)
        fclose(stream);
    return found;
}

static bool is_launcher(const char *string)
{
    const char *name = qmpi_text_base_name(string);
    return !strncmp(name, "mpiexec", 7) || !strncmp(name, "mpirun", 6);
}

/* Returns whether an argument names a launcher that starts the ranks of one job and then ends.
 * Others, such as daemons of Slurm and PRRTE, start several programs one after the other. */
static bool starts_one_job(const char *string)
{
    const char *name = qmpi_text_base_name(string);
    return is_launcher(string) || !strcmp(name, "orted") || !strcmp(name, "hydra_pmi_proxy");
}

/* ---- The launcher ---------------------------------------------------------------------------- */

/* Sets `job` from the arguments of a proxy. MPICH starts a proxy on each node of a job, and passes
 * the address of mpiexec and the number of the process group to it. Returns false if the process is
 * not a proxy. */
static bool read_proxy(long pid)
{
    FILE *stream = open_proc(pid, "cmdline");
    char *string = NULL, *address = NULL, *group = NULL, **value = NULL;
    size_t room = 0;
    while (stream && getdelim(&string, &room, '\0', stream) > 0) {
        if (value && !*value)
            *value = strdup(string);
        value = !strcmp(string, "--control-port") ? &address
                : !strcmp(string, "--pgid")       ? &group
                                                  : NULL;
    }
    if (stream)
        fclose(stream);
    if (address && !job && asprintf(&job, "hydra:%s/%s", address, group ? group : "") < 0)
        job = NULL;
    const bool is_proxy = address != NULL;
    free(string);
    free(address);
    free(group);
    return is_proxy;
}

/* Finds the nearest ancestor that was not started as a rank, or the mpiexec that has started this
 * ancestor if it is a proxy. In the latter case, also sets `job`. Returns false if the process
 * itself was not started as a rank, or if its parent cannot be examined. */
static bool find_launcher(const struct process *process, struct process *launcher)
{
    struct process parent;
    *launcher = *process;
    for (int i = 0; i < GENERATIONS && has_string(launcher->pid, "environ", is_rank); i++) {
        if (!read_process(launcher->parent, &parent))
            break;
        *launcher = parent;
    }
    if (launcher->pid == process->pid)
        return false;
    if (read_proxy(launcher->pid) && read_process(launcher->parent, &parent) &&
        has_string(parent.pid, "cmdline", is_launcher))
        *launcher = parent;
    return true;
}

/* Returns the oldest ancestor in the same process group that was started with settings of qmpi, or
 * the process itself. This is a script rather than an interactive shell, because a script leaves
 * its commands in its process group, while an interactive shell gives each command a new group. */
static struct process find_script(const struct process *process)
{
    struct process oldest = *process, parent;
    for (int i = 0; i < GENERATIONS && read_process(oldest.parent, &parent) &&
                    parent.group == oldest.group && has_string(parent.pid, "environ", is_setting);
         i++)
        oldest = parent;
    return oldest;
}

/* ---- Children of ranks ----------------------------------------------------------------------- */

/* Returns whether a process has loaded an MPI library: libmpi, libmpich, or a similar name. */
static bool uses_mpi(long pid)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *stream = open_proc(pid, "maps");
    while (stream && !found && getline(&line, &room, stream) > 0) {
        const char *path = strchr(line, '/');
        found = path && !strncmp(qmpi_text_base_name(path), "libmpi", 6);
    }
    if (stream)
        fclose(stream);
    free(line);
    return found;
}

/* Another parent that was started as a rank is a wrapper, such as a shell into which libqmpi is
 * preloaded. It has started the program that is the rank. */
static bool find_child(const struct process *process)
{
    return has_string(process->parent, "environ", is_rank) && uses_mpi(process->parent);
}

/* ---- The run --------------------------------------------------------------------------------- */

static bool is_ancestor(const struct process *process, long pid, struct process *ancestor)
{
    *ancestor = *process;
    for (int i = 0; i < GENERATIONS && ancestor->pid != pid; i++) {
        if (!read_process(ancestor->parent, ancestor))
            return false;
    }
    return ancestor->pid == pid;
}

/* Lets the run begin with the batch job of Slurm, because its launchers may have no other common
 * ancestor. */
static void begin_with_batch_job(void)
{
    const char *environment = getenv("ENVIRONMENT"), *text = getenv("SLURM_JOB_START_TIME");
    const struct timespec begin = {text ? strtoll(text, NULL, 10) : 0, 0};
    if (environment && !strcmp(environment, "BATCH") && begin.tv_sec > 0 &&
        is_before(&begin, &run_begin))
        run_begin = begin;
}

static void begin_with(const struct process *process)
{
    const struct timespec begin = time_of(process);
    if (is_before(&begin, &run_begin))
        run_begin = begin;
}

/* Reads the time at which `qmpi run` began and its process id, which `qmpi run` has stored in the
 * environment. The process id is also that of the program that replaces `qmpi run` by exec. */
static bool read_note(struct timespec *begin, long *pid)
{
    const char *note = qmpi_getenv("QMPI_RUN");
    long long seconds;
    if (!note || sscanf(note, "%lld.%9ld-%ld", &seconds, &begin->tv_nsec, pid) != 3)
        return false;
    begin->tv_sec = (time_t)seconds;
    return true;
}

/* Sets `program_begin` to the start of the launcher. The ranks of a program may start at different
 * times, but their launcher started before all of them, and after the end of the preceding program.
 * This does not hold if each rank is a script that starts several programs, nor for launchers that
 * do so themselves: `program_begin` then stays the start of this process. */
static void find_program_begin(const struct process *process)
{
    struct process parent;
    if (has_string(process->pid, "environ", is_rank) && read_process(process->parent, &parent) &&
        !has_string(parent.pid, "environ", is_rank) &&
        has_string(parent.pid, "cmdline", starts_one_job))
        program_begin = time_of(&parent);
}

/* Moves a begin before the time that the kernel would now record in a file. The begin may be too
 * late, because it is rounded up. The times of files may be too early, because the kernel advances
 * their clock by ticks, which are late if a virtual machine is not scheduled. A file that is
 * written from now on, in this or another process, must not seem to be older than the begin. */
static void limit_begin(struct timespec *begin)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now))
        return;
    if (now.tv_nsec-- == 0)
        now = (struct timespec){now.tv_sec - 1, BILLION - 1};
    if (is_before(&now, begin))
        *begin = now;
}

static void find_run(const struct process *process)
{
    struct process starter = *process, launcher;
    long pid;
    const bool is_noted = read_note(&run_begin, &pid);
    has_programs = is_noted && pid != process->pid;
    if (!job)
        find_launcher(process, &launcher); /* This sets `job` if it finds a proxy. */
    if (is_noted) {
        if (is_ancestor(process, pid, &starter) && find_launcher(&starter, &launcher)) {
            begin_with(&launcher);
            begin_with_batch_job();
        }
        return;
    }
    starter = find_launcher(process, &launcher) ? find_script(&launcher) : find_script(process);
    begin_with(&starter);
    begin_with_batch_job();
}

static void find_job(void)
{
    const char *name = getenv("PMIX_NAMESPACE"), *step = getenv("SLURM_STEP_ID");
    if (job)
        return;
    if (name)
        job = qmpi_format("pmix:%s", name);
    else if ((name = getenv("PALS_APID")))
        job = qmpi_format("pals:%s", name);
    else if ((name = getenv("SLURM_JOB_ID")) && step && strlen(step) < 9)
        /* Long step ids are special ones, such as that of a batch script (4294967291). */
        job = qmpi_format("slurm:%s.%s", name, step);
}

void tool_run_find(void)
{
    struct process process;
    if (is_found)
        return;
    is_found = true;
    clock_gettime(CLOCK_REALTIME, &run_begin);
    program_begin = process_begin = run_begin;
    if (read_process(getpid(), &process)) {
        program_begin = process_begin = time_of(&process);
        find_program_begin(&process);
        find_run(&process);
        is_child = find_child(&process);
    }
    limit_begin(&program_begin);
    limit_begin(&process_begin);
    find_job();
}

bool tool_run_is_child(void)
{
    return is_child;
}

const struct timespec *tool_run_begin(void)
{
    return &run_begin;
}

const struct timespec *tool_run_program_begin(void)
{
    return &program_begin;
}

const struct timespec *tool_run_process_begin(void)
{
    return &process_begin;
}

const char *tool_run_job(void)
{
    return job;
}

bool tool_run_has_programs(void)
{
    return has_programs;
}

const char *tool_run_program(void)
{
    return program_invocation_short_name;
}

const char *tool_run_batch_job(void)
{
    static const char *const variables[] = {"SLURM_JOB_ID", "PBS_JOBID",   "LSB_JOBID",
                                            "COBALT_JOBID", "FLUX_JOB_ID", "OAR_JOB_ID",
                                            "PJM_JOBID",    "JOB_ID"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Returns JOB.STEP of Slurm if srun has started the program. `job` is then slurm:JOB.STEP, or
 * pmix:slurm.pmix.JOB.STEP. */
static const char *find_step(const char *batch_job)
{
    static const char *const heads[] = {"slurm:", "pmix:slurm.pmix."};
    const size_t length = strlen(batch_job);
    for (size_t i = 0; job && i < sizeof heads / sizeof *heads; i++) {
        const char *step = job + strlen(heads[i]);
        if (!strncmp(job, heads[i], strlen(heads[i])) && !strncmp(step, batch_job, length) &&
            step[length] == '.')
            return step;
    }
    return NULL;
}

const char *tool_run_batch_step(void)
{
    const char *batch_job = tool_run_batch_job(), *step = batch_job ? find_step(batch_job) : NULL;
    return step ? step : batch_job;
}

const char *tool_run_user(void)
{
    static char number[24];
    const char *name = secure_getenv("LOGNAME");
    if (!name || !*name)
        name = secure_getenv("USER");
    if (name && *name)
        return name;
    snprintf(number, sizeof number, "%lu", (unsigned long)geteuid());
    return number;
}
