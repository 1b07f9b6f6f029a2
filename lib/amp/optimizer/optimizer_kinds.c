/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_kinds.c - the kinds of optimizers: their slots, options and
 * defaults. Defaults and the names of slots are torch's; for lamb they are
 * apex's.
 *
 * A number is the value that replaces an option of -1; an absent number is 0.
 * Slots are in the order a, b, c, the letters that the steps of
 * kernels/amp/kinds.h use. Their names are the names of the tensors in a visit,
 * and find the tensors of a torch checkpoint. */
#include "lib/amp/optimizer/optimizer.h"

#include <stdio.h>
#include <string.h>

/* The denominator of every kind with betas has an eps. */
#define BETAS (OPTION_BETAS | OPTION_EPS)

const struct optimizer_kind optimizer_kinds[OPT_KINDS] = {
    [OPT_sgd] = {.name = "sgd",
                 .lr = 1e-3,
                 .slot = {{"momentum_buffer", WITH_MOMENTUM}},
                 .reads = OPTION_MOMENTUM | OPTION_DAMPENING | OPTION_NESTEROV},
    [OPT_adam] = {.name = "adam",
                  .lr = 1e-3,
                  .eps = 1e-8,
                  .slot = {{"exp_avg", ALWAYS},
                           {"exp_avg_sq", ALWAYS},
                           {"max_exp_avg_sq", WITH_AMSGRAD}},
                  .reads = BETAS | OPTION_AMSGRAD},
    [OPT_adamw] = {.name = "adamw",
                   .lr = 1e-3,
                   .eps = 1e-8,
                   .weight_decay = 1e-2,
                   .slot = {{"exp_avg", ALWAYS},
                            {"exp_avg_sq", ALWAYS},
                            {"max_exp_avg_sq", WITH_AMSGRAD}},
                   .reads = BETAS | OPTION_AMSGRAD | OPTION_FORM},
    [OPT_rmsprop] = {.name = "rmsprop",
                     .lr = 1e-2,
                     .alpha = 0.99,
                     .eps = 1e-8,
                     .slot = {{"square_avg", ALWAYS},
                              {"momentum_buffer", WITH_MOMENTUM},
                              {"grad_avg", WITH_CENTERED}},
                     .reads = OPTION_ALPHA | OPTION_EPS | OPTION_MOMENTUM |
                              OPTION_CENTERED},
    [OPT_adagrad] = {.name = "adagrad",
                     .lr = 1e-2,
                     .eps = 1e-10,
                     .slot = {{"sum", ALWAYS}},
                     .reads = OPTION_EPS | OPTION_LR_DECAY | OPTION_INITIAL},
    [OPT_lamb] = {.name = "lamb",
                  .lr = 1e-3,
                  .eps = 1e-6,
                  .weight_decay = 1e-2,
                  .slot = {{"exp_avg", ALWAYS}, {"exp_avg_sq", ALWAYS}},
                  .reads = BETAS | OPTION_LAMB},
    [OPT_adadelta] = {.name = "adadelta",
                      .lr = 1.0,
                      .alpha = 0.9,
                      .eps = 1e-6,
                      .slot = {{"square_avg", ALWAYS}, {"acc_delta", ALWAYS}},
                      .reads = OPTION_ALPHA | OPTION_EPS},
};

bool optimizer_reads(uint32_t kind, uint32_t options)
{
    return (optimizer_kinds[kind].reads & options) != 0;
}

/* The error's text lists all kinds, from the same table, so that none is
 * missing. Half the length of a text is enough for their names. */
ssq_status optimizer_kind_of(const char *name, const char *what, uint32_t *kind)
{
    char names[ERROR_TEXT / 2] = "";
    size_t at = 0;
    for (uint32_t k = 0; k < OPT_KINDS; k++) {
        if (strcmp(optimizer_kinds[k].name, name) == 0) {
            *kind = k;
            return SSQ_OK;
        }
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
                               k == 0 ? "" : ", ", optimizer_kinds[k].name);
    }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: no optimizer \"%.32s\": there are %s", what, name,
                     names);
}
