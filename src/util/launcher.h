/* SPDX-License-Identifier: MIT */
/*
 * The data that the launcher of a job provides about this process, and how a process ends the job
 * before MPI is initialized. The table of launchers is in launcher.c.
 */
#ifndef QMPI_UTIL_LAUNCHER_H
#define QMPI_UTIL_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the rank of this process that the launcher set in the environment; -1: none. */
int qmpi_launcher_rank(void);

/* Returns the number of processes that the launcher has started according to the environment; -1:
 * unknown. */
int qmpi_launcher_size(void);

/* Returns the name of the batch system that started this process, such as "Slurm", and sets *size
 * to the number of processes that it started with it, or to -1; NULL: none. Process managers of
 * MPI, which batch systems may start, do not count. */
const char *qmpi_launcher_batch(int *size);

/* Returns the MPI of the launcher that started this process, as a value of -Dmpi. NULL: there is
 * no launcher of an MPI, or there are launchers of two MPIs and it is unknown which one is nearer.
 */
const char *qmpi_launcher_mpi(void);

/* Makes the next call read the variables again, for tests that have changed them. */
void qmpi_launcher_forget(void);

/* Whether this process prints messages for its job: launcher rank 0, or no launcher. */
bool qmpi_launcher_reports(void);

/* Whether the launcher has started other processes with this one, as far as is known. */
bool qmpi_launcher_has_others(void);

/* Returns the socket on which a process manager answers requests of PMI-1; -1: there is none. It is
 * that of PMI_FD; if Hydra runs with -pmi-port, it is a connection to that port, which is made
 * once. Returns -1 if this takes more than some seconds. Async-signal-safe. */
int qmpi_launcher_pmi_socket(void);

/* Called if the MPI library does not use PMI-1. The variables about the socket were then left by
 * the launcher of another program, and the descriptor may be used for something else by now. */
void qmpi_launcher_ignore_pmi(void);

/* Sends a request of PMI-1, and reads the answer, one line without its end, into `answer`. Returns
 * false if there is no answer within 10 seconds or no room for it. Async-signal-safe. */
bool qmpi_launcher_pmi_ask(int socket, const char *request, char *answer, size_t capacity);

/*
 * Ends the process with status 2 because of an error that it found before MPI_Init, and the job
 * with it: the other processes would wait for this one in MPI_Init. `message` describes the error
 * in lines that end with \n. The process with launcher rank 0 has printed it; another process
 * prints it with its rank and host, unless rank 0 has already ended the job because of its own
 * error, or another process of this host has printed the same message. If the port of Hydra does
 * not answer, a further message says so, and the process ends by SIGKILL instead.
 * Async-signal-safe.
 */
_Noreturn void qmpi_launcher_stop(const char *message);

/* ---- The host -----------------------------------------------------------------------------------
 */

/* Numbers that identify the host of a process, and its clock. */

/* Returns a number that is the same in all processes of a host, and most probably different on
 * other hosts; 0: unknown. */
uint64_t qmpi_launcher_host_number(void);

/*
 * Returns a number that is the same in all processes that read the same clock; 0: unknown. Cycle
 * counters of a host are synchronized, or the kernel does not use them; CLOCK_MONOTONIC is the same
 * within a time namespace. Copies of a virtual machine may have equal numbers, so callers compare
 * readings of both clocks if possible.
 */
uint64_t qmpi_launcher_clock_number(bool is_counter);

#endif
