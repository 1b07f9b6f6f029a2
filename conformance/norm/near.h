/* SPDX-License-Identifier: Apache-2.0 */
/* near.h - numbers whose mean is much larger than their deviation. */
#ifndef CONFORMANCE_NORM_NEAR_H
#define CONFORMANCE_NORM_NEAR_H

#include <math.h>

#include <sesqui/dtype.h>

/** Some units in the last place from one number, as time stamps are; x is
 *  standard normal. */
static inline double near_value(ssq_dtype dtype, double x)
{
    double base = dtype == SSQ_F32 ? 1.7e9 : 4096.0;
    double unit = dtype == SSQ_F32 ? 128.0 : dtype == SSQ_F16 ? 4.0 : 32.0;
    return base + unit * round(8.0 * x);
}

#endif
