/* SPDX-License-Identifier: MIT */
/* The echo library's MPI_Pcontrol, and the expected arguments with which the layers and the echo
 * library compare those that they receive. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "pcontrol_words.h"
#include "witness.h"

#include <qmpi/qmpi.h>

#include <string.h>

long pcontrol_word(int index)
{
    return (long)(0x1122334455667788UL + 0x0101010101010101UL * (unsigned long)index);
}

double pcontrol_real(int index)
{
    return 1.0 / 3.0 + index;
}

void pcontrol_compare(int level, const long *words, const long *more, const double *reals)
{
    const int count = level == PCONTROL_MANY ? 16 : level == PCONTROL_FULL ? 8 : 0;
    if (level == PCONTROL_NAME && strcmp((const char *)words[0], "name") != 0)
        witness_wrong("the name does not arrive");
    for (int i = 0; i < count; i++) {
        const long expected = pcontrol_word(i), *word = i < 8 ? &words[i] : &more[i - 8];
        if (memcmp(word, &expected, i % 2 ? sizeof(int) : sizeof(long)) != 0)
            witness_wrong("word %d is %#lx, not %#lx", i + 1, *word, expected);
    }
    for (int i = 0; i < 8 && (level == PCONTROL_FULL || level == PCONTROL_REALS); i++) {
        const double expected = pcontrol_real(i);
        if (memcmp(&reals[i], &expected, sizeof expected) != 0)
            witness_wrong("double %d is %a, not %a", i + 1, reals[i], expected);
    }
    if (level < PCONTROL_NOTHING || level > PCONTROL_FULL)
        witness_wrong("the level is %d", level);
}

QMPIX_PCONTROL_READER int PMPI_Pcontrol(const int level, ...)
{
    QMPIX_Pcontrol_words words;
    int result;
    QMPIX_PCONTROL_READ(words, level);
    witness_arrive(0, "MPI_Pcontrol");
    pcontrol_compare(level, words.word, words.more, words.real);
    witness_answer(0, &result, sizeof result);
    return result;
}

int MPI_Pcontrol(const int level, ...) __attribute__((weak, alias("PMPI_Pcontrol")));
