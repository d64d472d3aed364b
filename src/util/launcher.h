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

/* Returns the rank of this process that the launcher set in the environment, or -1 if it set
 * none. */
int qmpi_launcher_rank(void);

/* Returns the number of processes that the launcher has started according to the environment, or -1
 * if it is unknown. */
int qmpi_launcher_size(void);

/* Returns the name of the batch system that started this process, such as "Slurm", and sets *size
 * to the number of processes that it started, or to -1 if that is unknown. Returns NULL if there is
 * no batch system. Process managers of MPI, which batch systems may start, do not count. */
const char *qmpi_launcher_batch(int *size);

/* Returns the MPI of the launcher that started this process: "mpich" or "openmpi". Returns NULL if
 * there is no launcher of an MPI, or if there are launchers of two MPIs, because it is unknown
 * which one started this process. */
const char *qmpi_launcher_mpi(void);

/* Makes qmpi_launcher_rank and qmpi_launcher_size read the variables again, for tests that have
 * changed them. */
void qmpi_launcher_forget(void);

/* Returns whether this process prints messages for its job: launcher rank 0, or no launcher. */
bool qmpi_launcher_reports(void);

/* Returns whether the launcher has started other processes with this one. Returns true if there is
 * a launcher but the number of processes is unknown. */
bool qmpi_launcher_has_others(void);

/* Returns the socket on which a process manager answers requests of PMI-1, or -1 if there is none.
 * This is the descriptor in PMI_FD. If Hydra runs with -pmi-port, it is a connection to that port,
 * which the first call makes. Returns -1 if Hydra does not accept the connection within 5 seconds,
 * or does not answer within 10 seconds. Async-signal-safe. */
int qmpi_launcher_pmi_socket(void);

/* Makes qmpi_launcher_pmi_socket return -1. Called if the MPI library does not use PMI-1. If the
 * variables about the socket are set, they are then from the launcher of another program, and the
 * descriptor may be used for something else by now. */
void qmpi_launcher_ignore_pmi(void);

/* Sends a request of PMI-1, and stores the line of the answer, without its end, in `answer`.
 * Returns false if no answer comes within 10 seconds, or if there is no room for it.
 * Async-signal-safe. */
bool qmpi_launcher_pmi_ask(int socket, const char *request, char *answer, size_t capacity);

/*
 * Ends the process with status 2, because of an error that it found before MPI_Init. Also ends the
 * job, because the other processes would wait for this one in MPI_Init. `message` describes the
 * error in lines that end with \n. The process with launcher rank 0 must have printed it before.
 * Another process prints it here, with its rank and host, unless rank 0 ends the job first because
 * of its own error, or another process of this host has printed the same message. If the port of
 * Hydra does not answer, a further message says so, and the process ends by SIGKILL instead.
 * Async-signal-safe.
 */
_Noreturn void qmpi_launcher_stop(const char *message);

/* ---- The host -------------------------------------------------------------------------------- */

/* Numbers that identify the host of a process, and its clock. */

/* Returns a number that is the same in all processes of a host, and most probably different on
 * other hosts. Returns 0 if it is unknown. */
uint64_t qmpi_launcher_host_number(void);

/*
 * Returns a number that is the same in all processes that read the same clock, or 0 if it is
 * unknown. If `is_counter` is true, the clock is the cycle counter of the host: the kernel uses
 * this counter only if it is synchronized on all processors. If `is_counter` is false, the clock is
 * CLOCK_MONOTONIC, which is the same within a time namespace. Copies of a virtual machine may have
 * equal numbers, so callers compare readings of both clocks if possible.
 */
uint64_t qmpi_launcher_clock_number(bool is_counter);

#endif
