/* SPDX-License-Identifier: MIT */
/* The calls and the interceptor of MPI_Pcontrol for the test that calls every entry. */
#include "pcontrol_words.h"

#include "every_entry.h"

QMPIX_PCONTROL_READER int layer_Pcontrol(QMPI_Context context, const int level, ...)
{
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    const int place = arrive(context, MPI_PCONTROL_T);
    pcontrol_compare(level, words.word, words.more, words.real);
    int result = QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                               QMPIX_PCONTROL_PASS(words));
    witness_result(place, &result, sizeof result);
    witness_answer(place, &result, sizeof result);
    return result;
}

static int call_form(int level, int (*pcontrol)(const int, ...))
{
    switch (level) {
    case PCONTROL_NOTHING:
        return pcontrol(level);
    case PCONTROL_NAME:
        return pcontrol(level, "name");
    case PCONTROL_REALS:
        return pcontrol(level, pcontrol_real(0), pcontrol_real(1), pcontrol_real(2),
                        pcontrol_real(3), pcontrol_real(4), pcontrol_real(5), pcontrol_real(6),
                        pcontrol_real(7));
    case PCONTROL_MANY:
        return pcontrol(level, pcontrol_word(0), (int)pcontrol_word(1), (void *)pcontrol_word(2),
                        (int)pcontrol_word(3), pcontrol_word(4), (int)pcontrol_word(5),
                        (void *)pcontrol_word(6), (int)pcontrol_word(7), pcontrol_word(8),
                        (int)pcontrol_word(9), (void *)pcontrol_word(10), (int)pcontrol_word(11),
                        pcontrol_word(12), (int)pcontrol_word(13), (void *)pcontrol_word(14),
                        (int)pcontrol_word(15));
    default:
        return pcontrol(level, pcontrol_word(0), pcontrol_real(0), (int)pcontrol_word(1),
                        pcontrol_real(1), (void *)pcontrol_word(2), pcontrol_real(2),
                        (int)pcontrol_word(3), pcontrol_real(3), pcontrol_word(4), pcontrol_real(4),
                        (int)pcontrol_word(5), pcontrol_real(5), (void *)pcontrol_word(6),
                        pcontrol_real(6), (int)pcontrol_word(7), pcontrol_real(7));
    }
}

static void call_and_look(int level, bool pmpi)
{
    const int result = call_form(level, pmpi ? PMPI_Pcontrol : MPI_Pcontrol);
    witness_result(WITNESS_APPLICATION, &result, sizeof result);
}

void call_Pcontrol(bool pmpi)
{
    call_and_look(PCONTROL_FULL, pmpi);
}

void check_pcontrol_forms(void)
{
    static const char *const names[] = {"MPI_Pcontrol(level)", "MPI_Pcontrol(level, name)",
                                        "MPI_Pcontrol(level, 8 doubles)",
                                        "MPI_Pcontrol(level, 16 words)"};
    for (int level = PCONTROL_NOTHING; level < PCONTROL_FULL; level++) {
        witness_begin("MPI_Pcontrol", layer_count(), 1);
        call_and_look(level, false);
        report(witness_end() == 0, names[level]);
    }
}
