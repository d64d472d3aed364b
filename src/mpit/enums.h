/* SPDX-License-Identifier: MIT */
/* Enumerations that layers created. */
#ifndef QMPI_MPIT_ENUMS_H
#define QMPI_MPIT_ENUMS_H

#include <qmpi/mpit.h>

/* The merged functions of these names, which replace those of the library. */
int qmpi_mpit_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len);
int qmpi_mpit_enum_get_item(MPI_T_enum enumtype, int index, int *value, char *name, int *name_len);

#endif
