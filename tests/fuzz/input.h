/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - the bytes of a fuzzed program, read as choices.
 *
 * An input that has run out answers 0 for ever: 0 is the plainest choice
 * everywhere, so that a shorter input is a simpler program. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
    const uint8_t *at, *end;
};

static inline bool input_done(const struct input *in)
{
    return in->at == in->end;
}

static inline unsigned input_byte(struct input *in)
{
    return input_done(in) ? 0 : *in->at++;
}

/** 0 .. n - 1; n at most 256. */
static inline unsigned input_below(struct input *in, unsigned n)
{
    return input_byte(in) % n;
}

/** True once in n times; never once the input has run out. */
static inline bool input_once(struct input *in, unsigned n)
{
    return !input_done(in) && input_byte(in) % n == n - 1;
}

/** Eight bytes, the first one the highest. */
static inline uint64_t input_u64(struct input *in)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | input_byte(in);
    return v;
}

#endif
