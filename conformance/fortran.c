/* SPDX-License-Identifier: MIT */
/* The function that program.F90 calls between its MPI calls; the stack is alpha:beta. */
#define _GNU_SOURCE
#include "report.h"
#include "tools.h"
#include <dlfcn.h>

static const char *binding(const char *rest)
{
    static char name[64];
    snprintf(name, sizeof name, "%s.%s",
             (const char *[]){"", "mpif", "use_mpi", "mpi_f08"}[BINDING], rest);
    return name;
}

static int in_program(const Event *event)
{
    Dl_info here, there;
    return event && event->address && dladdr((void *)(size_t)binding, &here) &&
           dladdr(event->address, &there) && here.dli_fbase == there.dli_fbase;
}

void fortran_check(int step, int value);
void fortran_check(int step, int value)
{
    switch (step) {
    case 1:
        report(binding("init"), init_count == 2 && entered(0, MPI_INIT_T) == 2,
               "%d layers, %d calls", init_count, entered(0, MPI_INIT_T));
        break;
    case 2:
        report(binding("comm_rank"), value == 0 && entered(1, MPI_COMM_RANK_T) == 1, "%d calls",
               entered(1, MPI_COMM_RANK_T));
        break;
    case 3:
        report(binding("once_each"), entered(1, MPI_BCAST_T) == 1 && entered(2, MPI_BCAST_T) == 1,
               "%d and %d calls", entered(1, MPI_BCAST_T), entered(2, MPI_BCAST_T));
        report(binding("arguments"),
               last_entered(1, MPI_BCAST_T) && last_entered(1, MPI_BCAST_T)->first == 1,
               "another count");
        break;
    case 4:
        report(binding("in_place"),
               value == 5 && last_entered(2, MPI_ALLREDUCE_T) &&
                   last_entered(2, MPI_ALLREDUCE_T)->second,
               "not MPI_IN_PLACE of C");
        break;
    case 5:
        report(binding("status_ignore"),
               value == 5 && last_entered(2, MPI_RECV_T) && last_entered(2, MPI_RECV_T)->second,
               "not MPI_STATUS_IGNORE of C");
        break;
    case 6:
        report(binding("results"), value == 4 && entered(2, MPI_TYPE_SIZE_T) == 1, "size %d",
               value);
        break;
    case 7:
        report(binding("error_code"), value == 1 && entered(1, MPI_BCAST_T) == 2, "lost");
        break;
    case 8:
        report(binding("pcontrol"), pcontrols[1].level == 4 && pcontrols[2].level == 4, "level %d",
               pcontrols[1].level);
        break;
    case 9:
        report(binding("finalize"), value == MPI_SUCCESS && entered(1, MPI_FINALIZE_T) == 1,
               "%d calls", entered(1, MPI_FINALIZE_T));
        ask_addresses = 1;
        break;
    default:
        report(binding("binding"),
               last_entered(1, MPI_FINALIZED_T) && last_entered(2, MPI_FINALIZED_T) &&
                   last_entered(1, MPI_FINALIZED_T)->binding ==
                       (BINDING == 3 ? DRAFT_BINDING_F08 : DRAFT_BINDING_FORTRAN) &&
                   last_entered(2, MPI_FINALIZED_T)->binding ==
                       last_entered(1, MPI_FINALIZED_T)->binding,
               "%d",
               last_entered(1, MPI_FINALIZED_T) ? last_entered(1, MPI_FINALIZED_T)->binding : -1);
        report(binding("address"), in_program(last_entered(1, MPI_FINALIZED_T)), "%p",
               last_entered(1, MPI_FINALIZED_T) ? last_entered(1, MPI_FINALIZED_T)->address : NULL);
    }
}
