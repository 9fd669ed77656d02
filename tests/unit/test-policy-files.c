/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which files make up the policy: drop-ins, hiding, masks, what must not block. */

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "policy-test.h"

#define ETC "/etc/roced/policy.d/"
#define RUN "/run/roced/policy.d/"
#define LIB "/usr/lib/roced/policy.d/"
#define MAIN "/etc/roced/policy.yaml"
#define LEAST "version: 1\nrules: []\n"

typedef struct Tree {
        char root[32];
        Policy *policy;
        Messages messages;
} Tree;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

static char *tree_path(Tree *tree, const char *path) {
        static char full[4096];

        snprintf(full, sizeof(full), "%s%s", tree->root, path);
        return full;
}

static void tree_write(Tree *tree, const char *path, const char *text) {
        int fd = open(tree_path(tree, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(fchmod(fd, 0644), 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        close(fd);
}

/* A policy of one rule with this name. */
static void tree_write_rule(Tree *tree, const char *path, const char *name) {
        char text[256];

        snprintf(text, sizeof(text), "version: 1\nrules: [{name: %s, match: {device: x}}]\n", name);
        tree_write(tree, path, text);
}

static int tree_load(Tree *tree, const char *file) {
        tree->policy = policy_unref(tree->policy);
        messages_done(&tree->messages);
        return policy_load(file, tree->root, &tree->policy, &tree->messages);
}

/* Loads, and expects the rules with these names in this order. */
static void expect_rules(Tree *tree, const char *names) {
        char found[256] = "", hash[65];

        assert_int_equal(tree_load(tree, NULL), 0);
        assert_int_equal(policy_hash(NULL, tree->root, hash), 0);

        if (!names) {
                assert_null(tree->policy);
                assert_string_equal(hash, "");
                return;
        }
        assert_non_null(tree->policy);
        for (size_t i = 0; i < tree->policy->n_rules; i++) {
                strcat(found, i > 0 ? " " : "");
                strcat(found, tree->policy->rules[i].name);
        }
        assert_string_equal(found, names);
        assert_string_equal(hash, tree->policy->sha256);
}

static void expect_message(Tree *tree, int result, const char *text) {
        _cleanup_free_ char *formatted = NULL;
        char hash[65] = "unset";

        assert_int_equal(tree_load(tree, NULL), result);
        assert_null(tree->policy);
        assert_int_equal(tree->messages.n_items, 1);
        formatted = message_format(tree->messages.items);
        assert_string_equal(formatted, text);
        assert_int_equal(policy_hash(NULL, tree->root, hash), result);
        assert_string_equal(hash, "unset");
}

static int set_up(void **state) {
        static const char *const directories[] = { "/etc",           "/etc/roced", ETC,    "/run",
                                                   "/run/roced",     RUN,          "/usr", "/usr/lib",
                                                   "/usr/lib/roced", LIB };
        Tree *tree = calloc(1, sizeof(Tree));

        assert_non_null(tree);
        strcpy(tree->root, "/tmp/test-policy-files.XXXXXX");
        assert_non_null(mkdtemp(tree->root));
        for (size_t i = 0; i < ELEMENTSOF(directories); i++)
                assert_int_equal(mkdir(tree_path(tree, directories[i]), 0755), 0);
        *state = tree;
        return 0;
}

static int tear_down(void **state) {
        Tree *tree = *state;

        policy_unref(tree->policy);
        messages_done(&tree->messages);
        assert_int_equal(nftw(tree->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
        free(tree);
        return 0;
}

static void test_none(void **state) {
        Tree *tree = *state;

        expect_rules(tree, NULL);
        assert_int_equal(tree->messages.n_items, 0);

        /* Nor any directory. */
        assert_int_equal(rmdir(tree_path(tree, ETC)), 0);
        assert_int_equal(rmdir(tree_path(tree, "/etc/roced")), 0);
        assert_int_equal(rmdir(tree_path(tree, RUN)), 0);
        assert_int_equal(rmdir(tree_path(tree, "/run/roced")), 0);
        expect_rules(tree, NULL);
}

static void test_order(void **state) {
        Tree *tree = *state;

        tree_write_rule(tree, MAIN, "main");
        expect_rules(tree, "main");
        tree_write_rule(tree, LIB "90-vendor.yaml", "vendor");
        tree_write_rule(tree, RUN "50-run.yaml", "run");
        tree_write_rule(tree, ETC "70-etc.yaml", "etc");
        tree_write_rule(tree, ETC "10-etc.yaml", "first");
        tree_write_rule(tree, LIB "9.yaml", "bytes");
        expect_rules(tree, "first run etc bytes vendor main");

        assert_string_equal(tree->policy->files[0], ETC "10-etc.yaml");
        assert_string_equal(tree->policy->files[5], MAIN);
        assert_null(tree->policy->files[6]);
        assert_string_equal(tree->policy->rules[1].source, RUN "50-run.yaml:2");

        assert_int_equal(unlink(tree_path(tree, MAIN)), 0);
        expect_rules(tree, "first run etc bytes vendor");
}

static void test_hiding(void **state) {
        Tree *tree = *state;

        tree_write_rule(tree, LIB "50.yaml", "lib");
        expect_rules(tree, "lib");
        tree_write_rule(tree, RUN "50.yaml", "run");
        expect_rules(tree, "run");
        tree_write_rule(tree, ETC "50.yaml", "etc");
        expect_rules(tree, "etc");

        /* What is hidden may be as wrong as it likes. */
        tree_write(tree, LIB "50.yaml", "[");
        expect_rules(tree, "etc");
}

static void test_masks(void **state) {
        Tree *tree = *state;

        tree_write_rule(tree, LIB "50.yaml", "lib");
        tree_write_rule(tree, LIB "60.yaml", "other");
        tree_write(tree, RUN "50.yaml", "");
        expect_rules(tree, "other");
        assert_string_equal(tree->policy->files[0], LIB "60.yaml");

        assert_int_equal(symlink("/dev/null", tree_path(tree, ETC "60.yaml")), 0);
        expect_rules(tree, NULL);

        /* By way of another name for it. */
        assert_int_equal(unlink(tree_path(tree, ETC "60.yaml")), 0);
        expect_rules(tree, "other");
        assert_int_equal(symlink("../../../../../../dev/null", tree_path(tree, ETC "60.yaml")), 0);
        expect_rules(tree, NULL);

        /* Comments alone are no mask: that file was meant to say something. */
        tree_write(tree, RUN "50.yaml", "# nothing\n");
        assert_int_equal(tree_load(tree, NULL), -EBADMSG);
        assert_int_equal(tree->messages.items[0].line, 1);
}

static void test_ignored_names(void **state) {
        static const char *const names[] = { "x.yaml~",  ".x.yaml.swp",     "x.yaml.rpmnew",
                                             "x.yml",    ".hidden.yaml",    ".yaml",
                                             "yaml",     "x.yaml.dpkg-old", "..data",
                                             "#x.yaml#", "x.YAML" };
        Tree *tree = *state;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char path[64];

                snprintf(path, sizeof(path), "%s%s", ETC, names[i]);
                tree_write(tree, path, "[");
        }
        expect_rules(tree, NULL);
}

static void test_symlinks(void **state) {
        Tree *tree = *state;

        /* As a mounted ConfigMap has it. */
        assert_int_equal(mkdir(tree_path(tree, ETC "..2026"), 0755), 0);
        tree_write_rule(tree, ETC "..2026/50.yaml", "linked");
        assert_int_equal(symlink("..2026", tree_path(tree, ETC "..data")), 0);
        assert_int_equal(symlink("..data/50.yaml", tree_path(tree, ETC "50.yaml")), 0);
        expect_rules(tree, "linked");

        assert_int_equal(unlink(tree_path(tree, ETC "50.yaml")), 0);
        assert_int_equal(symlink("nowhere", tree_path(tree, ETC "50.yaml")), 0);
        expect_message(tree, -EBADMSG, ETC "50.yaml: error: is a symbolic link to nothing\n");
}

static void test_not_regular(void **state) {
        Tree *tree = *state;

        assert_int_equal(mkfifo(tree_path(tree, MAIN), 0644), 0);
        expect_message(tree, -EBADMSG, MAIN ": error: is not a regular file\n");
        assert_int_equal(tree_load(tree, tree_path(tree, MAIN)), -EBADMSG);
        assert_int_equal(unlink(tree_path(tree, MAIN)), 0);

        assert_int_equal(symlink("/dev/null", tree_path(tree, MAIN)), 0);
        expect_message(tree, -EBADMSG, MAIN ": error: is not a regular file\n");
        assert_int_equal(unlink(tree_path(tree, MAIN)), 0);

        assert_int_equal(mkfifo(tree_path(tree, RUN "50.yaml"), 0644), 0);
        expect_message(tree, -EBADMSG, RUN "50.yaml: error: is not a regular file\n");
        assert_int_equal(unlink(tree_path(tree, RUN "50.yaml")), 0);

        assert_int_equal(mkdir(tree_path(tree, RUN "50.yaml"), 0755), 0);
        expect_message(tree, -EBADMSG, RUN "50.yaml: error: is not a regular file\n");
}

static void test_all_that_cannot_be_read_is_said(void **state) {
        Tree *tree = *state;

        assert_int_equal(mkfifo(tree_path(tree, RUN "50.yaml"), 0644), 0);
        assert_int_equal(mkdir(tree_path(tree, RUN "60\n.yaml"), 0755), 0);
        assert_int_equal(mkdir(tree_path(tree, MAIN), 0755), 0);
        assert_int_equal(tree_load(tree, NULL), -EBADMSG);
        assert_int_equal(tree->messages.n_items, 3);
        assert_string_equal(tree->messages.items[1].text, "the name of this file is not plain text");
}

static void test_errors_of_all_files(void **state) {
        Tree *tree = *state;

        tree_write(tree, MAIN, "version: 1\nrules: [{}]\n");
        tree_write(tree, LIB "60.yaml", "version: 2\nrules: []\n");
        tree_write(tree, ETC "90.yaml", LEAST "mode: v1\n");
        assert_int_equal(tree_load(tree, NULL), -EBADMSG);
        assert_int_equal(tree->messages.n_items, 3);
        assert_string_equal(tree->messages.items[0].path, LIB "60.yaml");
        assert_string_equal(tree->messages.items[1].path, ETC "90.yaml");
        assert_string_equal(tree->messages.items[2].path, MAIN);
        assert_int_equal(messages_count(&tree->messages, SEVERITY_ERROR), 3);
}

static void test_size(void **state) {
        Tree *tree = *state;
        size_t size = POLICY_FILE_SIZE_MAX - strlen(LEAST);
        _cleanup_free_ char *text = malloc(size + 3 + strlen(LEAST));

        assert_non_null(text);
        strcpy(text, LEAST);
        memset(text + strlen(LEAST), '#', size + 2);
        text[strlen(LEAST) + size] = 0;
        tree_write(tree, MAIN, text);
        expect_rules(tree, "");

        text[strlen(LEAST) + size] = '#';
        text[strlen(LEAST) + size + 1] = 0;
        tree_write(tree, MAIN, text);
        expect_message(tree, -EBADMSG, MAIN ": error: the file is larger than 1048576 bytes\n");
}

static void test_one_file_only(void **state) {
        Tree *tree = *state;
        char path[64], hash[65];

        tree_write_rule(tree, MAIN, "main");
        tree_write_rule(tree, ETC "50.yaml", "drop-in");
        tree_write_rule(tree, "/mine", "mine");
        snprintf(path, sizeof(path), "%s/mine", tree->root);
        assert_int_equal(tree_load(tree, path), 0);
        assert_int_equal(tree->policy->n_rules, 1);
        assert_string_equal(tree->policy->files[0], path);
        assert_int_equal(policy_hash(path, NULL, hash), 0);
        assert_string_equal(hash, tree->policy->sha256);

        /* A file that was asked for and is not there is no "no policy". */
        assert_int_equal(unlink(path), 0);
        assert_int_equal(tree_load(tree, path), -ENOENT);
        assert_int_equal(tree->messages.n_items, 1);
        assert_string_equal(tree->messages.items[0].text, "cannot be read: No such file or directory");

        tree_write(tree, "/mine", "");
        assert_int_equal(tree_load(tree, path), -EBADMSG);
}

static void test_standard_input(void **state) {
        Tree *tree = *state;
        int saved = dup(STDIN_FILENO), ends[2];

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        assert_int_equal(write(ends[1], LEAST, strlen(LEAST)), (ssize_t) strlen(LEAST));
        close(ends[1]);
        assert_int_equal(tree_load(tree, "-"), 0);
        assert_string_equal(tree->policy->files[0], "<stdin>");
        assert_int_equal(tree->messages.n_items, 0);
        dup2(saved, STDIN_FILENO);
        close(saved);
        close(ends[0]);
}

static void expect_warning_of(Tree *tree, const char *path, const char *text) {
        assert_int_equal(tree_load(tree, NULL), 0);
        assert_int_equal(tree->messages.n_items, 1);
        assert_int_equal(tree->messages.items[0].severity, SEVERITY_WARNING);
        assert_int_equal(tree->messages.items[0].line, 0);
        assert_string_equal(tree->messages.items[0].path, path);
        assert_string_equal(tree->messages.items[0].text, text);
}

static void expect_warning(Tree *tree, const char *text) {
        expect_warning_of(tree, ETC "50.yaml", text);
        assert_non_null(tree->policy);
}

/* Its author thinks that it counts. */
static void test_other_suffix(void **state) {
        static const char text[] = "is not read: the name of a policy ends in .yaml";
        Tree *tree = *state;

        tree_write_rule(tree, "/etc/roced/policy.yml", "main");
        expect_rules(tree, NULL);
        expect_warning_of(tree, "/etc/roced/policy.yml", text);
        tree_write_rule(tree, MAIN, "main");
        expect_rules(tree, "main");
        assert_int_equal(tree->messages.n_items, 0);
        tree_write_rule(tree, ETC ".hidden.yml", "x");
        expect_rules(tree, "main");
        assert_int_equal(tree->messages.n_items, 0);
        tree_write_rule(tree, ETC "50.yml", "x");
        expect_warning_of(tree, ETC "50.yml", text);
}

static void test_owner_and_mode(void **state) {
        Tree *tree = *state;

        if (geteuid() != 0)
                skip();

        tree_write_rule(tree, MAIN, "main");
        tree_write_rule(tree, ETC "50.yaml", "x");
        expect_rules(tree, "x main");
        assert_int_equal(tree->messages.n_items, 0);

        assert_int_equal(chmod(tree_path(tree, ETC "50.yaml"), 0664), 0);
        expect_warning(tree, "others than its owner may write to it (mode 0664)");
        assert_int_equal(chmod(tree_path(tree, ETC "50.yaml"), 0602), 0);
        expect_warning(tree, "others than its owner may write to it (mode 0602)");
        assert_int_equal(chmod(tree_path(tree, ETC "50.yaml"), 0400), 0);
        assert_int_equal(chown(tree_path(tree, ETC "50.yaml"), 1000, 0), 0);
        expect_warning(tree, "belongs to user 1000, not to root");
}

/* Who may write to a directory may put a file there, or another in a file's place. */
static void test_owner_and_mode_of_directories(void **state) {
        static const char *const directories[] = { "/etc/roced", "/etc/roced/policy.d", "/run/roced/policy.d",
                                                   "/usr/lib/roced/policy.d" };
        Tree *tree = *state;

        if (geteuid() != 0)
                skip();

        tree_write_rule(tree, MAIN, "main");
        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                expect_rules(tree, "main");
                assert_int_equal(tree->messages.n_items, 0);
                assert_int_equal(chmod(tree_path(tree, directories[i]), 0775), 0);
                expect_warning_of(tree, directories[i], "others than its owner may write to it (mode 0775)");
                assert_int_equal(chmod(tree_path(tree, directories[i]), 0755), 0);
                assert_int_equal(chown(tree_path(tree, directories[i]), 1000, 0), 0);
                expect_warning_of(tree, directories[i], "belongs to user 1000, not to root");
                assert_int_equal(chown(tree_path(tree, directories[i]), 0, 0), 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_hiding, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_masks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_ignored_names, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_symlinks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_not_regular, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_all_that_cannot_be_read_is_said, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_errors_of_all_files, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_size, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_one_file_only, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_standard_input, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_other_suffix, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_owner_and_mode, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_owner_and_mode_of_directories, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
