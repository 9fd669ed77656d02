/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Records as the journal gets them, on a socket in its place, and as text. */

#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "log.h"
#include "message-ids.h"
#include "namespace.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static int journal_fd = -EBADF;
static int saved_stderr;
static int text_fd;
static char datagram[64 * 1024];
static size_t datagram_size;

static void journal_open(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };

        make_parents(JOURNAL_SOCKET);
        journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_return_code(journal_fd, errno);
        assert_return_code(bind(journal_fd, (struct sockaddr *) &address, sizeof(address)), errno);
}

static void journal_close(void) {
        journal_fd = fd_close(journal_fd);
        (void) unlink(JOURNAL_SOCKET);
}

static int setup(void **state) {
        unsetenv("JOURNAL_STREAM");
        log_open(false, false);
        saved_stderr = dup(STDERR_FILENO);
        text_fd = open("/run/text", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
        assert_return_code(text_fd, errno);
        assert_return_code(dup2(text_fd, STDERR_FILENO), errno);
        return 0;
}

static int setup_journal(void **state) {
        journal_open();
        return setup(state);
}

static int teardown(void **state) {
        (void) dup2(saved_stderr, STDERR_FILENO);
        fd_close(saved_stderr);
        fd_close(text_fd);
        journal_close();
        return 0;
}

/* Takes the next datagram in; false if there is none. */
static bool receive(void) {
        ssize_t n = recv(journal_fd, datagram, sizeof(datagram), 0);

        datagram_size = n < 0 ? 0 : (size_t) n;
        return n >= 0;
}

/* The value of a field of the datagram; NULL: it has none. Fails if it is there twice. See "Journal Native Protocol"
 * in systemd's documentation: NAME=value, or NAME, size and value where that holds a newline. */
static const char *field(const char *name) {
        static char value[4096];
        const char *found = NULL;

        for (const char *at = datagram, *end = datagram + datagram_size; at < end;) {
                const char *line = memchr(at, '\n', (size_t) (end - at)), *equals;
                size_t size, length;

                assert_non_null(line);
                equals = memchr(at, '=', (size_t) (line - at));
                if (equals) {
                        length = (size_t) (equals - at);
                        size = (size_t) (line - equals - 1);
                        equals++;
                } else {
                        uint64_t little;

                        length = (size_t) (line - at);
                        memcpy(&little, line + 1, sizeof(little));
                        size = le64toh(little);
                        equals = line + 1 + sizeof(little);
                        line = equals + size;
                }
                if (length == strlen(name) && memcmp(at, name, length) == 0) {
                        assert_null(found);
                        assert_in_range(size, 0, sizeof(value) - 1);
                        memcpy(value, equals, size);
                        value[size] = 0;
                        found = value;
                }
                at = line + 1;
        }
        return found;
}

#define assert_field(name, expected)                     \
        do {                                             \
                const char *_value = field(name);        \
                assert_non_null(_value);                 \
                assert_string_equal(_value, (expected)); \
        } while (0)

#define assert_text(expected)                                      \
        do {                                                       \
                assert_string_equal(get("/run/text"), (expected)); \
                assert_return_code(ftruncate(text_fd, 0), errno);  \
        } while (0)

static void send_example(void) {
        Record record = { .priority = LOG_WARNING, .message_id = MESSAGE_DRIFTED_ID };

        record_message(&record, "%s port %u: drifted", "mlx5_0", 1U);
        record_add(&record, "ROCED_DEVICE", "mlx5_0");
        record_addf(&record, "ROCED_PORT", "%u", 1U);
        record_add(&record, "ROCED_RULE", NULL);
        record_add(&record, "ROCED_NETDEV", "");
        record_send(&record);
        assert_null(record.message);
        assert_int_equal(record.n_fields, 0);
}

static void test_journal(void **state) {
        send_example();
        assert_true(receive());
        assert_field("MESSAGE", "mlx5_0 port 1: drifted");
        assert_field("PRIORITY", "4");
        assert_field("MESSAGE_ID", "dfbfb6e05ba4441787a7fa201b8ef2b4");
        assert_field("ROCED_DEVICE", "mlx5_0");
        assert_field("ROCED_PORT", "1");
        assert_field("ROCED_NETDEV", "");
        assert_null(field("ROCED_RULE"));
        assert_null(field("OBJECT_SYSTEMD_UNIT"));
        assert_false(receive());
}

/* A process that is not the service's main one says whose its records are. */
static void test_foreign(void **state) {
        log_open(true, true);
        send_example();
        assert_true(receive());
        assert_field("OBJECT_SYSTEMD_UNIT", "roced.service");
        assert_field("ROCED_DEVICE", "mlx5_0");
        assert_text("");
}

/* A terminal shows what the journal gets, if it is not to be quiet. */
static void test_both(void **state) {
        send_example();
        assert_true(receive());
        assert_text("test-log: warning: mlx5_0 port 1: drifted [ROCED_DEVICE=mlx5_0 ROCED_PORT=1 ROCED_NETDEV=]\n");
        log_open(false, true);
        send_example();
        assert_true(receive());
        assert_text("");
}

/* Where stderr leads to the journal, text on it would be the same record twice. */
static void test_stderr_is_journal(void **state) {
        static const char *const others[] = { "", "1", "0:0", "x:y" };
        char stream[64];
        struct stat st;

        assert_return_code(fstat(STDERR_FILENO, &st), errno);
        snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long) st.st_dev, (unsigned long long) st.st_ino);
        setenv("JOURNAL_STREAM", stream, 1);
        log_open(false, false);
        send_example();
        assert_true(receive());
        assert_text("");

        /* Nothing is lost when the socket has gone all the same. */
        journal_close();
        send_example();
        assert_text("test-log: warning: mlx5_0 port 1: drifted [ROCED_DEVICE=mlx5_0 ROCED_PORT=1 ROCED_NETDEV=]\n");

        journal_open();
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                setenv("JOURNAL_STREAM", others[i], 1);
                log_open(false, false);
                send_example();
                assert_true(receive());
                assert_text("test-log: warning: mlx5_0 port 1: drifted [ROCED_DEVICE=mlx5_0 ROCED_PORT=1 "
                            "ROCED_NETDEV=]\n");
        }
        unsetenv("JOURNAL_STREAM");
}

static void test_no_journal(void **state) {
        log_open(false, true);
        send_example();
        assert_text("test-log: warning: mlx5_0 port 1: drifted [ROCED_DEVICE=mlx5_0 ROCED_PORT=1 ROCED_NETDEV=]\n");
        log_message(LOG_INFO, MESSAGE_STARTED_ID, "Started: %d ports", 2);
        assert_text("test-log: info: Started: 2 ports\n");

        /* A socket that nobody listens on is none. */
        journal_open();
        journal_fd = fd_close(journal_fd);
        log_message(LOG_ERR, MESSAGE_FATAL_ID, "The end");
        assert_text("test-log: error: The end\n");
}

static void test_priorities(void **state) {
        static const char *const words[] = { "error", "error", "error", "error", "warning", "notice", "info" };
        char expected[64];

        for (int priority = LOG_EMERG; priority <= LOG_INFO; priority++) {
                log_message(priority, MESSAGE_CHANGED_ID, "text");
                snprintf(expected, sizeof(expected), "test-log: %s: text\n", words[priority]);
                assert_text(expected);
        }

        /* Of no use to who looks at a terminal; in the journal it can be asked for. */
        log_message(LOG_DEBUG, MESSAGE_DEVICE_GONE_ID, "text");
        assert_text("");
        journal_open();
        log_message(LOG_DEBUG, MESSAGE_DEVICE_GONE_ID, "text");
        assert_true(receive());
        assert_field("PRIORITY", "7");
        assert_field("MESSAGE", "text");
        assert_text("");
}

/* A name must not make a second line or field, nor a terminal do tricks. */
static void test_control_characters(void **state) {
        Record record = { .priority = LOG_NOTICE };

        record_message(&record, "a%sb", "c");
        record_add(&record, "ROCED_DEVICE", "a\nROCED_STATE=ok\x1b[31m\x7f\t\xc3\xa4");
        record_addf(&record, "ROCED_NETDEV", "%s\r", "n");
        record_send(&record);
        assert_true(receive());
        assert_field("ROCED_DEVICE", "a?ROCED_STATE=ok?[31m??\xc3\xa4");
        assert_field("ROCED_NETDEV", "n?");
        assert_null(field("ROCED_STATE"));
        assert_text("test-log: notice: acb [ROCED_DEVICE=a?ROCED_STATE=ok?[31m??\xc3\xa4 ROCED_NETDEV=n?]\n");
}

/* A device may bear such a name: neither journal nor terminal is to be told what it says. */
static void test_message_is_plain(void **state) {
        Record record = { .priority = LOG_NOTICE };

        record_message(&record, "m\x1b[31m \xc2\x9b[31m \xe2\x80\xa8 \xff \xc3\xa4");
        record_send(&record);
        assert_true(receive());
        assert_field("MESSAGE", "m?[31m ?[31m ? ? \xc3\xa4");
        assert_text("test-log: notice: m?[31m ?[31m ? ? \xc3\xa4\n");
}

/* A policy's error comes with its line and a caret: the journal keeps lines apart as they are. */
static void test_lines(void **state) {
        log_message(LOG_ERR, MESSAGE_POLICY_INVALID_ID, "policy.yaml:1:1: error\n  mod: v2\n  ^");
        assert_true(receive());
        assert_field("MESSAGE", "policy.yaml:1:1: error\n  mod: v2\n  ^");
        assert_field("PRIORITY", "3");
        assert_text("test-log: error: policy.yaml:1:1: error\n  mod: v2\n  ^\n");
}

static void test_last_message_counts(void **state) {
        Record record = { .priority = LOG_INFO };

        record_message(&record, "first");
        record_message(&record, "second");
        record_send(&record);
        assert_true(receive());
        assert_field("MESSAGE", "second");
}

/* More than a record can hold is left out. */
static void test_too_many_fields(void **state) {
        Record record = { .priority = LOG_DEBUG };
        char name[16];

        record_message(&record, "many");
        for (unsigned i = 0; i < LOG_FIELDS_MAX + 5; i++) {
                snprintf(name, sizeof(name), "FIELD%u", i);
                record_addf(&record, name, "%u", i);
        }
        log_open(true, true);
        record_send(&record);
        assert_true(receive());
        assert_field("FIELD0", "0");
        snprintf(name, sizeof(name), "FIELD%d", LOG_FIELDS_MAX - 1);
        assert_non_null(field(name));
        snprintf(name, sizeof(name), "FIELD%d", LOG_FIELDS_MAX);
        assert_null(field(name));
        assert_field("OBJECT_SYSTEMD_UNIT", "roced.service");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_journal, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_foreign, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_both, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_stderr_is_journal, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_no_journal, setup, teardown),
                cmocka_unit_test_setup_teardown(test_priorities, setup, teardown),
                cmocka_unit_test_setup_teardown(test_control_characters, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_message_is_plain, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_lines, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_last_message_counts, setup_journal, teardown),
                cmocka_unit_test_setup_teardown(test_too_many_fields, setup_journal, teardown),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
