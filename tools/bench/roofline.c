/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c - draws the roofline model (Williams, Waterman, Patterson, CACM
 * 52(4), 2009). It shows operations a byte against operations a second, both
 * logarithmic, with the roofs measured in the same run. */
#include "tools/bench/bench.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define WIDTH  800.0
#define HEIGHT 500.0
#define LEFT   70.0
#define TOP    30.0
#define RIGHT  620.0
#define BOTTOM 450.0

/* The ranges of the axes, in powers of ten. */
struct frame {
    double least_x, most_x, least_y, most_y;
};

static double at_x(const struct frame *f, double intensity)
{
    return LEFT + (RIGHT - LEFT) * (log10(intensity) - f->least_x) /
                      (f->most_x - f->least_x);
}

static double at_y(const struct frame *f, double gflops)
{
    return BOTTOM - (BOTTOM - TOP) * (log10(gflops) - f->least_y) /
                        (f->most_y - f->least_y);
}

static bool drawn(const struct bench_row *row)
{
    return row->runs > 0 && row->flops > 0.0 && row->bytes > 0.0;
}

/* Return ranges of whole powers of ten that contain all rows and roofs. */
static struct frame frame_of(const struct roofs *r,
                             const struct bench_rows *all)
{
    double top = fmax(fmax(r->dot, r->tile), r->fma);
    struct frame f = {-1.0, 2.0, 0.0, ceil(log10(top * 1.1))};
    for (size_t i = 0; i < all->n; i++) {
        const struct bench_row *row = &all->row[i];
        if (!drawn(row))
            continue;
        double x = log10(row->flops / row->bytes);
        double y = log10(row->flops / row->median * 1e-9);
        f.least_x = fmin(f.least_x, floor(x));
        f.most_x = fmax(f.most_x, ceil(x));
        f.least_y = fmin(f.least_y, floor(y));
        f.most_y = fmax(f.most_y, ceil(y));
    }
    return f;
}

static void draw_text(FILE *out, double x, double y, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
    fprintf(out, "</text>\n");
}

static void draw_axes(FILE *out, const struct frame *f)
{
    char text[32];
    for (double e = f->least_x; e <= f->most_x; e += 1.0) {
        double x = at_x(f, pow(10.0, e));
        fprintf(out, "<path d=\"M%.1f %.1fV%.1f\" class=\"grid\"/>\n", x, TOP,
                BOTTOM);
        snprintf(text, sizeof(text), "%g", pow(10.0, e));
        draw_text(out, x - 8.0, BOTTOM + 18.0, text);
    }
    for (double e = f->least_y; e <= f->most_y; e += 1.0) {
        double y = at_y(f, pow(10.0, e));
        fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" class=\"grid\"/>\n", LEFT, y,
                RIGHT);
        snprintf(text, sizeof(text), "%g", pow(10.0, e));
        draw_text(out, 20.0, y + 4.0, text);
    }
    draw_text(out, LEFT, BOTTOM + 38.0, "operations a byte");
    draw_text(out, 20.0, 18.0, "GFLOP/s");
}

/* Draw a roof: up the slope of memory, then along the roof. */
static void draw_roof(FILE *out, const struct frame *f, const char *name,
                      double gflops, double gbytes)
{
    if (gflops <= 0.0 || gbytes <= 0.0)
        return;
    const double ridge = gflops / gbytes;
    const double x =
        fmax(pow(10.0, f->least_x), pow(10.0, f->least_y) / gbytes);
    const double end = pow(10.0, f->most_x);
    char text[64];
    if (ridge >= end)
        return;
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1fH%.1f\" class=\"roof\"/>\n",
            at_x(f, x), at_y(f, fmin(x, ridge) * gbytes),
            at_x(f, fmax(x, ridge)), at_y(f, gflops), at_x(f, end));
    snprintf(text, sizeof(text), "%s %.0f", name, gflops);
    draw_text(out, at_x(f, end) + 4.0, at_y(f, gflops) + 4.0, text);
}

static void draw_rows(FILE *out, const struct frame *f,
                      const struct bench_rows *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct bench_row *row = &all->row[i];
        if (!drawn(row))
            continue;
        const bool bf16 = strstr(row->text, " bf16") != NULL;
        const bool f16 = !bf16 && strstr(row->text, " f16") != NULL;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\">",
                at_x(f, row->flops / row->bytes),
                at_y(f, row->flops / row->median * 1e-9),
                bf16  ? "bf16"
                : f16 ? "f16"
                      : "f32");
        fprintf(out, "<title>");
        for (const char *c = row->text; *c != '\0'; c++)
            fputc(strchr("<>&", *c) != NULL ? ' ' : *c, out);
        fprintf(out, "</title></circle>\n");
    }
}

static void roofline_draw(FILE *out, const char *device, const struct roofs *r,
                          const struct bench_rows *all)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    const struct frame f = frame_of(r, all);
    char text[96];
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.grid{stroke:#ddd}.roof{stroke:#444;fill:none}"
            ".f32{fill:#3b6fb6}.f16{fill:#c0504d}.bf16{fill:#5b9a3c}</style>\n"
            "<rect width=\"%g\" height=\"%g\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_axes(out, &f);
    draw_roof(out, &f, "multiply-adds", r->fma, r->bytes);
    draw_roof(out, &f, "bf16 dot products", r->dot, r->bytes);
    draw_roof(out, &f, "bf16 tiles", r->tile, r->bytes);
    draw_rows(out, &f, all);
    for (int i = 0; i < 3; i++) {
        const double y = 60.0 + 20.0 * i;
        fprintf(out, "<circle cx=\"%g\" cy=\"%g\" r=\"4\" class=\"%s\"/>\n",
                RIGHT + 20.0, BOTTOM - y, dtypes[i]);
        draw_text(out, RIGHT + 30.0, BOTTOM - y + 4.0, dtypes[i]);
    }
    snprintf(text, sizeof(text), "%s, copies of %.1f GB/s", device, r->bytes);
    draw_text(out, LEFT + 80.0, 18.0, text);
    fprintf(out, "</svg>\n");
}

bool roofline_check(const char *path)
{
    const bool there = access(path, F_OK) == 0;
    FILE *out = fopen(path, "a");
    const bool failed = out == NULL || fclose(out) != 0;
    if (failed) {
        fprintf(stderr, "sesqui: bench: ");
        perror(path);
    } else if (!there) {
        (void)unlink(path);
    }
    return !failed;
}

bool roofline_write(const char *path, const char *device, const struct roofs *r,
                    const struct bench_rows *all)
{
    FILE *out = fopen(path, "w");
    if (out != NULL)
        roofline_draw(out, device, r, all);
    bool failed = out == NULL || ferror(out) != 0;
    if (out != NULL && fclose(out) != 0)
        failed = true;
    if (failed) {
        fprintf(stderr, "sesqui: bench: ");
        perror(path);
    }
    return !failed;
}
