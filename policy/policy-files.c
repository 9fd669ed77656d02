/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which files make up the policy, and their bytes. Must not know what is in them. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "file.h"
#include "message.h"
#include "text.h"

#define DROP_IN_SUFFIX ".yaml"
#define POLICY_DIRECTORY "/etc/roced"
#define POLICY_MISNAMED "policy.yml"
#define OTHER_SUFFIX ".yml" /* that people also give to YAML */

/* A directory that changes while it is read is read again, this often. */
#define LIST_TRIES_MAX 5

/* The first one that has a name hides it in the later ones. */
static const char *const drop_in_directories[] = {
        "/etc/roced/policy.d",
        "/run/roced/policy.d",
        "/usr/lib/roced/policy.d",
};

typedef struct DropIn {
        char *name;
        char *path;
} DropIn;

typedef struct DropIns {
        DropIn *items;
        size_t n_items;
} DropIns;

typedef struct PolicyTexts {
        PolicyText *items;
        size_t n_items;
} PolicyTexts;

/* What became of a file. */
typedef enum Outcome {
        OUTCOME_READ,
        OUTCOME_MASKED, /* says that there is nothing under this name */
        OUTCOME_GONE,
} Outcome;

static void drop_ins_done(DropIns *drop_ins) {
        for (size_t i = 0; i < drop_ins->n_items; i++) {
                free(drop_ins->items[i].name);
                free(drop_ins->items[i].path);
        }
        free(drop_ins->items);
        *drop_ins = (DropIns) {};
}

static void policy_texts_done(PolicyTexts *texts) {
        for (size_t i = 0; i < texts->n_items; i++) {
                free(texts->items[i].path);
                free(texts->items[i].bytes);
        }
        free(texts->items);
        *texts = (PolicyTexts) {};
}

/* Adds an error about a file as a whole and returns "error", or -ENOMEM. "messages" may be NULL. */
static int file_complain(Messages *messages, const char *path, unsigned file, int error, const char *text) {
        int r = messages ? messages_add(messages, SEVERITY_ERROR, path, file, 0, 0, "%s", text) : 0;

        return r < 0 ? r : error;
}

static int file_complain_errno(Messages *messages, const char *path, unsigned file, int error) {
        int r = messages ? messages_add(messages, SEVERITY_ERROR, path, file, 0, 0, "cannot be read: %s",
                                        strerror(-error))
                         : 0;

        return r < 0 ? r : error;
}

static bool drop_in_name_counts(const char *name) {
        size_t length = strlen(name), suffix = strlen(DROP_IN_SUFFIX);

        return name[0] != '.' && length > suffix && streq(name + length - suffix, DROP_IN_SUFFIX);
}

static int drop_ins_add(DropIns *drop_ins, const char *directory, const char *name) {
        _cleanup_free_ char *copy = NULL, *path = NULL;
        DropIn *items;

        copy = strdup(name);
        if (!copy || asprintf(&path, "%s/%s", directory, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }

        items = reallocarray(drop_ins->items, drop_ins->n_items + 1, sizeof(DropIn));
        if (!items)
                return -ENOMEM;
        drop_ins->items = items;
        items[drop_ins->n_items++] = (DropIn) { TAKE_PTR(copy), TAKE_PTR(path) };
        return 0;
}

static void directory_closep(DIR **directory) {
        if (*directory)
                closedir(*directory);
}

/* Whoever wrote it thinks that it counts. */
static int name_lint(Messages *messages, const char *directory, const char *name) {
        size_t length = strlen(name), suffix = strlen(OTHER_SUFFIX);
        _cleanup_free_ char *path = NULL;

        if (!messages || name[0] == '.' || length <= suffix || !streq(name + length - suffix, OTHER_SUFFIX))
                return 0;
        if (asprintf(&path, "%s/%s", directory, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        return messages_add(messages, SEVERITY_WARNING, path, 0, 0, 0, "is not read: the name of a policy ends in " DROP_IN_SUFFIX);
}

/* Likewise for the policy itself. */
static int misnamed_lint(const char *root, Messages *messages) {
        _cleanup_free_ char *full = NULL;

        if (asprintf(&full, "%s%s", root, POLICY_DIRECTORY "/" POLICY_MISNAMED) < 0) {
                full = NULL;
                return -ENOMEM;
        }
        return access(full, F_OK) < 0 ? 0 : name_lint(messages, POLICY_DIRECTORY, POLICY_MISNAMED);
}

/* Who can change this file, or what is in this directory, can change what roced does. */
static int owner_lint(Messages *messages, const char *path, unsigned file, const struct stat *st) {
        int r = 0;

        if (!messages)
                return 0;
        if (st->st_uid != 0)
                r = messages_add(messages, SEVERITY_WARNING, path, file, 0, 0,
                                 "belongs to user %u, not to root", st->st_uid);
        if (r == 0 && (st->st_mode & (S_IWGRP | S_IWOTH)))
                r = messages_add(messages, SEVERITY_WARNING, path, file, 0, 0,
                                 "others than its owner may write to it (mode %04o)", st->st_mode & 07777U);
        return r;
}

static int directory_lint(Messages *messages, const char *root, const char *directory) {
        _cleanup_free_ char *full = NULL;
        struct stat st;

        if (asprintf(&full, "%s%s", root, directory) < 0) {
                full = NULL;
                return -ENOMEM;
        }
        return stat(full, &st) < 0 ? 0 : owner_lint(messages, directory, 0, &st);
}

/* Adds the names of one directory. */
static int drop_ins_list(DropIns *drop_ins, const char *directory, const char *root, Messages *messages) {
        _cleanup_(directory_closep) DIR *stream = NULL;
        _cleanup_free_ char *full = NULL;
        struct dirent *entry;
        int r;

        if (asprintf(&full, "%s%s", root, directory) < 0) {
                full = NULL;
                return -ENOMEM;
        }

        stream = opendir(full);
        if (!stream)
                return errno == ENOENT ? 0 : file_complain_errno(messages, directory, 0, -errno);

        while ((errno = 0, entry = readdir(stream))) {
                r = drop_in_name_counts(entry->d_name) ? drop_ins_add(drop_ins, directory, entry->d_name)
                                                       : name_lint(messages, directory, entry->d_name);
                if (r < 0)
                        return r;
        }

        return errno > 0 ? file_complain_errno(messages, directory, 0, -errno) : 0;
}

/* By name, and of the same name in the order of the directories, which is that of the paths here. */
static int drop_in_compare(const void *a, const void *b) {
        const DropIn *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r != 0 ? r : strcmp(x->path, y->path);
}

static int drop_ins_acquire(const char *root, DropIns *drop_ins, Messages *messages) {
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(drop_in_directories); i++) {
                int r = directory_lint(messages, root, drop_in_directories[i]);

                if (r >= 0)
                        r = drop_ins_list(drop_ins, drop_in_directories[i], root, messages);
                if (r < 0)
                        return r;
        }

        if (drop_ins->n_items > 1)
                qsort(drop_ins->items, drop_ins->n_items, sizeof(DropIn), drop_in_compare);

        for (size_t i = 0; i < drop_ins->n_items; i++) {
                if (n > 0 && streq(drop_ins->items[n - 1].name, drop_ins->items[i].name)) {
                        free(drop_ins->items[i].name);
                        free(drop_ins->items[i].path);
                } else
                        drop_ins->items[n++] = drop_ins->items[i];
        }
        drop_ins->n_items = n;
        return 0;
}

static int texts_add(PolicyTexts *texts, const char *path, int fd) {
        _cleanup_free_ char *copy = NULL, *bytes = NULL;
        PolicyText *items;
        size_t size = 0;
        int r;

        /* Of one that is too large enough for the one who parses to see that it is. */
        r = file_read_whole(fd, POLICY_FILE_SIZE_MAX, &bytes, &size);
        if (r < 0)
                return r;

        copy = strdup(path);
        items = copy ? reallocarray(texts->items, texts->n_items + 1, sizeof(PolicyText)) : NULL;
        if (!items)
                return -ENOMEM;

        texts->items = items;
        items[texts->n_items++] =
                        (PolicyText) { .path = TAKE_PTR(copy), .bytes = TAKE_PTR(bytes), .size = size };
        return 0;
}

static bool file_is_mask(const char *full, const struct stat *st) {
        char target[sizeof("/dev/null")];
        ssize_t n = readlink(full, target, sizeof(target));

        return (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3)) ||
               (n == (ssize_t) strlen("/dev/null") && memcmp(target, "/dev/null", (size_t) n) == 0);
}

static int file_open(const char *full, struct stat *ret_stat) {
        _cleanup_close_ int fd = -EBADF;

        /* Looked at before it is opened: opening a device may do something, opening a FIFO may wait. */
        if (stat(full, ret_stat) < 0)
                return -errno;
        if (!S_ISREG(ret_stat->st_mode))
                return -EBADFD;

        fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, ret_stat) < 0)
                return -errno;
        if (!S_ISREG(ret_stat->st_mode))
                return -EBADFD;

        return TAKE_FD(fd);
}

static int file_read(const char *path, const char *root, bool drop_in, unsigned file, PolicyTexts *texts,
                     Outcome *ret, Messages *messages) {
        _cleanup_free_ char *full = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st = {};
        int r;

        if (asprintf(&full, "%s%s", root, path) < 0) {
                full = NULL;
                return -ENOMEM;
        }

        fd = file_open(full, &st);
        if (drop_in && fd < 0 && file_is_mask(full, &st)) {
                *ret = OUTCOME_MASKED;
                return 0;
        }
        if (fd == -EBADFD)
                return file_complain(messages, path, file, -EBADMSG, "is not a regular file");
        if (fd == -ENOENT) {
                if (lstat(full, &st) == 0)
                        return file_complain(messages, path, file, -EBADMSG,
                                             "is a symbolic link to nothing");
                *ret = OUTCOME_GONE;
                return 0;
        }
        if (fd < 0)
                return file_complain_errno(messages, path, file, fd);

        r = texts_add(texts, path, fd);
        if (r < 0)
                return r == -ENOMEM ? r : file_complain_errno(messages, path, file, r);

        if (drop_in && texts->items[texts->n_items - 1].size == 0) {
                PolicyText *last = texts->items + --texts->n_items;

                free(last->path);
                free(last->bytes);
                *ret = OUTCOME_MASKED;
                return 0;
        }

        *ret = OUTCOME_READ;
        return owner_lint(messages, path, file, &st);
}

static bool name_is_text(const char *name) {
        size_t size = strlen(name);
        uint32_t character;

        for (size_t i = 0; i < size;) {
                i += utf8_decode(name + i, size - i, &character);
                if (character == CHARACTER_INVALID || character_is_control(character))
                        return false;
        }
        return true;
}

/* Drop-ins, then the policy itself. -EAGAIN: a file went away meanwhile. */
static int installed_read(const char *root, PolicyTexts *texts, Messages *messages) {
        _cleanup_(drop_ins_done) DropIns drop_ins = {};
        Outcome outcome;
        int r, error = 0;

        r = directory_lint(messages, root, POLICY_DIRECTORY);
        if (r >= 0)
                r = drop_ins_acquire(root, &drop_ins, messages);
        if (r < 0)
                return r;

        for (size_t i = 0; i < drop_ins.n_items; i++) {
                const char *path = drop_ins.items[i].path;
                unsigned file = (unsigned) texts->n_items;

                if (name_is_text(drop_ins.items[i].name))
                        r = file_read(path, root, true, file, texts, &outcome, messages);
                else
                        r = file_complain(messages, path, file, -EBADMSG,
                                          "the name of this file is not plain text");
                if (r == -ENOMEM)
                        return r;
                if (r == 0 && outcome == OUTCOME_GONE)
                        return -EAGAIN;
                if (r < 0)
                        error = error ?: r;
        }

        r = file_read(POLICY_FILE, root, false, (unsigned) texts->n_items, texts, &outcome, messages);
        if (r == 0 && outcome == OUTCOME_GONE)
                r = misnamed_lint(root, messages);
        return error ?: r;
}

static int texts_read(const char *file, const char *root, PolicyTexts *texts, Messages *messages) {
        Outcome outcome;
        int r;

        if (file && streq(file, "-")) {
                r = texts_add(texts, "<stdin>", STDIN_FILENO);
                return r < 0 && r != -ENOMEM ? file_complain_errno(messages, "<stdin>", 0, r) : r;
        }
        if (file) {
                r = file_read(file, "", false, 0, texts, &outcome, messages);
                return r == 0 && outcome == OUTCOME_GONE ? file_complain_errno(messages, file, 0, -ENOENT)
                                                         : r;
        }

        for (unsigned i = 0;; i++) {
                Messages attempt = {};

                r = installed_read(root ?: "", texts, messages ? &attempt : NULL);
                if (r == -EAGAIN && i + 1 == LIST_TRIES_MAX)
                        r = file_complain(messages ? &attempt : NULL, POLICY_FILE, 0, -EBUSY,
                                          "files around it keep changing");
                if (r != -EAGAIN) {
                        int moved = messages ? messages_move(messages, &attempt) : 0;

                        return moved ?: r;
                }
                messages_done(&attempt);
                policy_texts_done(texts);
        }
}

int policy_load(const char *file, const char *root, Policy **ret, Messages *messages) {
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_(policy_texts_done) PolicyTexts texts = {};
        int r;

        r = texts_read(file, root, &texts, messages);
        if (r < 0) {
                messages_sort(messages);
                return r;
        }

        if (texts.n_items > 0) {
                r = policy_parse(texts.items, texts.n_items, &policy, messages);
                if (r < 0)
                        return r;
                r = policy_lint(policy, messages);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(policy);
        return 0;
}

int policy_hash(const char *file, const char *root, char ret[static 64 + 1]) {
        _cleanup_(policy_texts_done) PolicyTexts texts = {};
        int r;

        r = texts_read(file, root, &texts, NULL);
        if (r < 0)
                return r;
        for (size_t i = 0; i < texts.n_items; i++)
                if (texts.items[i].size > POLICY_FILE_SIZE_MAX)
                        return -EBADMSG;

        if (texts.n_items > 0)
                policy_texts_hash(texts.items, texts.n_items, ret);
        else
                ret[0] = 0;
        return 0;
}
