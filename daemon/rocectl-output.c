/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints. Whatever comes from devices, policies or the command line is made visible first: a name may hold
 * what a terminal obeys. */

#include "rocectl-output.h"

#include <langinfo.h>
#include <libsmartcols.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "report-json.h"
#include "text.h"

struct Table {
        struct libscols_table *lines;
        size_t n_columns;
};

static bool output_colour, output_utf8;
static pid_t pager_pid;

void *need(const void *pointer) {
        if (!pointer) {
                fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
                exit(CODE_FAILED);
        }
        return (void *) pointer;
}

char *need_text(const char *format, ...) {
        char *text;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        return NEED(r < 0 ? NULL : text);
}

int complain(int code, const char *format, ...) {
        _cleanup_free_ char *raw = NULL, *text = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&raw, format, ap) < 0)
                raw = NULL;
        va_end(ap);
        text = raw ? text_make_visible(raw) : NULL;
        (void) fflush(stdout);
        fprintf(stderr, "%s: %s\n", program_invocation_short_name, text ? text : "out of memory");
        return code;
}

bool output_is_utf8(void) {
        return output_utf8;
}

char *output_visible(const char *text) {
        return NEED(text_make_visible(text));
}

void output_line(const char *format, ...) {
        _cleanup_free_ char *raw = NULL, *text = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&raw, format, ap) < 0)
                raw = NULL;
        va_end(ap);
        text = output_visible(NEED(raw));
        puts(text);
}

/* A variable that is set to a yes. */
static bool environment_is_true(const char *name) {
        const char *value = getenv(name);

        return value &&
               (streq(value, "1") || streq(value, "yes") || streq(value, "true") || streq(value, "on"));
}

/* The pager may run what its user types: where that user got root by sudo, it is told not to. */
static bool pager_must_be_secure(void) {
        if (getenv("SYSTEMD_PAGERSECURE"))
                return environment_is_true("SYSTEMD_PAGERSECURE");
        return getuid() != geteuid() || getenv("SUDO_UID");
}

static void pager_exec(const char *pager, bool secure) {
        const char *less = getenv("SYSTEMD_LESS"), *charset = getenv("SYSTEMD_LESSCHARSET");

        (void) setenv("LESS", less ? less : "FRSXMK", 1);
        if (charset || output_utf8)
                (void) setenv("LESSCHARSET", charset ? charset : "utf-8", 1);
        if (secure)
                (void) setenv("LESSSECURE", "1", 1);

        if (pager && !secure)
                (void) execlp("sh", "sh", "-c", pager, NULL);
        (void) execlp("less", "less", NULL);
        if (!secure)
                (void) execlp("more", "more", NULL);
        (void) execlp("cat", "cat", NULL);
        _exit(127);
}

static void pager_start(void) {
        const char *pager = getenv("SYSTEMD_PAGER");
        int fds[2];

        if (!pager)
                pager = getenv("PAGER");
        if (pager && (pager[0] == 0 || streq(pager, "cat")))
                return;
        if (pipe(fds) < 0)
                return;

        (void) fflush(NULL);
        pager_pid = fork();
        if (pager_pid == 0) {
                (void) dup2(fds[0], STDIN_FILENO);
                (void) fd_close(fds[0]);
                (void) fd_close(fds[1]);
                pager_exec(pager, pager_must_be_secure());
        }
        if (pager_pid > 0) {
                (void) dup2(fds[1], STDOUT_FILENO);
                (void) signal(SIGPIPE, SIG_IGN);
                (void) signal(SIGINT, SIG_IGN); /* less takes ^C to stop a search, and lives on */
        }
        (void) fd_close(fds[0]);
        (void) fd_close(fds[1]);
}

void output_open(const Options *options, bool paged) {
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
        bool terminal = isatty(STDOUT_FILENO) > 0 && term && !streq(term, "dumb");

        output_utf8 = streq(nl_langinfo(CODESET), "UTF-8");
        output_colour = terminal && !(no_color && no_color[0]);
        if (terminal && paged && !options->no_pager)
                pager_start();
}

int output_close(int code) {
        int r = 0;

        errno = 0;
        if (fflush(stdout) != 0 || ferror(stdout))
                r = errno != 0 ? -errno : -EIO;

        if (pager_pid > 0) {
                /* Who has read enough and left the pager has not met an error. */
                (void) fclose(stdout);
                (void) fd_close(STDOUT_FILENO);
                while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
                        ;
                return code;
        }

        return r < 0 ? complain(CODE_FAILED, "the result cannot be written: %s", strerror(-r)) : code;
}

static const char *tone_color(Tone tone) {
        static const char *const table[_TONE_MAX] = {
                [TONE_GOOD] = "\033[32m",
                [TONE_FAINT] = "\033[90m",
                [TONE_WARNING] = "\033[33m",
                [TONE_BAD] = "\033[1;31m",
        };

        return output_colour ? table[tone] : NULL;
}

void output_toned(Tone tone, const char *text) {
        _cleanup_free_ char *visible = output_visible(text);
        const char *color = tone_color(tone);

        printf("%s%s%s", color ? color : "", visible, color ? "\033[0m" : "");
}

/* A device's name need not be UTF-8, and JSON must be; and some legal characters are not for terminals. */
void output_json(json_object *object) {
        const char *text = NEED(json_object_to_json_string_ext(
                        NEED(object),
                        JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
        size_t size = strlen(text), length;
        uint32_t character;

        if (json_take_lost())
                need(NULL);
        for (size_t i = 0; i < size; i += length) {
                length = utf8_decode(text + i, size - i, &character);
                if (character == CHARACTER_INVALID)
                        printf("\\\\x%02x", (unsigned char) text[i]);
                else if (character != '\n' && character_is_control(character))
                        printf("\\u%04x", character);
                else
                        (void) fwrite(text + i, 1, length, stdout);
        }
        putchar('\n');
}

Table *table_new(const Options *options, const Column *columns) {
        Table *table = NEED((Table *) calloc(1, sizeof(Table)));

        table->lines = NEED(scols_new_table());
        if (scols_table_enable_noheadings(table->lines, options->no_legend) < 0 ||
            scols_table_enable_colors(table->lines, output_colour) < 0)
                need(NULL);

        for (; columns[table->n_columns].name; table->n_columns++)
                need(scols_table_new_column(table->lines, columns[table->n_columns].name, 0,
                                            columns[table->n_columns].right ? SCOLS_FL_RIGHT : 0));
        return table;
}

Table *table_free(Table *table) {
        if (!table)
                return NULL;

        scols_unref_table(table->lines);
        free(table);
        return NULL;
}

/* libsmartcols spells control characters and bytes that are no text as "\x1b", and a "\x" that is there already
 * as "\x5cx": what it takes care of is left to it. */
static char *cell_visible(const char *text) {
        size_t size = strlen(text), filled = 0, length;
        char shown[CHARACTER_SHOWN_MAX];
        uint32_t character;
        char *cell = NEED((char *) calloc(size + 1, CHARACTER_SHOWN_MAX));

        for (size_t i = 0; i < size; i += length) {
                length = utf8_decode(text + i, size - i, &character);
                if (character == CHARACTER_INVALID || character < 0x20 || character == 0x7f) {
                        cell[filled++] = text[i];
                        continue;
                }
                (void) character_show(text + i, size - i, shown);
                filled = (size_t) (stpcpy(cell + filled, shown) - cell);
        }
        cell[filled] = 0;
        return cell;
}

void table_add(Table *table, const char *const *cells, int toned, Tone tone) {
        struct libscols_line *line = NEED(scols_table_new_line(table->lines, NULL));
        const char *color = tone_color(tone);

        for (size_t i = 0; i < table->n_columns; i++) {
                char *text = cell_visible(cells[i] && cells[i][0] ? cells[i] : "-");

                if (scols_line_refer_data(line, i, text) < 0)
                        need(NULL);
                if ((int) i == toned && color &&
                    scols_cell_set_color(scols_line_get_cell(line, i), color) < 0)
                        need(NULL);
        }
}

void table_print(Table *table) {
        if (scols_table_is_empty(table->lines))
                return;
        if (scols_print_table(table->lines) < 0)
                need(NULL);
}
