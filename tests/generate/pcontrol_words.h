/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a test's call of MPI_Pcontrol. As in real use, `level` tells which arguments
 * follow. The layers and the echo library compare what they receive with the same values.
 */
#ifndef QMPI_TEST_PCONTROL_WORDS_H
#define QMPI_TEST_PCONTROL_WORDS_H

enum {
    PCONTROL_NOTHING = 0, /* (level) */
    PCONTROL_NAME = 1,    /* (level, "name") */
    PCONTROL_REALS = 2,   /* (level, 8 doubles) */
    PCONTROL_MANY = 3,    /* (level, 16 words): long or pointers at even indices, int at odd ones */
    PCONTROL_FULL = 4,    /* (level, 8 words and 8 doubles in turn): words as above */
};

/* Compares the arguments that a place received with those that `level` requires, and reports
 * differences at the place where the call arrived last. `words` has the first 8 words, `more` the
 * other 8 words, and `reals` the 8 doubles. */
__attribute__((visibility("default"))) void pcontrol_compare(int level, const long *words,
                                                             const long *more, const double *reals);

/* The words and doubles of the forms above: distinctive values with every byte set. */
__attribute__((visibility("default"))) long pcontrol_word(int index);
__attribute__((visibility("default"))) double pcontrol_real(int index);

#endif
