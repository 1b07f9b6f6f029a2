/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - what a trained model writes. */
#ifndef EXAMPLES_GPT_SAMPLE_H
#define EXAMPLES_GPT_SAMPLE_H

#include "examples/gpt/model.h"
#include "examples/gpt/text.h"

struct sampling {
    ssq_trainer *trainer;
    const struct gpt *gpt;
    const struct text *text;
    const ssq_tensor *place; /* 0, 1, .., i32 [block] */
    double temperature;      /* of the softmax; 0: the likeliest */
    uint64_t seed;
};

/** Print n tokens on standard output, one drawn behind the other, and a line's
 *  end. @return false after saying what failed */
bool sample_print(const struct sampling *s, size_t n);

#endif
