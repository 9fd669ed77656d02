/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads files of JSON. What is wrong in one is told with line and column. */

#include "rocectl-file.h"

#include <assert.h>
#include <fcntl.h>

#include "file.h"
#include "report-json.h"
#include "rocectl-document.h"

/* Far more than any host has to say. */
#define FILE_SIZE_MAX (64UL << 20)

typedef struct Buffer {
        char *bytes;
        size_t size;
} Buffer;

static void buffer_done(Buffer *buffer) {
        free(buffer->bytes);
}

/* May be a pipe: "<(ssh host rocectl status --json)". 0 or -errno. */
static int buffer_read(Buffer *buffer, const char *file) {
        bool is_stdin = strcmp(file, "-") == 0;
        _cleanup_close_ int opened = is_stdin ? -EBADF : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        int r;

        if (!is_stdin && opened < 0)
                return -errno;
        r = file_read_whole(is_stdin ? STDIN_FILENO : opened, FILE_SIZE_MAX, &buffer->bytes, &buffer->size);
        if (r < 0)
                return r;
        return buffer->size > FILE_SIZE_MAX ? -EFBIG : 0;
}

static json_object *complain_at(const char *file, const Buffer *buffer, size_t offset, const char *text) {
        size_t line = 1, column = 1;

        for (size_t i = 0; i < offset && i < buffer->size; i++)
                if (buffer->bytes[i] == '\n') {
                        line++;
                        column = 1;
                } else if (((unsigned char) buffer->bytes[i] & 0xc0) != 0x80)
                        column++;
        complain(CODE_FAILED, "%s:%zu:%zu: %s", file, line, column, text);
        return NULL;
}

static json_object *buffer_parse(const Buffer *buffer, const char *file, JsonTokener *tokener) {
        _cleanup_json_ json_object *document = NULL;
        enum json_tokener_error error;
        size_t end;

        /* A bare number ends with what comes after it. */
        assert(buffer->bytes);
        buffer->bytes[buffer->size] = '\n';
        json_tokener_reset(tokener);
        document = json_tokener_parse_ex(tokener, buffer->bytes, (int) buffer->size + 1);
        error = json_tokener_get_error(tokener);
        end = json_tokener_get_parse_end(tokener);
        if (error == json_tokener_continue)
                return complain_at(file, buffer, buffer->size,
                                   buffer->size == 0 ? "the file is empty"
                                                     : "the file ends in the middle of its JSON");
        if (error != json_tokener_success)
                return complain_at(file, buffer, end, json_tokener_error_desc(error));

        while (end < buffer->size && strchr(" \t\r\n", buffer->bytes[end]) && buffer->bytes[end])
                end++;
        if (end < buffer->size)
                return complain_at(file, buffer, end, "the JSON has ended, and this is too much");
        return TAKE_PTR(document);
}

static bool schema_is_known(json_object *document, const char *file) {
        json_object *schema = json_get(document, "schema");

        if (!json_object_is_type(schema, json_type_int)) {
                complain(CODE_FAILED,
                         "%s: this is not what rocectl writes with --json, it has no \"schema\"", file);
                return false;
        }
        if (json_object_get_int64(schema) != JSON_SCHEMA)
                complain(CODE_FAILED,
                         "%s: it is of schema %lld, and this rocectl knows only %d; a newer one reads it",
                         file, (long long) json_object_get_int64(schema), JSON_SCHEMA);
        return json_object_get_int64(schema) == JSON_SCHEMA;
}

json_object *document_read(const char *file, JsonTokener *tokener) {
        const char *name = strcmp(file, "-") == 0 ? "<stdin>" : file;
        _cleanup_(buffer_done) Buffer buffer = {};
        _cleanup_json_ json_object *document = NULL;
        int r;

        r = buffer_read(&buffer, file);
        if (r < 0) {
                complain(CODE_FAILED, "%s: it cannot be read: %s", name, strerror(-r));
                return NULL;
        }
        document = buffer_parse(&buffer, name, tokener);
        if (!document || !schema_is_known(document, name))
                return NULL;
        return TAKE_PTR(document);
}
