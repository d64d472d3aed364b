/* SPDX-License-Identifier: MIT */
/* The library that `profile` opens to write a page in HTML: see html_module.h. */
#include "profile/html_module.h"

#include "profile/html.h"

#include <stddef.h>

QMPI_API profile_html_find profile_html_find_writer;

profile_html_writer *profile_html_find_writer(void)
{
    return profile_html_is_supported() ? profile_write_html : NULL;
}
