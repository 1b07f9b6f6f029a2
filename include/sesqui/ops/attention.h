/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - scaled dot-product attention and rotary positions, forward and
 * backward.
 *
 * Learned positions need no op of their own: ssq_gather_rows reads the rows of
 * a table, ssq_add adds them, ssq_scatter_add_rows is the gradient. */
#ifndef SESQUI_OPS_ATTENTION_H
#define SESQUI_OPS_ATTENTION_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_attention_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_attention_args));
    const ssq_tensor *q;    /**< in, float [batch, heads, tq, d] */
    const ssq_tensor *k;    /**< in, q's dtype, [batch, kv_heads, tk, d];
                                 kv_heads divides heads */
    const ssq_tensor *v;    /**< in, q's dtype, [batch, kv_heads, tk, dv] */
    const ssq_tensor *mask; /**< in, optional, broadcast to [batch, heads, tq,
                                 tk]; float: added to the scores; u8: 0
                                 excludes the key */
    const ssq_tensor *y;    /**< out, float [batch, heads, tq, dv]; overlaps no
                                 input */
    const ssq_tensor *lse;  /**< out, optional, f32 [batch, heads, tq]: what the
                                 backward op wants */
    double scale;           /**< finite; 0: 1 / sqrt(d). Used as float32 */
    bool causal;            /**< exclude keys j > i + causal_offset */
    int64_t causal_offset;  /**< 0: top left; tk - tq: bottom right */
    double dropout;         /**< chance of dropping an element of P, in [0, 1];
                                 rounded to a multiple of 2^-32 */
    uint64_t seed;          /**< this and the rest: of dropout only */
    uint32_t id;            /**< of the stream */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0 */
    uint64_t offset;        /**< words before the first element's */
    double softcap;         /**< 0: none; else 2^-126 or more: bounds scores.
                                 Used as float32 */
} ssq_attention_args;
#define SSQ_ATTENTION_DEFAULTS                                                 \
    sizeof(ssq_attention_args), NULL, NULL, NULL, NULL, NULL, NULL, 0.0,       \
        false, 0, 0.0, 0, 0, NULL, 0, 0.0
#define SSQ_ATTENTION_INIT                                                     \
    {                                                                          \
        SSQ_ATTENTION_DEFAULTS                                                 \
    }
#define SSQ_ATTENTION(...)                                                     \
    SSQ_ARGS(ssq_attention_args, SSQ_ATTENTION_DEFAULTS, __VA_ARGS__)

/** Attention: of query i of head h, over the keys j of head h / (heads /
 *  kv_heads) (grouped queries: torch's enable_gqa),
 *      s[j] = scale sum(q[i] k[j])                       float32
 *      s[j] = softcap tanh(s[j] / softcap)               where softcap is not 0
 *      s[j] = s[j] + mask[i, j]
 *      m = max(s), total = sum(exp(s - m)), lse = m + log(total)
 *      P[j] = exp(s[j] - m) / total                      float32
 *      y[i] = sum(P[j] v[j])                             float32
 *  where P is rounded to q's dtype before it meets v (exp(s - m) may be rounded
 *  instead, and y divided by total in the end: the bound holds for both). With
 *  d = 0 scores are the mask. Vaswani et al., 2017; torch's
 *  scaled_dot_product_attention; ONNX Attention; softcap as in Gemma 2: before
 *  the mask, so that excluded keys stay excluded.
 *
 *  Dropout multiplies P[i, j], before it is rounded, by 1 / (1 - p) with
 *  probability 1 - p and by 0 otherwise: element ((b heads + h) tq + i) tk + j
 *  draws word offset + that of (seed, step, id). lse is without it.
 *
 *  Excluded keys (u8 0, a float mask of -Inf, causal) and keys whose score is
 *  -Inf never matter, whatever k and v hold there (in torch a NaN there
 *  spreads). A query without any other key, so all of them for tk = 0, has
 *  y = 0 and lse = -Inf (torch since 2.5: 0, before: NaN).
 *  causal_offset 0 is torch's is_causal, also for tq != tk: query 0 sees key 0
 *  only, and for tq > tk the last queries see all keys. With tk - tq the last
 *  query sees all keys (flash-attention 2.1, a key-value cache); then, for
 *  tq > tk, the first tq - tk queries see none. mask and causal may be
 *  combined.
 *  A NaN or +Inf among a query's scores makes its y and lse NaN. A NaN in v
 *  spreads to its column of y, an Inf too, as Inf or, where P is 0, NaN.
 *
 *  The last dimension of q, k, v and y is contiguous; other strides are free:
 *  [batch, t, heads, d] tensors go in as transposed views. Scores are never
 *  stored as a whole: an implementation keeps at most a row of tk, or a tile,
 *  per unit of work, and at most float32 or float64 copies of one head's keys
 *  and values.
 *  @return SSQ_ERR_INVALID sizes disagree, kv_heads does not divide heads, a
 *          last dimension is not contiguous, scale is not finite, dropout is
 *          not in [0, 1], softcap is neither 0 nor a positive normal float32
 *  @note class R. No gradient for mask. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_attention(ssq_queue *queue,
                                                const ssq_attention_args *args);

typedef struct ssq_attention_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_attention_backward_args));
    const ssq_tensor *q; /**< in: this to mask as in the forward call */
    const ssq_tensor *k;
    const ssq_tensor *v;
    const ssq_tensor *mask; /**< optional */
    const ssq_tensor *y;    /**< in, float: what the forward op returned */
    const ssq_tensor *lse;  /**< in, f32: what the forward op saved */
    const ssq_tensor *dy;   /**< in, float, y's shape */
    const ssq_tensor *dq;   /**< out, optional, float, q's shape */
    const ssq_tensor *dk;   /**< out, optional, float, k's shape */
    const ssq_tensor *dv;   /**< out, optional, float, v's shape */
    double scale;           /**< this and the rest: of the forward call */
    bool causal;
    int64_t causal_offset;
    double dropout;
    uint64_t seed;
    uint32_t id;
    const ssq_tensor *step; /**< the same word, unchanged since */
    uint64_t offset;
    double softcap;
} ssq_attention_backward_args;
#define SSQ_ATTENTION_BACKWARD_DEFAULTS                                        \
    sizeof(ssq_attention_backward_args), NULL, NULL, NULL, NULL, NULL, NULL,   \
        NULL, NULL, NULL, NULL, 0.0, false, 0, 0.0, 0, 0, NULL, 0, 0.0
#define SSQ_ATTENTION_BACKWARD_INIT                                            \
    {                                                                          \
        SSQ_ATTENTION_BACKWARD_DEFAULTS                                        \
    }
#define SSQ_ATTENTION_BACKWARD(...)                                            \
    SSQ_ARGS(ssq_attention_backward_args, SSQ_ATTENTION_BACKWARD_DEFAULTS,     \
             __VA_ARGS__)

/** Gradients of attention. Scores are computed again; with f the dropout
 *  factor of an element, or 1,
 *      P = exp((s - lse) - rest), delta[i] = sum(dy[i] y[i]), all float32
 *      dS = P (f (dy v^T) - delta), with softcap times 1 - tanh(..)^2
 *      dv = (f P)^T dy, dq = scale dS k, dk = scale dS^T q
 *  where f P and dS are rounded to q's dtype before those three products (as
 *  in flash-attention; a loss scale that makes |dS| reach 65520 in f16 gives
 *  Inf, which a loss scaler catches). dk and dv sum over the queries of all
 *  heads of the group. Excluded keys get 0, and a query whose lse is -Inf adds
 *  nothing. The gradients are written, not accumulated.
 *  rest is what lse has lost as one float32, (m - lse) + log(total). It is 0
 *  where |lse| is at most 64: P then carries a relative error of 2^-24 |lse|.
 *  Above 64, m and total of the query are computed again, and rest is at most
 *  2^-23 |lse|: P adds up to 1 even if rounding took log(total) from lse, for
 *  example for a row of padding whose mask is -FLT_MAX. An lse of more keys
 *  than these, as of attention over ranks, is changed by no more than that.
 *  NaN and Inf spread as the formulas say. The outputs overlap nothing; the
 *  last dimensions of all but mask and lse are contiguous.
 *  @return SSQ_ERR_INVALID as ssq_attention; dq, dk and dv are all NULL
 *  @note class R. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_attention_backward(
    ssq_queue *queue, const ssq_attention_backward_args *args);

typedef struct ssq_rotary_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rotary_args));
    const ssq_tensor *x;        /**< in, float [..., t, d]: queries or keys */
    const ssq_tensor *position; /**< in, optional, i32: broadcast to x's shape
                                     without d; NULL: offset + the index in t */
    const ssq_tensor *freq;     /**< in, optional, f32 [dims / 2]; NULL: base to
                                     the power -2 i / dims */
    const ssq_tensor *y;        /**< out, float, x's shape; may be x */
    int64_t offset;             /**< of positions: 0 when position is given;
                                     offset .. offset + t - 1 are int32 */
    int64_t dims;               /**< how many of d turn: even; 0: all */
    double base SSQ_DEFAULT(10000.0); /**< finite, > 0; not read with freq */
    bool interleaved;                 /**< pairs (2 i, 2 i + 1): GPT-J, ONNX's
                                           interleaved; else (i, i + dims / 2):
                                           GPT-NeoX, Llama */
    const ssq_tensor *cos;            /**< in, optional, float: of the angles,
                                           broadcast to x's shape with dims / 2
                                           for d; with it no position, freq,
                                           offset */
    const ssq_tensor *sin;            /**< in, optional, float, likewise */
} ssq_rotary_args;
#define SSQ_ROTARY_DEFAULTS                                                    \
    sizeof(ssq_rotary_args), NULL, NULL, NULL, NULL, 0, 0, 10000.0, false,     \
        NULL, NULL
#define SSQ_ROTARY_INIT                                                        \
    {                                                                          \
        SSQ_ROTARY_DEFAULTS                                                    \
    }
#define SSQ_ROTARY(...)                                                        \
    SSQ_ARGS(ssq_rotary_args, SSQ_ROTARY_DEFAULTS, __VA_ARGS__)

/** Rotary positions: each pair (a, b) of the first dims elements of a row turns
 *  by the angle of its position p and pair index i,
 *      angle = p freq[i]
 *      a' = a cos(angle) - b sin(angle), b' = b cos(angle) + a sin(angle)
 *  the others are copied. p becomes float32 (exact up to 2^24), freq is float32
 *  (without a tensor: worked out in double on the host, rounded to nearest),
 *  the angle is their product rounded to float32, as in most models' code; sin
 *  and cos are below 0.9 ulp for every float32 angle, and each product and sum
 *  of the last line is rounded on its own. A NaN result is the quiet NaN
 *  without sign. With tensors cos and sin those numbers are used instead, as in
 *  torch code and ONNX: rows of a cache come from ssq_gather_rows. Su et al.,
 *  RoFormer, 2021; ONNX RotaryEmbedding.
 *  @return SSQ_ERR_INVALID x has rank < 2; dims is odd, negative or above d;
 *          base is not finite and > 0; offset with position, or out of range;
 *          one of cos and sin alone, or with position, freq or offset; a shape
 *          is wrong; SSQ_ERR_NOMEM no scratch for freq (2 dims bytes)
 *  @note class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_rotary(ssq_queue *queue,
                                             const ssq_rotary_args *args);

typedef struct ssq_rotary_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rotary_backward_args));
    const ssq_tensor *dy;       /**< in, float [..., t, d] */
    const ssq_tensor *position; /**< this and the rest: of the forward call */
    const ssq_tensor *freq;
    const ssq_tensor *dx; /**< out, float, dy's shape; may be dy */
    int64_t offset;
    int64_t dims;
    double base SSQ_DEFAULT(10000.0);
    bool interleaved;
    const ssq_tensor *cos;
    const ssq_tensor *sin;
} ssq_rotary_backward_args;
#define SSQ_ROTARY_BACKWARD_DEFAULTS                                           \
    sizeof(ssq_rotary_backward_args), NULL, NULL, NULL, NULL, 0, 0, 10000.0,   \
        false, NULL, NULL
#define SSQ_ROTARY_BACKWARD_INIT                                               \
    {                                                                          \
        SSQ_ROTARY_BACKWARD_DEFAULTS                                           \
    }
#define SSQ_ROTARY_BACKWARD(...)                                               \
    SSQ_ARGS(ssq_rotary_backward_args, SSQ_ROTARY_BACKWARD_DEFAULTS,           \
             __VA_ARGS__)

/** Gradient of rotary positions: dy turned by the negative angles. Errors as
 *  ssq_rotary. Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rotary_backward(ssq_queue *queue, const ssq_rotary_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
