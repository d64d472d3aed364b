/* SPDX-License-Identifier: MIT */
/* Where libqmpi is installed. */
#ifndef QMPI_PROCESS_INSTALLATION_H
#define QMPI_PROCESS_INSTALLATION_H

/* The folder of the installed tools, beside libqmpi. */
const char *qmpi_installed_folder(void);

#endif
