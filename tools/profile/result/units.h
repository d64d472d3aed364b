/* SPDX-License-Identifier: MIT */
/* Formats figures, usually with three digits, and with a unit except for percentages. Each text
 * stays valid until the sixteenth further call in the same thread, so that one printf can use
 * several texts. */
#ifndef QMPI_PROFILE_UNITS_H
#define QMPI_PROFILE_UNITS_H

/* Returns a time such as "0", "17 ns", "1.25 us", "340 ms", "12.3 s" or "86400 s". */
const char *units_time(double seconds);

/* Returns a number of bytes such as "0", "512 B", "1.50 KiB" or "16.0 EiB". */
const char *units_bytes(double bytes);

/* Returns part / whole in percent, such as "12.3"; "-" if `whole` is 0. */
const char *units_percent(double part, double whole);

#endif
