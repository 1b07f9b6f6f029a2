#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden_onnx.py - numbers of ONNX's reference evaluator for golden_onnx.h.

Needs onnx and clang-format; run by hand:
    python3 golden_onnx.py | clang-format > golden_onnx.h
All in float64. The inputs are those of golden.py.
"""
import numpy
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator


def fill(a, *shape):
    n = int(numpy.prod(shape))
    return (numpy.array([((i * a + 3) % 17 - 8) / 16 for i in range(n)])
            .reshape(shape))


def show(name, t):
    v = ', '.join('%.17g' % x for x in t.flatten().tolist())
    print('static const double %s[] = {%s,};' % (name, v))


def run(op, version, inputs, outputs, **attributes):
    def values(names):
        return [helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, None)
                for n in names if n != '']
    names = ['i%d' % i for i in range(len(inputs))]
    feeds = {n: x for n, x in zip(names, inputs) if x is not None}
    names = [n if n in feeds else '' for n in names]
    node = helper.make_node(op, names, outputs, **attributes)
    graph = helper.make_graph([node], 'g', values(names), values(outputs))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid('', version)])
    return ReferenceEvaluator(model).run(None, feeds)


def batch_norm():
    x, gamma, beta = fill(5, 3, 2, 2, 2), fill(7, 2), fill(3, 2)
    mean, var = fill(2, 2), fill(4, 2) + 1
    y, mean, var = run('BatchNormalization', 15, [x, gamma, beta, mean, var],
                       ['y', 'mean', 'var'], epsilon=0.125, momentum=0.75,
                       training_mode=1)
    show('golden_onnx_batch_mean', mean)
    show('golden_onnx_batch_var', var)


def gru():
    t, batch, n, h = 3, 2, 3, 2

    def gates(w):  # ours are r, z, n; ONNX's z, r, n
        return numpy.concatenate([w[h:2 * h], w[:h], w[2 * h:]])
    x, h0 = fill(11, t, batch, n), fill(4, 1, batch, h)
    w, r = gates(fill(5, 3 * h, n)), gates(fill(7, 3 * h, h))
    b = numpy.concatenate([gates(fill(3, 3 * h)), gates(fill(2, 3 * h))])
    y, _ = run('GRU', 14, [x, w[None], r[None], b[None], None, h0],
               ['y', 'hn'], hidden_size=h, linear_before_reset=0)
    show('golden_onnx_gru_y', y)


def main():
    print('/* SPDX-License-Identifier: Apache-2.0 */')
    print("/* golden_onnx.h - numbers of ONNX's reference evaluator, onnx %s,\n"
          ' * in float64. Written by golden_onnx.py, which has the problems. */'
          % onnx.__version__)
    print('#ifndef CONFORMANCE_GOLDEN_ONNX_H\n#define CONFORMANCE_GOLDEN_ONNX_H\n')
    batch_norm()
    gru()
    print('\n#endif')


main()
