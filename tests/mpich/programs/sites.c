/* SPDX-License-Identifier: MIT */
/* Calls MPI_Comm_size from 512 places, one after the other, and then once more from the same
 * places. */
#include <mpi.h>
#include <stdio.h>

#define ONE                                                                                        \
    MPI_Comm_size(MPI_COMM_WORLD, &size);                                                          \
    sum += size;
#define EIGHT ONE ONE ONE ONE ONE ONE ONE ONE
#define SIXTY_FOUR EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT

int main(void)
{
    int size = 0, sum = 0;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR SIXTY_FOUR
    }
    printf("calls %d\n", sum / size);
    MPI_Finalize();
    return 0;
}
