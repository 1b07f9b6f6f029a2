/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_banks.c - bank conflicts of shared memory.
 *
 * Items run one after the other, so the accesses that a warp would have made
 * together are put together again: the k-th access of each item between two
 * stops. Wide accesses go in parts of a warp, 8 bytes by halves and 16 by
 * quarters, and each part asks every bank of 4 bytes once, where no two items
 * want different words of it. */
#include "tests/fakecuda/ptx/ptx_warp.h"

#include <stdlib.h>

#define BANKS 32u

struct ptx_banks_access {
    uint32_t line, at, bytes;
};

struct ptx_banks {
    struct ptx_banks_access *access[PTX_WARP];
    uint32_t n[PTX_WARP], room[PTX_WARP];
};

struct ptx_banks *ptx_banks_create(void)
{
    return calloc(1, sizeof(struct ptx_banks));
}

void ptx_banks_destroy(struct ptx_banks *b)
{
    for (uint32_t i = 0; b != NULL && i < PTX_WARP; i++)
        free(b->access[i]);
    free(b);
}

/* Elements of a vector come one by one, but are one instruction. */
void ptx_bank_note(struct ptx_run *r, const struct insn *i, uint64_t a,
                   unsigned n)
{
    struct ptx_banks *b = r->banks;
    uint32_t lane = r->item % PTX_WARP, k = b->n[lane];
    struct ptx_banks_access *last = k == 0 ? NULL : &b->access[lane][k - 1];

    if (last != NULL && last->line == i->line && last->bytes + n <= 16 &&
        last->at + last->bytes == a) {
        last->bytes += n;
        return;
    }
    if (k == b->room[lane]) {
        uint32_t room = k == 0 ? 64 : 2 * k;
        struct ptx_banks_access *grown =
            realloc(b->access[lane], room * sizeof(*b->access[lane]));

        if (grown == NULL)
            ptx_fault(r, i, "no memory");
        b->access[lane] = grown;
        b->room[lane] = room;
    }
    b->access[lane][k] = (struct ptx_banks_access){i->line, (uint32_t)a, n};
    b->n[lane] = k + 1;
}

/* Words beyond the first of the bank that has the most. */
static uint64_t worst(const uint32_t *word, uint32_t n)
{
    uint32_t most = 1;

    for (uint32_t bank = 0; bank < BANKS; bank++) {
        uint32_t different = 0;

        for (uint32_t i = 0; i < n; i++) {
            bool again = word[i] % BANKS != bank;

            for (uint32_t k = 0; k < i && !again; k++)
                again = word[k] == word[i];
            different += !again;
        }
        most = different > most ? different : most;
    }
    return most - 1;
}

/* The k-th accesses of a part of the warp, of one instruction. */
static uint64_t part(const struct ptx_banks *b, uint32_t k, uint32_t first,
                     uint32_t lanes)
{
    uint32_t word[4 * PTX_WARP], n = 0;
    const struct ptx_banks_access *one = NULL;

    for (uint32_t lane = first; lane < first + lanes; lane++) {
        const struct ptx_banks_access *x = &b->access[lane][k];

        if (k >= b->n[lane] || (one != NULL && one->line != x->line))
            continue;
        one = x;
        for (uint32_t at = 0; at < x->bytes && n < 4 * PTX_WARP; at += 4)
            word[n++] = (x->at + at) / 4;
    }
    return n == 0 ? 0 : worst(word, n);
}

uint64_t ptx_bank_conflicts(struct ptx_banks *b)
{
    uint64_t sum = 0;
    uint32_t most = 0;

    for (uint32_t lane = 0; lane < PTX_WARP; lane++)
        most = b->n[lane] > most ? b->n[lane] : most;
    for (uint32_t k = 0; k < most; k++) {
        uint32_t bytes = 4, lanes;

        for (uint32_t lane = 0; lane < PTX_WARP; lane++)
            if (k < b->n[lane] && b->access[lane][k].bytes > bytes)
                bytes = b->access[lane][k].bytes;
        lanes = bytes > 8 ? 8 : bytes > 4 ? 16 : 32;
        for (uint32_t first = 0; first < PTX_WARP; first += lanes)
            sum += part(b, k, first, lanes);
    }
    memset(b->n, 0, sizeof(b->n));
    return sum;
}

uint64_t ptx_row_conflicts(const uint64_t address[8])
{
    uint32_t word[32];

    for (uint32_t i = 0; i < 32; i++)
        word[i] = (uint32_t)(address[i / 4] / 4) + i % 4;
    return worst(word, 32);
}
