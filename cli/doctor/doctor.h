/* SPDX-License-Identifier: MIT */
/* These are the parts of qmpi doctor. Each part examines a subject and prints findings, each of
 * which says that something is in order, notes something, or reports a problem with a hint. */
#ifndef QMPI_CLI_DOCTOR_DOCTOR_H
#define QMPI_CLI_DOCTOR_DOCTOR_H

#include <stdbool.h>

/* ---- Findings, in findings.c ----------------------------------------------------------------- */

/* These functions print a heading or a finding. The last line of a note or a problem may start with
 * `hint: `. */
void doctor_heading(const char *text);
void doctor_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether a problem with this first line has been printed. */
bool doctor_has_reported(const char *line);

/* Returns the number of problems found so far. */
int doctor_count_wrong(void);

/* ---- The stack, in stack.c ------------------------------------------------------------------- */

/* Builds the stack in another process and reports its layers and problems. */
void doctor_look_at_stack(void);

/* Returns whether the stack has an entry for this library. */
bool doctor_is_listed(const char *path);

/* Reports the layers that do not start in a program that initializes MPI only by this function.
 * doctor_look_at_stack must have been called. */
void doctor_check_start(const char *function);

/* ---- The program, in program.c --------------------------------------------------------------- */

/* Reports whether preloading can reach the program, which MPI library it would get, and how it
 * calls MPI. The program does not run. */
void doctor_look_at_program(const char *name);

#endif
