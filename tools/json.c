/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - writes any bytes as JSON strings. */
#include "tools/tool.h"

#include <string.h>

/* Return the number of bytes of the UTF-8 character at p, a string; 0 if these
 * bytes are not one. Follows Unicode's table of well-formed sequences: no
 * surrogates, no overlong forms, nothing above U+10FFFF. */
static size_t json_utf8_length(const unsigned char *p)
{
    unsigned char least = 0x80, most = 0xbf;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        least = 0xa0;
    if (p[0] == 0xed)
        most = 0x9f;
    if (p[0] == 0xf0)
        least = 0x90;
    if (p[0] == 0xf4)
        most = 0x8f;
    if (p[1] < least || p[1] > most)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return length;
}

void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    while (*s != '\0') {
        const unsigned char c = (unsigned char)*s;
        const size_t n = json_utf8_length((const unsigned char *)s);
        if (n == 0)
            fprintf(f, "\\ufffd");
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            fwrite(s, 1, n, f);
        s += n == 0 ? 1 : n;
    }
    fputc('"', f);
}
