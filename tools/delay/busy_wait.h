/* SPDX-License-Identifier: MIT */
/* How delay spends time: in delays of a given length, and in the detours of noise. */
#ifndef QMPI_TOOL_DELAY_BUSY_WAIT_H
#define QMPI_TOOL_DELAY_BUSY_WAIT_H

#include "rule.h"

/* At least so many nanoseconds, by spinning or sleeping as the rule says. */
void spend(struct rule *rule, uint64_t nanoseconds);

/*
 * Noise as it hits a computation: a detour of some length in each period of the time that the
 * process spends outside MPI. Nobody interrupts the program for it: the detours that fall between
 * two MPI calls of a thread are made up for at the second, so that it arrives as late. What falls
 * into waiting inside MPI costs nothing, as it mostly does.
 */
void spend_noise(struct rule *rule); /* before a call */
void spend_leave(struct rule *rule); /* after it */

#endif
