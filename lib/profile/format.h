/* SPDX-License-Identifier: MIT */
/* The formats of a result. */
#ifndef QMPI_PROFILE_FORMAT_H
#define QMPI_PROFILE_FORMAT_H

enum profile_format { PROFILE_TEXT, PROFILE_JSON, PROFILE_CSV, PROFILE_HTML };

/* Their names; NULL after the last one. */
extern const char *const profile_format_names[];

/* Returns the format that the end of a file's name tells (.json, .csv, .html); of others, and of
 * NULL, text. */
enum profile_format profile_format_of(const char *path);

#endif
