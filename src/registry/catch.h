/* SPDX-License-Identifier: MIT */
/*
 * Calls a function of a tool and catches its exceptions, which would leave locks of libqmpi and of
 * the loader held.
 */
#ifndef QMPI_REGISTRY_CATCH_H
#define QMPI_REGISTRY_CATCH_H

/*
 * Calls function(argument). Returns NULL if the function returned. If it threw an exception of C++
 * or another language, destroys the exception and returns its type as text, which the caller frees.
 * `code` is an address in the tool; the C++ runtime is found through the libraries of the tool.
 */
char *qmpi_catch(void (*function)(int), int argument, const void *code);

#endif
