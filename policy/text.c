/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* UTF-8 and the look of text. Knows nothing of policies. */

#include <ctype.h>

#include "text.h"

#define SHOWN_CHARACTERS_MAX 60U
#define WORD_MAX 31U

size_t utf8_decode(const char *text, size_t size, uint32_t *ret) {
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        unsigned char first = (unsigned char) text[0];
        size_t length = first < 0x80   ? 1
                        : first < 0xc0 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf8 ? 4
                                       : 0;
        uint32_t character;

        if (length == 1) {
                *ret = first;
                return 1;
        }
        *ret = CHARACTER_INVALID;
        if (length == 0 || length > size)
                return 1;

        character = first & (0x7fU >> length);
        for (size_t i = 1; i < length; i++) {
                if (((unsigned char) text[i] & 0xc0) != 0x80)
                        return 1;
                character = character << 6 | ((unsigned char) text[i] & 0x3f);
        }

        if (character < least[length] || character > 0x10ffff ||
            (character >= 0xd800 && character <= 0xdfff))
                return 1;

        *ret = character;
        return length;
}

bool character_is_control(uint32_t c) {
        return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
}

static bool character_is_unseen(uint32_t c) {
        return character_is_control(c) || c == 0xa0 || c == 0xad || c == 0x61c || c == 0x1680 ||
               c == 0x180e || (c >= 0x2000 && c <= 0x200f) || (c >= 0x202a && c <= 0x202f) ||
               (c >= 0x205f && c <= 0x206f) || c == 0x3000 || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
               c == 0xfffe || c == 0xffff;
}

size_t character_show(const char *bytes, size_t size, char buffer[static CHARACTER_SHOWN_MAX]) {
        uint32_t character;
        size_t length = utf8_decode(bytes, size, &character);
        int n;

        if (character == '\t')
                n = snprintf(buffer, CHARACTER_SHOWN_MAX, "\\t");
        else if (character == CHARACTER_INVALID)
                n = snprintf(buffer, CHARACTER_SHOWN_MAX, "\\x%02x", (unsigned) (unsigned char) bytes[0]);
        else if (character_is_unseen(character))
                n = snprintf(buffer, CHARACTER_SHOWN_MAX, character < 0x100 ? "\\x%02x" : "\\u%04x",
                             character);
        else {
                memcpy(buffer, bytes, length);
                buffer[length] = 0;
                return 1;
        }

        return (size_t) n;
}

const char *text_show(const char *text, size_t size, char buffer[static TEXT_SHOWN_MAX]) {
        char shown[CHARACTER_SHOWN_MAX];
        size_t filled = 0, n_characters = 0;
        uint32_t character;

        buffer[0] = 0;
        for (size_t i = 0; i < size; i += utf8_decode(text + i, size - i, &character)) {
                size_t n;

                character_show(text + i, size - i, shown);
                n = strlen(shown);
                if (++n_characters > SHOWN_CHARACTERS_MAX || filled + n + sizeof("…") > TEXT_SHOWN_MAX) {
                        strcpy(buffer + filled, "…");
                        break;
                }
                memcpy(buffer + filled, shown, n + 1);
                filled += n;
        }

        return buffer;
}

char *text_make_visible(const char *text) {
        size_t size = strlen(text), filled = 0;
        uint32_t character;
        char *visible;

        /* The longest spelling of a byte is "\xff", of a character of three "\u200b". */
        visible = malloc(4 * size + CHARACTER_SHOWN_MAX);
        if (!visible)
                return NULL;

        visible[0] = 0;
        for (size_t i = 0; i < size; i += utf8_decode(text + i, size - i, &character)) {
                character_show(text + i, size - i, visible + filled);
                filled += strlen(visible + filled);
        }

        return visible;
}

void text_make_plain(char *text, const char *keep) {
        size_t size = strlen(text), length;
        uint32_t character;
        char *end = text;

        for (size_t i = 0; i < size; i += length) {
                length = utf8_decode(text + i, size - i, &character);
                if (character == CHARACTER_INVALID ||
                    (character_is_control(character) && !(character < 0x80 && strchr(keep, (int) character))))
                        *end++ = '?';
                else {
                        memmove(end, text + i, length);
                        end += length;
                }
        }
        *end = 0;
}

bool text_has_control(const char *text, size_t size) {
        uint32_t character;

        for (size_t i = 0; i < size;) {
                if (text[i] >= ' ' && text[i] < 0x7f) {
                        i++;
                        continue;
                }
                i += utf8_decode(text + i, size - i, &character);
                if (character_is_control(character))
                        return true;
        }

        return false;
}

const char *text_find_lookalike(const char *text, size_t size, char buffer[static TEXT_SHOWN_MAX]) {
        uint32_t c;

        for (size_t i = 0; i < size;) {
                const char *what = NULL;

                i += utf8_decode(text + i, size - i, &c);
                if (c < 0x80)
                        continue;
                if (c == 0xa0 || c == 0x202f)
                        what = "a no-break space";
                else if ((c >= 0x2000 && c <= 0x200a) || c == 0x205f || c == 0x3000 || c == 0x1680)
                        what = "a space of another kind";
                else if (c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
                         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
                        what = "an invisible character";
                else if (c >= 0xff01 && c <= 0xff5e)
                        what = "a full-width character";
                else if (c >= 0x2010 && c <= 0x2015)
                        what = "a dash that is no '-'";
                else if (c >= 0x2018 && c <= 0x201f)
                        what = "a typographic quote";
                else if ((c >= 0x660 && c <= 0x669) || (c >= 0x6f0 && c <= 0x6f9) ||
                         (c >= 0x966 && c <= 0x96f))
                        what = "a digit that is not ASCII";

                if (what) {
                        snprintf(buffer, TEXT_SHOWN_MAX, "%s (U+%04X)", what, c);
                        return buffer;
                }
        }

        return NULL;
}

/* How many characters are to be put in, left out, changed or swapped with their neighbour to make b of a,
 * case apart. Neither may be longer than WORD_MAX. */
static unsigned word_distance(const char *a, const char *b) {
        size_t n_a = strlen(a), n_b = strlen(b);
        unsigned rows[3][WORD_MAX + 1];
        unsigned *before = rows[0], *previous = rows[1], *row = rows[2];

        for (size_t j = 0; j <= n_b; j++)
                previous[j] = (unsigned) j;

        for (size_t i = 1; i <= n_a; i++) {
                unsigned *oldest = before;

                row[0] = (unsigned) i;
                for (size_t j = 1; j <= n_b; j++) {
                        int x = tolower((unsigned char) a[i - 1]), y = tolower((unsigned char) b[j - 1]);

                        row[j] = MIN_OF(previous[j], row[j - 1]) + 1;
                        row[j] = MIN_OF(row[j], previous[j - 1] + (x == y ? 0U : 1U));
                        if (i > 1 && j > 1 && x == tolower((unsigned char) b[j - 2]) &&
                            y == tolower((unsigned char) a[i - 2]))
                                row[j] = MIN_OF(row[j], before[j - 2] + 1);
                }
                before = previous;
                previous = row;
                row = oldest;
        }

        return previous[n_b];
}

const char *text_nearest(const char *word, const char *const words[], size_t n_words) {
        size_t length = strlen(word);
        unsigned best = (length <= 3 ? 1 : length <= 6 ? 2 : 3) + 1;
        const char *nearest = NULL;

        if (length == 0 || length > WORD_MAX)
                return NULL;

        for (size_t i = 0; i < n_words; i++) {
                unsigned distance;

                if (strlen(words[i]) > WORD_MAX)
                        continue;
                distance = word_distance(word, words[i]);
                if (distance == best)
                        nearest = NULL;
                else if (distance < best && distance < length) {
                        nearest = words[i];
                        best = distance;
                }
        }

        if (nearest || length < 3)
                return nearest;

        /* "guid" is far from "node_guid" by letters, yet it is what was meant. */
        for (size_t i = 0; i < n_words; i++)
                if (strcasestr(words[i], word)) {
                        if (nearest)
                                return NULL;
                        nearest = words[i];
                }
        return nearest;
}
