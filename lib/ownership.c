/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The record of directories that roced made, in /run, which a reboot empties as it empties configfs. */

#include "ownership.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

typedef struct Record {
        long long inode; /* 0: intent only */
        long long changed_ns;
} Record;

/* A record that could not be written, /run being full: known at least as long as this process lives. */
typedef struct Kept {
        struct Kept *next;
        Record record;
        char name[];
} Kept;

static Kept *kept;

static Kept **kept_find(const char *name) {
        Kept **at = &kept;

        while (*at && !streq((*at)->name, name))
                at = &(*at)->next;
        return at;
}

static void kept_drop(const char *name) {
        Kept **at = kept_find(name), *found = *at;

        if (!found)
                return;
        *at = found->next;
        free(found);
}

static void kept_put(const char *name, const Record *record) {
        Kept *new;

        kept_drop(name);
        new = malloc(sizeof(Kept) + strlen(name) + 1);
        if (!new)
                return;
        new->record = *record;
        strcpy(new->name, name);
        new->next = kept;
        kept = new;
}

static int record_path(const char *name, size_t size, char *ret) {
        if (!device_name_is_valid(name))
                return -EINVAL;
        snprintf(ret, size, OWNERSHIP_PATH "/%s", name);
        return 0;
}

static int record_open(const char *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

        return fd < 0 ? -errno : fd;
}

/* One write of one length, over what was there: a kill or a full /run in the midst leaves the old record or the new. */
static int record_write(const char *name, const Record *record) {
        _cleanup_close_ int fd = -EBADF;
        char path[sizeof(OWNERSHIP_PATH) + DEVICE_NAME_LENGTH_MAX + 2];
        char text[64];
        ssize_t written;
        int n, r;

        r = record_path(name, sizeof(path), path);
        if (r < 0)
                return r;

        fd = record_open(path);
        if (fd == -ENOENT) {
                if (mkdir(OWNERSHIP_PATH, 0755) < 0 && errno != EEXIST)
                        return -errno;
                fd = record_open(path);
        }
        if (fd < 0)
                return fd;

        n = snprintf(text, sizeof(text), "%20lli %20lli\n", record->inode, record->changed_ns);
        written = write(fd, text, (size_t) n);
        if (written < 0)
                return -errno;
        if (written != n)
                return -EIO;
        return ftruncate(fd, n) < 0 ? -errno : 0;
}

static int record_put(const char *name, const Record *record) {
        int r = record_write(name, record);

        if (r >= 0)
                kept_drop(name);
        else if (device_name_is_valid(name))
                kept_put(name, record);
        return r;
}

static int record_read(const char *name, Record *ret) {
        _cleanup_fclose_ FILE *file = NULL;
        char path[sizeof(OWNERSHIP_PATH) + DEVICE_NAME_LENGTH_MAX + 2];
        char text[64], *middle, *end;
        Record record;
        int r;

        if (*kept_find(name)) {
                *ret = (*kept_find(name))->record;
                return 0;
        }
        r = record_path(name, sizeof(path), path);
        if (r < 0)
                return r;
        file = fopen(path, "re");
        if (!file)
                return -errno;
        errno = 0;
        if (!fgets(text, sizeof(text), file))
                return ferror(file) && errno > 0 ? -errno : -EBADMSG;
        record.inode = strtoll(text, &middle, 10);
        record.changed_ns = strtoll(middle, &end, 10);
        if (middle == text || end == middle)
                return -EBADMSG;

        *ret = record;
        return 0;
}

int ownership_intend(const char *name) {
        struct timespec now;

        /* The clock that file systems take their stamps from, which lags behind the exact one. */
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return record_put(name, &(Record) { 0, now.tv_sec * (long long) NSEC_PER_SEC + now.tv_nsec });
}

static int record_from_directory(int directory_fd, Record *ret) {
        struct stat st;

        if (fstat(directory_fd, &st) < 0)
                return -errno;

        *ret = (Record) {
                .inode = (long long) st.st_ino,
                .changed_ns = st.st_ctim.tv_sec * (long long) NSEC_PER_SEC + st.st_ctim.tv_nsec,
        };
        return 0;
}

int ownership_confirm(const char *name, int directory_fd) {
        Record record = {};
        int r;

        r = record_from_directory(directory_fd, &record);
        return r < 0 ? r : record_put(name, &record);
}

int ownership_check(const char *name, int directory_fd) {
        Record ours = {}, found = {};
        int r;

        r = record_read(name, &ours);
        if (r == -ENOENT || r == -EBADMSG)
                return 0;
        if (r < 0)
                return r;
        r = record_from_directory(directory_fd, &found);
        if (r < 0)
                return r;

        /* configfs gives each directory another inode; its times change with a chmod. An intent that was not confirmed is of one who died
         * in mkdir, which may have taken its time in the kernel. */
        return ours.inode != 0 ? ours.inode == found.inode : found.changed_ns >= ours.changed_ns;
}

int ownership_forget(const char *name) {
        char path[sizeof(OWNERSHIP_PATH) + DEVICE_NAME_LENGTH_MAX + 2];
        int r;

        kept_drop(name);
        r = record_path(name, sizeof(path), path);
        if (r < 0)
                return r;
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

static int record_filter(const struct dirent *entry) {
        return device_name_is_valid(entry->d_name) && !*kept_find(entry->d_name);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

int ownership_names_acquire(char ***ret_names) {
        _cleanup_(names_freep) char **names = NULL;
        struct dirent **entries = NULL;
        size_t n_names = 0, n_kept = 0;
        int n, r = 0;

        n = scandir(OWNERSHIP_PATH, &entries, record_filter, NULL);
        if (n < 0 && errno != ENOENT)
                return -errno;

        for (Kept *k = kept; k; k = k->next)
                n_kept++;
        names = calloc((size_t) MAX_OF(n, 0) + n_kept + 1, sizeof(char *));
        if (!names)
                r = -ENOMEM;
        for (Kept *k = kept; k && r >= 0; k = k->next)
                if (!(names[n_names++] = strdup(k->name)))
                        r = -ENOMEM;
        for (int i = 0; i < n; i++) {
                if (r >= 0 && !(names[n_names++] = strdup(entries[i]->d_name)))
                        r = -ENOMEM;
                free(entries[i]);
        }
        free(entries);
        if (r < 0)
                return r;

        qsort(names, n_names, sizeof(char *), compare_names);
        *ret_names = TAKE_PTR(names);
        return 0;
}
