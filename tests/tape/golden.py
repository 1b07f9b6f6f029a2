#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py - gradients of torch for golden.txt, in float64.

Needs torch (1.13 or later); run by hand: python3 golden.py >golden.txt

The cases are those of cases.list, which has the same function in torch's words:
an expression of the names that are defined here. Element i of a parameter is
((i a + 3) mod 31 - 15) / 16, where a is 1 plus the sum of the letters of its
name mod 13. sum(w y) is differentiated, with w[j] = ((7 j + 5) mod 23 - 11) /
16. A line is

    CASE PARAMETER TERMS LARGEST GRADIENT...

where TERMS are the elements of y, and LARGEST is that of
sum_j |w[j] dy[j]/dp[i]| over all elements i of all the case's parameters: what
rounding errors of the terms are relative to. (Of one parameter it may be 0:
what a key's bias adds to all scores of a row, softmax takes away.)

Lines whose CASE begins with second_ are gradients of gradients: of sum(g^2) +
sum(g), where g are the gradients of sum(w y^2) for all parameters. With H the
second derivatives that is H (2 g + 1); H and g are sums over the elements of y
of terms whose magnitudes are |H| and |g|. LARGEST is that of |H| (2 |g| + 1),
and TERMS the additions behind one another: twice the elements of y, one for
each element of the parameters, and another 16 for the second formula.
"""
import os
import re

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
made = {}


def P(name, *shape):
    if name not in made:
        n = 1
        for s in shape:
            n *= s
        a = 1 + sum(name.encode()) % 13
        made[name] = (torch.tensor([((i * a + 3) % 31 - 15) / 16
                                    for i in range(n)])
                      .reshape(shape).requires_grad_(True))
    return made[name]


def layer(name, out, into, bias=True):
    return (P(name + '.weight', out, into),
            P(name + '.bias', out) if bias else None)


def X(): return P('x', 5, 7)
def Y(): return P('y', 5, 7)
def ROW(): return P('row', 7)
def COL(): return P('col', 5, 1)
def ABOVE(v): return torch.exp(0.5 * v)


classes = torch.tensor([3, -100, 0, 6, 2])
pixels = torch.tensor([[4, 0, 2], [1, 3, 3]])
rows = torch.tensor([[4, 0, 4], [2, 2, 1]])
target = torch.tensor([(i * 11 % 17) / 8 - 1 for i in range(35)]).reshape(5, 7)
# as float32 has them: the C test's data are
share = torch.tensor([(1 + i % 7) / 28 for i in range(35)],
                     dtype=torch.float32).double().reshape(5, 7)
mask = torch.tensor([(i * 7 % 5) / 4 for i in range(24)]).reshape(4, 6)
mean, var = target.flatten()[:3], share.flatten()[:3]
cond = torch.tensor([i % 3 == 1 for i in range(35)]).reshape(5, 7)


def rms(x, w, dims=(-1,)):
    return x * torch.rsqrt(x.square().mean(dims, keepdim=True) + 1e-5) * w


def attention(q, k, v, mask=None, causal=False):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s + mask
    if causal:
        t = s.shape[-1]
        s = s.masked_fill(torch.ones(t, t).triu(1).bool(), -torch.inf)
    return torch.softmax(s, -1) @ v


def rotary(x):
    t, d = x.shape[-2:]
    freq = (10000.0 ** (-2 * torch.arange(d // 2) / d)).float()
    angle = (torch.arange(t).float()[:, None] * freq).double()
    a, b = x[..., :d // 2], x[..., d // 2:]
    return torch.cat([a * angle.cos() - b * angle.sin(),
                      b * angle.cos() + a * angle.sin()], -1)


def nn_attention(x, heads, causal):
    n, t, width = x.shape

    def part(name):
        y = F.linear(x, *layer('at.' + name, width, width))
        return y.reshape(n, t, heads, width // heads).transpose(1, 2)
    y = attention(part('query'), part('key'), part('value'), causal=causal)
    return F.linear(y.transpose(1, 2).reshape(n, t, width),
                    *layer('at.out', width, width))


def lstm_of(x, ih, hh, b1, b2, h, c, reverse=False):
    ys = []
    for k in range(x.shape[0])[::-1 if reverse else 1]:
        i, f, g, o = (F.linear(x[k], ih, b1) + F.linear(h, hh, b2)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        ys.append(h)
    return torch.stack(ys[::-1] if reverse else ys), h, c


def gru_of(x, ih, hh, b1, b2, h, reset_first=False):
    ys, n = [], h.shape[1]
    for k in range(x.shape[0]):
        u = F.linear(x[k], ih, b1).chunk(3, 1)
        v = F.linear(h, hh, b2).chunk(3, 1)
        r, z = (u[0] + v[0]).sigmoid(), (u[1] + v[1]).sigmoid()
        if reset_first:
            q = F.linear(r * h, hh[2 * n:], b2[2 * n:])
        else:
            q = r * v[2]
        h = (1 - z) * (u[2] + q).tanh() + z * h
        ys.append(h)
    return torch.stack(ys), h


def lstm():
    y, hn, cn = lstm_of(P('s', 3, 2, 4), P('ih', 12, 4), P('hh', 12, 3),
                        P('b1', 12), P('b2', 12), P('h0', 2, 3), P('c0', 2, 3))
    return y + hn * cn


def nn_lstm():
    zero = torch.zeros(2, 3)
    y, hn, cn = lstm_of(P('s', 3, 2, 4), P('l.weight_ih', 12, 4),
                        P('l.weight_hh', 12, 3), P('l.bias_ih', 12),
                        P('l.bias_hh', 12), zero, zero, True)
    return y + hn * cn


def gru():
    y, hn = gru_of(P('s', 3, 2, 4), P('ih9', 9, 4), P('hh9', 9, 3),
                   P('b3', 9), P('b4', 9), P('h0', 2, 3))
    return y + hn.square()


def nn_gru():
    return gru_of(P('s', 3, 2, 4), P('g.weight_ih', 9, 4),
                  P('g.weight_hh', 9, 3), P('g.bias_ih', 9),
                  P('g.bias_hh', 9), torch.zeros(2, 3), True)[0]


def slices():
    x, z = X(), X().tanh()
    y = x[0:3] * x[2:5] + z[1:4] * z[0:5:2]
    return y + z.sum() * y


def joined():
    x = X().sin()
    return torch.cat([x, COL(), x, P('u', 3, 5).T], -1).square()


def many():
    x = X().sin()
    part = [x[4 - i:5 - i] for i in range(5)]
    y = torch.cat([part[i * i % 5] for i in range(10)], 0)
    return y * torch.cat([x, Y()], 0)


def twice():
    x = X().tanh()
    return x.flatten() * x.square().flatten() + x.flatten()


def tied():
    w = P('e.weight', 5, 6)
    return F.linear(w[rows].tanh(), w)


def norms():
    j = P('j', 2, 4, 3, 3)
    x = F.batch_norm(j, None, None, P('bn.weight', 4), P('bn.bias', 4), True)
    x = F.group_norm(x, 2, P('gn.weight', 4), P('gn.bias', 4))
    x = F.layer_norm(x, (3,), P('ln.weight', 3), P('ln.bias', 3))
    return rms(x + P('j2', 2, 4, 3, 3), P('rn.weight', 3, 3), (-1, -2))


def diamond():
    x = X().sin()
    return x.exp() * (x + Y()) - x * x


def pads(x, top, left, bottom, right):
    return F.pad(x, (left, right, top, bottom))


def first(x): return x.movedim(-1, 1)  # channels
def last(x): return x.movedim(1, -1)
def I(): return P('i', 2, 3, 4, 4)
def J(): return P('j', 2, 4, 3, 3)
def C4(): return P('c', 4)


def softmax_loss(target=classes, **kind):
    return F.cross_entropy(X(), target, **kind)


def read_cases():
    """The cases of cases.list that have an expression: their name, the word
    that they begin with, and the expression."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        'cases.list')
    text = open(path).read()
    found = {}
    for entry in re.split(r'^(?=[A-Z])', text, flags=re.M):
        match = re.match(r'(CASE|ONCE|TORCH_ONCE|UNARY)\(\s*(\w+),.*?,'
                         r'((?:\s*"[^"]*")+)\)\n', entry, re.S)
        if match:
            word, name, strings = match.groups()
            found[name] = word, ''.join(re.findall(r'"([^"]*)"', strings))
    return found


class Names(dict):
    """The names of an expression that are parameters, made when it reads
    them."""
    made = {'X': X, 'Y': Y, 'ROW': ROW, 'COL': COL, 'I': I, 'J': J, 'C4': C4}

    def __missing__(self, name):
        return self.made[name]()


cases = read_cases()


def result(name):
    made.clear()
    return eval(cases[name][1], globals(), Names()).flatten()


def show(name):
    y = result(name)
    w = torch.tensor([((j * 7 + 5) % 23 - 11) / 16 for j in range(len(y))])
    params = list(made.items())
    each = [torch.autograd.grad(y[j] * w[j], [p for _, p in params],
                                retain_graph=True, allow_unused=True)
            for j in range(len(y))]
    grads = [torch.stack([torch.zeros_like(p) if e[k] is None else e[k]
                          for e in each]) for k, (_, p) in enumerate(params)]
    largest = max(g.abs().sum(0).max().item() for g in grads)
    for (at, _), g in zip(params, grads):
        print(name, at, len(y), '%.6g' % largest,
              *('%.12g' % v for v in g.sum(0).flatten().tolist()))


def show_second(name):
    y = result(name)
    params = list(made.items())
    ps = [p for _, p in params]
    n = sum(p.numel() for p in ps)

    def grad(f):
        if not f.requires_grad:
            return torch.zeros(n)
        return torch.cat([torch.zeros(p.numel()) if g is None else g.flatten()
                          for p, g in zip(ps, torch.autograd.grad(
                              f, ps, create_graph=True, allow_unused=True))])

    g, h = torch.zeros(2, n), torch.zeros(2, n, n)
    for j in range(len(y)):
        gj = grad(((j * 7 + 5) % 23 - 11) / 16 * y[j] ** 2)
        hj = torch.stack([grad(gj[i]).detach() for i in range(n)])
        gj = gj.detach()
        g += torch.stack([gj, gj.abs()])
        h += torch.stack([hj, hj.abs()])
    got = h[0].T @ (2 * g[0] + 1)
    largest = (h[1].T @ (2 * g[1] + 1)).max().item()
    for at, p in params:
        mine, got = got[:p.numel()], got[p.numel():]
        print('second_' + name, at, 16 + 2 * len(y) + n, '%.6g' % largest,
              *('%.12g' % v for v in mine.tolist()))


for name in cases:
    show(name)
for name in cases:
    if cases[name][0] in ('CASE', 'UNARY'):
        show_second(name)
