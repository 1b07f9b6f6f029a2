/* SPDX-License-Identifier: Apache-2.0 */
/* amp_list.h - many tensors in one launch: the table that says where they are.
 *
 * A launch is divided into tasks, chunks of pc.list.chunk elements of one entry
 * of a list (a tensor, or a piece of it), so that a long tensor is many groups'
 * work and a thousand short ones are a thousand tasks. The table has a row for
 * each entry, in the order of their tasks; lib/plan/amp/amp_list.c makes it. */
#ifndef KERNELS_AMP_AMP_LIST_H
#define KERNELS_AMP_AMP_LIST_H

#include "kernels/dialect/dialect.h"

#define ROW_TASK     0u /* the first task of the entry, in this launch */
#define ROW_PART     1u /* ... among all tasks of all launches */
#define ROW_N        2u /* elements */
#define ROW_WALK     3u /* its words of strides: where in the table; 0 dense */
#define ROW_TENSOR   4u
#define ROW_FIRST_LO 5u /* elements of the tensor before this piece */
#define ROW_FIRST_HI 6u
#define ROW_AT       7u /* the first element, in each operand */
#define ROW_VIEWS    6u
#define ROW_WORDS    13u

/* Words of strides: the rank, sizes, then steps of each operand. */
#define ROW_RANK      6u
#define ROW_STEPS(V)  (1u + ROW_RANK + (V)*ROW_RANK)
#define ROW_WALKED(N) ROW_STEPS(N)

/* Parameters of a launch with a table. */
struct row_table {
    u32 rows;
    u32 tasks;
    u32 chunk;
};

/* Task T: where its ROW begins in the table, FROM which element of the entry
 * on, and how many (LEN). */
#define ROW_FIND(T, ROW, FROM, LEN)                                            \
    u32 ROW = 0u;                                                              \
    u32 ROW##_end = pc.list.rows;                                              \
    while (ROW##_end - ROW > 1u) {                                             \
        u32 ROW##_mid = (ROW + ROW##_end) >> 1u;                               \
        if (AT(table, ROW##_mid * ROW_WORDS + ROW_TASK) <= T)                  \
            ROW = ROW##_mid;                                                   \
        else                                                                   \
            ROW##_end = ROW##_mid;                                             \
    }                                                                          \
    ROW = ROW * ROW_WORDS;                                                     \
    u32 FROM = (T - AT(table, ROW + ROW_TASK)) * pc.list.chunk;                \
    u32 LEN = AT(table, ROW + ROW_N) - FROM;                                   \
    LEN = LEN < pc.list.chunk ? LEN : pc.list.chunk;

/* The number of task T of that row among all. */
#define ROW_PART_OF(T, ROW)                                                    \
    (AT(table, ROW + ROW_PART) + (T - AT(table, ROW + ROW_TASK)))

/* OFF = where element I of operand V is, by the words of strides at WALK. */
#define ROW_OFFSET(OFF, I, WALK, V)                                            \
    u32 OFF = 0u;                                                              \
    u32 OFF##_rest = I;                                                        \
    for (u32 OFF##_d = AT(table, WALK); OFF##_d > 0u; OFF##_d--) {             \
        u32 OFF##_size = AT(table, WALK + OFF##_d);                            \
        u32 OFF##_q = OFF##_rest / OFF##_size;                                 \
        OFF += (OFF##_rest - OFF##_q * OFF##_size) *                           \
               AT(table, WALK + ROW_STEPS(V) + OFF##_d - 1u);                  \
        OFF##_rest = OFF##_q;                                                  \
    }

#endif
