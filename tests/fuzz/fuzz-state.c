/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Any bytes as the state of the daemon, as "rocectl status", "wait" and "metrics" read it, and as a saved status
 * document, as "compat" reads it. What "status --json" prints is JSON, and "compat" takes it. */

#include <sys/mman.h>

#include "fuzz.h"
#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl.h"
#include "runtime.h"
#include "sysfs-tree.h"

#define SAVED_PATH "/run/saved.json"

static int stdout_fd = -EBADF;

static void put_whole_port(const char *device, unsigned port, const char *link_layer) {
        put_port(device, port, link_layer);
        put_slot(device, port, 0, "RoCE v2\n");
        put_attribute(device, at("ports/%u/gid_attrs/ndevs/0", port), "lan0\n");
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        namespace_enter();
        tree_begin();
        put_device("mlx5_0", NULL);
        put_whole_port("mlx5_0", 1, "Ethernet\n");
        put_whole_port("mlx5_0", 2, "Ethernet\n");
        put_device("mlx5_1", NULL);
        put_whole_port("mlx5_1", 1, "InfiniBand\n");

        /* From then on there is a daemon. */
        put_directory(RUNTIME_PATH);
        CHECK(runtime_lock() >= 0);

        /* What is printed is looked at. */
        stdout_fd = memfd_create("stdout", MFD_CLOEXEC);
        CHECK(stdout_fd >= 0);
        CHECK(dup2(stdout_fd, STDOUT_FILENO) == STDOUT_FILENO);
        return 0;
}

static void stdout_empty(void) {
        CHECK(ftruncate(stdout_fd, 0) == 0);
        CHECK(lseek(stdout_fd, 0, SEEK_SET) == 0);
}

/* The text that was printed; allocated. */
static char *stdout_take(size_t *ret_size) {
        off_t size = lseek(stdout_fd, 0, SEEK_END);
        char *text;

        CHECK(size >= 0);
        CHECK(text = malloc((size_t) size + 1));
        CHECK(pread(stdout_fd, text, (size_t) size, 0) == size);
        text[size] = 0;
        *ret_size = (size_t) size;
        return text;
}

static int run(int (*verb)(const Options *options, char **arguments), const Options *options, const char *argument) {
        char *arguments[] = { (char *) argument, NULL };
        int code;

        stdout_empty();
        code = verb(options, arguments);
        CHECK(code >= CODE_DONE && code <= CODE_NOT_COMPLIANT);
        return code;
}

/* The one document that was printed; to be released. */
static json_object *check_json(void) {
        json_tokener *tokener = json_tokener_new();
        _cleanup_free_ char *text = NULL;
        json_object *document, *schema;
        size_t size;

        CHECK(tokener);
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
        text = stdout_take(&size);
        document = json_tokener_parse_ex(tokener, text, (int) size + 1);
        CHECK(document);
        CHECK(json_object_object_get_ex(document, "schema", &schema));
        CHECK(json_object_get_int(schema) == JSON_SCHEMA);
        json_tokener_free(tokener);
        return document;
}

/* Text for people holds nothing that a terminal would obey. */
static void check_text(void) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        text = stdout_take(&size);
        CHECK(strlen(text) == size);
        for (size_t i = 0; i < size; i++)
                CHECK((unsigned char) text[i] >= ' ' || text[i] == '\n');
}

/* Whether the verdicts that were taken over from the daemon are verdicts. */
static bool is_whole(json_object *document) {
        json_object *devices, *ports;
        size_t n = json_get_list(document, "devices", &devices);

        for (size_t i = 0; i < n; i++) {
                size_t n_ports = json_get_list(json_object_array_get_idx(devices, i), "ports", &ports);

                for (size_t k = 0; k < n_ports; k++)
                        if (!json_get_text(json_get(json_object_array_get_idx(ports, k), "mode"), "state"))
                                return false;
        }
        return true;
}

static void check_status(void) {
        static const Options plain = {}, as_json = { .json = true }, at_once = { .timeout = "0" };
        int code = run(verb_status, &plain, NULL);
        _cleanup_json_ json_object *document = NULL;
        _cleanup_free_ char *text = NULL;
        size_t size;

        check_text();
        (void) run(verb_status, &plain, "mlx5_0");
        check_text();
        (void) run(verb_wait, &at_once, NULL);
        check_text();
        (void) run(verb_metrics, &plain, NULL);
        check_text();

        CHECK(run(verb_status, &as_json, NULL) == code);
        if (code == CODE_FAILED)
                return;
        document = check_json();
        text = stdout_take(&size);
        put_bytes(SAVED_PATH, text, size);
        CHECK(run(verb_compat, &plain, SAVED_PATH) != CODE_FAILED || !is_whole(document));
}

static void check_compat(void) {
        static const Options plain = {}, as_json = { .json = true };
        int code = run(verb_compat, &plain, SAVED_PATH);

        check_text();
        CHECK(run(verb_compat, &as_json, SAVED_PATH) == code);
        if (code != CODE_FAILED)
                json_object_put(check_json());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        put_bytes(SAVED_PATH, data, size);
        check_compat();
        put_bytes(STATE_PATH, data, size);
        check_status();
        return 0;
}
