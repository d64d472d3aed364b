/* SPDX-License-Identifier: MIT */
/* Shortens the names of functions in C++, which may have hundreds of characters. */
#ifndef QMPI_PROFILE_NAMES_H
#define QMPI_PROFILE_NAMES_H

#include <stddef.h>

/*
 * Returns a name of at most `most` bytes, which the caller frees. If the name is longer, the
 * arguments of templates are left out first: "grid::halo<...>::exchange(std::vector<...> const&)".
 * If the name is still too long, its end is left out. Returns NULL if memory is exhausted.
 */
char *names_shorten(const char *name, size_t most);

#endif
