# SPDX-License-Identifier: Apache-2.0
# kernels.mk - device code and the headers it shares with the host.

EXTRA_DIST += kernels/dialect.h kernels/scalar.h kernels/scalar_bits.h \
	kernels/scalar_cast.h kernels/scalar_div.h kernels/scalar_erf.h \
	kernels/scalar_exp.h kernels/scalar_log.h kernels/scalar_pair.h \
	kernels/scalar_random.h kernels/scalar_sigmoid.h kernels/scalar_trig.h
EXTRA_DIST += kernels/epilogue.h
EXTRA_DIST += kernels/elementwise.h
EXTRA_DIST += kernels/norm.h kernels/reduce.h kernels/random.h
EXTRA_DIST += kernels/convert.h
EXTRA_DIST += kernels/loss.h
EXTRA_DIST += kernels/rnn.h
EXTRA_DIST += kernels/rotary.h
EXTRA_DIST += kernels/pool.h
EXTRA_DIST += kernels/amp.h kernels/machine.h kernels/wide.h
EXTRA_DIST += kernels/optimizer.h
