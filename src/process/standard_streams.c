/* SPDX-License-Identifier: MIT */
/*
 * stdout and stderr are recorded when libqmpi is loaded, before the program can close them and get
 * their numbers for its own files: see util/output.h. QMPIX_Standard_write lets tools write to
 * them.
 */
#include "util/util.h"

#include <qmpi/qmpi.h>

/* stderr is duplicated only in ranks, where it leads to the launcher; other processes that load
 * libqmpi may never call MPI. */
__attribute__((constructor)) static void record_streams(void)
{
    qmpi_output_standard_note(qmpi_launcher_rank() >= 0);
}

size_t QMPIX_Standard_write(int descriptor, const void *bytes, size_t length)
{
    return qmpi_output_standard_write_here(descriptor, bytes, length);
}
