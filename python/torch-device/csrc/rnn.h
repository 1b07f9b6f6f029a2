// SPDX-License-Identifier: Apache-2.0
/* rnn.h - an LSTM or GRU layer in one direction. */
#ifndef SESQUI_TORCH_RNN_H
#define SESQUI_TORCH_RNN_H

#include <ATen/core/Tensor.h>

#include <array>
#include <vector>

namespace sesqui_torch
{

/* c0 is undefined for a GRU. */
struct RnnInputs {
    at::Tensor x, w_ih, w_hh, b_ih, b_hh, h0, c0;
    bool reverse;
};
struct RnnResults {
    at::Tensor y, hn, cn, reserve;
};
struct RnnGrads {
    at::Tensor y, hn, cn;
};
using RnnWanted = std::array<bool, 7>; /* in the order of RnnInputs */

RnnResults rnn_forward(const RnnInputs &in);
std::vector<at::Tensor> rnn_backward(const RnnInputs &in, const at::Tensor &y,
                                     const at::Tensor &reserve,
                                     const RnnGrads &grads,
                                     const RnnWanted &wanted);

} // namespace sesqui_torch

#endif
