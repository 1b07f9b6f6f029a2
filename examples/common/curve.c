/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - pictures of training runs as SVG: panels above one another, which
 * share their horizontal axis, the steps. */
#include "examples/common/curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In pixels: of the picture, and of a panel in it. */
#define WIDTH  720.0
#define HEIGHT 210.0
#define LEFT   72.0
#define RIGHT  20.0
#define TOP    34.0
#define BOTTOM 40.0

bool curve_add(struct curve *c, double x, double y)
{
    if (c->n == c->room) {
        size_t room = c->room == 0 ? 64 : 2 * c->room;
        double *xs = realloc(c->x, room * sizeof(*xs));
        if (xs != NULL)
            c->x = xs;
        double *ys = xs == NULL ? NULL : realloc(c->y, room * sizeof(*ys));
        if (ys == NULL) {
            fprintf(stderr, "no memory for a curve\n");
            return false;
        }
        c->y = ys;
        c->room = room;
    }
    c->x[c->n] = x;
    c->y[c->n++] = y;
    return true;
}

void curve_free(struct curve *c)
{
    free(c->x);
    free(c->y);
    *c = (struct curve){0};
}

void history_free(struct history *h)
{
    curve_free(&h->loss);
    curve_free(&h->accuracy);
    curve_free(&h->scale);
}

/* ---- scales ---- */

/* Numbers of an axis: from, from + step, .. to. */
struct ticks {
    double from, to, step;
};

/* Steps of 1, 2 or 5 times a power of ten, about five of them. */
static struct ticks nice(double low, double high, double least)
{
    if (!(high > low)) {
        low -= 0.5 * least;
        high += 0.5 * least;
    }
    double raw = (high - low) / 5.0, power = pow(10.0, floor(log10(raw)));
    double step = raw / power;
    step = (step <= 1.0   ? 1.0
            : step <= 2.0 ? 2.0
            : step <= 5.0 ? 5.0
                          : 10.0) *
           power;
    if (step < least)
        step = least;
    return (struct ticks){floor(low / step) * step, ceil(high / step) * step,
                          step};
}

/* ---- panels ---- */

/* A quantity of all runs. */
struct panel {
    const char *title;
    const struct history *runs;
    size_t n;
    int which;   /* 0 loss, 1 accuracy, 2 scale */
    double base; /* its upper edge in the picture */
    struct ticks x, y;
};

static const struct curve *curve_of(const struct panel *p, size_t i)
{
    const struct history *h = &p->runs[i];
    return p->which == 0 ? &h->loss : p->which == 1 ? &h->accuracy : &h->scale;
}

/* As it is drawn: percent, or the exponent of two. */
static double drawn(const struct panel *p, double y)
{
    return p->which == 1 ? 100.0 * y : p->which == 2 ? log2(y) : y;
}

static double at_x(const struct panel *p, double x)
{
    return LEFT +
           (x - p->x.from) / (p->x.to - p->x.from) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct panel *p, double y)
{
    return p->base + HEIGHT - BOTTOM -
           (y - p->y.from) / (p->y.to - p->y.from) * (HEIGHT - TOP - BOTTOM);
}

/* The ranges of both axes; false: there is nothing to draw. */
static bool measure(struct panel *p)
{
    double low = INFINITY, high = -INFINITY, last = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        const struct curve *c = curve_of(p, i);
        for (size_t k = 0; k < c->n; k++) {
            double y = drawn(p, c->y[k]);
            if (!isfinite(y))
                continue;
            low = fmin(low, y);
            high = fmax(high, y);
            last = fmax(last, c->x[k]);
        }
    }
    if (!(low <= high))
        return false;
    p->x = nice(0.0, last, 1.0);
    p->x.to = fmax(last, 1.0);
    p->y = nice(low, high, p->which == 2 ? 1.0 : fabs(high) * 1e-3 + 1e-9);
    return true;
}

static void axes(FILE *f, const struct panel *p)
{
    const double left = at_x(p, p->x.from), right = at_x(p, p->x.to);
    const double low = at_y(p, p->y.from), high = at_y(p, p->y.to);
    for (int i = 0; p->y.from + i * p->y.step <= p->y.to + 1e-3 * p->y.step;
         i++) {
        const double v = p->y.from + i * p->y.step, y = at_y(p, v);
        fprintf(f,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                "y2=\"%.1f\"/>\n<text class=\"y\" x=\"%.1f\" y=\"%.1f\">",
                left, y, right, y, left - 6.0, y + 4.0);
        if (p->which == 2)
            fprintf(f, "2<tspan dy=\"-4\" font-size=\"8\">%g</tspan></text>\n",
                    v);
        else
            fprintf(f, "%g</text>\n", fabs(v) < 1e-6 * p->y.step ? 0.0 : v);
    }
    for (int i = 0; p->x.from + i * p->x.step <= p->x.to; i++) {
        const double v = p->x.from + i * p->x.step;
        fprintf(f,
                "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                "y2=\"%.1f\"/>\n<text class=\"x\" x=\"%.1f\" y=\"%.1f\">%g"
                "</text>\n",
                at_x(p, v), low, at_x(p, v), low + 4.0, at_x(p, v), low + 16.0,
                v);
    }
    fprintf(f,
            "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n"
            "<text class=\"x\" x=\"%.1f\" y=\"%.1f\">steps</text>\n"
            "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            left, high, low, right, 0.5 * (left + right), low + 31.0, left,
            p->base + TOP - 14.0, p->title);
}

/* A line of each run, broken where a point is not finite; a lone point is a
 * dot. */
static void lines(FILE *f, const struct panel *p)
{
    static const char *const color[] = {"#1b6ca8", "#c8553d", "#3a7d44",
                                        "#7d4e9f"};
    for (size_t i = 0; i < p->n; i++) {
        const struct curve *c = curve_of(p, i);
        bool pen = false;
        if (c->n == 0)
            continue;
        fprintf(f, "<path class=\"run\" stroke=\"%s\"%s d=\"", color[i % 4],
                i > 0 ? " stroke-dasharray=\"5 4\"" : "");
        for (size_t k = 0; k < c->n; k++) {
            const double y = drawn(p, c->y[k]);
            if (isfinite(y))
                fprintf(f, "%s%.1f %.1f", pen ? "L" : "M", at_x(p, c->x[k]),
                        at_y(p, y));
            if (isfinite(y) && !pen)
                fprintf(f, "h.01");
            pen = isfinite(y);
        }
        fprintf(f,
                "\"/>\n<text class=\"key\" style=\"fill:%s\" x=\"%.1f\" "
                "y=\"%.1f\">%s</text>\n",
                color[i % 4], WIDTH - RIGHT - 150.0 * (double)(p->n - 1 - i),
                p->base + TOP - 14.0, p->runs[i].label);
    }
}

static void draw(FILE *f, const char *title, const struct history *h, size_t n)
{
    static const char *const titles[] = {"training loss", "accuracy, %",
                                         "loss scale"};
    struct panel panel[3];
    size_t panels = 0;
    for (int i = 0; i < 3; i++) {
        struct panel *p = &panel[panels];
        *p = (struct panel){.title = titles[i], .runs = h, .n = n, .which = i};
        p->base = 30.0 + (double)panels * HEIGHT;
        panels += measure(p);
    }
    const double height = 36.0 + (double)panels * HEIGHT;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" "
            "height=\"%g\" viewBox=\"0 0 %g %g\">\n<style>\n"
            "text { font: 11px sans-serif; fill: #444 }\n"
            ".head { font-size: 14px; fill: #111 }\n"
            ".title { font-size: 12px; fill: #111 }\n"
            ".x { text-anchor: middle } .y, .key { text-anchor: end }\n"
            ".grid { stroke: #ddd } .axis { stroke: #444; fill: none }\n"
            ".run { fill: none; stroke-width: 1.6; stroke-linecap: round; "
            "stroke-linejoin: round }\n</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text class=\"head\" x=\"%g\" y=\"24\">%s</text>\n",
            WIDTH, height, WIDTH, height, LEFT, title);
    for (size_t i = 0; i < panels; i++) {
        axes(f, &panel[i]);
        lines(f, &panel[i]);
    }
    fprintf(f, "</svg>\n");
}

bool plot_begin(const char *path)
{
    FILE *f = path == NULL ? NULL : fopen(path, "a");
    if (path != NULL && (f == NULL || fclose(f) != 0)) {
        perror(path);
        return false;
    }
    return true;
}

bool plot_write(const char *path, const char *title, const struct history *h,
                size_t n)
{
    FILE *f = fopen(path, "w");
    if (f != NULL)
        draw(f, title, h, n);
    bool bad = f == NULL || ferror(f) != 0;
    bad = (f != NULL && fclose(f) != 0) || bad;
    if (bad)
        perror(path);
    return !bad;
}
