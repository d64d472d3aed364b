/* SPDX-License-Identifier: MIT */
/* The library qmpi-abi.module: it has only a name, and needs libqmpi. See src/loader/abi_name.h. */
typedef int qmpi_nothing;
