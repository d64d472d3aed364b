/* SPDX-License-Identifier: MIT */
/* The library that the tool opens to write a page in HTML: see profile.h. */
#include "tools/profile/result/profile.h"

#include <qmpi/qmpi.h>

QMPI_API profile_html_find profile_html_find_writer;

profile_html_writer *profile_html_find_writer(void)
{
    return profile_html_is_supported() ? profile_html_write : NULL;
}
