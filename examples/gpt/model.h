/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - GPT-2: a transformer that guesses the next token. */
#ifndef EXAMPLES_GPT_MODEL_H
#define EXAMPLES_GPT_MODEL_H

#include <sesqui.h>

struct gpt {
    int64_t vocabulary,
        block; /* tokens that there are; that are seen at once */
    int64_t layers, heads, width;
    double dropout;
};

/** Logits [n t, vocabulary] of tokens i32 [n, t], t at most the block; place
 *  i32 [t] counts from 0. Parameters have the names and shapes of GPT-2's
 * files: wte.weight, wpe.weight, h.0.ln_1.weight, h.0.attn.c_attn.weight, ..,
 *  ln_f.bias. */
ssq_var gpt_logits(ssq_tape *t, const struct gpt *g, const ssq_tensor *tokens,
                   const ssq_tensor *place);

#endif
