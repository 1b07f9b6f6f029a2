#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py - numbers of torch for golden_norm.h and golden_rnn.h.

Needs torch and clang-format; run by hand:
    python3 golden.py norm | clang-format > golden_norm.h
    python3 golden.py rnn | clang-format > golden_rnn.h
All in float64. The inputs are fill(a, sizes): multiples of 1/16 that every dtype
holds, ((i * a + 3) mod 17 - 8) / 16.
"""
import sys

import torch

torch.set_default_dtype(torch.float64)


def fill(a, *shape):
    n = 1
    for s in shape:
        n *= s
    return (torch.tensor([((i * a + 3) % 17 - 8) / 16 for i in range(n)])
            .reshape(shape).requires_grad_(True))


def show(name, t):
    v = ['%.17g' % x for x in t.detach().flatten().tolist()]
    body = ''
    line = '   '
    for x in v:
        if len(line) + len(x) + 2 > 79:
            body += line + '\n'
            line = '   '
        line += ' ' + x + ','
    print('static const double %s[] = {\n%s};' % (name, body + line))


def batch_norm():
    x = fill(5, 3, 2, 2, 2)
    gamma, beta = fill(7, 2), fill(3, 2)
    mean, var = fill(2, 2).detach(), fill(4, 2).detach() + 1
    dy = fill(11, 3, 2, 2, 2).detach()
    y = torch.nn.functional.batch_norm(x, mean, var, gamma, beta, True, 0.25,
                                       0.125)
    y.backward(dy)
    show('golden_batch_y', y)
    show('golden_batch_mean', mean)
    show('golden_batch_var', var)
    show('golden_batch_dx', x.grad)
    show('golden_batch_dgamma', gamma.grad)
    show('golden_batch_dbeta', beta.grad)
    x.grad = gamma.grad = beta.grad = None
    mean, var = fill(2, 2).detach(), fill(4, 2).detach() + 1
    y = torch.nn.functional.batch_norm(x, mean, var, gamma, beta, False, 0.25,
                                       0.125)
    y.backward(dy)
    show('golden_batch_given_y', y)
    show('golden_batch_given_dx', x.grad)
    show('golden_batch_given_dgamma', gamma.grad)


def group_norm():
    x = fill(5, 2, 4, 3)
    gamma, beta = fill(7, 4), fill(3, 4)
    y = torch.nn.functional.group_norm(x, 2, gamma, beta, 0.125)
    y.backward(fill(11, 2, 4, 3).detach())
    show('golden_group_y', y)
    show('golden_group_dx', x.grad)
    show('golden_group_dgamma', gamma.grad)
    show('golden_group_dbeta', beta.grad)


def recurrent(name, layer, parts):
    t, batch, n, h = 3, 2, 3, 2
    with torch.no_grad():
        layer.weight_ih_l0.copy_(fill(5, parts * h, n))
        layer.weight_hh_l0.copy_(fill(7, parts * h, h))
        layer.bias_ih_l0.copy_(fill(3, parts * h))
        layer.bias_hh_l0.copy_(fill(2, parts * h))
    x, h0, c0 = fill(11, t, batch, n), fill(4, 1, batch, h), fill(6, 1, batch,
                                                                  h)
    state = (h0, c0) if parts == 4 else h0
    y, last = layer(x, state)
    hn = last[0] if parts == 4 else last
    loss = (y * fill(13, t, batch, h).detach()).sum()
    loss = loss + (hn * fill(9, 1, batch, h).detach()).sum()
    if parts == 4:
        loss = loss + (last[1] * fill(10, 1, batch, h).detach()).sum()
    loss.backward()
    show('golden_%s_y' % name, y)
    if parts == 4:
        show('golden_lstm_cn', last[1])
        show('golden_lstm_dc0', c0.grad)
    show('golden_%s_dx' % name, x.grad)
    show('golden_%s_dh0' % name, h0.grad)
    show('golden_%s_dw_ih' % name, layer.weight_ih_l0.grad)
    show('golden_%s_dw_hh' % name, layer.weight_hh_l0.grad)
    show('golden_%s_db_ih' % name, layer.bias_ih_l0.grad)
    show('golden_%s_db_hh' % name, layer.bias_hh_l0.grad)


print('''/* SPDX-License-Identifier: Apache-2.0 */
/* golden_%s.h - numbers of torch %s in float64. Written by golden.py, which
 * has the problems. */
#ifndef CONFORMANCE_GOLDEN_%s_H
#define CONFORMANCE_GOLDEN_%s_H
''' % (sys.argv[1], torch.__version__.split('+')[0], sys.argv[1].upper(),
       sys.argv[1].upper()))
if sys.argv[1] == 'norm':
    batch_norm()
    group_norm()
else:
    recurrent('lstm', torch.nn.LSTM(3, 2), 4)
    recurrent('gru', torch.nn.GRU(3, 2), 3)
print('\n#endif')
