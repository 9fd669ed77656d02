/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock and state file. Knows nothing of what the state says. */

#include "runtime.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "file.h"
#include "report-json.h"

#define OWNER_PATH RUNTIME_PATH "/lock.owner"
#define STATE_NEW_PATH STATE_PATH ".new"
#define STATE_SIZE_MAX (64L << 20)

/* Of the one writer, as long as it holds LOCK_PATH. */
static int owner_fd = -EBADF;

static int lock_open(const char *path, int flags) {
        _cleanup_close_ int fd = -EBADF;
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
        if (fd < 0)
                return -errno;
        if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
                return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
        return TAKE_FD(fd);
}

/* Whoever may read a file may hold a read lock on it, and so keep a writer out. So root's programs keep each other out by a file that
 * nobody else can open, and whoever won makes the file that all may ask anew, and opens it to them when it is locked. */
int runtime_lock(void) {
        _cleanup_close_ int owner = -EBADF, fd = -EBADF;

        if (mkdir(RUNTIME_PATH, 0755) < 0 && errno != EEXIST)
                return -errno;
        owner = lock_open(OWNER_PATH, 0);
        if (owner < 0)
                return owner;

        if (unlink(LOCK_PATH) < 0 && errno != ENOENT)
                return -errno;
        fd = lock_open(LOCK_PATH, O_EXCL);
        if (fd < 0)
                return fd;
        if (fchmod(fd, 0644) < 0)
                return -errno;

        /* One who was killed has left it, and it would pass for news of the new holder. */
        runtime_remove_state();
        owner_fd = TAKE_FD(owner);
        return TAKE_FD(fd);
}

int runtime_unlock(int fd) {
        owner_fd = fd_close(owner_fd);
        return fd_close(fd);
}

int runtime_is_locked(void) {
        _cleanup_close_ int fd = -EBADF;
        struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

        fd = open(LOCK_PATH, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
                return -errno;
        return lock.l_type != F_UNLCK;
}

static int print_json(FILE *file, json_object *object, const char *end) {
        const char *text;
        size_t size;

        /* json-c leaves out what it has no memory for, without a word. */
        errno = 0;
        text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        if (!text || errno == ENOMEM)
                return -ENOMEM;

        size = strlen(text) - strlen(end);
        if (fwrite(text, 1, size, file) != size)
                return errno > 0 ? -errno : -EIO;
        return 0;
}

static int print_state(FILE *file, json_object *state, StateDevice next, void *userdata) {
        int r;

        r = print_json(file, state, "}");
        if (r < 0)
                return r;

        fputs(",\"devices\":[", file);
        for (bool first = true;; first = false) {
                _cleanup_json_ json_object *device = NULL;

                r = next(userdata, &device);
                if (r <= 0)
                        break;
                if (!first)
                        fputc(',', file);
                r = print_json(file, device, "");
                if (r < 0)
                        break;
        }
        fputs("]}\n", file);
        return r;
}

int runtime_write_state(json_object *state, StateDevice next, void *userdata) {
        _cleanup_fclose_ FILE *file = NULL;
        int fd, r;

        fd = open(STATE_NEW_PATH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd < 0)
                return -errno;
        file = fdopen(fd, "w");
        if (!file) {
                fd_close(fd);
                (void) unlink(STATE_NEW_PATH);
                return -ENOMEM;
        }

        errno = 0;
        r = fchmod(fd, 0644) < 0 ? -errno : print_state(file, state, next, userdata);
        if (r >= 0 && (fflush(file) != 0 || ferror(file)))
                r = errno > 0 ? -errno : -EIO;
        if (r >= 0 && rename(STATE_NEW_PATH, STATE_PATH) < 0)
                r = -errno;
        if (r < 0)
                (void) unlink(STATE_NEW_PATH);
        return r;
}

int runtime_read_state(json_object **ret) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_object *state = NULL;
        json_object *schema;
        struct stat st;
        size_t size;
        int r;

        fd = open(STATE_PATH, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > STATE_SIZE_MAX)
                return -EBADMSG;
        r = file_read_whole(fd, STATE_SIZE_MAX, &text, &size);
        if (r < 0)
                return r;

        state = json_tokener_parse(text);
        if (!json_object_object_get_ex(state, "schema", &schema) || json_object_get_int(schema) != JSON_SCHEMA)
                return -EBADMSG;

        *ret = TAKE_PTR(state);
        return 0;
}

void runtime_remove_state(void) {
        (void) unlink(STATE_PATH);
}
