/* SPDX-License-Identifier: Apache-2.0 */
/* pairwise.c - a greedy generator of covering arrays.
 *
 * Each row starts from the first pair that is not covered yet; every other
 * factor then takes the level that covers most open pairs with the ones that
 * stand (after Cohen, Dalal, Fredman, Patton: the AETG system, IEEE TSE 23(7),
 * 1997, with one candidate per row and no chance). */
#include "conformance/pairwise.h"

#include <stdbool.h>
#include <string.h>

#define OPEN 255 /* a factor of a row that has no level yet */

/* The pairs covered so far: covered[f][v][g][w] says whether some row has level
 * v of factor f and level w of g, and is kept for both orders of f and g. */
struct array {
    const unsigned char *levels; /* of each factor */
    int factors;
    size_t left; /* pairs not covered, each counted once */
    bool covered[PAIRWISE_FACTORS][PAIRWISE_LEVELS][PAIRWISE_FACTORS]
                [PAIRWISE_LEVELS];
};

/* How many open pairs would level v of factor f cover? */
static int gain(const struct array *a, const unsigned char *row, int f, int v)
{
    int n = 0;
    for (int g = 0; g < a->factors; g++)
        if (g != f && row[g] != OPEN)
            n += !a->covered[f][v][g][row[g]];
    return n;
}

/* The first open pair; false when there is none. */
static bool seed_row(const struct array *a, unsigned char *row)
{
    for (int f = 0; f < a->factors; f++)
        for (int v = 0; v < a->levels[f]; v++)
            for (int g = f + 1; g < a->factors; g++)
                for (int w = 0; w < a->levels[g]; w++)
                    if (!a->covered[f][v][g][w]) {
                        row[f] = (unsigned char)v;
                        row[g] = (unsigned char)w;
                        return true;
                    }
    return false;
}

/* Levels for the factors that have none yet, the first factor another one in
 * each row. */
static void pairwise_fill_row(const struct array *a, unsigned char *row,
                              size_t r)
{
    for (int i = 0; i < a->factors; i++) {
        int f = (int)((r + (size_t)i) % (size_t)a->factors), best = -1;
        if (row[f] != OPEN)
            continue;
        for (int j = 0; j < a->levels[f]; j++) {
            /* ties go to a level that moves with the row */
            int v = (int)((r * 7 + (size_t)j) % a->levels[f]);
            int n = gain(a, row, f, v);
            if (n > best) {
                best = n;
                row[f] = (unsigned char)v;
            }
        }
    }
}

/* Note the pairs of a row. */
static void pairwise_cover(struct array *a, const unsigned char *row)
{
    for (int f = 0; f < a->factors; f++)
        for (int g = f + 1; g < a->factors; g++) {
            bool *pair = &a->covered[f][row[f]][g][row[g]];
            a->left -= !*pair;
            *pair = true;
            a->covered[g][row[g]][f][row[f]] = true;
        }
}

/* Rows that are left over, from a linear congruential generator whose low bits
 * are too regular to be used. */
static void random_row(const struct array *a, unsigned char *row, size_t r)
{
    unsigned long x = 2463534242ul + (unsigned long)r;
    for (int f = 0; f < a->factors; f++) {
        x = (x * 1103515245ul + 12345ul) & 0x7ffffffful;
        row[f] = (unsigned char)((x >> 8) % a->levels[f]);
    }
}

size_t pairwise(const unsigned char *levels, int factors, unsigned char *row,
                size_t rows)
{
    static struct array a; /* half a megabyte */
    size_t took = rows + 1;
    memset(&a, 0, sizeof(a));
    a.levels = levels;
    a.factors = factors;
    for (int f = 0; f < factors; f++)
        for (int g = f + 1; g < factors; g++)
            a.left += (size_t)levels[f] * levels[g];
    for (size_t r = 0; r < rows; r++, row += factors) {
        if (a.left == 0 && took > rows)
            took = r;
        memset(row, OPEN, (size_t)factors);
        if (a.left > 0 && seed_row(&a, row))
            pairwise_fill_row(&a, row, r);
        else
            random_row(&a, row, r);
        pairwise_cover(&a, row);
    }
    return a.left == 0 && took > rows ? rows : took;
}
