/* SPDX-License-Identifier: MIT */
/* What every unit test includes: cmocka, with the headers that it wants before it. */
#ifndef QMPI_TEST_UNIT_H
#define QMPI_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
