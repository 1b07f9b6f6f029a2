/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - pack the weights of matmuls once, for many calls.
 *
 *     ssq_gemm_pack(queue, weights, true, &packed);
 *     ..                             then, as often as needed
 *     ssq_gemm(queue, SSQ_GEMM(.a = x, .b = packed, .d = y, .trans_b = true));
 *     ..                             after a write to the weights
 *     ssq_gemm_repack(queue, packed);
 *
 * A matmul copies its operands into the order in which its loops read them, in
 * each call. If a has few rows and b is large, as in inference, this takes a
 * good part of the time. ssq_gemm_pack makes this copy of b once.
 *
 * The packed tensor is a view of the weights with the copy attached. It can be
 * used like any tensor. Results have the same bits as without packing, on every
 * device. The copy takes about as many bytes as the weights.
 *
 * If the weights are written, call ssq_gemm_repack. Until then matmuls return
 * SSQ_ERR_INVALID for the packed tensor. The weights themselves can be used at
 * any time. For example, an optimizer's step on the weights makes the next
 * ssq_gemm with `packed` fail. This is so on every device.
 *
 * Today only cpu makes a copy, of weights that have at least 32 columns of
 * op(b) (fewer without AVX-512). With AVX512_BF16, op(b) of bf16 must also have
 * an even number of rows. Other devices read the weights, and packing costs
 * nothing. The gain is largest if a has some tens of rows. ssq_gemm_explain
 * reports whether a call reads the copy (.packed). Not all do: for example,
 * none that runs on AMX.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_PACK_H
#define SESQUI_PACK_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Pack b for matmuls on its device. Work on other queues must wait for this
 *  call by an event, before it reads `packed`.
 *
 *  ssq_gemm and ssq_gemm_batched read the copy if packed is their b and their
 *  trans_b is the same. With another trans_b they return SSQ_ERR_INVALID, also
 *  in a capture. A launch of a graph reads b, with the values that b then has.
 *  In a tape and as an operand of other ops, packed is the same as b. Views of
 *  packed are views of b.
 *
 *  The copy serves only as the right operand. For packed weights on the left,
 *  compute the transpose: exchange a and b, and set trans_a to !trans_b and
 *  trans_b to !trans_a. Store d in row-major order as its transpose: if d is a
 *  transposed view, cpu does not read the copy.
 *  @param b        f32, f16 or bf16, rank 2; one of its strides is 1 unless a
 *                  dimension is at most 1; held until packed is destroyed
 *  @param trans_b  as in the matmuls: true if b is [n,k], false if [k,n]
 *  @param packed   out; owned by the caller; release it, and the copy, with
 *                  ssq_tensor_destroy()
 *  @return SSQ_ERR_INVALID  rank, dtype or strides of b; a graph is being
 *                           captured on the queue, or by this thread on the
 *                           device
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_pack(ssq_queue *queue,
                                                const ssq_tensor *b,
                                                bool trans_b,
                                                ssq_tensor **packed);

/** Pack the values that b has now. Work that was enqueued before on this queue
 *  still reads the old copy. Work on other queues must be ordered by events,
 *  before and after.
 *
 *  Repack after each write that the library enqueues, captures or launches,
 *  also if no value changed. Writes to columns outside b, in a matrix of which
 *  it is a slice, do not count. Two kinds of writes to memory that the program
 *  has lent are not noticed: by its own code, and by the library through
 *  another buffer on the same bytes, for example a second import. Call this
 *  function after them, too.
 *  @param packed  a tensor of ssq_gemm_pack
 *  @return SSQ_ERR_INVALID  packed is not a tensor of ssq_gemm_pack; a graph is
 *                           being captured, as in ssq_gemm_pack. The copy is
 *                           unchanged.
 *          After any other error, for example of a lost device, matmuls return
 *          SSQ_ERR_INVALID for packed until a call succeeds.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_repack(ssq_queue *queue,
                                                  ssq_tensor *packed);

#ifdef __cplusplus
}
#endif

#endif
