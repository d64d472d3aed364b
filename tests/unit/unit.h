/* SPDX-License-Identifier: MIT */
/* For unit tests: includes cmocka, and the headers that must precede cmocka. */
#ifndef QMPI_TEST_UNIT_H
#define QMPI_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
