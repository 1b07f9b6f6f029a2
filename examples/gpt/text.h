/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - texts as tokens: a token for each byte value that occurs. */
#ifndef EXAMPLES_GPT_TEXT_H
#define EXAMPLES_GPT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    int32_t *token; /* n of them; owned */
    size_t n;
    int32_t kinds;        /* that there are */
    int32_t of_byte[256]; /* -1: it does not occur */
    uint8_t to_byte[256]; /* of each token */
};

/** A file, or the regular files of a folder in the order of their names.
 *  @return false after saying on standard error what is wrong */
bool text_read(const char *path, struct text *text);
void text_free(struct text *text);

#endif
