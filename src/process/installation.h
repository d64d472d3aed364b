/* SPDX-License-Identifier: MIT */
/* Where libqmpi is installed. */
#ifndef QMPI_PROCESS_INSTALLATION_H
#define QMPI_PROCESS_INSTALLATION_H

/* Returns the directory of the installed tools, which is next to libqmpi. */
const char *qmpi_installed_folder(void);

#endif
