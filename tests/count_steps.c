/* SPDX-License-Identifier: MIT */
/*
 * count_steps PROGRAM ARGUMENTS…: runs a program that raises SIGURG in its main thread at the
 * beginning and at the end of each section to be measured. Prints one line for each section, with
 * the number of instructions that the main thread executed in it. The kernel executes the sections
 * in single steps. The rest of the program runs at full speed, whereas valgrind would translate all
 * of it. The exit status is that of the program, or 128 + N if signal N has ended it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
    fprintf(stderr, "count_steps: %s: %s\n", what, strerror(errno));
    return 1;
}

static int run(char **argv)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        execvp(argv[0], argv);
    return fail(argv[0]);
}

/* Lets the program continue until it ends or stops again, which it does after one instruction if
 * `counting` is true. First delivers `signal` to the program, unless `signal` is 0. Sets `*status`
 * as waitpid does. Returns false if a system call fails. */
static bool resume(pid_t program, bool counting, int signal, int *status)
{
    return ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, program, NULL, (long)signal) == 0 &&
           waitpid(program, status, 0) == program;
}

static int follow(pid_t program)
{
    bool counting = false;
    long steps = 0;
    int status = 0;
    if (waitpid(program, &status, 0) != program)
        return fail("waitpid");
    while (WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == SIGURG) {
            if (counting)
                printf("%ld\n", steps);
            counting = !counting;
            steps = 0;
        }
        steps += signal == SIGTRAP;
        if (signal == SIGURG || signal == SIGTRAP)
            signal = 0;
        if (!resume(program, counting, signal, &status))
            return fail("ptrace");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: count_steps PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    const pid_t program = fork();
    if (program < 0)
        return fail("fork");
    return program ? follow(program) : run(argv + 1);
}
