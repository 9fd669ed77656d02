/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Maps, words and numbers as policies write them. Knows no rules. */

#include <ctype.h>

#include "compile.h"
#include "text.h"

/* RFC 2474, 2597, 3246, 5865. */
static const struct {
        const char *name;
        int dscp;
} dscp_table[] = {
        { "cs0", 0 },   { "cs1", 8 },   { "cs2", 16 },  { "cs3", 24 },  { "cs4", 32 },  { "cs5", 40 },
        { "cs6", 48 },  { "cs7", 56 },  { "af11", 10 }, { "af12", 12 }, { "af13", 14 }, { "af21", 18 },
        { "af22", 20 }, { "af23", 22 }, { "af31", 26 }, { "af32", 28 }, { "af33", 30 }, { "af41", 34 },
        { "af42", 36 }, { "af43", 38 }, { "ef", 46 },   { "va", 44 },
};

int dscp_from_name(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(dscp_table); i++)
                if (streq(dscp_table[i].name, name))
                        return dscp_table[i].dscp;
        return -EINVAL;
}

const char *dscp_nearest(const char *name) {
        const char *names[ELEMENTSOF(dscp_table)];

        for (size_t i = 0; i < ELEMENTSOF(dscp_table); i++)
                names[i] = dscp_table[i].name;
        return text_nearest(name, names, ELEMENTSOF(names));
}

const char *number_parse(const char *text, bool hex, uint64_t *ret) {
        unsigned base = 10;
        uint64_t number = 0;

        if (text[0] == '-' || text[0] == '+')
                return isdigit((unsigned char) text[1]) ? "a number has no sign" : "";
        if (text[0] == '0' && text[1] == 'x') {
                if (!hex)
                        return "it is written in decimal";
                base = 16;
                text += 2;
        } else if (text[0] == '0' && isdigit((unsigned char) text[1]))
                return "a number has no leading zero";
        else if (text[0] == '0' && text[1] && strchr("XxOoBb", text[1]))
                return hex ? "it is written in decimal, or in hex with 0x" : "it is written in decimal";

        for (const char *c = text; *c; c++) {
                unsigned char u = (unsigned char) *c;

                if (*c == '_' && c > text)
                        return "a number has no '_' in it";
                if ((*c == '.' || (base == 10 && (*c == 'e' || *c == 'E'))) && c > text)
                        return "a number has no fraction and no exponent";
                if (!(base == 16 ? isxdigit(u) : isdigit(u)))
                        return "";
                number = number * base + (unsigned) (isdigit(u) ? u - '0' : tolower(u) - 'a' + 10);
                if (number > UINT32_MAX)
                        number = (uint64_t) UINT32_MAX + 1;
        }
        if (!*text)
                return "";

        *ret = number;
        return NULL;
}

void complain_value(Source *source, const Node *node, const char *key, const char *takes, const char *hint) {
        char shown[TEXT_SHOWN_MAX], found[TEXT_SHOWN_MAX];
        const char *lookalike = NULL;

        if (node->kind == NODE_BROKEN)
                return;
        if (node->kind != NODE_SCALAR) {
                source_complain(source, (Place) { node->place.line, node->place.column, 0 }, hint,
                                "%s takes %s, not a %s", key, takes,
                                node->kind == NODE_LIST ? "list" : "map");
                return;
        }
        if (node->plain && node->size == 0) {
                size_t offset = source_locate(source, node->place.line, node->place.column);

                offset += strspn(source->bytes + offset, " \t");
                source_complain(source, node->place,
                                source->bytes[offset] == '#' ? "from '#' on it is a comment, unless quoted"
                                                             : NULL,
                                "%s has no value; it takes %s", key, takes);
                return;
        }

        if (!hint || !*hint)
                lookalike = text_find_lookalike(node->text, node->size, found);
        source_complain(source, node->place, NULL, "%s takes %s, not '%s'%s%s%s", key, takes,
                        text_show(node->text, node->size, shown),
                        lookalike       ? "; there is "
                        : hint && *hint ? "; "
                                        : "",
                        lookalike ? lookalike
                        : hint    ? hint
                                  : "",
                        lookalike ? " in it" : "");
}

bool compile_scalar(Source *source, const Node *node, const char *key, const char *takes) {
        if (node->kind == NODE_SCALAR && !(node->plain && node->size == 0))
                return true;

        complain_value(source, node, key, takes, NULL);
        return false;
}

int compile_word(Source *source, const Node *node, const char *key, const char *takes,
                 const char *const words[], size_t n_words) {
        const char *nearest;
        char hint[64];

        if (!compile_scalar(source, node, key, takes))
                return -1;

        for (size_t i = 0; i < n_words; i++)
                if (streq(words[i], node->text))
                        return (int) i;

        nearest = text_nearest(node->text, words, n_words);
        snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest ? nearest : "");
        complain_value(source, node, key, takes, nearest ? hint : NULL);
        return -1;
}

bool compile_number(Source *source, const Node *node, const char *key, const char *takes, bool hex,
                    unsigned min, unsigned max, unsigned *ret) {
        const char *why;
        uint64_t number;

        if (!compile_scalar(source, node, key, takes))
                return false;

        why = number_parse(node->text, hex, &number);
        if (!why && !node->plain)
                why = "a number is written without quotes";
        if (!why && (number < min || number > max))
                why = "";
        if (why) {
                complain_value(source, node, key, takes, why);
                return false;
        }

        *ret = (unsigned) number;
        return true;
}

static void complain_key(Source *source, const Node *key, const char *const names[], size_t n_names,
                         const char *where) {
        char shown[TEXT_SHOWN_MAX], found[TEXT_SHOWN_MAX];
        const char *nearest = text_nearest(key->text, names, n_names);
        const char *lookalike = text_find_lookalike(key->text, key->size, found),
                   *home = key_home(key->text);
        char help[256] = "allowed: ";

        if (key->plain && streq(key->text, "<<")) {
                source_complain(source, key->place, NULL,
                                "'<<' is a merge key, which a policy does not take");
                return;
        }

        for (size_t i = 0; i < n_names; i++) {
                strcat(help, i > 0 ? ", " : "");
                strcat(help, names[i]);
        }

        text_show(key->text, key->size, shown);
        if (lookalike)
                source_complain(source, key->place, help, "unknown key '%s' %s; there is %s in it", shown,
                                where, lookalike);
        else if (home)
                source_complain(source, key->place, help, "key '%s' is out of place %s; it belongs %s",
                                shown, where, home);
        else if (nearest)
                source_complain(source, key->place, help, "unknown key '%s' %s; did you mean '%s'?", shown,
                                where, nearest);
        else
                source_complain(source, key->place, help, "unknown key '%s' %s", shown, where);
}

void compile_map(Source *source, const Node *map, const char *const names[], size_t n_names,
                 const char *where, const Node *keys[], const Node *values[]) {
        for (const Node *key = map->children; key; key = key->next->next) {
                size_t i = 0;

                if (key->kind == NODE_BROKEN)
                        continue;
                if (key->kind != NODE_SCALAR) {
                        source_complain(source, (Place) { key->place.line, key->place.column, 0 }, NULL,
                                        "a key is a word, not a %s",
                                        key->kind == NODE_LIST ? "list" : "map");
                        continue;
                }

                while (i < n_names && !streq(names[i], key->text))
                        i++;
                if (i == n_names)
                        complain_key(source, key, names, n_names, where);
                else if (keys[i])
                        source_complain(source, key->place, NULL, "'%s' is given twice, first in line %u",
                                        names[i], keys[i]->place.line);
                else {
                        keys[i] = key;
                        values[i] = key->next;
                }
        }
}
