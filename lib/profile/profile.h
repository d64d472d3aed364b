/* SPDX-License-Identifier: MIT */
/* The result of a profile. */
#ifndef QMPI_PROFILE_PROFILE_H
#define QMPI_PROFILE_PROFILE_H

/* In memory. */
#include "profile/combine.h"
#include "profile/comparison.h"
#include "profile/efficiency.h"
#include "profile/filter.h"
#include "profile/findings.h"
#include "profile/frames.h"
#include "profile/merge.h"
#include "profile/merge_parts.h"
#include "profile/result.h"
#include "profile/windows.h"

/* As a file, or as text. */
#include "profile/atomic_file.h"
#include "profile/compare_print.h"
#include "profile/csv.h"
#include "profile/format.h"
#include "profile/html.h"
#include "profile/html_module.h"
#include "profile/json.h"
#include "profile/text.h"
#include "profile/units.h"

#endif
