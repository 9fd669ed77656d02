/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What breaks a file before its meaning counts, in words that help: characters that must not be there, and
 * what libyaml objects to. Knows YAML's grammar and libyaml's phrases (libyaml 0.2, src/scanner.c and
 * src/parser.c), no policies. */

#include "node.h"
#include "text.h"

const char second_document_text[] = "a second document begins here; a policy file is one document";
static const char no_key_text[] = "this is no 'key: value'; a ':' and a blank are missing";

void source_complain_empty(Source *source) {
        source_complain(source, (Place) { 1, 1, 0 }, "the least policy is two lines: version: 1, rules: []",
                        "there is nothing in this file");
}

/* A line of blanks only is an empty line, but libyaml takes a tab there for indentation. */
static int source_blank_tabs(Source *source) {
        size_t i = 0;

        while (i < source->size) {
                const char *newline = memchr(source->bytes + i, '\n', source->size - i);
                size_t end = newline ? (size_t) (newline - source->bytes) : source->size;
                size_t n_blank = strspn(source->bytes + i, " \t\r");

                if (i + n_blank >= end && memchr(source->bytes + i, '\t', end - i)) {
                        if (!source->copy) {
                                source->copy = malloc(source->size + 1);
                                if (!source->copy)
                                        return -ENOMEM;
                                memcpy(source->copy, source->bytes, source->size);
                                source->copy[source->size] = 0;
                                source->bytes = source->copy;
                        }
                        for (size_t k = i; k < end; k++)
                                if (source->copy[k] == '\t')
                                        source->copy[k] = ' ';
                }
                i = end + 1;
        }

        return 0;
}

static const char *character_objection(const Source *source, size_t offset, size_t length, uint32_t c) {
        switch (c) {
        case CHARACTER_INVALID:
                return "this is not valid UTF-8";
        case 0:
                return "a NUL character; a policy is a text in UTF-8";
        case '\t':
        case '\n':
                return NULL;
        case '\r':
                return offset + length < source->size && source->bytes[offset + length] == '\n'
                                       ? NULL
                                       : "a carriage return without newline; lines end in a newline";
        case 0x85:
        case 0x2028:
        case 0x2029:
                return "a line break of another kind; lines end in a newline";
        case 0xfeff:
                return "a byte order mark in the midst of a file";
        case 0xfffe:
        case 0xffff:
                return "this is no character";
        default:
                return character_is_control(c) ? "a control character" : NULL;
        }
}

size_t source_check_encoding(Source *source, const char **ret_what, Place *ret_place) {
        const char *bytes = source->text->bytes;
        size_t size = source->text->size;
        Place place = { 1, 1, 0 };

        *ret_what = NULL;
        *ret_place = place;

        if (size >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0)) {
                *ret_what = "this file is in UTF-16; a policy is a text in UTF-8";
                source->bytes = bytes;
                source->size = 0;
                return 0;
        }

        if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
                bytes += 3;
                size -= 3;
        }
        source->bytes = bytes;
        source->size = size;

        if (memchr(bytes, '\t', size)) {
                source->error = source_blank_tabs(source);
                if (source->error < 0)
                        return 0;
        }

        for (size_t i = 0, length; i < size; i += length) {
                unsigned char byte = (unsigned char) source->bytes[i];
                uint32_t c;

                if (byte >= ' ' && byte < 0x7f) {
                        length = 1;
                        place.column++;
                        continue;
                }
                length = utf8_decode(source->bytes + i, size - i, &c);
                *ret_what = character_objection(source, i, length, c);
                if (*ret_what) {
                        *ret_place = place;
                        return i;
                }
                place.column++;
                if (c == '\n') {
                        place.line++;
                        place.column = 1;
                }
        }

        return size;
}

static size_t word_end(const Source *source, size_t start, bool brackets) {
        const char *bytes = source->bytes;
        size_t end = start;
        int depth = 0;

        for (; end < source->size && bytes[end] != 0 && !strchr(" \t\r\n", bytes[end]); end++) {
                if (brackets && strchr("[{", bytes[end]))
                        depth++;
                else if ((strchr("]}", bytes[end]) && depth-- == 0) || (bytes[end] == ',' && depth == 0))
                        break;
        }

        return depth > 0 ? word_end(source, start, false) : end;
}

Place source_word(Source *source, Place place, char buffer[static 256]) {
        size_t offset = source_locate(source, place.line, place.column), start = offset, end;
        const char *bytes = source->bytes;
        int depth = 0;

        /* Back to a blank, a comma or a bracket that opens around it; brackets within the word are part of
         * it. */
        for (; start > 0 && !strchr(" \t\r\n,", bytes[start - 1]); start--) {
                if (strchr("]}", bytes[start - 1]))
                        depth++;
                else if (strchr("[{", bytes[start - 1]) && depth-- == 0)
                        break;
        }
        end = word_end(source, start, true);
        text_show(bytes + start, end - start, buffer);

        for (size_t i = start; i < offset; i++)
                place.column -= (bytes[i] & 0xc0) != 0x80;
        place.length = 0;
        for (size_t i = start; i < end; i++)
                place.length += (bytes[i] & 0xc0) != 0x80;
        return place;
}

/* A word that YAML takes for something else. */
static Place complain_quote(Source *source, Place place, const char *what) {
        char word[TEXT_SHOWN_MAX];
        Place whole = source_word(source, place, word);

        source_complain(source, whole, NULL, "%s; quote it: \"%s\"", what, word);
        return place;
}

static size_t source_line_end(const Source *source, size_t start) {
        const char *newline = memchr(source->bytes + start, '\n', source->size - start);

        return newline ? (size_t) (newline - source->bytes) : source->size;
}

/* A look-alike is the likeliest cause of what YAML cannot read, and hard to see. */
static const char *line_help(Source *source, Place place, char buffer[static TEXT_SHOWN_MAX],
                             const char *help) {
        char found[TEXT_SHOWN_MAX];

        /* A text that goes on from the line before is found wrong only here. */
        for (unsigned i = 0; i < 2 && i < place.line; i++) {
                size_t start = source_locate(source, place.line - i, 1);

                if (text_find_lookalike(source->bytes + start, source_line_end(source, start) - start,
                                        found)) {
                        snprintf(buffer, TEXT_SHOWN_MAX, "%s: %.200s",
                                 i == 0 ? "in this line" : "in the line before", found);
                        return buffer;
                }
        }

        return help;
}

/* Whether a line is nothing but a text that goes on in the next: "mode:v2", "mode v2". Gives the place of
 * that text. */
static bool line_is_text(Source *source, unsigned line, Place *ret) {
        size_t start = source_locate(source, line, 1), end = source_line_end(source, start);
        size_t first = start + strspn(source->bytes + start, " ");
        size_t length;

        while (first + 1 < end && source->bytes[first] == '-' && source->bytes[first + 1] == ' ')
                first += 1 + strspn(source->bytes + first + 1, " ");
        length = strcspn(source->bytes + first, "\r\n");

        if (length == 0 || strchr("#\"'[{|>&*!%@`?", source->bytes[first]) ||
            source->bytes[first + length - 1] == ':' || memmem(source->bytes + first, length, ": ", 2))
                return false;

        *ret = (Place) { line, (unsigned) (first - start) + 1, 0 };
        return true;
}

static bool source_begins_line(const Source *source, size_t offset) {
        while (offset > 0 && strchr(" \t", source->bytes[offset - 1]))
                offset--;
        return offset == 0 || source->bytes[offset - 1] == '\n';
}

/* "[ab]c": a pattern without quotes. */
static bool source_is_after_bracket(const Source *source, size_t offset) {
        return offset > 0 && offset < source->size && strchr("]}", source->bytes[offset - 1]) &&
               !strchr(" \t\r\n]},:", source->bytes[offset]);
}

/* NUL at the end. */
static char source_byte(const Source *source, size_t offset) {
        if (offset >= source->size)
                return 0;
        return source->bytes[offset];
}

/* Within [ ] or { } something follows that is neither comma nor end. */
static Place complain_flow(Source *source, const SyntaxError *error, size_t offset) {
        char c = source_byte(source, offset);
        bool list = strstr(error->problem, "']'");

        if ((c == '[' || c == '{') && offset > 0 && !strchr(" \t\n[{,:", source->bytes[offset - 1]))
                return complain_quote(source, error->place,
                                      c == '[' ? "YAML takes the '[' for a list here"
                                               : "YAML takes the '{' for a map here");

        if (source_is_after_bracket(source, offset))
                return complain_quote(source, error->place, "YAML takes the bracket for a list or map");

        if (c == 0)
                source_complain(source, error->context_place, NULL, "the '%c' that opens here is not closed",
                                list ? '[' : '{');
        else
                source_complain(source, error->place, "a text with ',', ':', '[' or '{' in it is quoted",
                                "',' or '%c' is missing before this; the '%c' stands in line %u",
                                list ? ']' : '}', list ? '[' : '{', error->context_place.line);
        return error->place;
}

/* The indentation, or the end of a value, is not what it should be. */
static Place complain_block(Source *source, const SyntaxError *error, size_t offset) {
        char found[TEXT_SHOWN_MAX];
        const char *text, *help;
        Place before;

        if (strstr(error->problem, "mapping values") && error->place.line > 1 &&
            line_is_text(source, error->place.line - 1, &before)) {
                source_complain(source, before, line_help(source, before, found, NULL), "%s", no_key_text);
                return before;
        }
        if (source_is_after_bracket(source, offset))
                return complain_quote(source, error->place, "YAML takes the bracket for a list or map");

        if (strstr(error->problem, "mapping values")) {
                text = "a ':' is out of place here";
                help = "a text with ': ' in it is quoted; keys of one map are indented alike";
        } else if (strstr(error->problem, "block sequence entries")) {
                text = "a '- ' is out of place here";
                help = "each '- ' stands in a line of its own, all indented alike";
        } else if (source_begins_line(source, offset)) {
                text = "the indentation of this line fits none above";
                help = "keys of one map, and the '-' of one list, are indented alike";
        } else {
                text = "this does not belong here";
                help = "a text is quoted as a whole or not at all";
        }
        source_complain(source, error->place, line_help(source, error->place, found, help), "%s", text);
        return error->place;
}

/* Quotes that do not end, escapes that are none. */
static Place complain_quoted(Source *source, const SyntaxError *error) {
        if (strstr(error->problem, "unexpected")) {
                source_complain(source, error->context_place, NULL,
                                "the quote that opens here is not closed");
                return error->context_place;
        }

        source_complain(source, error->place, "within '…' a backslash is a plain character",
                        "this is no escape that YAML knows in double quotes");
        return error->context_place;
}

/* Something that is not a matter of how things are nested. False: it is. */
static bool complain_token(Source *source, const SyntaxError *error, char c, Place *ret) {
        const char *context = error->context ? error->context : "", *problem = error->problem;

        if (strstr(problem, "tab character") || (c == '\t' && strstr(problem, "cannot start any token"))) {
                source_complain(source, error->place, NULL, "a tab; indent with spaces");
                *ret = error->place;
        } else if (strstr(context, "an alias"))
                *ret = complain_quote(source, error->context_place, "YAML takes the '*' for an alias");
        else if (strstr(context, "an anchor"))
                *ret = complain_quote(source, error->context_place, "YAML takes the '&' for an anchor");
        else if (strstr(context, "a tag") || strstr(problem, "tag handle"))
                *ret = complain_quote(source, error->context_place, "YAML takes the '!' for a tag");
        else if (strstr(context, "block scalar"))
                *ret = complain_quote(source, error->context_place,
                                      "YAML takes this for the head of a block of text");
        else if (strstr(problem, "cannot start any token"))
                *ret = complain_quote(source, error->place, "no YAML value begins with this character");
        else if (strstr(context, "quoted scalar"))
                *ret = complain_quoted(source, error);
        else if (strstr(context, "a directive")) {
                source_complain(source, error->context_place, NULL,
                                "YAML directives ('%%') are not part of a policy");
                *ret = error->context_place;
        } else
                return false;

        return true;
}

Place syntax_complain(Source *source, const SyntaxError *error) {
        size_t offset = source_locate(source, error->place.line, error->place.column);
        const char *problem = error->problem;
        char found[TEXT_SHOWN_MAX];
        Place place;

        if (complain_token(source, error, source_byte(source, offset), &place))
                return place;
        if (strstr(problem, "',' or"))
                return complain_flow(source, error, offset);
        if (strstr(problem, "expected ':'")) {
                place = error->context_place;
                source_complain(source, place, line_help(source, place, found, NULL), "%s", no_key_text);
                return place;
        }
        if (strstr(problem, "expected key") || strstr(problem, "'-' indicator") ||
            strstr(problem, "not allowed in this context"))
                return complain_block(source, error, offset);

        if (strstr(problem, "node content") && startswith(source->bytes + offset, "..."))
                source_complain_empty(source);
        else if (strstr(problem, "node content"))
                source_complain(source, error->place, NULL, "a value is missing before this");
        else if (strstr(problem, "<document start>"))
                source_complain(source, error->place, NULL, "%s", second_document_text);
        else
                source_complain(source, error->place, NULL, "this is not YAML: %s", problem);
        return error->place;
}
