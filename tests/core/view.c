/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - tests of the geometry of operands, against walking elements. */

#include "lib/core/core.h"

#include "tests/core/core.h"

/* Where element i, in row-major order, of a view is: elements from its
 * offset. */
static int64_t place(const struct view *v, int64_t i)
{
    int64_t at = 0;

    for (int d = v->rank - 1; d >= 0; d--) {
        at += i % v->shape[d] * v->stride[d];
        i /= v->shape[d];
    }
    return at;
}

/* Views are compared by buffer, never looked into. */
static struct ssq_buffer some_buffer;
static ssq_buffer *const one = &some_buffer;

static struct view make(int rank, const int64_t *shape, const int64_t *stride)
{
    struct view v = {.dtype = SSQ_F32, .rank = rank};

    for (int i = 0; i < rank; i++) {
        v.shape[i] = shape[i];
        v.stride[i] = stride[i];
    }
    return v;
}

#define VIEW(RANK, SHAPE, STRIDE)                                              \
    make(RANK, (const int64_t[])SHAPE, (const int64_t[])STRIDE)
#define L(...)                                                                 \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

/* A small pseudo-random number, the same on every run. */
static unsigned draw(unsigned n)
{
    static uint32_t state = 12345;

    state = state * 1664525u + 1013904223u;
    return (state >> 16) % n;
}

static struct view draw_view(int rank)
{
    static const int64_t steps[] = {0, 1, 1, 2, 3, 4, 6, 12, 5};
    struct view v = {.dtype = SSQ_F32, .rank = rank};

    for (int i = 0; i < rank; i++) {
        v.shape[i] = (int64_t)draw(4) + (draw(8) != 0);
        v.stride[i] = steps[draw(9)];
    }
    return v;
}

/* Which elements of 256 a view touches. */
static bool touched(const struct view *v, unsigned char *map)
{
    int64_t n = view_elements(v);
    bool twice = false;

    for (int64_t i = 0; i < n; i++) {
        unsigned char *at = &map[(int64_t)(v->offset / 4) + place(v, i)];

        twice = twice || *at != 0;
        *at = 1;
    }
    return twice;
}

static void test_contiguous(void)
{
    struct view v = VIEW(2, L(2, 3), L(3, 1));

    tap_ok(view_contiguous(&v) && view_elements(&v) == 6 && view_span(&v) == 24,
           "[2,3] with strides 3,1 is contiguous, 6 elements, 24 bytes");
    v.stride[0] = 4;
    tap_ok(!view_contiguous(&v) && view_span(&v) == 28,
           "[2,3] with strides 4,1 is not, and spans 28 bytes");
    v = VIEW(3, L(2, 1, 3), L(3, 99, 1));
    tap_ok(view_contiguous(&v), "a dimension of 1 may have any stride");
    v = VIEW(2, L(0, 3), L(7, 7));
    tap_ok(view_contiguous(&v) && view_elements(&v) == 0 && view_span(&v) == 0,
           "[0,3] is contiguous with any strides and spans 0 bytes");
    v.rank = 0;
    tap_ok(view_contiguous(&v) && view_elements(&v) == 1 && view_span(&v) == 4,
           "rank 0 is contiguous, 1 element, 4 bytes");
}

static void test_text(void)
{
    struct view v = VIEW(2, L(64, 32), L(32, 1));
    char text[64], tiny[6];

    tap_ok(strcmp(view_text(&v, text, sizeof(text)), "[64,32]") == 0,
           "the text of [64,32] is %s", text);
    view_text(&v, tiny, sizeof(tiny));
    tap_ok(strlen(tiny) < sizeof(tiny), "a text of 6 bytes is cut: %s", tiny);
    v.rank = 0;
    tap_ok(strcmp(view_text(&v, text, sizeof(text)), "[]") == 0,
           "the text of rank 0 is %s", text);
}

static void test_place(void)
{
    struct view a = VIEW(2, L(2, 1), L(3, 5)), b = VIEW(2, L(2, 1), L(3, 9));

    tap_ok(view_same_place(&a, &b), "strides of size 1 do not make a place");
    b.dtype = SSQ_I32;
    tap_ok(view_same_place(&a, &b), "f32 and i32 can be one place");
    b.shape[0] = 3;
    tap_ok(!view_same_place(&a, &b) && !view_same_shape(&a, &b),
           "[2,1] and [3,1] are two shapes and two places");
    b.shape[0] = 2;
    b.rank = 1;
    tap_ok(!view_same_place(&a, &b) && !view_same_shape(&a, &b),
           "[2,1] and [2] are two shapes and two places");
    b.rank = 2;
    b.dtype = SSQ_F16;
    tap_ok(!view_same_place(&a, &b), "f32 and f16 cannot be one place");
    b = a;
    b.offset = 4;
    tap_ok(!view_same_place(&a, &b), "offsets 0 and 4 are two places");
    b = a;
    b.stride[0] = 4;
    tap_ok(!view_same_place(&a, &b), "strides 3 and 4 are two places");
}

static void test_broadcast(void)
{
    struct view v = VIEW(1, L(3), L(1));
    bool ok = view_broadcast(&v, 2, (const int64_t[]){2, 3});

    tap_ok(ok && v.rank == 2 && v.stride[0] == 0 && v.stride[1] == 1,
           "[3] to [2,3] has strides 0,1");
    v = VIEW(2, L(2, 1), L(1, 7));
    ok = view_broadcast(&v, 3, (const int64_t[]){4, 2, 0});
    tap_ok(ok && v.shape[2] == 0 && view_elements(&v) == 0,
           "[2,1] to [4,2,0]: a size of 1 becomes 0");
    v = VIEW(2, L(2, 3), L(3, 1));
    tap_ok(!view_broadcast(&v, 2, (const int64_t[]){2, 4}) && v.shape[1] == 3,
           "[2,3] to [2,4] is refused and leaves the view");
    tap_ok(!view_broadcast(&v, 1, (const int64_t[]){3}),
           "[2,3] to [3] is refused: a dimension is lost");
    v.rank = 0;
    ok = view_broadcast(&v, 2, (const int64_t[]){5, 6});
    tap_ok(ok && v.stride[0] == 0 && v.stride[1] == 0,
           "rank 0 to [5,6] has strides 0,0");
}

/* Self-overlap may say yes wrongly, never no; exact for one dimension. */
static void test_self_overlap(void)
{
    int wrong = 0, missed = 0, found = 0;

    for (int i = 0; i < 20000; i++) {
        unsigned char map[256] = {0};
        struct view v = draw_view((int)draw(5));
        bool twice = touched(&v, map), said = view_self_overlap(&v);

        found += twice;
        missed += twice && !said;
        wrong += said && !twice && v.rank == 1;
    }
    tap_ok(found > 2000 && missed == 0,
           "of 20000 views %d touch an element twice, %d are missed", found,
           missed);
    tap_ok(wrong == 0, "%d views of rank 1 are said to and do not", wrong);
}

static void test_overlap(void)
{
    int missed = 0, found = 0, exact = 0;

    for (int i = 0; i < 20000; i++) {
        unsigned char map[256] = {0}, other[256] = {0};
        struct view a = draw_view((int)draw(4)), b = draw_view((int)draw(4));
        bool common = false;

        if (draw(2) != 0)
            b = a; /* column slices of one matrix */
        a.buffer = b.buffer = one;
        a.offset = 4u * draw(20);
        b.offset = 4u * draw(20);
        touched(&a, map);
        touched(&b, other);
        for (int k = 0; k < 256; k++)
            common = common || (map[k] != 0 && other[k] != 0);
        found += common;
        missed += common && !view_overlap(&a, &b);
        exact += !common && !view_overlap(&a, &b);
    }
    tap_ok(found > 2000 && missed == 0,
           "of 20000 pairs %d share an element, %d are missed", found, missed);
    tap_ok(exact > 2000, "%d pairs that share none are let through", exact);
}

static void test_columns(void)
{
    struct view a = VIEW(2, L(5, 3), L(8, 1)), b = a;

    a.buffer = b.buffer = one;
    b.offset = 12;
    tap_ok(!view_overlap(&a, &b),
           "columns 0..2 and 3..5 of one [5,8] matrix do not overlap");
    b.offset = 8;
    tap_ok(view_overlap(&a, &b), "columns 0..2 and 2..4 do");
    b.offset = 24;
    tap_ok(view_overlap(&a, &b), "columns 0..2 and 6..8, round the end, do");
    b.buffer = NULL;
    tap_ok(!view_overlap(&a, &b), "an absent operand overlaps nothing");
}

/* Collapsed or not, the same elements in the same order; nothing is left to
 * merge. */
static bool collapse_keeps(struct view *v, int n)
{
    struct view before[3], *p[3];
    bool ok = true;

    for (int k = 0; k < n; k++) {
        before[k] = v[k];
        p[k] = &v[k];
    }
    views_collapse(p, n);
    for (int k = 0; k < n; k++) {
        ok = ok && v[k].rank >= 1 && v[k].rank == v[0].rank &&
             view_elements(&v[k]) == view_elements(&before[k]);
        for (int64_t i = 0; ok && i < view_elements(&before[k]); i++)
            ok = place(&v[k], i) == place(&before[k], i);
    }
    return ok;
}

static void test_collapse(void)
{
    struct view v[2] = {VIEW(3, L(2, 3, 4), L(12, 4, 1)),
                        VIEW(3, L(2, 3, 4), L(24, 8, 2))};
    int bad = 0, merged = 0;

    tap_ok(collapse_keeps(v, 2) && v[0].rank == 1 && v[1].rank == 1 &&
               v[1].stride[0] == 2,
           "[2,3,4] dense and with every second element are one row of 24");
    v[0] = VIEW(3, L(2, 3, 4), L(12, 4, 1));
    v[1] = VIEW(3, L(2, 3, 4), L(0, 4, 1));
    tap_ok(collapse_keeps(v, 2) && v[0].rank == 2 && v[0].shape[1] == 12,
           "[2,3,4] with one repeated over the first is [2,12]");
    v[0] = VIEW(3, L(1, 1, 1), L(7, 8, 9));
    tap_ok(collapse_keeps(v, 1) && v[0].rank == 1 && v[0].shape[0] == 1,
           "[1,1,1] is [1]");
    v[0].rank = v[1].rank = 0;
    tap_ok(collapse_keeps(v, 2) && v[1].rank == 1 && v[1].shape[0] == 1,
           "rank 0 is [1]");
    for (int i = 0; i < 20000; i++) {
        struct view r[3];

        r[0] = draw_view((int)draw(6));
        for (int k = 1; k < 3; k++) {
            r[k] = r[0];
            for (int d = 0; d < r[0].rank && draw(3) == 0; d++)
                r[k].stride[d] = (int64_t)draw(9);
        }
        int rank = r[0].rank;
        bad += !collapse_keeps(r, 3);
        merged += r[0].rank < rank;
    }
    tap_ok(bad == 0 && merged > 2000,
           "20000 triples of views, %d of them collapsed: %d changed", merged,
           bad);
}

int main(void)
{
    test_contiguous();
    test_text();
    test_place();
    test_broadcast();
    test_self_overlap();
    test_overlap();
    test_columns();
    test_collapse();
    return tap_done(33);
}
