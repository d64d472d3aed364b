/* SPDX-License-Identifier: MIT */
/* The library qmpi-abi.module. It contains no code, and only exists to have this name and need
 * libqmpi. See open_abi_name in src/startup/startup.c. */
typedef int qmpi_nothing;
