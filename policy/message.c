/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages: what is wrong, where, and the line with a caret below it. Knows nothing of the policy's
 * language. */

#include <limits.h>

#include "message.h"
#include "text.h"

/* Of longer lines a window is shown. */
#define EXCERPT_WIDTH 100U
#define EXCERPT_BEFORE 40U

void messages_done(Messages *messages) {
        for (size_t i = 0; i < messages->n_items; i++) {
                free(messages->items[i].path);
                free(messages->items[i].text);
                free(messages->items[i].excerpt);
        }
        free(messages->items);
        *messages = (Messages) {};
}

size_t messages_count(const Messages *messages, Severity severity) {
        size_t n = 0;

        for (size_t i = 0; i < messages->n_items; i++)
                n += messages->items[i].severity == severity;
        return n;
}

/* Line 0 with a column is about the file as a whole, and goes last. */
static unsigned message_rank(const Message *message) {
        return message->line == 0 && message->column > 0 ? UINT_MAX : message->line;
}

static int message_compare(const void *a, const void *b) {
        const Message *x = a, *y = b;

        if (x->file != y->file)
                return x->file < y->file ? -1 : 1;
        if (message_rank(x) != message_rank(y))
                return message_rank(x) < message_rank(y) ? -1 : 1;
        if (x->column != y->column)
                return x->column < y->column ? -1 : 1;
        return x->serial < y->serial ? -1 : 1;
}

void messages_sort(Messages *messages) {
        if (messages->n_items > 1)
                qsort(messages->items, messages->n_items, sizeof(Message), message_compare);
}

char *message_format(const Message *message) {
        const char *severity = message->severity == SEVERITY_ERROR ? "error" : "warning";
        const char *excerpt = message->excerpt ? message->excerpt : "";
        _cleanup_free_ char *path = NULL;
        char *formatted;
        int r;

        if (!message->path)
                r = asprintf(&formatted, "%s: %s\n%s", severity, message->text, excerpt);
        else if (!(path = text_make_visible(message->path)))
                return NULL;
        else if (message->line == 0)
                r = asprintf(&formatted, "%s: %s: %s\n%s", path, severity, message->text, excerpt);
        else
                r = asprintf(&formatted, "%s:%u:%u: %s: %s\n%s", path, message->line, message->column,
                             severity, message->text, excerpt);

        return r < 0 ? NULL : formatted;
}

/* Takes "message" over, whatever comes of it. */
static int messages_take(Messages *messages, Message message) {
        size_t n = messages->n_items;

        if (!message.text || !message.path)
                goto fail;

        /* Grows by doubling, at each power of two. */
        if ((n & (n - 1)) == 0) {
                Message *items = reallocarray(messages->items, n > 0 ? 2 * n : 1, sizeof(Message));

                if (!items)
                        goto fail;
                messages->items = items;
        }

        message.serial = (unsigned) n;
        messages->items[messages->n_items++] = message;
        return 0;

fail:
        free(message.text);
        free(message.path);
        free(message.excerpt);
        return -ENOMEM;
}

int messages_move(Messages *messages, Messages *more) {
        int r = 0;

        for (size_t i = 0; i < more->n_items; i++) {
                int k = messages_take(messages, more->items[i]);

                r = r ?: k;
        }

        free(more->items);
        *more = (Messages) {};
        return r;
}

static char *text_format(const char *format, va_list arguments) PRINTF(1, 0);

static char *text_format(const char *format, va_list arguments) {
        _cleanup_free_ char *raw = NULL;

        if (vasprintf(&raw, format, arguments) < 0) {
                raw = NULL;
                return NULL;
        }
        return text_make_visible(raw);
}

int messages_add(Messages *messages, Severity severity, const char *path, unsigned file, unsigned line,
                 unsigned column, const char *format, ...) {
        Message message = {
                .severity = severity,
                .path = strdup(path),
                .line = line,
                .column = column,
                .file = file,
        };
        va_list arguments;

        va_start(arguments, format);
        message.text = text_format(format, arguments);
        va_end(arguments);

        return messages_take(messages, message);
}

size_t source_locate(Source *source, unsigned line, unsigned column) {
        unsigned at_line = source->cursor.line, at_column = source->cursor.column;
        size_t offset = source->cursor.offset;
        uint32_t character;

        if (at_line == 0 || at_line > line || (at_line == line && at_column > column)) {
                at_line = at_column = 1;
                offset = 0;
        }

        while (at_line < line) {
                const char *newline = memchr(source->bytes + offset, '\n', source->size - offset);

                /* Beyond the end, which is in this line then. */
                if (!newline) {
                        line = at_line;
                        column = UINT_MAX;
                        break;
                }
                offset = (size_t) (newline + 1 - source->bytes);
                at_line++;
                at_column = 1;
        }

        while (at_line == line && at_column < column && offset < source->size &&
               source->bytes[offset] != '\n') {
                offset += utf8_decode(source->bytes + offset, source->size - offset, &character);
                at_column++;
        }

        source->cursor.line = at_line;
        source->cursor.column = at_column;
        source->cursor.offset = offset;
        return offset;
}

static bool source_line_ends(const Source *source, size_t offset) {
        return offset >= source->size || source->bytes[offset] == '\n' ||
               (source->bytes[offset] == '\r' &&
                (offset + 1 == source->size || source->bytes[offset + 1] == '\n'));
}

/* Steps back over one character of valid UTF-8. */
static size_t source_step_back(const Source *source, size_t offset) {
        do
                offset--;
        while (offset > 0 && ((unsigned char) source->bytes[offset] & 0xc0) == 0x80);
        return offset;
}

static void excerpt_print(FILE *f, Source *source, Place place) {
        size_t caret = source_locate(source, place.line, place.column), start = caret;
        size_t pad = 0, marked = 0, n_shown = 0, n_before = 0;
        size_t before_max;
        uint32_t c;
        char shown[CHARACTER_SHOWN_MAX];

        /* From the start of the line, unless the caret would fall out of the window. */
        before_max = place.column <= EXCERPT_WIDTH - EXCERPT_BEFORE ? EXCERPT_WIDTH : EXCERPT_BEFORE;
        for (; start > 0 && source->bytes[start - 1] != '\n' && n_before < before_max; n_before++)
                start = source_step_back(source, start);

        fprintf(f, "%5u | ", place.line);
        if (start > 0 && source->bytes[start - 1] != '\n') {
                fputs("…", f);
                pad++;
        }

        for (size_t i = start; !source_line_ends(source, i);
             i += utf8_decode(source->bytes + i, source->size - i, &c)) {
                size_t width;

                if (n_shown++ == EXCERPT_WIDTH) {
                        fputs("…", f);
                        break;
                }
                width = character_show(source->bytes + i, source->size - i, shown);
                fputs(shown, f);
                if (n_shown <= n_before)
                        pad += width;
                else if (n_shown - n_before <= place.length || n_shown == n_before + 1)
                        marked += width;
        }

        fprintf(f, "\n%*s | %*s^", (int) MAX_OF((size_t) 5, (size_t) snprintf(NULL, 0, "%u", place.line)),
                "", (int) pad, "");
        for (size_t i = 1; i < marked; i++)
                fputc('~', f);
        fputc('\n', f);
}

/* NULL out of memory. */
static char *source_excerpt(Source *source, Place place, const char *help) {
        char *excerpt = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&excerpt, &size);
        if (!f)
                return NULL;

        if (source->size > 0)
                excerpt_print(f, source, place);
        if (help)
                fprintf(f, "%*s = %s\n",
                        (int) MAX_OF((size_t) 5, (size_t) snprintf(NULL, 0, "%u", place.line)), "", help);

        if (fclose(f) != 0) {
                free(excerpt);
                return NULL;
        }
        return excerpt;
}

void source_complain(Source *source, Place place, const char *help, const char *format, ...) {
        Message message;
        va_list arguments;

        if (source->error < 0 || ++source->n_errors > SOURCE_ERRORS_MAX || !source->messages)
                return;

        /* libyaml ends a last line that has no newline, and complains of the one after it. */
        (void) source_locate(source, place.line, place.column);
        if (source->cursor.line < place.line)
                place = (Place) { source->cursor.line, source->cursor.column, 0 };

        message = (Message){
                .severity = SEVERITY_ERROR,
                .path = strdup(source->text->path),
                .line = place.line,
                .column = place.column,
                .excerpt = source_excerpt(source, place, help),
                .file = source->file,
        };
        va_start(arguments, format);
        message.text = text_format(format, arguments);
        va_end(arguments);

        if (!message.excerpt) {
                free(message.text);
                message.text = NULL;
        }
        source->error = messages_take(source->messages, message);
}

void source_conclude(Source *source) {
        if (source->error == 0 && source->n_errors > SOURCE_ERRORS_MAX)
                source->error = messages_add(source->messages, SEVERITY_ERROR, source->text->path,
                                             source->file, 0, 1, "%u more errors are not shown",
                                             source->n_errors - SOURCE_ERRORS_MAX);
}
