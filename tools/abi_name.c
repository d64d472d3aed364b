/* SPDX-License-Identifier: MIT */
/* The library qmpi-abi.module: it has only a name, and needs libqmpi. See open_abi_name
 * in src/startup/startup.c. */
typedef int qmpi_nothing;
