/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - scaled dot-product attention and rotary positions, forward and
 * backward.
 *
 *     ssq_rotary(queue, SSQ_ROTARY(.x = q, .y = q));
 *     ssq_rotary(queue, SSQ_ROTARY(.x = k, .y = k));
 *     ssq_attention(queue, SSQ_ATTENTION(.q = q, .k = k, .v = v, .y = y,
 *                                        .lse = lse, .causal = true));
 *     ...                                       // loss, gradient dy of y
 *     ssq_attention_backward(queue, SSQ_ATTENTION_BACKWARD(.q = q, .k = k,
 *                 .v = v, .y = y, .lse = lse, .dy = dy, .dq = dq, .dk = dk,
 *                 .dv = dv, .causal = true));
 *     ssq_rotary_backward(queue, SSQ_ROTARY_BACKWARD(.dy = dq, .dx = dq));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * Learned positions need no special op: ssq_gather_rows reads the rows of a
 * table, ssq_add adds them, and ssq_scatter_add_rows computes the gradient.
 *
 * A call returns SSQ_ERR_INVALID if a shape or dtype is not as below, or if an
 * output overlaps another operand and "may be" does not allow it.
 *
 * @sync async
 * @threads object */
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
                                 tk]; float: added to the scores; u8: 0 excludes
                                 the key */
    const ssq_tensor *y;    /**< out, float [batch, heads, tq, dv]; must not
                                 overlap an input */
    const ssq_tensor *lse;  /**< out, optional, f32 [batch, heads, tq]: for the
                                 backward op */
    double scale;           /**< 0 (1 / sqrt(d)), or a normal float32, which may
                                 be negative */
    bool causal;            /**< exclude keys j > i + causal_offset */
    int64_t causal_offset;  /**< 0: top left; tk - tq: bottom right */
    double dropout;         /**< probability of dropping an element of P, in [0,
                                 1]; rounded to a multiple of 2^-32 */
    uint64_t seed;          /**< this and the fields to offset: used only with
                                 dropout, see random.h */
    uint32_t id;            /**< which stream of this seed and step */
    const ssq_tensor *step; /**< in, i32, one element; NULL: 0; always checked
                                 */
    uint64_t offset;        /**< of the first element, in words */
    double softcap;         /**< 0: none; otherwise a bound of the scores, from
                                 2^-126 to the largest float32. Used as float32
                                 */
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

/** Compute attention. Query i of head h uses the keys j of key head
 *  h / (heads / kv_heads) (grouped queries, torch's enable_gqa):
 *
 *       s[j] = scale sum(q[i] k[j])                       float32
 *       s[j] = softcap tanh(s[j] / softcap)               if softcap is not 0
 *       s[j] = s[j] + mask[i, j]
 *       m = max(s), total = sum(exp(s - m)), lse = m + log(total)
 *       P[j] = exp(s[j] - m) / total                      float32
 *       y[i] = sum(P[j] v[j])                             float32
 *
 *  P is rounded to q's dtype before it is multiplied by v. An implementation
 *  may instead round exp(s - m) and divide y by total at the end: the bound
 *  holds for both. If d is 0, the scores are the mask.
 *
 *  The definition is that of Vaswani et al., 2017, torch's
 *  scaled_dot_product_attention and ONNX Attention. softcap is as in Gemma 2:
 *  it is applied before the mask, so excluded keys stay excluded.
 *
 *  Dropout multiplies P[i, j], before it is rounded, by 1 / (1 - p) with
 *  probability 1 - p, otherwise by 0. Element ((b heads + h) tq + i) tk + j
 *  uses word offset + ((b heads + h) tq + i) tk + j of (seed, step, id). lse is
 *  computed without dropout.
 *
 *  Excluded keys are: u8 0, a float mask of -Inf, causal. They have no effect,
 *  even if k and v contain NaN there (in torch such a NaN spreads). A key whose
 *  score is -Inf has no effect, either. A query without any other key has y = 0
 *  and lse = -Inf, as in torch since 2.5 (before: NaN). If tk is 0, this is
 *  every query.
 *
 *  causal_offset 0 is torch's is_causal, also if tq is not tk. Query 0 then
 *  sees only key 0, and if tq > tk, the last queries see all keys. With tk - tq
 *  the last query sees all keys (flash-attention 2.1, a key-value cache), and
 *  if tq > tk, the first tq - tk queries see none. mask and causal may be
 *  combined.
 *
 *  A NaN or +Inf among the scores of a query makes its lse NaN, and its y, too,
 *  if dropout keeps one of its keys; otherwise y is 0 or NaN. A NaN in v
 *  spreads to its column of y. An Inf in v spreads as Inf, or as NaN if P is 0
 *  after dropout and rounding.
 *
 *  The last dimension of q, k, v and y must have stride 1, unless its size is 0
 *  or 1, and other strides are free. For example, a [batch, t, heads, d] tensor
 *  can be passed as a transposed view.
 *
 *  The scores are never stored completely. An implementation keeps at most a
 *  row of tk, or a tile, for each unit of work. It also keeps float32 or
 *  float64 copies of the keys and values of one head, and in device scratch an
 *  lse if lse is NULL.
 *  @return SSQ_ERR_INVALID  also if kv_heads does not divide heads; if a last
 *                           dimension does not have stride 1; or if scale,
 *                           dropout or softcap is out of range
 *  @note Class R. The mask has no gradient, and on a tape the op has no second
 *        derivative (SSQ_ERR_UNSUPPORTED). Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_attention(ssq_queue *queue,
                                                const ssq_attention_args *args);

typedef struct ssq_attention_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_attention_backward_args));
    const ssq_tensor *q; /**< in: q to mask as in the forward call */
    const ssq_tensor *k;
    const ssq_tensor *v;
    const ssq_tensor *mask; /**< optional */
    const ssq_tensor *y;    /**< in, float: y of the forward op */
    const ssq_tensor *lse;  /**< in, f32: lse of the forward op */
    const ssq_tensor *dy;   /**< in, float, y's shape */
    const ssq_tensor *dq;   /**< out, optional, float, q's shape */
    const ssq_tensor *dk;   /**< out, optional, float, k's shape */
    const ssq_tensor *dv;   /**< out, optional, float, v's shape */
    double scale;           /**< this and the fields below: as in the forward
                                 call */
    bool causal;
    int64_t causal_offset;
    double dropout;
    uint64_t seed;
    uint32_t id;
    const ssq_tensor *step; /**< the same step as in the forward call, with the
                                 same value */
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

/** Compute the gradients of attention. Scores are computed again. With f the
 *  dropout factor of an element, or 1, and all in float32:
 *
 *       P = exp((s - lse) - rest), delta[i] = sum(dy[i] y[i])
 *       dS = P (f (dy v^T) - delta), with softcap times 1 - tanh(..)^2
 *       dv = (f P)^T dy, dq = scale dS k, dk = scale dS^T q
 *
 *  f P and dS are rounded to q's dtype before the last three matmuls, as in
 *  flash-attention. A loss scale that makes |dS| reach 65520 in f16 gives Inf,
 *  which a loss scaler detects. dk and dv are sums over the queries of all
 *  heads of the group. Excluded keys get 0, and a query whose lse is -Inf adds
 *  nothing.
 *
 *  The gradients are written, not accumulated. NaN and Inf propagate as in the
 *  formulas, but a dropped element counts as 0.
 *
 *  rest is the part that lse has lost as one float32: (m - lse) + log(total).
 *  If |lse| is at most 64, rest is 0, and P has a relative error of 2^-24
 *  |lse|.
 *
 *  Above 64, m and total of the query are computed again, and rest is at most
 *  2^-23 |lse|. P then adds up to 1 even if rounding removed log(total)
 *  from lse, for example for a row of padding with a mask of -FLT_MAX. If lse
 *  was computed over more keys than these, for example over ranks, rest changes
 *  it by at most 2^-23 |lse|.
 *
 *  Outputs must not overlap any operand. The last dimensions of all operands
 *  but mask and lse must have stride 1, unless their size is 0 or 1. The scores
 *  are not stored, as in ssq_attention. Uses scratch: at most 12 bytes for each
 *  query of each head.
 *  @return SSQ_ERR_INVALID  as ssq_attention; and if dq, dk and dv are all NULL
 *  @note Class R. Since 0.1. */
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
    int64_t offset;             /**< first position; must be 0 if position or
                                     cos is set; offset .. offset + t - 1 must
                                     fit in int32 */
    int64_t dims;               /**< number of elements of d that are rotated:
                                     even; 0: all */
    double base SSQ_DEFAULT(10000.0); /**< finite, > 0; not used with freq or
                                           cos */
    bool interleaved;                 /**< pairs (2 i, 2 i + 1): GPT-J, ONNX's
                                           interleaved; false: (i, i + dims /
                                           2): GPT-NeoX, Llama */
    const ssq_tensor *cos;            /**< in, optional, float: cosines of the
                                           angles, broadcast to x's shape with
                                           dims / 2 for d; position and freq
                                           must then be NULL */
    const ssq_tensor *sin;            /**< in, optional, float: the sines; set
                                           if cos is */
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

/** Rotate positions: each pair (a, b) of the first dims elements of a row is
 *  rotated by the angle of its position p and its pair index i:
 *
 *       angle = p freq[i]
 *       a' = a cos(angle) - b sin(angle), b' = b cos(angle) + a sin(angle)
 *
 *  The other elements are copied. p is converted to float32, exact up to 2^24.
 *  freq is float32; without a tensor it is computed in double on the host and
 *  rounded to nearest. The angle is p freq[i] rounded to float32, as in the
 *  code of most models. sin and cos are below 0.9 ulp for every float32 angle.
 *  Each multiplication and addition of the last line is rounded separately. A
 *  NaN result of the rotation is the quiet NaN without sign.
 *
 *  If cos and sin are set, these numbers are used instead, as in torch code and
 *  ONNX. Use ssq_gather_rows to get rows of a cache. Su et al., RoFormer, 2021;
 *  ONNX RotaryEmbedding.
 *  @return
 *   - SSQ_ERR_INVALID  also if x has rank < 2; dims is odd, negative or above
 *                      d, or 0 with an odd d; base is out of range; offset is
 *                      set with position, or the positions do not fit in int32
 *                      (t may be at most 2^31 also with position or cos); only
 *                      one of cos and sin is set, or with position, freq or
 *                      offset
 *   - SSQ_ERR_NOMEM    also for scratch, if freq and cos are NULL: 2 bytes for
 *                      each rotated element of a row
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_rotary(ssq_queue *queue,
                                             const ssq_rotary_args *args);

typedef struct ssq_rotary_backward_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_rotary_backward_args));
    const ssq_tensor *dy;       /**< in, float [..., t, d] */
    const ssq_tensor *position; /**< this and the fields below: as in the
                                     forward call */
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

/** Compute the gradient of rotary positions: dy rotated by the negative angles.
 *  @return as ssq_rotary
 *  @note Class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_rotary_backward(ssq_queue *queue, const ssq_rotary_backward_args *args);

#ifdef __cplusplus
}
#endif

#endif
