/* SPDX-License-Identifier: MIT */
/*
 * run_rank SOCKET [NAME=VALUE]... PROGRAM [ARGUMENT]...
 *
 * Runs between the launcher and one rank of a test's job, so that the test can read the output and
 * the status of the rank directly, whatever the launcher reports. SOCKET is the abstract name of
 * the socket of tests/stack/job.py.
 *
 * The process that the launcher started only waits, and keeps the launcher's descriptors. Its child
 * starts the program, which the launcher can kill. Then the child leaves the session, so that the
 * launcher cannot kill the child itself. The child reports to the test how the program ended,
 * and waits for the test before it ends itself: a launcher kills all ranks as soon as it learns
 * that one has failed, and the other ranks may still have output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(127);
}

/* Ends in the same way as the program, so that the launcher sees the status of the program. */
static _Noreturn void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static int wait_for(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail("waitpid");
    return status;
}

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(name);
    if (length >= sizeof address.sun_path)
        fail(name);
    memcpy(address.sun_path + 1, name, length);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)))
        fail("the test's socket");
    return fd;
}

static void tell(int fd, const char *word, long number)
{
    char text[64];
    const int length = snprintf(text, sizeof text, "%s %ld", word, number);
    send(fd, text, (size_t)length, MSG_NOSIGNAL); /* if the test has ended, no error is reported */
}

/* Waits for the next message of the test. The first message contains the pipes for stdout and
 * stderr. Returns false if the test has closed the connection. */
static bool hear(int fd, int pipes[2])
{
    char text[8], control[CMSG_SPACE(2 * sizeof(int))];
    struct iovec data = {text, sizeof text};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) <= 0)
        return false;
    if (CMSG_FIRSTHDR(&message))
        memcpy(pipes, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
    return true;
}

/* Waits until the parent writes to the pipe `gate`. Then makes `pipes` stdout and stderr, sets the
 * variables with which `arguments` begins, and executes the program that follows them. Exits if the
 * parent closes the pipe `gate` instead. */
static _Noreturn void run(int gate, const int pipes[2], char **arguments)
{
    char byte;
    if (read(gate, &byte, 1) != 1)
        _exit(127);
    close(gate);
    dup2(pipes[0], STDOUT_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    for (; *arguments && strchr(*arguments, '=') && **arguments != '/'; arguments++)
        putenv(*arguments);
    execvp(arguments[0], arguments);
    fail(arguments[0]);
}

static int rank_here(void)
{
    const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return -1;
}

/* Closes the descriptors below 256 except two, and replaces those from 0 to 2 with /dev/null,
 * because the launcher waits for all processes that have its descriptors. */
static void close_all_but(int saved, int saved_too)
{
    const int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    for (int fd = 3; fd < 256; fd++)
        if (fd != saved && fd != saved_too)
            close(fd);
}

/* Waits until the program has ended, and returns its status. Kills the program if the test closes
 * the connection. */
static int watch(int fd, pid_t program, const sigset_t *child_ends)
{
    struct pollfd watched[2] = {{.fd = fd, .events = POLLIN},
                                {.fd = signalfd(-1, child_ends, SFD_CLOEXEC), .events = POLLIN}};
    int status;
    for (;;) {
        poll(watched, 2, -1);
        if (waitpid(program, &status, WNOHANG) == program)
            return status;
        if (watched[0].revents) {
            kill(program, SIGKILL);
            return wait_for(program);
        }
        struct signalfd_siginfo information;
        if (watched[1].revents && read(watched[1].fd, &information, sizeof information) < 0)
            fail("signalfd");
    }
}

/* The test decides when the program begins: no program may begin before all processes that run this
 * function are out of the launcher's reach. */
static int run_and_tell(char **arguments)
{
    int pipes[2], gate[2], ignored[2];
    const int fd = connect_to(arguments[0]);
    tell(fd, "rank", rank_here());
    if (!hear(fd, pipes) || pipe(gate))
        exit(127);
    sigset_t child_ends, before;
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ends, &before);
    const pid_t program = fork();
    if (program < 0)
        fail("fork");
    if (!program) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        close(gate[1]);
        run(gate[0], pipes, arguments + 1);
    }
    setsid();
    close_all_but(fd, gate[1]);
    tell(fd, "pid", program);
    if (!hear(fd, ignored) || write(gate[1], "", 1) != 1)
        kill(program, SIGKILL);
    const int status = watch(fd, program, &child_ends);
    tell(fd, "status", status);
    hear(fd, ignored);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s SOCKET [NAME=VALUE]... PROGRAM [ARGUMENT]...\n", argv[0]);
        return 2;
    }
    const pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (!child)
        end_as(run_and_tell(argv + 1));
    end_as(wait_for(child));
}
