/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one call of an op, put together from bytes. */

#include "tests/fuzz/call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/values.h"

/* Elements of the largest tensor. */
enum { LARGEST = 1024 };

static const struct field *find_field(const struct call *c, const char *name)
{
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

struct fuzz_operand *call_operand(struct call *c, const char *name)
{
    for (unsigned i = 0; i < c->n; i++)
        if (strcmp(c->x[i].field->name, name) == 0)
            return &c->x[i];
    return NULL;
}

int64_t call_load(const void *at, size_t bytes)
{
    int64_t v = 0;
    if (bytes == 1)
        return *(const uint8_t *)at;
    if (bytes == 4) {
        int32_t w;
        memcpy(&w, at, 4);
        return w;
    }
    memcpy(&v, at, 8);
    return v;
}

/* In an array of count values, value i. */
static void store(struct call *c, const struct field *f, unsigned i, int64_t v)
{
    size_t each = f->bytes / f->count;
    uint8_t *at = c->args.bytes + f->at + i * each;
    int32_t w = (int32_t)v;
    if (each == 1)
        *at = v != 0;
    else if (each == 4)
        memcpy(at, &w, 4);
    else
        memcpy(at, &v, 8);
}

int64_t call_scalar(const struct call *c, const char *name)
{
    const struct field *f = find_field(c, name);
    return f != NULL && f->count == 1
               ? call_load(c->args.bytes + f->at, f->bytes)
               : 0;
}

void call_set(struct call *c, const char *name, int64_t value)
{
    const struct field *f = find_field(c, name);
    if (f != NULL)
        store(c, f, 0, value);
}

static int64_t pick_size(struct call *c)
{
    static const uint8_t usual[] = {2, 3, 1, 4, 5, 0, 7, 9,
                                    2, 3, 1, 4, 8, 6, 5, 2};
    static const int large[] = {17, 33, 65, 130, 257};
    unsigned b = input_byte(c->in);
    int64_t size = b >= 251 ? large[b - 251] : usual[b % 16];
    return c->small && size > 3 ? 1 + size % 3 : size;
}

void call_named(struct call *c, const char *name, int64_t size)
{
    unsigned i = 0;
    while (i < c->nsymbols && strcmp(c->symbols[i].name, name) != 0)
        i++;
    if (i == SYMBOLS)
        return;
    snprintf(c->symbols[i].name, sizeof(c->symbols[i].name), "%.11s", name);
    c->symbols[i].size = size;
    if (i == c->nsymbols)
        c->nsymbols++;
}

int64_t call_size(struct call *c, const char *name)
{
    const struct field *f = find_field(c, name);
    if (f != NULL && f->kind == FIELD_SIGNED && f->count == 1)
        return call_scalar(c, name) > LARGEST ? LARGEST : call_scalar(c, name);
    for (unsigned i = 0; i < c->nsymbols; i++)
        if (strcmp(c->symbols[i].name, name) == 0)
            return c->symbols[i].size;
    int64_t size = pick_size(c);
    call_named(c, name, size);
    return size;
}

void operand_shape(struct fuzz_operand *x, int rank, const int64_t *shape)
{
    if (x == NULL)
        return;
    x->shaped = true;
    x->rank = rank < 0 ? 0 : rank > SSQ_MAX_RANK ? SSQ_MAX_RANK : rank;
    for (int i = 0; i < x->rank; i++)
        x->shape[i] = shape[i] < 0 ? 0 : shape[i];
}

void operand_broadcast(struct call *c, struct fuzz_operand *x, int rank,
                       const int64_t *shape)
{
    int64_t to[SSQ_MAX_RANK];
    unsigned b = input_byte(c->in);
    int drop = 0;
    if (b >= 128 && rank > 0)
        drop = 1 + (int)(b & 3) % rank;
    for (int i = drop; i < rank; i++)
        to[i - drop] = b >> i % 6 & 1 ? 1 : shape[i];
    operand_shape(x, rank - drop, to);
}

/* One entry of a template: "4h", "dims/2", "c", "1". */
static int64_t entry_size(struct call *c, const char *text)
{
    char name[12];
    int64_t factor = 1, size = 1, divisor = 1;
    char *end;
    if (text[0] >= '0' && text[0] <= '9') {
        factor = strtol(text, &end, 10);
        text = end;
    }
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    if (slash != NULL)
        divisor = slash[1] >= '0' && slash[1] <= '9'
                      ? strtol(slash + 1, NULL, 10)
                      : call_size(c, slash + 1);
    if (length > 0) {
        snprintf(name, sizeof(name), "%.*s", (int)(length < 11 ? length : 11),
                 text);
        size = call_size(c, name);
    }
    return divisor > 0 && size > 0 ? factor * size / divisor : 0;
}

/* "[t,batch,4h]"; "..." represents up to two more, the same in every operand.
 */
static void template_shape(struct call *c, const char *text, int64_t *shape,
                           int *rank)
{
    char copy[64], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", text + 1);
    copy[strcspn(copy, "]")] = '\0';
    *rank = 0;
    for (char *t = strtok_r(copy, ",", &save); t != NULL;
         t = strtok_r(NULL, ",", &save)) {
        int more = 1;
        if (t[0] == '.')
            more = (int)(call_size(c, "...") % 3);
        for (int i = 0; i < more && *rank < SSQ_MAX_RANK; i++) {
            char name[12];
            snprintf(name, sizeof(name), "...%d", i);
            shape[(*rank)++] =
                t[0] == '.' ? call_size(c, name) : entry_size(c, t);
        }
    }
}

static void shape_operand(struct call *c, struct fuzz_operand *x, int depth)
{
    const char *t = x->field->shape;
    int64_t shape[SSQ_MAX_RANK];
    int rank = c->base_rank;
    if (x->shaped)
        return;
    memcpy(shape, c->base, sizeof(shape));
    if (t[0] == '~') {
        if (t[1] == '[')
            template_shape(c, t + 1, shape, &rank);
        operand_broadcast(c, x, rank, shape);
        return;
    }
    if (t[0] == '[') {
        template_shape(c, t, shape, &rank);
    } else if (t[0] == '1') {
        shape[0] = 1;
        rank = input_byte(c->in) % 2 == 0 ? 0 : 1;
    } else if (t[0] == '=' && depth < 4) {
        struct fuzz_operand *y = call_operand(c, t + 1);
        if (y != NULL && y != x) {
            shape_operand(c, y, depth + 1);
            rank = y->rank;
            memcpy(shape, y->shape, sizeof(shape));
        }
    }
    operand_shape(x, rank, shape);
}

int64_t operand_elements(const struct fuzz_operand *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n = x->shape[i] > LARGEST ? LARGEST + 1 : n * x->shape[i];
    return n;
}

static void pick_base(struct call *c)
{
    static const uint8_t ranks[] = {2, 1, 3, 4, 2, 1, 0, 3,
                                    2, 1, 2, 4, 5, 6, 3, 1};
    c->base_rank = ranks[input_byte(c->in) % 16];
    int64_t n = 1;
    for (int i = 0; i < c->base_rank; i++) {
        c->base[i] = pick_size(c);
        if (n * c->base[i] > LARGEST)
            c->base[i] = 1;
        n *= c->base[i] > 0 ? c->base[i] : 1;
    }
}

static double pick_double(struct input *in)
{
    static const double list[] = {
        1.0, 0.0,   0.5,  -1.0,  2.0,      0.1, 1e-5, 0.25,    -0.5,  3.0,
        0.9, 1e-12, -0.0, 1e300, INFINITY, NAN, 7.0,  65504.0, 1e-45, -1e300};
    return list[input_below(in, sizeof(list) / sizeof(list[0]))];
}

static int64_t pick_signed(struct call *c, const struct field *f, unsigned i)
{
    static const int64_t wild[] = {-1, INT64_MAX, INT64_MIN,  INT32_MAX,
                                   -7, 1000000,   4294967296, INT32_MIN};
    int64_t now = call_load(c->args.bytes + f->at + i * (f->bytes / f->count),
                            f->bytes / f->count);
    unsigned b = input_byte(c->in);
    if (b >= 254)
        return wild[input_below(c->in, 8)];
    if (strcmp(f->name, "kernel") == 0)
        return 1 + b % 3;
    if (f->count > 1)
        return b < 128 ? now : b % 3 + (now > 0);
    return b < 128 ? now : (int)(b % 5) - 2;
}

static uint64_t pick_unsigned(struct input *in)
{
    unsigned b = input_byte(in);
    if (b >= 240)
        return input_u64(in) | (b >= 248 ? UINT64_MAX << 3 : 0);
    return b < 64 ? 0 : b;
}

static const char *pick_text(struct input *in)
{
    static const char *const list[] = {NULL,         "linear", "relu",
                                       "leaky_relu", "tanh",   "selu",
                                       "sigmoid",    "gelu",   ""};
    return list[input_below(in, sizeof(list) / sizeof(list[0]))];
}

/* Members that are not tensors. */
static void pick_scalar(struct call *c, const struct field *f)
{
    for (unsigned i = 0; i < f->count; i++) {
        uint8_t *at = c->args.bytes + f->at + i * (f->bytes / f->count);
        double d;
        const char *text;
        switch (f->kind) {
        case FIELD_DOUBLE:
            d = pick_double(c->in);
            if (input_byte(c->in) % 8 >= 5)
                memcpy(at, &d, sizeof(d));
            break;
        case FIELD_BOOL:
            if (input_byte(c->in) % 4 >= 3)
                *(bool *)(void *)at = !*(bool *)(void *)at;
            break;
        case FIELD_AXES:
        case FIELD_SIZES:
        case FIELD_SIGNED:
            store(c, f, i, pick_signed(c, f, i));
            break;
        case FIELD_UNSIGNED:
            store(c, f, i, (int64_t)pick_unsigned(c->in));
            break;
        case FIELD_ENUM:
            d = input_byte(c->in);
            if (d >= 64)
                store(c, f, i, (int)d % (int)(f->values + (d >= 250)));
            break;
        case FIELD_TEXT:
            text = pick_text(c->in);
            memcpy(at, &text, sizeof(text));
            break;
        default:
            break;
        }
    }
}

static void pick_scalars(struct call *c)
{
    memcpy(c->args.bytes, c->op->init, c->op->bytes);
    /* The plainest call has all its defaults. */
    bool plain = input_byte(c->in) % 4 == 0;
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++) {
        if (strcmp(f->name, "flags") == 0 && input_byte(c->in) < 240)
            continue;
        if (f->kind == FIELD_AXES || f->kind == FIELD_SIZES)
            continue; /* they depend on the shapes */
        if (!plain || strcmp(f->name, "kernel") == 0)
            pick_scalar(c, f);
    }
}

/* Axes in any order; their number may be the next member. */
static void pick_axes(struct call *c, const struct field *f)
{
    int axes[SSQ_MAX_RANK], rank = c->base_rank;
    unsigned b = input_byte(c->in);
    for (int i = 0; i < SSQ_MAX_RANK; i++)
        axes[i] = i;
    for (int i = 0; i < rank; i++) {
        int j = (int)input_byte(c->in) % (i + 1), t = axes[i];
        axes[i] = axes[j];
        axes[j] = t;
    }
    for (int i = 0; i < rank; i++)
        if (b & 8)
            axes[i] -= rank;
    call_set(c, "n_axes", 0);
    if (b % 8 < 3)
        return; /* all of them, or reversed */
    call_set(c, "n_axes",
             rank > 0 && b / 16 < 15 ? 1 + (int)b / 16 % rank : SSQ_AXES_NONE);
    memcpy(c->args.bytes + f->at, axes, sizeof(axes));
}

static void pick_sizes(struct call *c, const struct field *f, unsigned which)
{
    int64_t list[SSQ_MAX_RANK];
    for (int i = 0; i < SSQ_MAX_RANK; i++)
        list[i] = (which % 2) + input_byte(c->in) % 3;
    if (input_byte(c->in) % 4 != 0)
        memcpy(c->args.bytes + f->at, list, sizeof(list));
}

static void add_operand(struct call *c, const struct field *f)
{
    if (c->n == OPERANDS)
        return;
    struct fuzz_operand *x = &c->x[c->n++];
    memset(x, 0, sizeof(*x));
    x->field = f;
    x->used = !f->optional || input_byte(c->in) % 2 == 0;
}

/* Something must be written. */
static void want_output(struct call *c)
{
    struct fuzz_operand *first = NULL;
    for (unsigned i = 0; i < c->n; i++) {
        if (c->x[i].field->role != ROLE_OUT)
            continue;
        if (c->x[i].used)
            return;
        if (first == NULL)
            first = &c->x[i];
    }
    if (first != NULL && input_byte(c->in) < 240)
        first->used = true;
}

static void add_operands(struct call *c)
{
    unsigned lists = 0;
    c->n = 0;
    c->listed = 0;
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++) {
        if (f->kind == FIELD_TENSOR)
            add_operand(c, f);
        else if (f->kind == FIELD_AXES)
            pick_axes(c, f);
        else if (f->kind == FIELD_SIZES)
            pick_sizes(c, f, lists++);
    }
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++)
        if (f->kind == FIELD_TENSORS) {
            c->listed = 1 + input_byte(c->in) % LISTED;
            for (unsigned i = 0; i < c->listed; i++)
                add_operand(c, f);
            store(c, f + 1, 0, c->listed);
        }
    want_output(c);
}

/* The first operand's shape counts for the ones without a rule. */
static void shape_all(struct call *c)
{
    struct input again = *c->in;
    for (int round = 0; round < 2; round++) {
        bool fits = true;
        *c->in = again;
        c->nsymbols = 0;
        c->small = round == 1;
        for (unsigned i = 0; i < c->n; i++)
            c->x[i].shaped = false;
        shape_rules(c);
        for (unsigned i = 0; i < c->n; i++) {
            shape_operand(c, &c->x[i], 0);
            if (i == 0 && c->x[0].field->shape[0] == '[') {
                c->base_rank = c->x[0].rank;
                memcpy(c->base, c->x[0].shape, sizeof(c->base));
            }
        }
        for (unsigned i = 0; i < c->n; i++)
            fits = fits && operand_elements(&c->x[i]) <= LARGEST;
        if (fits)
            return;
    }
}

static ssq_dtype pick_dtype(struct call *c, const struct fuzz_operand *x)
{
    static const ssq_dtype all[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32,
                                    SSQ_U8};
    unsigned mask = x->field->dtypes, b = input_byte(c->in);
    if (mask == 0)
        mask = DTYPE_EITHER;
    if (c->op->to_bytes && strcmp(x->field->name, "y") == 0)
        mask = DTYPE_U8;
    if ((mask & DTYPE_ANY) == DTYPE_EITHER)
        mask = c->integers ? DTYPE_I32 | DTYPE_U8 : DTYPE_FLOAT;
    if (mask == DTYPE_FLOAT && b < 240)
        return b % 2 == 0 ? SSQ_F32 : c->half;
    for (unsigned i = 0; i < 5; i++) {
        ssq_dtype d = all[(b + i) % 5];
        if (mask >> d & 1)
            return d;
    }
    return SSQ_F32;
}

static void pick_dtypes(struct call *c)
{
    static const char *const named[] = {"q", "x", "y", "dy"};
    c->half = input_byte(c->in) % 2 == 0 ? SSQ_F16 : SSQ_BF16;
    bool either = c->op->integers;
    for (unsigned i = 0; i < c->n; i++)
        either = either || (c->x[i].field->dtypes & DTYPE_ANY) == DTYPE_EITHER;
    c->integers = either && input_byte(c->in) % 4 == 3;
    bool alike = input_byte(c->in) % 2 == 0;
    for (unsigned i = 0; i < c->n; i++) {
        unsigned mask = c->x[i].field->dtypes;
        c->x[i].dtype = pick_dtype(c, &c->x[i]);
        if (alike && !c->op->to_bytes &&
            (mask == 0 || mask >> c->x[0].dtype & 1))
            c->x[i].dtype = c->x[0].dtype;
    }
    for (unsigned i = 0; i < c->n; i++) {
        struct fuzz_operand *y = NULL;
        for (unsigned k = 0; k < 4 && c->x[i].field->as_another; k++)
            if (y == NULL)
                y = call_operand(c, named[k]);
        if (y != NULL)
            c->x[i].dtype = y->dtype;
    }
}

/* Bytes from the first element to after the last. */
static size_t extent(const struct fuzz_operand *x)
{
    int64_t last = 0;
    for (int i = 0; i < x->rank; i++) {
        if (x->shape[i] == 0)
            return 0;
        last += (x->shape[i] - 1) * x->strides[i];
    }
    return (size_t)(last + 1) * cell_bytes(x->dtype);
}

static void contiguous(struct fuzz_operand *x)
{
    int64_t stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        x->strides[i] = stride;
        stride *= x->shape[i] > 0 ? x->shape[i] : 1;
    }
}

/* Dense, padded, transposed, every other element, or repeated. */
static void pick_layout(struct call *c, struct fuzz_operand *x)
{
    unsigned b = input_byte(c->in);
    contiguous(x);
    if (b < 112 || c->dense || x->rank == 0)
        return;
    int axis = (int)(b / 8) % x->rank;
    if (b < 160) { /* rows farther apart */
        for (int i = 0; i < axis; i++)
            x->strides[i] += 1 + b % 3;
    } else if (b < 208) { /* the last two in the other order */
        int64_t stride = 1;
        for (int i = 0; i < x->rank; i++) {
            int k = i < 2 && x->rank >= 2 ? x->rank - 2 + i : x->rank - 1 - i;
            x->strides[k] = stride;
            stride *= x->shape[k] > 0 ? x->shape[k] : 1;
        }
    } else if (b < 232) {
        for (int i = 0; i <= axis; i++)
            x->strides[i] *= 2;
    } else if (x->field->role == ROLE_IN || b >= 252) {
        x->strides[axis] = 0;
    }
    if (extent(x) > BUFFER_BYTES)
        contiguous(x);
}

/* Operands follow one another through the buffers, from a place at random. */
static void place(struct call *c)
{
    unsigned buffer = input_byte(c->in) % BUFFERS;
    size_t at = (size_t)input_byte(c->in) * 32;
    c->dense = input_byte(c->in) % 2 == 0;
    for (unsigned i = 0; i < c->n; i++) {
        struct fuzz_operand *x = &c->x[i];
        size_t each = cell_bytes(x->dtype);
        if (operand_elements(x) > LARGEST)
            x->rank = 0;
        pick_layout(c, x);
        x->extent = extent(x);
        at = (at + each - 1) / each * each;
        if (at + x->extent > BUFFER_BYTES) {
            buffer = (buffer + 1) % BUFFERS;
            at = 0;
        }
        x->buffer = buffer;
        x->at = at;
        at += x->extent + (input_byte(c->in) % 8) * each;
    }
}

/* In place: an operand becomes exactly another. */
static void share(struct call *c)
{
    struct fuzz_operand *x = &c->x[input_byte(c->in) % c->n];
    const struct fuzz_operand *y = &c->x[input_byte(c->in) % c->n];
    const struct field *f = x->field;
    if (x->rank != y->rank || operand_elements(x) != operand_elements(y))
        return;
    if (x->field->dtypes == 0 || x->field->dtypes >> y->dtype & 1) {
        *x = *y;
        x->used = true;
        x->field = f;
    }
}

/* One thing that the contract excludes, most of the time. */
static void spoil(struct call *c)
{
    struct fuzz_operand *x = &c->x[input_byte(c->in) % c->n];
    const struct fuzz_operand *y = &c->x[input_byte(c->in) % c->n];
    unsigned b = input_byte(c->in);
    size_t size = b;
    switch (input_byte(c->in) % 8) {
    case 0:
        x->used = !x->used;
        break;
    case 1:
        memcpy(c->args.bytes, &size, sizeof(size));
        break;
    case 2: /* overlapping, not exactly */
        x->buffer = y->buffer;
        x->at = y->at + b % 3 * cell_bytes(x->dtype);
        x->at -= x->at % cell_bytes(x->dtype);
        if (x->at + x->extent > BUFFER_BYTES)
            x->at = 0;
        break;
    case 3:
        if (x->rank > 0) {
            x->shape[b % (unsigned)x->rank] = b / 16;
            contiguous(x);
        }
        break;
    case 4:
        x->rank = (int)b % (SSQ_MAX_RANK + 1);
        for (int i = 0; i < x->rank; i++)
            x->shape[i] = 1 + (b >> i & 1);
        contiguous(x);
        break;
    case 5:
        x->dtype = (ssq_dtype)(1 + b % 5);
        break;
    case 6:
        c->base_rank = -1; /* a tensor of the other device: see bind */
        break;
    default:
        for (int i = 0; i < 3; i++) {
            const struct field *f = c->op->fields;
            unsigned n = 0;
            while (f[n].name[0] != '\0')
                n++;
            unsigned k = n > 0 ? input_byte(c->in) % n : 0;
            /* a length that is reaches outside the list: no contract */
            if (n > 0 && (k == 0 || f[k - 1].kind != FIELD_TENSORS))
                pick_scalar(c, &f[k]);
        }
    }
    x->extent = extent(x);
    x->at -= x->at % cell_bytes(x->dtype);
    if (x->extent > BUFFER_BYTES) {
        x->rank = 0;
        x->extent = cell_bytes(x->dtype);
    }
    if (x->at + x->extent > BUFFER_BYTES)
        x->at = 0;
}

void call_compose(struct call *c, struct pair *p, struct input *in,
                  const struct fuzz_op *op)
{
    memset(c, 0, sizeof(*c));
    c->pair = p;
    c->in = in;
    c->op = op;
    pick_base(c);
    pick_scalars(c);
    add_operands(c);
    shape_all(c);
    pick_dtypes(c);
    place(c);
    unsigned b = input_byte(in);
    if (b >= 160 && b < 224)
        share(c);
    if (b >= 232)
        spoil(c);
}

void call_run(struct pair *p, struct input *in)
{
    static struct call call;
    const struct fuzz_op *op =
        &fuzz_ops[(input_byte(in) * fuzz_ops_count + input_byte(in)) / 256 %
                  fuzz_ops_count];
    if (op->class_of == CLASS_R && !p->same_bits && p->capturing)
        return;
    call_compose(&call, p, in, op);
    call_perform(&call);
}
