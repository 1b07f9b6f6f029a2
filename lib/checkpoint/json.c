/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - a parser of strict JSON that allocates no memory. */
#include "lib/checkpoint/json.h"

#include <stdio.h>
#include <string.h>

static ssq_status json_fail(const struct json *j, const char *expected)
{
    char got[16] = "the end";
    if (j->at<j->end && * j->at> ' ' && *j->at < 0x7f)
        snprintf(got, sizeof(got), "'%c'", *j->at);
    else if (j->at < j->end)
        snprintf(got, sizeof(got), "byte 0x%02x", *j->at);
    return error_set(SSQ_ERR_INVALID,
                     "%s: %.300s: byte %llu of the header is %s, expected %s",
                     j->what, j->path, (unsigned long long)(j->at - j->begin),
                     got, expected);
}

static void skip_space(struct json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' ||
                              *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

bool json_is(struct json *j, char c)
{
    skip_space(j);
    return j->at < j->end && *j->at == (unsigned char)c;
}

ssq_status json_take(struct json *j, char c)
{
    const char text[] = {'\'', c, '\'', '\0'};
    if (!json_is(j, c))
        return json_fail(j, text);
    j->at++;
    return SSQ_OK;
}

ssq_status json_more(struct json *j, char close, bool *more)
{
    const char text[] = {'\'', ',',  '\'',  ' ',  'o', 'r',
                         ' ',  '\'', close, '\'', '\0'};
    *more = json_is(j, ',');
    if (!*more && !json_is(j, close))
        return json_fail(j, text);
    j->at++;
    return SSQ_OK;
}

/* ---- skipping ---- */

/** Maximum depth of nested objects and arrays. */
#define MOST_DEEP 64

static ssq_status checkpoint_json_skip(struct json *j, unsigned depth);

/* Skip an object or an array. */
static ssq_status skip_inside(struct json *j, char open, unsigned depth)
{
    const char close = open == '{' ? '}' : ']';
    ssq_status st = json_take(j, open);
    bool more = st == SSQ_OK && !json_is(j, close);
    if (st == SSQ_OK && !more)
        return json_take(j, close);
    while (st == SSQ_OK && more) {
        char *key;
        if (open == '{') {
            st = json_string(j, &key);
            if (st == SSQ_OK)
                st = json_take(j, ':');
        }
        if (st == SSQ_OK)
            st = checkpoint_json_skip(j, depth + 1);
        if (st == SSQ_OK)
            st = json_more(j, close, &more);
    }
    return st;
}

/* Skip a character if it is one of two. */
static bool skip_one(struct json *j, unsigned char a, unsigned char b)
{
    bool is = j->at < j->end && (*j->at == a || *j->at == b);
    j->at += is;
    return is;
}

/* Skip digits and return how many there were. */
static size_t skip_digits(struct json *j)
{
    const unsigned char *from = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9')
        j->at++;
    return (size_t)(j->at - from);
}

/* Skip a number: -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)? */
static ssq_status skip_number(struct json *j)
{
    (void)skip_one(j, '-', '-');
    const bool zero = j->at < j->end && *j->at == '0';
    const size_t n = skip_digits(j);
    if (n == 0 || (zero && n > 1))
        return json_fail(j, "a value");
    if (skip_one(j, '.', '.') && skip_digits(j) == 0)
        return json_fail(j, "a digit");
    if (skip_one(j, 'e', 'E')) {
        (void)skip_one(j, '+', '-');
        if (skip_digits(j) == 0)
            return json_fail(j, "a digit");
    }
    return SSQ_OK;
}

static ssq_status checkpoint_json_skip(struct json *j, unsigned depth)
{
    static const char *const words[] = {"null", "true", "false"};
    char *text;
    if (depth > MOST_DEEP)
        return json_fail(j, "fewer nested values");
    if (json_is(j, '{') || json_is(j, '['))
        return skip_inside(j, (char)*j->at, depth);
    if (json_is(j, '"'))
        return json_string(j, &text);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(j->end - j->at) < n || memcmp(j->at, words[i], n) != 0)
            continue;
        j->at += n;
        return SSQ_OK;
    }
    return skip_number(j);
}

ssq_status json_skip(struct json *j)
{
    return checkpoint_json_skip(j, 0);
}

ssq_status json_done(struct json *j)
{
    skip_space(j);
    return j->at == j->end ? SSQ_OK : json_fail(j, "spaces to its end");
}

ssq_status json_number(struct json *j, uint64_t *x)
{
    uint64_t sum = 0;
    skip_space(j);
    const unsigned char *from = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9') {
        unsigned digit = *j->at - '0';
        if (sum > (UINT64_MAX - digit) / 10)
            return json_fail(j, "a number below 2^64");
        sum = sum * 10 + digit;
        j->at++;
    }
    if (j->at == from)
        return json_fail(j, "a whole number");
    if (*from == '0' && j->at > from + 1) {
        j->at = j->begin + (from - j->begin);
        return json_fail(j, "a number without leading zeros");
    }
    if (j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E'))
        return json_fail(j, "the end of a whole number");
    *x = sum;
    return SSQ_OK;
}

/* ---- strings ---- */

/* Implements Unicode's table of well-formed byte sequences: no surrogates, no
 * overlong sequences, no code points above U+10FFFF. */
size_t utf8_length(const unsigned char *p, size_t n)
{
    unsigned char least = 0x80, most = 0xbf;
    size_t length;
    if (n == 0 || p[0] < 0x80)
        return n == 0 ? 0 : 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        least = 0xa0;
    if (p[0] == 0xed)
        most = 0x9f;
    if (p[0] == 0xf0)
        least = 0x90;
    if (p[0] == 0xf4)
        most = 0x8f;
    if (n < length || p[1] < least || p[1] > most)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return length;
}

/* Read four hexadecimal digits. */
static ssq_status hex(struct json *j, unsigned *x)
{
    *x = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        unsigned c = j->at < j->end ? *j->at : 0, digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - 'a' + 10;
        else
            return json_fail(j, "a digit of \\u");
        *x = *x << 4 | digit;
    }
    return SSQ_OK;
}

static unsigned char *put_utf8(unsigned char *to, unsigned c)
{
    if (c < 0x80) {
        *to++ = (unsigned char)c;
        return to;
    }
    if (c < 0x800) {
        *to++ = (unsigned char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *to++ = (unsigned char)(0xe0 | c >> 12);
        } else {
            *to++ = (unsigned char)(0xf0 | c >> 18);
            *to++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
    }
    *to++ = (unsigned char)(0x80 | (c & 0x3f));
    return to;
}

/* Read a character after \u. A surrogate must be followed by the second escape
 * of its pair. */
static ssq_status escaped(struct json *j, unsigned char **to)
{
    unsigned c, low;
    ssq_status st = hex(j, &c);
    if (st != SSQ_OK)
        return st;
    if (c == 0 || (c >= 0xdc00 && c <= 0xdfff))
        return json_fail(j, c == 0 ? "no \\u0000 before it"
                                   : "the first half of a pair before it");
    if (c >= 0xd800 && c <= 0xdbff) {
        if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
            return json_fail(j, "the second half of a pair");
        j->at += 2;
        st = hex(j, &low);
        if (st != SSQ_OK)
            return st;
        if (low < 0xdc00 || low > 0xdfff)
            return json_fail(j, "the second half of a pair before it");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    *to = put_utf8(*to, c);
    return SSQ_OK;
}

static ssq_status escape(struct json *j, unsigned char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *which;
    j->at++;
    if (j->at < j->end && *j->at == 'u') {
        j->at++;
        return escaped(j, to);
    }
    which = j->at < j->end && *j->at != 0 ? strchr(from, *j->at) : NULL;
    if (which == NULL)
        return json_fail(j, "an escape of JSON");
    *(*to)++ = (unsigned char)into[which - from];
    j->at++;
    return SSQ_OK;
}

/* Escapes are never shorter than the characters that they represent. The output
 * therefore never overtakes the input, and the terminating 0 fits in the place
 * of the quote. */
ssq_status json_string(struct json *j, char **s)
{
    ssq_status st = json_is(j, '"') ? SSQ_OK : json_fail(j, "a string");
    if (st != SSQ_OK)
        return st;
    unsigned char *to = ++j->at;
    *s = (char *)to;
    while (j->at < j->end && *j->at != '"') {
        if (*j->at == '\\') {
            st = escape(j, &to);
            if (st != SSQ_OK)
                return st;
            continue;
        }
        size_t n = utf8_length(j->at, (size_t)(j->end - j->at));
        if (n == 0 || *j->at < 0x20)
            return json_fail(j, n == 0 ? "a character of UTF-8"
                                       : "no control character in a string");
        memmove(to, j->at, n);
        to += n;
        j->at += n;
    }
    if (j->at >= j->end)
        return json_fail(j, "the end of a string");
    j->at++;
    *to = '\0';
    return SSQ_OK;
}
