/* SPDX-License-Identifier: MIT */
/*
 * What the launcher of a job says of this process, and how a process ends the job before MPI is
 * initialized. There is one table of launchers, in launcher.c.
 */
#ifndef QMPI_UTIL_LAUNCHER_H
#define QMPI_UTIL_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the rank of this process that the launcher set in the environment; -1: none. */
int qmpi_launcher_rank(void);

/* Returns the number of processes that the launcher says to have started; -1: it does not say. */
int qmpi_launcher_size(void);

/* Returns the name of the batch system that started this process, such as "Slurm", and sets *size
 * to the number of processes that it started with it, or to -1; NULL: none. Process managers of
 * MPI, which batch systems may start, are not meant. */
const char *qmpi_launcher_batch(int *size);

/* Returns the MPI of the launcher that started this process, as a value of -Dmpi. NULL: there is no
 * launcher of an MPI, or there are launchers of two MPIs, and it is not known which is nearer. */
const char *qmpi_launcher_mpi(void);

/* The variables are read again the next time: a test has changed them. */
void qmpi_launcher_forget(void);

/* Whether this process prints messages for its job: launcher rank 0, or no launcher. */
bool qmpi_launcher_reports(void);

/* Whether the launcher has started other processes with this one, as far as is known. */
bool qmpi_launcher_has_others(void);

/* Returns the socket on which a process manager answers requests of PMI-1; -1: there is none. It is
 * that of PMI_FD; if Hydra runs with -pmi-port, it is a connection to that port, which is made
 * once. Returns -1 if this takes more than some seconds. Async-signal-safe. */
int qmpi_launcher_pmi_socket(void);

/* The MPI library does not use PMI-1: what the environment says of the socket is what the launcher
 * of another program has left there, and the descriptor may be anybody's by now. */
void qmpi_launcher_ignore_pmi(void);

/* Sends a request of PMI-1, and reads the answer, one line without its end, into `answer`. Returns
 * false if there is no answer within 10 seconds or no room for it. Async-signal-safe. */
bool qmpi_launcher_pmi_ask(int socket, const char *request, char *answer, size_t capacity);

/*
 * Ends the process with status 2 because of an error that it found before MPI_Init, and the job
 * with it: the other processes would wait for this one in MPI_Init. `message` is what the error is,
 * in lines that end with \n. The process with launcher rank 0 has printed it; another process
 * prints it with its rank and host, unless rank 0 has ended the job by then because it has an error
 * of its own, or a process of this host has printed the same. If the port of Hydra does not answer,
 * a further message says so, and the process ends by SIGKILL instead. Async-signal-safe.
 */
_Noreturn void qmpi_launcher_stop(const char *message);

/* ---- The host -----------------------------------------------------------------------------------
 */

/* Numbers that are the same in processes that run on one host, and that read one clock. */

/* A number that is the same in processes of a host, and most likely no other; 0: not known. */
uint64_t qmpi_launcher_host_number(void);

/*
 * The same for processes that read one clock. Cycle counters of a host are synchronized, or the
 * kernel does not use them; CLOCK_MONOTONIC is one in each time namespace. 0: not known. Copies of
 * one virtual machine may have equal numbers: whoever can, makes sure by a reading of both clocks.
 */
uint64_t qmpi_launcher_clock_number(bool is_counter);

#endif
