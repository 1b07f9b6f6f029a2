/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - weights of products, packed once and used by many calls.
 *
 * A product rewrites its factors as its loops read them, anew in each call. For
 * few rows by large weights, as in inference, that is a good part of the time.
 * ssq_gemm_pack does it beforehand:
 *
 *     ssq_gemm_pack(queue, weights, true, &packed);
 *     -- and then as often as wanted, in place of weights --
 *     ssq_gemm(queue, SSQ_GEMM(.a = x, .b = packed, .d = y, .trans_b = true));
 *
 * What is packed is a tensor: a view of the weights that has a second copy of
 * them beside it, and goes wherever a tensor goes. Results have the same bits
 * as without it, on every device. The copy takes about as many bytes as the
 * weights. Devices that gain nothing by it make none, and read the weights:
 * then packing costs nothing, and the same program runs everywhere. Today cpu
 * gains, where op(b) has at least 32 columns, but not where bf16 weights meet
 * f32: most for some tens of rows, down to nothing for a thousand. Up to about
 * 24 rows it reads weights that lie along k where they are, as fast as the
 * copy. ssq_gemm_explain says whether a product reads the copy.
 *
 * Who writes to the weights has to pack again, by ssq_gemm_repack: until then
 * products refuse the packed tensor, rather than multiply by what the weights
 * were, and the weights themselves are there all the time. This is so on every
 * device, those without a copy included. */
#ifndef SESQUI_PACK_H
#define SESQUI_PACK_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Pack b for products on its device. Asynchronous, in order on queue: other
 *  queues have to wait for it (events) before they multiply.
 *  @param b        float, rank 2, one of the strides 1, as ssq_gemm wants it;
 *                  held until packed is destroyed
 *  @param trans_b  as in the products: [n,k] when true, else [k,n]
 *  @param packed   the caller's; ssq_tensor_destroy lets go of it and of the
 *                  copy. Views that are made of it are views of b alone
 *  @return SSQ_ERR_INVALID a NULL, another device's b, its rank, dtype or
 *          strides, a capture; SSQ_ERR_NOMEM; the queue's error. Since 0.1.
 *  @note ssq_gemm and ssq_gemm_batched read the copy where packed is their b,
 *        with trans_b as it was packed for (another one: SSQ_ERR_INVALID). A
 *        graph and a tape read b itself, since b may have been written when it
 *        is launched or goes backward. Every other op sees the tensor b.
 *  @note To have weights as the left factor: d' = b' a'. Exchange a and b, give
 *        d as its transposed view, and flip trans_a and trans_b. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_pack(ssq_queue *queue,
                                                const ssq_tensor *b,
                                                bool trans_b,
                                                ssq_tensor **packed);

/** Pack again what b holds now, after a write to it. In order on queue: what
 * was enqueued before still reads the old copy.
 *  @param packed  of ssq_gemm_pack
 *  @return SSQ_ERR_INVALID a NULL, a tensor that is not packed, another
 *          device's, a capture; the queue's error: then products refuse packed
 *          until a call succeeds. Since 0.1.
 *  @note Writes count that the library enqueues, captures or launches, whether
 *        they changed a value or not; not those of the caller's own code into
 *        memory that he has lent: then he calls this, too. Writes to columns
 *        beside b, in the matrix that it is a slice of, are none. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_repack(ssq_queue *queue,
                                                  ssq_tensor *packed);

#ifdef __cplusplus
}
#endif

#endif
