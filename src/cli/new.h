/* SPDX-License-Identifier: MIT */
/* The templates of qmpi new: the files of new/, made C by new/embed.py. */
#ifndef QMPI_CLI_NEW_H
#define QMPI_CLI_NEW_H

struct cli_template {
    const char *name;         /* of the file in new/ */
    const char *const *lines; /* each with its end; NULL ends them */
};

/* Ends with a NULL name. */
extern const struct cli_template cli_templates[];

#endif
