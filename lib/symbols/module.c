/* SPDX-License-Identifier: MIT */
/* This is the library that libqmpi opens to describe addresses (see sites/sites.h). */
#define _GNU_SOURCE
#include "sites/sites.h"

#include "symbols/symbols.h"

QMPI_API qmpi_sites_symbol_finder qmpi_symbols_find;
QMPI_API qmpi_sites_symbol_closer qmpi_symbols_close;

int qmpi_symbols_find(const char *library, size_t offset, QMPIX_Frame **frames)
{
    return symbols_find_in(library, offset, frames);
}

void qmpi_symbols_close(void)
{
    symbols_close();
}
