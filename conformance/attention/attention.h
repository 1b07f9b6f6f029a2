/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - a case of attention, its operands, and its float64 oracle. */
#ifndef CONFORMANCE_ATTENTION_ATTENTION_H
#define CONFORMANCE_ATTENTION_ATTENTION_H

#include "conformance/case.h"

/** How [batch, heads, t, d] operands lie in memory. */
enum place {
    PLACE_DENSE,
    PLACE_PADDED,
    PLACE_TOKENS /* [batch, t, heads, d], seen transposed */
};

enum mask_kind {
    MASK_NONE,
    MASK_FLOAT, /* q's dtype, [batch, heads, tq, tk] */
    MASK_KEYS,  /* f32 [tk], every third -Inf */
    MASK_HEADS, /* f32 [heads, 1, tk], transposed: a bias per head */
    MASK_U8     /* u8 [batch, 1, tq, tk], at random */
};

struct attention_case {
    int64_t batch, heads, kv_heads, tq, tk, d, dv;
    ssq_dtype in, out;
    enum place place;
    enum mask_kind mask;
    bool causal;
    int64_t causal_offset;
    double scale;   /* as in the args */
    double dropout; /* as in the args */
    double size;    /* of q and k; 0: 1 */
    double softcap; /* as in the args */
};

char *attention_text(const struct attention_case *c, char *text, size_t bytes);

/** An operand in [batch, heads, t, d] order, wherever it is. */
struct grid {
    struct operand o;
    const ssq_tensor *t;
    double *value;
    ssq_tensor *view;
    enum place place;
};

/** Normal values times size. */
void grid_input(struct harness *b, struct grid *g, ssq_dtype dtype,
                const int64_t *shape, enum place place, double size);
void grid_values(struct harness *b, struct grid *g, ssq_dtype dtype,
                 const int64_t *shape, enum place place, const double *value);
void grid_output(struct harness *b, struct grid *g, ssq_dtype dtype,
                 const int64_t *shape, enum place place);
/** harness_read and harness_bound. */
bool grid_bound(struct harness *b, struct grid *g, const double *want,
                const double *error);
/** Lets go of the view; always called. */
void grid_done(struct grid *g);

/** All that the oracle needs. */
struct attention_facts {
    const struct attention_case *c;
    const double *q, *k, *v;
    double *bias;   /* [batch, heads, tq, tk]; -Inf: excluded */
    double *factor; /* of dropout, also */
    double scale;
    bool flushed;
};

/** The operands of a case and what the oracle sees of them. */
struct attention_harness {
    struct grid q, k, v;
    struct operand mask, step;
    struct attention_facts facts;
    int64_t q_shape[4], k_shape[4], v_shape[4], y_shape[4];
};

void attention_make(struct harness *b, const struct attention_case *c,
                    struct attention_harness *a);
/** Memory for want and error of an operand. */
struct attention_want {
    double *want, *error;
};

/** y [batch, heads, tq, dv] and lse [batch, heads, tq]. */
void attention_oracle(const struct attention_facts *f, struct attention_want y,
                      struct attention_want lse);
/** Gradients from the y and lse that were saved. Work: 8 tk doubles. */
void attention_backward_oracle(const struct attention_facts *f, const double *y,
                               const double *lse, const double *dy,
                               struct attention_want dq,
                               struct attention_want dk,
                               struct attention_want dv);

#endif
