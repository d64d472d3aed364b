/* SPDX-License-Identifier: MIT */
/* Prints the name of libqmpi's clock, and the duration of a reading in nanoseconds. */
#include <qmpi/clock.h>

#include <stdio.h>

int main(void)
{
    QMPIX_Clock_info info = {.size = sizeof info};
    if (QMPIX_Clock_get_info(&info) != MPI_SUCCESS)
        return 1;
    printf("%s %.2f\n", info.name, info.cost);
    return 0;
}
