/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - linear layers and embeddings. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

#include <string.h>

/* Multiply the rows of x by the weight. If x does not have rank 2, all
 * dimensions except the last are combined to rows. */
/* Whether a matrix can be an operand of a product: unit_stride() in
 * lib/op/gemm/gemm_build.c. Reshaping copies the others. */
static bool has_unit_stride(const struct view *v)
{
    return v->shape[0] <= 1 || v->shape[1] <= 1 || v->stride[0] == 1 ||
           v->stride[1] == 1;
}

ssq_var ssq_nn_linear_at(const char *where, ssq_tape *tape, const char *name,
                         ssq_var x, int64_t out,
                         const ssq_nn_linear_args *options)
{
    const struct layer l = {where, name, "nn_linear", tape};
    const ssq_nn_linear_args o =
        options == NULL ? (ssq_nn_linear_args)SSQ_NN_LINEAR_INIT : *options;
    if (!layer_begin(&l, x, options, sizeof(o)))
        return var_inert(tape);
    const struct view v = value_of(tape, x.id)->is.tensor.view;
    if (v.rank == 0) {
        latch(tape, error_set(SSQ_ERR_INVALID, "x has rank 0"), where, l.kind);
        return var_inert(tape);
    }
    int64_t in = v.shape[v.rank - 1];
    const int64_t shape[] = {out, in};
    const ssq_begin weight = init_weight(), bias_begin = init_bias((double)in);
    ssq_var w = layer_param(&l, "weight", 2, shape, &o.weight_init, &weight);
    ssq_var bias = SSQ_VAR_NONE;
    if (o.bias)
        bias = layer_param(&l, "bias", 1, shape, &o.bias_init, &bias_begin);
    int64_t rows = 1; /* not -1: in may be 0 */
    for (int i = 0; i < v.rank - 1; i++)
        rows *= v.shape[i];
    if (v.rank != 2 || !has_unit_stride(&v))
        x = ssq_var_reshape_at(where, x, 2, (const int64_t[]){rows, in});
    ssq_var y = ssq_gemm_var_at(where, x, w, bias, SSQ_GEMM(.trans_b = true));
    if (v.rank == 2)
        return y;
    int64_t whole[SSQ_MAX_RANK];
    memcpy(whole, v.shape, sizeof(whole));
    whole[v.rank - 1] = out;
    return ssq_var_reshape_at(where, y, v.rank, whole);
}

ssq_var ssq_nn_embedding_at(const char *where, ssq_tape *tape, const char *name,
                            const ssq_tensor *index, int64_t rows,
                            int64_t width, const ssq_nn_embedding_args *options)
{
    const struct layer l = {where, name, "nn_embedding", tape};
    const ssq_nn_embedding_args o =
        options == NULL ? (ssq_nn_embedding_args)SSQ_NN_EMBEDDING_INIT
                        : *options;
    if (tape == NULL || tape->status != SSQ_OK)
        return var_inert(tape);
    if (o.struct_size != sizeof(o)) {
        latch(tape,
              error_set(SSQ_ERR_INVALID, "struct_size is %zu, expected %zu",
                        o.struct_size, sizeof(o)),
              where, l.kind);
        return var_inert(tape);
    }
    const ssq_begin begin = {.kind = SSQ_INIT_NORMAL, .value = 1.0};
    const int64_t shape[] = {rows, width};
    ssq_var w = layer_param(&l, "weight", 2, shape, &o.weight_init, &begin);
    return ssq_gather_rows_var_at(where, w, SSQ_GATHER_ROWS(.index = index));
}
