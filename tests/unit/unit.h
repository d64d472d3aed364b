/* SPDX-License-Identifier: MIT */
/* The header of every unit test: it includes cmocka, and the headers that must precede it. */
#ifndef QMPI_TEST_UNIT_H
#define QMPI_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
