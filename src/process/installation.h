/* SPDX-License-Identifier: MIT */
/* The installation of libqmpi. */
#ifndef QMPI_PROCESS_INSTALLATION_H
#define QMPI_PROCESS_INSTALLATION_H

/* Returns the directory of the installed tools, which is next to libqmpi. */
const char *qmpi_installation_folder(void);

/* Returns the path of a file that is installed with libqmpi: in the directory of the installed
 * tools or, if the file is not there, in the directory of the tools for all MPI libraries
 * (qmpi-abi), which is beside it. The caller frees the path. */
char *qmpi_installation_find(const char *name);

/* The directories of the installed tools and of the site's configuration files: absolute in
 * libqmpi.a, otherwise relative to the directory of libqmpi.so. They are defined in
 * linkage.c.in. */
extern const char qmpi_tools_folder[] __attribute__((visibility("hidden")));
extern const char qmpi_config_folder[] __attribute__((visibility("hidden")));

#endif
