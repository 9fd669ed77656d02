/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/wait.h>

#include "namespace.h"
#include "report-json.h"
#include "runtime.h"

static int teardown(void **state) {
        umask(0022);
        return system("rm -rf " RUNTIME_PATH);
}

static unsigned mode_of(const char *path) {
        struct stat st;

        assert_return_code(lstat(path, &st), errno);
        return st.st_mode & 07777;
}

/* What another process gets from this call. */
static int elsewhere(int (*function)(void)) {
        int status;
        pid_t pid = fork();

        assert_return_code(pid, errno);
        if (pid == 0) {
                int r = function();

                _exit(r >= 0 ? MIN_OF(r, 1) : -r);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void test_lock(void **state) {
        int fd;

        assert_int_equal(runtime_is_locked(), 0);
        umask(0077);
        fd = runtime_lock();
        assert_return_code(fd, -fd);
        assert_int_equal(mode_of(LOCK_PATH), 0644); /* any user may ask */
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

        assert_int_equal(elsewhere(runtime_is_locked), 1);
        assert_int_equal(elsewhere(runtime_lock), EBUSY);
        assert_int_equal(elsewhere(runtime_is_locked), 1); /* asking has taken nothing away */
        assert_int_equal(runtime_lock(), -EBUSY);          /* the same process, by another file description */

        runtime_unlock(fd);
        assert_int_equal(runtime_is_locked(), 0);
        assert_true(exists(LOCK_PATH));
        fd = runtime_lock();
        assert_return_code(fd, -fd);
        runtime_unlock(fd);
}

/* Who asks never holds the lock, not for a moment. */
static void test_asking_does_not_lock(void **state) {
        int asking, fd;

        fd = runtime_lock();
        runtime_unlock(fd);
        asking = open(LOCK_PATH, O_RDONLY | O_CLOEXEC);
        assert_int_equal(runtime_is_locked(), 0);
        fd = runtime_lock();
        assert_return_code(fd, -fd);
        fd_close(asking);
        assert_int_equal(elsewhere(runtime_is_locked), 1);
        runtime_unlock(fd);
}

/* Any user may read the file, and so may hold a read lock on it. */
static void test_lock_in_spite_of_readers(void **state) {
        struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
        int reader, fd;

        runtime_unlock(runtime_lock());
        reader = open(LOCK_PATH, O_RDONLY | O_CLOEXEC);
        assert_return_code(fcntl(reader, F_OFD_SETLK, &lock), errno);
        fd = runtime_lock();
        assert_return_code(fd, -fd);
        assert_int_equal(elsewhere(runtime_is_locked), 1);
        assert_int_equal(elsewhere(runtime_lock), EBUSY);
        assert_int_equal(mode_of(LOCK_PATH ".owner"), 0600);
        runtime_unlock(fd);
        fd_close(reader);
}

static void test_lock_errors(void **state) {
        int fd;

        /* Where a link leads nothing is opened, and nothing is changed. */
        put("/run/elsewhere", "");
        put_link(LOCK_PATH, "/run/elsewhere");
        put_link(LOCK_PATH ".owner", "/run/elsewhere");
        assert_int_equal(runtime_lock(), -ELOOP);
        assert_int_equal(runtime_is_locked(), -ELOOP);
        unlink(LOCK_PATH ".owner");
        fd = runtime_lock();
        assert_return_code(fd, -fd);
        assert_int_equal(runtime_is_locked(), 1);
        runtime_unlock(fd);
        teardown(NULL);

        put(RUNTIME_PATH, "");
        assert_int_equal(runtime_lock(), -ENOTDIR);
        assert_int_equal(runtime_is_locked(), -ENOTDIR);
        unlink(RUNTIME_PATH);
        put_link(RUNTIME_PATH, "/run/nowhere");
        assert_int_equal(runtime_lock(), -ENOENT);
        unlink(RUNTIME_PATH);
}

static json_object *state_new(int schema, const char *text) {
        json_object *state = json_object_new_object();

        json_object_object_add(state, "schema", json_object_new_int(schema));
        json_object_object_add(state, "text", json_object_new_string(text));
        return state;
}

/* Devices by their number, as many as *userdata says; from the ninth on there is no memory. */
static int next_device(void *userdata, json_object **ret) {
        int *left = userdata;

        if (*left > 8)
                return -ENOMEM;
        if (*left == 0)
                return 0;
        *ret = json_object_new_int((*left)--);
        return 1;
}

static int write_state(json_object *object) {
        return runtime_write_state(object, next_device, &(int) { 0 });
}

static void test_write_state(void **state) {
        _cleanup_json_ json_object *first = state_new(JSON_SCHEMA, "/etc/roced"),
                                   *second = state_new(JSON_SCHEMA, "b");
        _cleanup_json_ json_object *found = NULL;
        struct stat before, after;

        put_directory(RUNTIME_PATH);
        umask(0077);
        assert_int_equal(write_state(first), 0);
        assert_int_equal(mode_of(STATE_PATH), 0644);
        assert_false(exists(STATE_PATH ".new"));
        assert_string_equal(get(STATE_PATH), "{\"schema\":1,\"text\":\"/etc/roced\",\"devices\":[]}\n");
        assert_int_equal(runtime_read_state(&found), 0);
        assert_string_equal(json_object_get_string(json_object_object_get(found, "text")), "/etc/roced");

        /* Replaced, not written over: who reads has the old one whole. */
        assert_return_code(link(STATE_PATH, RUNTIME_PATH "/kept"), errno);
        assert_return_code(stat(STATE_PATH, &before), errno);
        assert_int_equal(write_state(second), 0);
        assert_return_code(stat(STATE_PATH, &after), errno);
        assert_int_not_equal(before.st_ino, after.st_ino);
        assert_string_equal(get(RUNTIME_PATH "/kept"), "{\"schema\":1,\"text\":\"/etc/roced\",\"devices\":[]}\n");
        assert_string_equal(get(STATE_PATH), "{\"schema\":1,\"text\":\"b\",\"devices\":[]}\n");

        runtime_remove_state();
        assert_false(exists(STATE_PATH));
        runtime_remove_state();
}

/* What an interrupted write left is in nobody's way. */
static void test_write_state_over_leftovers(void **state) {
        _cleanup_json_ json_object *object = state_new(JSON_SCHEMA, "a");

        put(STATE_PATH ".new", "a long line of something that was not finished, and has to go");
        assert_return_code(chmod(STATE_PATH ".new", 0600), errno);
        assert_int_equal(write_state(object), 0);
        assert_int_equal(mode_of(STATE_PATH), 0644);
        assert_string_equal(get(STATE_PATH), "{\"schema\":1,\"text\":\"a\",\"devices\":[]}\n");
}

static void test_write_state_errors(void **state) {
        _cleanup_json_ json_object *object = state_new(JSON_SCHEMA, "a");

        assert_int_equal(write_state(object), -ENOENT); /* no directory */
        put("/run/elsewhere", "theirs");
        put_link(STATE_PATH ".new", "/run/elsewhere");
        assert_int_equal(write_state(object), -ELOOP);
        assert_string_equal(get("/run/elsewhere"), "theirs");
        unlink(STATE_PATH ".new");

        put_directory(STATE_PATH);
        assert_int_equal(write_state(object), -EISDIR);
        assert_false(exists(STATE_PATH ".new"));
}

/* A whole megabyte is written and read in one piece. */
static void test_large_state(void **state) {
        _cleanup_free_ char *text = malloc(1024 * 1024 + 1);
        _cleanup_json_ json_object *object = NULL, *found = NULL;

        put_directory(RUNTIME_PATH);
        memset(text, 'x', 1024 * 1024);
        text[1024 * 1024] = 0;
        object = state_new(JSON_SCHEMA, text);
        assert_int_equal(write_state(object), 0);
        assert_int_equal(runtime_read_state(&found), 0);
        assert_string_equal(json_object_get_string(json_object_object_get(found, "text")), text);
}

/* The devices are made one after the other. Where one cannot be made, the old state stays. */
static void test_write_devices(void **state) {
        _cleanup_json_ json_object *object = state_new(JSON_SCHEMA, "a");

        put_directory(RUNTIME_PATH);
        assert_int_equal(runtime_write_state(object, next_device, &(int) { 3 }), 0);
        assert_string_equal(get(STATE_PATH), "{\"schema\":1,\"text\":\"a\",\"devices\":[3,2,1]}\n");
        assert_int_equal(runtime_write_state(object, next_device, &(int) { 9 }), -ENOMEM);
        assert_string_equal(get(STATE_PATH), "{\"schema\":1,\"text\":\"a\",\"devices\":[3,2,1]}\n");
        assert_false(exists(STATE_PATH ".new"));
}

static void test_read_state(void **state) {
        static const char *const bad[] = {
                "",
                "\n",
                "{",
                "[]",
                "1",
                "null",
                "\"schema\"",
                "{}",
                "{\"schema\":null}",
                "{\"schema\":0}",
                "{\"schema\":2}",
                "{\"schema\":1",
                "{\"schema\":[]}",
                "{\"schemas\":1}",
        };
        _cleanup_json_ json_object *found = NULL;

        assert_int_equal(runtime_read_state(&found), -ENOENT);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                put(STATE_PATH, bad[i]);
                if (runtime_read_state(&found) != -EBADMSG)
                        fail_msg("'%s' is taken for a state", bad[i]);
                assert_null(found);
        }

        unlink(STATE_PATH);
        put_directory(STATE_PATH);
        assert_int_equal(runtime_read_state(&found), -EBADMSG);
        rmdir(STATE_PATH);
        put("/run/elsewhere", "{\"schema\":1}");
        put_link(STATE_PATH, "/run/elsewhere");
        assert_int_equal(runtime_read_state(&found), -ELOOP);
        unlink(STATE_PATH);

        put(STATE_PATH, "{\"schema\":1}");
        assert_return_code(truncate(STATE_PATH, 64 * 1024 * 1024 + 1), errno);
        assert_int_equal(runtime_read_state(&found), -EBADMSG);
        assert_null(found);

        put(STATE_PATH, "{\"schema\":1,\"more\":{}}\n");
        assert_int_equal(runtime_read_state(&found), 0);
        assert_non_null(found);
}

static void test_json_time(void **state) {
        static const struct {
                uint64_t usec;
                const char *text;
        } cases[] = {
                { 1, "1970-01-01T00:00:00.000Z" },
                { 1700000000123456, "2023-11-14T22:13:20.123Z" },
                { 951782399999999, "2000-02-28T23:59:59.999Z" },
        };

        assert_null(json_time(0));
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_json_ json_object *time = json_time(cases[i].usec);

                assert_string_equal(json_object_get_string(time), cases[i].text);
        }
}

static void assert_json(json_object *object, const char *expected) {
        assert_string_equal(json_object_to_json_string_ext(object,
                                                           JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                            expected);
        json_object_put(object);
}

/* Absent values are null, never 0. */
static void test_json_shapes(void **state) {
        static const char *files[] = { "/etc/roced/policy.yaml", NULL };
        Verdict verdict = { .state = STATE_FAILED,
                            .reason = REASON_REFUSED,
                            .step = STEP_WRITE,
                            .error = -EIO,
                            .wanted = ROCE_V2,
                            .found = ROCE_V1,
                            .readback = VALUE_NONE,
                            .tried = true };
        Rule rule = { .name = (char *) "storage rail",
                      .source = (char *) "/etc/roced/policy.yaml:4",
                      .enforcement = ENFORCEMENT_REPORT };
        Policy policy = { .files = (char **) files, .sha256 = "abc" };
        Device device = { .driver = (char *) "mlx5_core", .pci = (char *) "0000:3b:00.0", .function = FUNCTION_VF };
        json_object *object;

        assert_json(json_verdict(&verdict, ATTRIBUTE_MODE, 1000000),
                    "{\"wanted\":\"v2\",\"found\":\"v1\",\"state\":\"failed\",\"reason\":\"write: Input/output "
                    "error\",\"errno\":5,"
                    "\"since\":\"1970-01-01T00:00:01.000Z\"}");
        verdict = (Verdict) { .state = STATE_OK, .wanted = 104, .found = 0, .readback = 104, .tried = true };
        assert_json(json_verdict(&verdict, ATTRIBUTE_TOS, 0),
                    "{\"wanted\":104,\"found\":104,\"state\":\"ok\",\"reason\":null,\"errno\":null,\"since\":null}");
        verdict = (Verdict) {
                .state = STATE_UNMANAGED, .wanted = VALUE_NONE, .found = VALUE_NONE, .readback = VALUE_NONE
        };
        assert_json(json_verdict(&verdict, ATTRIBUTE_TOS, 0),
                    "{\"wanted\":null,\"found\":null,\"state\":\"unmanaged\",\"reason\":null,\"errno\":null,\"since\":"
                    "null}");
        verdict = (Verdict) { .state = STATE_OK, .wanted = 0, .found = 0, .readback = VALUE_NONE };
        assert_json(json_verdict(&verdict, ATTRIBUTE_TOS, 0),
                    "{\"wanted\":0,\"found\":0,\"state\":\"ok\",\"reason\":null,\"errno\":null,\"since\":null}");

        assert_json(json_rule(&rule, MATCH_YES),
                    "{\"name\":\"storage rail\",\"source\":\"/etc/roced/policy.yaml:4\",\"enforcement\":\"report\"}");
        assert_null(json_rule(&rule, MATCH_NOT_YET_KNOWN));
        assert_null(json_rule(NULL, MATCH_NO));
        assert_json(json_policy(&policy), "{\"sha256\":\"abc\",\"files\":[\"/etc/roced/policy.yaml\"]}");
        assert_null(json_policy(NULL));

        object = json_object_new_object();
        json_add_device(object, &device);
        assert_json(object,
                    "{\"driver\":\"mlx5_core\",\"pci\":\"0000:3b:00.0\",\"node_guid\":null,\"function\":\"vf\"}");
        object = json_object_new_object();
        json_add_device(object, NULL);
        assert_json(object, "{\"driver\":null,\"pci\":null,\"node_guid\":null,\"function\":null}");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(test_lock, teardown),
                cmocka_unit_test_teardown(test_asking_does_not_lock, teardown),
                cmocka_unit_test_teardown(test_lock_in_spite_of_readers, teardown),
                cmocka_unit_test_teardown(test_lock_errors, teardown),
                cmocka_unit_test_teardown(test_write_state, teardown),
                cmocka_unit_test_teardown(test_write_state_over_leftovers, teardown),
                cmocka_unit_test_teardown(test_write_state_errors, teardown),
                cmocka_unit_test_teardown(test_large_state, teardown),
                cmocka_unit_test_teardown(test_write_devices, teardown),
                cmocka_unit_test_teardown(test_read_state, teardown),
                cmocka_unit_test(test_json_time),
                cmocka_unit_test(test_json_shapes),
        };

        namespace_enter();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
