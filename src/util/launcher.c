/* SPDX-License-Identifier: MIT */
/* See launcher.h. */
#define _GNU_SOURCE
#include "util/launcher.h"

#include "util/output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- Variables of launchers ------------------------------------------------------------------ */

/* The known launchers, in order of precedence: a process manager of MPI knows more than the batch
 * system in which it runs. */
static const struct launcher {
    const char *rank, *size; /* names of variables; NULL: the launcher sets none */
    const char *batch;       /* the name of the batch system; NULL: a process manager of MPI */
} launchers[] = {
    {"PMI_RANK", "PMI_SIZE", NULL}, /* Hydra, and PMI-1 and PMI-2 of Slurm and others */
    {"PMI_ID", NULL, NULL},         /* Hydra with -pmi-port */
    {"PMIX_RANK", NULL, NULL},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL},
    {"PALS_RANKID", NULL, "PALS"},
    {"ALPS_APP_PE", NULL, "ALPS"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "Flux"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static int read_rank_variable(const char *variable)
{
    const char *value = variable ? getenv(variable) : NULL;
    if (!value || !*value)
        return -1;
    char *end;
    const long number = strtol(value, &end, 10);
    return *end || number < 0 || number > INT_MAX ? -1 : (int)number;
}

/* The values are stored when they are first read, so that later changes of the environment have no
 * effect. -2: not read yet. Each thread would store the same values, so relaxed order is enough. */
static int read_rank = -2, read_size = -2;

int qmpi_launcher_rank(void)
{
    int found = __atomic_load_n(&read_rank, __ATOMIC_RELAXED);
    if (found != -2)
        return found;
    found = -1;
    for (int i = 0; i < LAUNCHERS && found < 0; i++)
        found = read_rank_variable(launchers[i].rank);
    __atomic_store_n(&read_rank, found, __ATOMIC_RELAXED);
    return found;
}

int qmpi_launcher_size(void)
{
    int found = __atomic_load_n(&read_size, __ATOMIC_RELAXED);
    if (found != -2)
        return found;
    found = -1;
    for (int i = 0; i < LAUNCHERS && found < 0; i++) {
        if (read_rank_variable(launchers[i].rank) >= 0)
            found = read_rank_variable(launchers[i].size);
    }
    __atomic_store_n(&read_size, found, __ATOMIC_RELAXED);
    return found;
}

const char *qmpi_launcher_batch(int *size)
{
    for (int i = 0; i < LAUNCHERS; i++) {
        if (!launchers[i].batch || read_rank_variable(launchers[i].rank) < 0)
            continue;
        *size = read_rank_variable(launchers[i].size);
        return launchers[i].batch;
    }
    return NULL;
}

void qmpi_launcher_forget(void)
{
    __atomic_store_n(&read_rank, -2, __ATOMIC_RELAXED);
    __atomic_store_n(&read_size, -2, __ATOMIC_RELAXED);
}

bool qmpi_launcher_reports(void)
{
    return qmpi_launcher_rank() <= 0;
}

bool qmpi_launcher_has_others(void)
{
    const int size = qmpi_launcher_size();
    return size > 1 || (size < 0 && qmpi_launcher_rank() >= 0);
}

const char *qmpi_launcher_mpi(void)
{
    const bool mpich =
        getenv("PMI_RANK") && (getenv("HYDI_CONTROL_FD") || getenv("MPI_LOCALNRANKS"));
    const bool open_mpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL;
    return mpich == open_mpi ? NULL : mpich ? "mpich" : "openmpi";
}

/* Writes the number at the end of `room`, and returns its beginning. */
static char *number_text(int number, char room[12])
{
    char *at = room + 11;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    return at;
}

/* ---- PMI-1 ----------------------------------------------------------------------------------- */

static bool ignores_pmi;

void qmpi_launcher_ignore_pmi(void)
{
    ignores_pmi = true;
}

static bool send_all(int socket, const char *text)
{
    size_t length = strlen(text);
    while (length) {
        const ssize_t sent = send(socket, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Waits until there is something to read, but not for ever, because the descriptor may no longer
 * belong to a process manager. */
static bool await_answer(int socket)
{
    enum { MOST = 10000 }; /* milliseconds */
    struct pollfd wanted = {.fd = socket, .events = POLLIN};
    int ready;
    do
        ready = poll(&wanted, 1, MOST);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Reads byte by byte, because bytes after the end of the line belong to another reader. */
bool qmpi_launcher_pmi_ask(int socket, const char *request, char *answer, size_t capacity)
{
    size_t length = 0;
    if (!send_all(socket, request))
        return false;
    while (length < capacity) {
        if (!await_answer(socket))
            return false;
        const ssize_t received = recv(socket, &answer[length], 1, 0);
        if (received < 0 && errno == EINTR)
            continue;
        if (received <= 0)
            return false;
        if (answer[length] == '\n') {
            answer[length] = '\0';
            return true;
        }
        length++;
    }
    return false;
}

/* With -pmi-port, Hydra gives processes no socket, but a port to connect to: PMI_PORT=HOST:PORT. */

/* Returns the address of a host. If the host is given by a name instead of a number, it is taken to
 * be this host, because Hydra's proxy runs on the host of the processes that it starts. Names
 * cannot be looked up in a signal handler, and some cannot be resolved at all. */
static struct in_addr find_address(const char *host, size_t length)
{
    char name[256] = "";
    struct in_addr address;
    if (length < sizeof name)
        memcpy(name, host, length);
    if (inet_pton(AF_INET, name, &address) != 1)
        address.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

/* Connects, with a time limit, because the host may not answer. */
static bool connect_in_time(int socket, const struct sockaddr_in *to)
{
    enum { MOST = 5000 }; /* milliseconds */
    const int flags = fcntl(socket, F_GETFL);
    int error = 0;
    socklen_t length = sizeof error;
    struct pollfd wanted = {.fd = socket, .events = POLLOUT};
    fcntl(socket, F_SETFL, flags | O_NONBLOCK);
    if (connect(socket, (const struct sockaddr *)to, sizeof *to)) {
        int ready = -1;
        while (errno == EINPROGRESS || errno == EINTR) {
            ready = poll(&wanted, 1, MOST);
            if (ready >= 0)
                break;
        }
        if (ready <= 0 || getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) || error)
            return false;
    }
    return fcntl(socket, F_SETFL, flags) == 0;
}

static bool has_port(void)
{
    return getenv("HYDI_CONTROL_FD") && getenv("PMI_PORT") && read_rank_variable("PMI_FD") < 0 &&
           read_rank_variable("PMI_ID") >= 0;
}

static int connect_to_port(void)
{
    enum { FIRST_DESCRIPTOR = 200 };
    const char *host = getenv("PMI_PORT"), *colon = host ? strrchr(host, ':') : NULL;
    struct sockaddr_in to = {.sin_family = AF_INET};
    if (!colon || read_rank_variable("PMI_ID") < 0)
        return -1;
    to.sin_addr = find_address(host, (size_t)(colon - host));
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int high = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    const int used = high < 0 ? made : high; /* a limit may exclude high numbers */
    if (high >= 0)
        close(made);
    if (used >= 0 && !connect_in_time(used, &to)) {
        close(used);
        return -1;
    }
    return used;
}

/* Connects to the port and identifies this process. The answer has four lines; the first one shows
 * whether it comes from Hydra. */
static int open_port(void)
{
    static const char hydras[] = "cmd=initack";
    enum { LINES = 4 };
    char room[12], request[64] = "cmd=initack pmiid=", answer[256];
    const int opened = connect_to_port();
    if (opened < 0)
        return -1;
    strcat(strcat(request, number_text(read_rank_variable("PMI_ID"), room)), "\n");
    for (int i = 0; i < LINES; i++) {
        if (!qmpi_launcher_pmi_ask(opened, i ? "" : request, answer, sizeof answer) ||
            (!i && strncmp(answer, hydras, sizeof hydras - 1) != 0)) {
            close(opened);
            return -1;
        }
    }
    return opened;
}

int qmpi_launcher_pmi_socket(void)
{
    static int port = -2; /* the socket that is connected to PMI_PORT; -2: not opened yet */
    if (ignores_pmi)
        return -1;
    const int given = read_rank_variable("PMI_FD");
    if (given >= 0 || !getenv("HYDI_CONTROL_FD"))
        return given;
    if (port == -2)
        port = open_port();
    return port;
}

/* ---- The end of the job ---------------------------------------------------------------------- */

static void nap(long milliseconds)
{
    struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&rest, &rest) && errno == EINTR)
        continue;
}

/* Asks the process manager to end the job. Otherwise, the process manager would wait for the other
 * processes, and they would wait for this one. Process managers of PMIx need not be asked, because
 * they end the job when a process ends with a status other than 0. Returns false if a process
 * manager must be asked and cannot be reached. */
static bool abort_job(void)
{
    char answer[256];
    const int socket = qmpi_launcher_pmi_socket();
    if (socket < 0)
        return ignores_pmi || !has_port();
    return qmpi_launcher_pmi_ask(socket, "cmd=init pmi_version=1 pmi_subversion=1\n", answer,
                                 sizeof answer) &&
           send_all(socket, "cmd=abort exitcode=2\n");
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

/* Returns a hash of values that are the same in all processes of a job, and different in other
 * jobs. */
static uint64_t hash_job(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"};
    uint64_t hash = UINT64_C(14695981039346656037);
    bool is_known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        is_known |= value != NULL;
        hash = hash_text(hash, value ? value : "");
    }
    return is_known ? hash : hash ^ (uint64_t)getppid(); /* the parent is the launcher */
}

/* Returns whether this process is the first one of its job on this host to claim the message. The
 * claim ends with the process. */
static bool claim(const char *message)
{
    static const char prefix[] = "qmpi-error";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const uint64_t parts[] = {(uint64_t)getuid(), hash_text(hash_job(), message)};
    const int claimed = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char *const at = name.sun_path + 1; /* an abstract name, without a file */
    memcpy(at, prefix, sizeof prefix);
    memcpy(at + sizeof prefix, parts, sizeof parts);
    const size_t length = offsetof(struct sockaddr_un, sun_path) + 1 + sizeof prefix + sizeof parts;
    return claimed < 0 || !bind(claimed, (const struct sockaddr *)&name, (socklen_t)length) ||
           errno != EADDRINUSE;
}

/* Writes the text in one piece, because other processes write at the same time. */
static void print_with_rank(const char *message)
{
    char host[256] = "", room[12], text[PIPE_BUF];
    char *rank = number_text(qmpi_launcher_rank(), room);
    size_t length = 0;
    gethostname(host, sizeof host - 1);
    const char *const parts[] = {"qmpi: rank ", rank, host[0] ? " on " : "", host, ": ", message};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const size_t wanted = strlen(parts[i]), left = sizeof text - length;
        memcpy(text + length, parts[i], wanted < left ? wanted : left);
        length += wanted < left ? wanted : left;
    }
    qmpi_output_standard_write(STDERR_FILENO, text, length);
}

/*
 * Ends this process by a signal. Hydra then ends the job, even if the process has not connected to
 * Hydra yet. Hydra would ignore an exit status. Hydra checks whether processes have ended whenever
 * the state of an output changes. The output of this process is closed just before the process has
 * ended, so a child keeps the output open a little longer.
 */
static _Noreturn void stop_by_signal(void)
{
    enum { SHORT = 300 }; /* milliseconds */
    char message[512] = "the launcher does not answer at PMI_PORT=";
    const char *port = getenv("PMI_PORT");
    const size_t length = strlen(message), room = 300;
    strncat(message, port ? port : "", room);
    for (char *c = message + length; *c; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    strcat(message, ", so that the job cannot be aborted; this process ends by SIGKILL, which "
                    "ends the job\n");
    if (claim(message))
        print_with_rank(message);
    nap(SHORT); /* so that the launcher reads the output */
    /* Calls clone, because fork is not async-signal-safe: it calls functions that the program has
     * registered. */
    if (syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L) == 0) {
        nap(SHORT);
        _exit(0);
    }
    kill(getpid(), SIGKILL);
    _exit(2);
}

/*
 * Rank 0, which has printed its message already, claims it, and holds the claim until the other
 * processes of this host have checked it. Processes of other hosts find no claim, and wait until
 * rank 0 has ended the job.
 */
void qmpi_launcher_stop(const char *message)
{
    enum { LOOK = 1000, RANK_0_ENDS = 1500, PRINT = 3000, FORWARDED = 300 }; /* milliseconds */
    if (!qmpi_launcher_has_others())
        _exit(2);
    if (qmpi_launcher_reports()) {
        claim(message);
        nap(qmpi_launcher_pmi_socket() >= 0 ? FORWARDED : RANK_0_ENDS);
    } else {
        nap(LOOK);
        if (claim(message)) {
            nap(PRINT - LOOK);
            print_with_rank(message);
        }
        /* When a job is aborted, a launcher may drop output that it has not read yet. */
        nap(FORWARDED);
    }
    if (!abort_job())
        stop_by_signal();
    _exit(2);
}

/* ---- The host -------------------------------------------------------------------------------- */

#define HASH_BEGIN 1469598103934665603U

static uint64_t add_to_hash(uint64_t hash, const char *text, ssize_t length)
{
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211U;
    return hash;
}

uint64_t qmpi_launcher_host_number(void)
{
    char text[64] = "";
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text);
    if (file >= 0)
        close(file);
    return length > 0 ? add_to_hash(HASH_BEGIN, text, length) : 0;
}

uint64_t qmpi_launcher_clock_number(bool is_counter)
{
    char text[64] = "counter";
    const uint64_t host = qmpi_launcher_host_number();
    const ssize_t length = is_counter ? 7 : readlink("/proc/self/ns/time", text, sizeof text);
    return host ? add_to_hash(host, text, length) : 0;
}
