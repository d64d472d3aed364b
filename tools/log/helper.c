/* SPDX-License-Identifier: MIT */
/*
 * The program qmpi-helper, which libqmpi and the tool log start within an MPI call. Its first
 * argument is the task that it carries out.
 */
#include "tools/log/writer.h"
#include "util/util.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "cleanup"))
        return qmpi_cleanup_run(argc - 2, argv + 2);
    if (argc > 1 && !strcmp(argv[1], "write-log"))
        return log_writer_run();
    return 2;
}
