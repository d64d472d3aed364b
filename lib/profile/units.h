/* SPDX-License-Identifier: MIT */
/* Formats figures with three digits and a unit. For use in one printf: each text stays valid until
 * sixteen further calls in the same thread. */
#ifndef QMPI_PROFILE_UNITS_H
#define QMPI_PROFILE_UNITS_H

/* "0", "17 ns", "1.25 us", "340 ms", "12.3 s", "86400 s". */
const char *units_time(double seconds);

/* "0", "512 B", "1.50 KiB", … "16.0 EiB". */
const char *units_bytes(double bytes);

/* "12.3", of a share between 0 and 1 in percent; "-" where `whole` is 0. */
const char *units_percent(double part, double whole);

#endif
