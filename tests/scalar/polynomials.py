# SPDX-License-Identifier: Apache-2.0
# polynomials.py - where the polynomials of kernels/scalar/*.h come from: python3
# with mpmath prints the float32 coefficients, lowest degree first, and the
# largest error of the polynomial evaluated exactly.
#
# Each is a least-squares fit at Chebyshev nodes (within a factor of two of
# minimax), rounded to float32 one coefficient after the other, the remaining
# ones fitted again to what is left. A first coefficient may be a pair.

import struct
from mpmath import (mp, mpf, cos, erf, erfc, erfinv, exp, findroot, log, log1p,
                    lu_solve, matrix, pi, sin, sqrt, tanh)

mp.dps = 90


def single(x):
    return mpf(struct.unpack('f', struct.pack('f', float(x)))[0])


def show(x):
    for digits in range(1, 18):
        text = '%.*g' % (digits, float(x))
        if single(mpf(float(text))) == x:
            return text


def solve(xs, ys, powers):
    a = matrix(len(xs), len(powers))
    for i, x in enumerate(xs):
        for j, k in enumerate(powers):
            a[i, j] = x ** k
    return lu_solve(a, matrix(ys))


def fit(name, f, powers, lo, hi, first=False):
    n = 4 * len(powers) + 8
    xs = [(lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * n))
          for i in range(n)]
    ys = [f(x) for x in xs]
    rest, left, terms = list(ys), list(powers), []
    while left:
        c = solve(xs, rest, left)[0]
        pair = [single(c)]
        if first and not terms:
            pair.append(single(c - pair[0]))
        terms.append((left[0], pair))
        rest = [y - sum(pair) * x ** left[0] for x, y in zip(xs, rest)]
        left = left[1:]
    grid = [lo + (hi - lo) * i / 999 for i in range(1, 999)]
    worst = max(abs(sum(sum(c) * x ** k for k, c in terms) - f(x))
                for x in grid)
    print('# %s on [%s, %s]: absolute error 2^%.1f' %
          (name, mp.nstr(lo, 6), mp.nstr(hi, 6), float(log(worst, 2))))
    for k, c in terms:
        print('    x^%d  %s' % (k, ' + '.join(map(show, c))))


def constant(name, c, words=3):
    parts = []
    for i in range(words):
        parts.append(single(c))
        c -= parts[-1]
    print('# %s = %s' % (name, ' + '.join(map(show, parts))))


def upto(n):
    return list(range(n + 1))


def cumulative(x):
    return erfc(-x / sqrt(2)) / 2


def gelu_grad(x):
    return cumulative(x) + x * exp(-x * x / 2) / sqrt(2 * pi)


def sigmoid(x):
    return 1 / (1 + exp(-x))


def gelu_tanh_grad(x):
    k, c = 2 * sqrt(2 / pi), mpf('0.044715')
    s = sigmoid(k * (x + c * x ** 3))
    return s + x * s * (1 - s) * k * (1 + 3 * c * x * x)


def silu_grad(x):
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)))


def scaled_erfc(u):
    x = 1 / u - mpf('1.5')
    return exp(x * x) * erfc(x) / u


def probit_ratio(w):
    """x / q where q = p - 1/2, x = probit(p), w = -log(4 p (1 - p))"""
    q = sqrt(1 - exp(-w)) / 2
    return sqrt(2) * erfinv(2 * q) / q


def root(name, f, guess, lo, hi, degree):
    a = -findroot(f, guess)
    constant('%s: minus the root' % name, a, 2)
    fit('%s: f(d - a) / d' % name, lambda d: f(d - a) / d, upto(degree),
        lo, hi, True)


half = log(2) / 2 * mpf('1.001')
tiny = mpf(2) ** -20
fit('exp(x) - 1 - x', lambda x: exp(x) - 1 - x, range(2, 8), -half, half)
fit('the same for exp_neg', lambda x: exp(x) - 1 - x, range(2, 7),
    -log(2) / 2, log(2) / 2)
fit('log1p(x) - x + x^2/2', lambda x: log1p(x) - x + x * x / 2, range(3, 12),
    sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1)
fit('2 atanh(x) - 2x - 2x^3/3',
    lambda x: log1p(x) - log1p(-x) - 2 * x - 2 * x ** 3 / 3,
    [5, 7, 9, 11], tiny, mpf('0.1717'))
fit('sin(x) - x', lambda x: sin(x) - x, [3, 5, 7, 9], tiny, pi / 4)
fit('cos(x) - 1 + x^2/2', lambda x: cos(x) - 1 + x * x / 2, [4, 6, 8, 10],
    tiny, pi / 4)
fit('tanh(x) - x', lambda x: tanh(x) - x, [3, 5, 7, 9, 11, 13], tiny,
    mpf('0.55'))
fit('erf(x) - x', lambda x: erf(x) - x, [1, 3, 5, 7, 9, 11], tiny,
    mpf('0.5'), True)
centre = mpf('0.3125')
fit('erfc(z) exp(z^2) / u, u = 1/(z + 1.5), x = u - 0.3125',
    lambda x: scaled_erfc(x + centre), upto(10), 1 / mpf('11.9') - centre,
    1 / mpf('1.845') - centre, True)
root("gelu'", gelu_grad, mpf('-0.75'), mpf('-0.5'), mpf('0.752'), 10)
root("gelu_tanh'", gelu_tanh_grad, mpf('-0.75'), mpf('-0.5'), mpf('0.503'), 9)
root("silu'", silu_grad, mpf('-1.27'), mpf('-0.5'), mpf('0.5'), 8)
fit('probit(p) / (p - 1/2), x = w - 2.5', lambda x: probit_ratio(x + mpf('2.5')),
    upto(10), mpf('-2.49999'), mpf('2.5'), True)
centre = mpf('3.375')
fit('probit(p) / (p - 1/2), x = sqrt(w) - 3.375',
    lambda x: probit_ratio((x + centre) ** 2), upto(11),
    sqrt(mpf(5)) - centre, mpf('4.66') - centre, True)
constant('log(2)', log(2))
high = mpf(int(log(2) * 2 ** 16)) / 2 ** 16
constant('log(2), 16 bits', high, 1)
constant('log(2) - 16 bits', log(2) - high, 2)
constant('1/log(2)', 1 / log(2), 2)
constant('sqrt(1/2)', sqrt(mpf(1) / 2), 2)
constant('pi/2', pi / 2, 2)
constant('1/sqrt(2 pi)', 1 / sqrt(2 * pi), 2)
constant('2/3', mpf(2) / 3, 2)
constant('erf(sqrt(2))', erf(sqrt(mpf(2))), 2)
constant('erfc(sqrt(2)) / 2', erfc(sqrt(mpf(2))) / 2, 2)
k = 2 * sqrt(2 / pi)
constant('2 sqrt(2/pi)', k, 2)
constant('0.044715 * 2 sqrt(2/pi)', k * mpf('0.044715'), 2)
constant('3 * 0.044715 * 2 sqrt(2/pi)', 3 * k * mpf('0.044715'), 2)
bits = int(2 / pi * mpf(2) ** 256)
print('# 2/pi, words after the point:',
      ' '.join('%08x' % (bits >> (224 - 32 * i) & 0xffffffff)
               for i in range(8)))
