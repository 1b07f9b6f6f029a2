/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_cases.h - operations with operands and results worked out by hand.
 *
 * X(operation, classes, a, b, c, result): the classes of the result and of the
 * operands, p predicate, h 16 bits, r 32, d 64, f float32. */
#ifndef TESTS_FAKECUDA_PTX_PTX_CASES_H
#define TESTS_FAKECUDA_PTX_PTX_CASES_H

/* clang-format off */
#define ONES64 UINT64_C(0xffffffffffffffff)
#define TOP64  UINT64_C(0x8000000000000000)

/* a = -2 and b = 3, which is less where T has a sign: LESS. */
#define INT_CASES(X, T, K, M2, ADD, SUB, MUL, MAD, LESS) \
    X("add." T, K ":" K K, M2, 3, 0, ADD) \
    X("sub." T, K ":" K K, M2, 3, 0, SUB) \
    X("mul.lo." T, K ":" K K, M2, 3, 0, MUL) \
    X("mad.lo." T, K ":" K K K, M2, 3, 5, MAD) \
    X("min." T, K ":" K K, M2, 3, 0, (LESS) ? M2 : 3) \
    X("max." T, K ":" K K, M2, 3, 0, (LESS) ? 3 : M2) \
    X("selp." T, K ":" K K "p", M2, 3, 1, M2) \
    X("selp." T, K ":" K K "p", M2, 3, 0, 3) \
    X("mov." T, K ":" K, M2, 0, 0, M2) \
    X("setp.eq." T, "p:" K K, M2, M2, 0, 1) \
    X("setp.eq." T, "p:" K K, M2, 3, 0, 0) \
    X("setp.ne." T, "p:" K K, M2, 3, 0, 1) \
    X("setp.ne." T, "p:" K K, 3, 3, 0, 0) \
    X("setp.lt." T, "p:" K K, M2, 3, 0, LESS) \
    X("setp.lt." T, "p:" K K, 3, 3, 0, 0) \
    X("setp.le." T, "p:" K K, 3, 3, 0, 1) \
    X("setp.le." T, "p:" K K, M2, 3, 0, LESS) \
    X("setp.gt." T, "p:" K K, M2, 3, 0, !(LESS)) \
    X("setp.gt." T, "p:" K K, 3, 3, 0, 0) \
    X("setp.ge." T, "p:" K K, 3, 3, 0, 1) \
    X("setp.ge." T, "p:" K K, M2, 3, 0, !(LESS))

#define BIT_CASES(X, N, K, ONES, TOP) \
    X("and.b" N, K ":" K K, 12, 10, 0, 8) \
    X("or.b" N, K ":" K K, 12, 10, 0, 14) \
    X("xor.b" N, K ":" K K, 12, 10, 0, 6) \
    X("not.b" N, K ":" K, 0, 0, 0, ONES) \
    X("mov.b" N, K ":" K, ONES, 0, 0, ONES) \
    X("selp.b" N, K ":" K K "p", 1, 2, 0, 2) \
    X("setp.eq.b" N, "p:" K K, 7, 7, 0, 1) \
    X("setp.ne.b" N, "p:" K K, 7, 7, 0, 0) \
    X("shl.b" N, K ":" K "r", ONES, 1, 0, (ONES) - 1) \
    X("shl.b" N, K ":" K "r", ONES, 64, 0, 0) \
    X("shr.u" N, K ":" K "r", TOP, 1, 0, (TOP) >> 1) \
    X("shr.u" N, K ":" K "r", TOP, 255, 0, 0) \
    X("shr.b" N, K ":" K "r", TOP, 1, 0, (TOP) >> 1) \
    X("shr.s" N, K ":" K "r", TOP, 200, 0, ONES) \
    X("shr.s" N, K ":" K "r", 4, 1, 0, 2) \
    X("neg.s" N, K ":" K, 1, 0, 0, ONES) \
    X("neg.s" N, K ":" K, TOP, 0, 0, TOP) \
    X("abs.s" N, K ":" K, ONES, 0, 0, 1) \
    X("abs.s" N, K ":" K, TOP, 0, 0, TOP) \
    X("div.u" N, K ":" K K, ONES, 0, 0, ONES) \
    X("div.u" N, K ":" K K, 17, 5, 0, 3) \
    X("rem.u" N, K ":" K K, 17, 0, 0, 17) \
    X("rem.u" N, K ":" K K, 17, 5, 0, 2) \
    X("div.s" N, K ":" K K, TOP, ONES, 0, TOP) \
    X("div.s" N, K ":" K K, (ONES) - 6, 2, 0, (ONES) - 2) \
    X("div.s" N, K ":" K K, 5, 0, 0, ONES) \
    X("rem.s" N, K ":" K K, TOP, ONES, 0, 0) \
    X("rem.s" N, K ":" K K, (ONES) - 6, 2, 0, ONES)

#define WIDE_CASES(X) \
    X("and.pred", "p:pp", 1, 0, 0, 0) X("or.pred", "p:pp", 1, 0, 0, 1) \
    X("xor.pred", "p:pp", 1, 1, 0, 0) X("not.pred", "p:p", 1, 0, 0, 0) \
    X("mov.pred", "p:p", 1, 0, 0, 1) \
    X("mul.wide.u16", "r:hh", 0xffff, 0xffff, 0, 0xfffe0001) \
    X("mul.wide.s16", "r:hh", 0xffff, 3, 0, 0xfffffffd) \
    X("mul.wide.u32", "d:rr", 0xffffffff, 2, 0, UINT64_C(0x1fffffffe)) \
    X("mul.wide.s32", "d:rr", 0xffffffff, 2, 0, ONES64 - 1) \
    X("mad.wide.u16", "r:hhr", 3, 4, 5, 17) \
    X("mad.wide.u32", "d:rrd", 0xffffffff, 2, 2, UINT64_C(0x200000000)) \
    X("mad.wide.s32", "d:rrd", 0xffffffff, 2, 3, 1) \
    X("mul.hi.u32", "r:rr", 0xffffffff, 0xffffffff, 0, 0xfffffffe) \
    X("mul.hi.s32", "r:rr", 0xffffffff, 2, 0, 0xffffffff) \
    X("mad.hi.u32", "r:rrr", 0x80000000, 4, 5, 7) \
    X("mul.hi.u64", "d:dd", ONES64, ONES64, 0, ONES64 - 1) \
    X("mul.hi.u64", "d:dd", UINT64_C(1) << 32, UINT64_C(1) << 33, 0, 2) \
    X("bfe.u32", "r:rrr", 0xabcd1234, 8, 8, 0x12) \
    X("bfe.u32", "r:rrr", 0xabcd1234, 0, 32, 0xabcd1234) \
    X("bfe.u32", "r:rrr", 0xabcd1234, 40, 8, 0) \
    X("prmt.b32", "r:rrr", 0x33221100, 0x77665544, 0x7430, 0x77443300) \
    X("prmt.b32", "r:rrr", 0x80, 0, 0x0008, 0x808080ff) \
    X("clz.b32", "r:r", 0, 0, 0, 32) X("clz.b32", "r:r", 1, 0, 0, 31) \
    X("popc.b32", "r:r", 0xf0f0, 0, 0, 8) \
    X("shf.l.wrap.b32", "r:rrr", 0x80000000, 1, 33, 3) \
    X("shf.r.wrap.b32", "r:rrr", 0x80000000, 1, 1, 0xc0000000) \
    X("cvta.global.u64", "d:d", 5, 0, 0, 5) \
    X("cvta.to.global.u64", "d:d", 5, 0, 0, 5) \
    X("cvta.shared.u64", "d:d", 8, 0, 0, (UINT64_C(1) << 56) + 8) \
    X("cvta.to.shared.u64", "d:d", (UINT64_C(1) << 56) + 8, 0, 0, 8) \
    X("cvta.local.u64", "d:d", 8, 0, 0, (UINT64_C(2) << 56) + 8) \
    X("cvta.to.local.u64", "d:d", (UINT64_C(2) << 56) + 8, 0, 0, 8)

#define CVT_CASES(X) \
    X("cvt.u8.u16", "h:h", 0x1ff, 0, 0, 0xff) \
    X("cvt.u8.u32", "r:r", 0x1ff, 0, 0, 0xff) \
    X("cvt.s16.s8", "h:h", 0x80, 0, 0, 0xff80) \
    X("cvt.u16.u8", "h:h", 0x1ff, 0, 0, 0xff) \
    X("cvt.u16.u16", "h:h", 0x1ff, 0, 0, 0x1ff) \
    X("cvt.u16.u32", "h:r", 0x12345, 0, 0, 0x2345) \
    X("cvt.u16.u64", "h:d", 0x12345, 0, 0, 0x2345) \
    X("cvt.s32.s8", "r:r", 0xff, 0, 0, 0xffffffff) \
    X("cvt.s32.s16", "r:h", 0x8000, 0, 0, 0xffff8000) \
    X("cvt.s32.u16", "r:h", 0x8000, 0, 0, 0x8000) \
    X("cvt.s32.s64", "r:d", ONES64, 0, 0, 0xffffffff) \
    X("cvt.u32.u8", "r:r", 0x1ff, 0, 0, 0xff) \
    X("cvt.u32.u16", "r:h", 0xffff, 0, 0, 0xffff) \
    X("cvt.u32.u32", "r:r", 7, 0, 0, 7) \
    X("cvt.u32.u64", "r:d", ONES64, 0, 0, 0xffffffff) \
    X("cvt.s64.s16", "d:h", 0x8000, 0, 0, UINT64_C(0xffffffffffff8000)) \
    X("cvt.s64.s32", "d:r", 0xffffffff, 0, 0, ONES64) \
    X("cvt.u64.u8", "d:r", 0x1ff, 0, 0, 0xff) \
    X("cvt.u64.u16", "d:h", 0xffff, 0, 0, 0xffff) \
    X("cvt.u64.u32", "d:r", 0xffffffff, 0, 0, 0xffffffff) \
    X("cvt.rn.f32.u8", "f:r", 0x1ff, 0, 0, 0x437f0000) \
    X("cvt.rn.f32.s16", "f:h", 0xffff, 0, 0, 0xbf800000) \
    X("cvt.rn.f32.u16", "f:h", 0xffff, 0, 0, 0x477fff00) \
    X("cvt.f32.f16", "f:h", 0xbc01, 0, 0, 0xbf802000) \
    X("cvt.f32.f16", "f:h", 0x0003, 0, 0, 0x34400000) \
    X("cvt.f32.f16", "f:h", 0xfc00, 0, 0, 0xff800000) \
    X("cvt.f32.f16", "f:h", 0xfd00, 0, 0, 0x7fffffff) \
    X("cvt.rn.f16.f32", "h:f", 0xbf801000, 0, 0, 0xbc00) \
    X("cvt.rn.f16.f32", "h:f", 0x3f803000, 0, 0, 0x3c02) \
    X("cvt.rn.f16.f32", "h:f", 0x477fefff, 0, 0, 0x7bff) \
    X("cvt.rn.f16.f32", "h:f", 0x477ff000, 0, 0, 0x7c00) \
    X("cvt.rn.f16.f32", "h:f", 0x387fdfff, 0, 0, 0x03ff) \
    X("cvt.rn.f16.f32", "h:f", 0x33000000, 0, 0, 0) \
    X("cvt.rn.f16.f32", "h:f", 0x33000001, 0, 0, 1) \
    X("cvt.rn.f16.f32", "h:f", 0xffa00000, 0, 0, 0x7fff) \
    X("cvt.rn.f32.s32", "f:r", 0xffffffff, 0, 0, 0xbf800000) \
    X("cvt.rn.f32.u32", "f:r", 0xffffffff, 0, 0, 0x4f800000) \
    X("cvt.rn.f32.u32", "f:r", 0x1000001, 0, 0, 0x4b800000) \
    X("cvt.rn.f32.s64", "f:d", ONES64, 0, 0, 0xbf800000) \
    X("cvt.rn.f32.u64", "f:d", ONES64, 0, 0, 0x5f800000) \
    X("cvt.rzi.u8.f32", "r:f", 0x43c80000, 0, 0, 255) \
    X("cvt.rzi.u16.f32", "h:f", 0x4f000000, 0, 0, 65535) \
    X("cvt.rzi.u32.f32", "r:f", 0x7f800000, 0, 0, 0xffffffff) \
    X("cvt.rzi.u32.f32", "r:f", 0xbf800000, 0, 0, 0) \
    X("cvt.rzi.u32.f32", "r:f", 0x7fc00000, 0, 0, 0) \
    X("cvt.rzi.s32.f32", "r:f", 0xbfc00000, 0, 0, 0xffffffff) \
    X("cvt.rzi.s32.f32", "r:f", 0xff800000, 0, 0, 0x80000000) \
    X("cvt.rzi.s32.f32", "r:f", 0x4f000000, 0, 0, 0x7fffffff) \
    X("cvt.rzi.s32.f32", "r:f", 0x7fc00001, 0, 0, 0)

#define F1   0x3f800000 /* 1 */
#define F2   0x40000000 /* 2 */
#define F3   0x40400000 /* 3 */
#define FINF 0x7f800000
#define FNAN 0x7fc00001 /* another than the ones that come out */
#define NAN_OUT 0x7fffffff
#define MINUS 0x80000000

/* Of an ordered comparison: 1 and 2, 2 and 2, 2 and 1; U: of a NaN. */
#define CMP_CASES(X, C, LT, EQ, GT, U) \
    X("setp." C ".f32", "p:ff", F1, F2, 0, LT) \
    X("setp." C ".f32", "p:ff", F2, F2, 0, EQ) \
    X("setp." C ".f32", "p:ff", 0, MINUS, 0, EQ) \
    X("setp." C ".f32", "p:ff", F2, F1, 0, GT) \
    X("setp." C ".f32", "p:ff", FNAN, F1, 0, U) \
    X("setp." C ".f32", "p:ff", F1, FNAN, 0, U)

#define FLOAT_CASES(X) \
    X("mov.f32", "f:f", FNAN, 0, 0, FNAN) \
    X("selp.f32", "f:ffp", F1, F2, 1, F1) \
    X("add.rn.f32", "f:ff", F1, F2, 0, F3) \
    X("add.rn.f32", "f:ff", F1, 0x33800000, 0, F1) \
    X("add.rn.f32", "f:ff", 1, 1, 0, 2) \
    X("add.rn.f32", "f:ff", FINF, FINF | MINUS, 0, NAN_OUT) \
    X("sub.rn.f32", "f:ff", F3, F2, 0, F1) \
    X("sub.rn.f32", "f:ff", FNAN, F2, 0, NAN_OUT) \
    X("mul.rn.f32", "f:ff", F2, 0xbfc00000, 0, 0xc0400000) \
    X("mul.rn.f32", "f:ff", FINF, 0, 0, NAN_OUT) \
    X("mul.rn.f32", "f:ff", 0x00800000, 0x3f000000, 0, 0x00400000) \
    X("div.rn.f32", "f:ff", F1, F3, 0, 0x3eaaaaab) \
    X("div.rn.f32", "f:ff", F1, 0, 0, FINF) \
    X("div.rn.f32", "f:ff", 0, 0, 0, NAN_OUT) \
    X("fma.rn.f32", "f:fff", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000) \
    X("sqrt.rn.f32", "f:f", F2, 0, 0, 0x3fb504f3) \
    X("sqrt.rn.f32", "f:f", 0xbf800000, 0, 0, NAN_OUT) \
    X("sqrt.rn.f32", "f:f", MINUS, 0, 0, MINUS) \
    X("rcp.rn.f32", "f:f", F3, 0, 0, 0x3eaaaaab) \
    X("neg.f32", "f:f", 0, 0, 0, MINUS) \
    X("abs.f32", "f:f", 0xbf800000, 0, 0, F1) \
    X("min.f32", "f:ff", FNAN, F2, 0, F2) \
    X("min.f32", "f:ff", F2, FNAN, 0, F2) \
    X("min.f32", "f:ff", FNAN, FNAN, 0, NAN_OUT) \
    X("min.f32", "f:ff", 0, MINUS, 0, MINUS) \
    X("max.f32", "f:ff", MINUS, 0, 0, 0) \
    X("max.f32", "f:ff", F1, F2, 0, F2) \
    X("max.f32", "f:ff", FNAN, F1, 0, F1) \
    X("max.NaN.f32", "f:ff", FNAN, F1, 0, NAN_OUT) \
    X("max.NaN.f32", "f:ff", F1, FNAN, 0, NAN_OUT) \
    X("max.NaN.f32", "f:ff", F1, F2, 0, F2) \
    X("max.NaN.f32", "f:ff", MINUS, 0, 0, 0) \
    CMP_CASES(X, "eq", 0, 1, 0, 0) CMP_CASES(X, "ne", 1, 0, 1, 0) \
    CMP_CASES(X, "lt", 1, 0, 0, 0) CMP_CASES(X, "le", 1, 1, 0, 0) \
    CMP_CASES(X, "gt", 0, 0, 1, 0) CMP_CASES(X, "ge", 0, 1, 1, 0) \
    CMP_CASES(X, "equ", 0, 1, 0, 1) CMP_CASES(X, "neu", 1, 0, 1, 1) \
    CMP_CASES(X, "ltu", 1, 0, 0, 1) CMP_CASES(X, "leu", 1, 1, 0, 1) \
    CMP_CASES(X, "gtu", 0, 0, 1, 1) CMP_CASES(X, "geu", 0, 1, 1, 1) \
    CMP_CASES(X, "nan", 0, 0, 0, 1) CMP_CASES(X, "num", 1, 1, 1, 0)

#define PTX_CASES(X) \
    INT_CASES(X, "s16", "h", 0xfffe, 1, 0xfffb, 0xfffa, 0xffff, 1) \
    INT_CASES(X, "u16", "h", 0xfffe, 1, 0xfffb, 0xfffa, 0xffff, 0) \
    INT_CASES(X, "s32", "r", 0xfffffffe, 1, 0xfffffffb, 0xfffffffa, \
              0xffffffff, 1) \
    INT_CASES(X, "u32", "r", 0xfffffffe, 1, 0xfffffffb, 0xfffffffa, \
              0xffffffff, 0) \
    INT_CASES(X, "s64", "d", ONES64 - 1, 1, ONES64 - 4, ONES64 - 5, ONES64, \
              1) \
    INT_CASES(X, "u64", "d", ONES64 - 1, 1, ONES64 - 4, ONES64 - 5, ONES64, \
              0) \
    BIT_CASES(X, "16", "h", 0xffff, 0x8000) \
    BIT_CASES(X, "32", "r", 0xffffffffu, 0x80000000u) \
    BIT_CASES(X, "64", "d", ONES64, TOP64) \
    WIDE_CASES(X) CVT_CASES(X) FLOAT_CASES(X)
/* clang-format on */

#endif
