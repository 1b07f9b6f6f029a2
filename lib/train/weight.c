/* SPDX-License-Identifier: Apache-2.0 */
/* weight.c - each rank's rows of a common batch, and the weight of its passes.
 *
 * The step divides the sum of all passes by their number. A pass is therefore
 * weighted by a factor on its loss: its share of the batch times the number of
 * ranks. If all shares are equal, the factor is 1 and no multiplication
 * happens. The result is then bit-identical to a group without weights. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"
#include "lib/train/trainer.h"

#include "lib/core/base/fpenv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Characters per weight: the digits of its bits, and a space. */
#define DIGITS 17

static double rank_weight(const ssq_trainer *t, unsigned rank)
{
    return t->weights == NULL ? 1.0 : t->weights[rank];
}

/* Return the sum of the weights of the first n ranks. */
static double sum_rank_weights(const ssq_trainer *t, unsigned n)
{
    double sum = 0.0;
    for (unsigned r = 0; r < n; r++)
        sum += rank_weight(t, r);
    return sum;
}

double trainer_default_weight(const ssq_trainer *t)
{
    if (t->weights == NULL)
        return 1.0;
    struct fpenv env = fpenv_enter();
    unsigned size = ssq_comm_size(t->comm);
    double weight =
        t->weights[ssq_comm_rank(t->comm)] * size / sum_rank_weights(t, size);
    fpenv_leave(env);
    return weight;
}

static ssq_status check_rank_weights(const char *what, const double *weights,
                                     unsigned size)
{
    for (unsigned r = 0; r < size; r++)
        if (!(weights[r] >= 1e-6 && weights[r] <= 1e6))
            return error_set(SSQ_ERR_INVALID,
                             "%s: the weight of rank %u is %g, expected "
                             "1e-6..1e6",
                             what, r, weights[r]);
    return SSQ_OK;
}

ssq_status trainer_set_weights(ssq_trainer *t, const char *what,
                               const double *weights)
{
    unsigned size = ssq_comm_size(t->comm);
    if (weights == NULL)
        return SSQ_OK;
    if (t->comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: weights without comm", what);
    ssq_status st = check_rank_weights(what, weights, size);
    if (st != SSQ_OK)
        return st;
    double *copy = mem_alloc_array(size, sizeof(*copy));
    if (copy == NULL)
        return error_nomem(what, size * sizeof(*copy));
    memcpy(copy, weights, size * sizeof(*copy));
    mem_free(t->weights);
    t->weights = copy;
    t->weight = trainer_default_weight(t);
    return SSQ_OK;
}

/* ---- shares ---- */

/* Return the first row of the rank that follows ranks of total weight
 * `before`. */
static int64_t first_row_after(int64_t rows, double before, double all)
{
    return (int64_t)floor((double)rows * before / all + 0.5);
}

ssq_status trainer_check_rows(const char *what, int64_t rows)
{
    return rows >= 0 && rows <= TRAINER_ROWS
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "%s: rows is %lld, expected 0..2^50", what,
                           (long long)rows);
}

void trainer_set_weight_by_rows(ssq_trainer *t, int64_t rows, int64_t all)
{
    double size = t->comm == NULL ? 1.0 : ssq_comm_size(t->comm);
    struct fpenv env = fpenv_enter();
    t->weight = all == 0 ? 0.0 : (double)rows * size / (double)all;
    fpenv_leave(env);
}

ssq_status ssq_trainer_share(ssq_trainer *trainer, int64_t rows, int64_t *begin,
                             int64_t *end)
{
    static const char what[] = "trainer_share";
    if (trainer == NULL || begin == NULL || end == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         trainer == NULL ? "trainer"
                         : begin == NULL ? "begin"
                                         : "end");
    ssq_status st = trainer_check_rows(what, rows);
    if (st != SSQ_OK)
        return st;
    unsigned rank = ssq_comm_rank(trainer->comm);
    unsigned size = trainer->comm == NULL ? 1 : ssq_comm_size(trainer->comm);
    struct fpenv env = fpenv_enter();
    double all = sum_rank_weights(trainer, size);
    *begin = first_row_after(rows, sum_rank_weights(trainer, rank), all);
    *end =
        rank + 1 == size
            ? rows
            : first_row_after(rows, sum_rank_weights(trainer, rank + 1), all);
    fpenv_leave(env);
    if (rows > 0)
        trainer_set_weight_by_rows(trainer, *end - *begin, rows);
    return SSQ_OK;
}

ssq_var trainer_weight_loss(const ssq_trainer *t, ssq_var loss)
{
    if (t->weight == 1.0)
        return loss;
    (void)ssq_var_tensor(loss); /* it is reported: keep it after the backward */
    return ssq_scale_var_at("trainer_step", loss,
                            SSQ_SCALE(.alpha = t->weight));
}

/* ---- in files ---- */

/* Write the bits of the weights, because decimals depend on the program's
 * locale. */
ssq_status trainer_write_weights(const ssq_trainer *t, char **text)
{
    unsigned size = ssq_comm_size(t->comm);
    *text = NULL;
    if (t->weights == NULL)
        return SSQ_OK;
    *text = mem_alloc_array(size, DIGITS);
    if (*text == NULL)
        return error_nomem("trainer_save", size * (size_t)DIGITS);
    for (unsigned r = 0; r < size; r++) {
        uint64_t bits;
        memcpy(&bits, &t->weights[r], sizeof(bits));
        (void)snprintf(*text + (size_t)r * DIGITS, DIGITS, "%016llx",
                       (unsigned long long)bits);
        if (r + 1 < size)
            (*text)[(size_t)(r + 1) * DIGITS - 1] = ' ';
    }
    return SSQ_OK;
}

ssq_status trainer_read_weights(const ssq_trainer *t, const char *text,
                                double **weights)
{
    static const char what[] = "trainer_load";
    unsigned size = ssq_comm_size(t->comm);
    *weights = NULL;
    if (t->weighted || text == NULL || size == 0 ||
        strlen(text) != (size_t)size * DIGITS - 1)
        return SSQ_OK;
    double *w = mem_alloc_array(size, sizeof(*w));
    if (w == NULL)
        return error_nomem(what, size * sizeof(*w));
    for (unsigned r = 0; r < size; r++) {
        uint64_t bits = strtoull(text + (size_t)r * DIGITS, NULL, 16);
        memcpy(&w[r], &bits, sizeof(bits));
    }
    ssq_status st = check_rank_weights(what, w, size);
    if (st == SSQ_OK)
        *weights = w;
    else
        mem_free(w);
    return st;
}

void trainer_replace_weights(ssq_trainer *t, double **weights)
{
    if (t->weighted)
        return;
    mem_free(t->weights);
    t->weights = *weights;
    *weights = NULL;
    t->weight = trainer_default_weight(t);
}
