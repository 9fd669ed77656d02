/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Looks for other programs that set the same defaults: in the places where such things are started from. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "rocectl-doctor.h"

/* More than any script has. */
#define SCRIPT_SIZE_MAX (256U * 1024U)

static const char *const places[] = {
        "/etc/rc.local",
        "/etc/rc.d",
        "/etc/init.d",
        "/etc/infiniband", /* openibd's settings and hooks */
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/lib/systemd/system",
        "/usr/local/lib/systemd/system",
        "/etc/udev/rules.d",
        "/usr/lib/udev/rules.d",
        "/etc/tmpfiles.d",
        "/etc/crontab",
        "/etc/cron.d",
        "/etc/network", /* interfaces, and hooks */
        "/etc/NetworkManager/dispatcher.d",
        "/usr/local/bin",
        "/usr/local/sbin",
};

/* The vendor's programs, the files in configfs, and the way to them. */
static const char *const words[] = { "cma_roce_mode", "cma_roce_tos", "default_roce_mode",
                                     "default_roce_tos", "config/rdma_cm" };

static bool line_has_word(const char *line) {
        line += strspn(line, " \t");
        if (*line == '#' || *line == ';')
                return false;
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strstr(line, words[i]))
                        return true;
        return false;
}

static void examine_file(const char *path, Findings *findings) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        _cleanup_fclose_ FILE *f = NULL;
        _cleanup_free_ char *line = NULL;
        unsigned number = 0;
        struct stat st;
        size_t size = 0;

        if (fd < 0) {
                if (errno != ENOENT)
                        findings_add_unseen(findings, need_text("%s: %s", path, strerror(errno)));
                return;
        }
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t) SCRIPT_SIZE_MAX)
                return;
        f = NEED(fdopen(fd, "r"));
        TAKE_FD(fd);
        while (getline(&line, &size, f) >= 0) {
                _cleanup_free_ char *where = NULL;

                number++;
                if (!line_has_word(line))
                        continue;
                line[strcspn(line, "\n")] = 0;
                where = need_text("%s:%u", path, number);
                findings_add(findings, "another-writer", where,
                             need_text("%.200s", line + strspn(line, " \t")),
                             need_text("take it out, and say in the policy what it sets: roced keeps that, "
                                       "and would fight it"));
        }
}

/* One level deeper, for drop-ins of units and the like. What is ours is no other's. */
static void examine_place(const char *path, unsigned depth, Findings *findings) {
        struct dirent **entries = NULL;
        int n = scandir(path, &entries, NULL, alphasort);

        if (n < 0) {
                if (errno == ENOTDIR)
                        examine_file(path, findings);
                else if (errno != ENOENT)
                        findings_add_unseen(findings, need_text("%s: %s", path, strerror(errno)));
                return;
        }
        for (int i = 0; i < n; i++) {
                const char *name = entries[i]->d_name;
                _cleanup_free_ char *below = need_text("%s/%s", path, name);
                struct stat st;

                /* A link is to a file that is in one of these places itself, or is masked. */
                if (name[0] != '.' && !startswith(name, "roced") && !strstr(name, "-roced") &&
                    lstat(below, &st) >= 0) {
                        if (S_ISREG(st.st_mode))
                                examine_file(below, findings);
                        else if (S_ISDIR(st.st_mode) && depth > 0)
                                examine_place(below, depth - 1, findings);
                }
                free(entries[i]);
        }
        free(entries);
}

void examine_writers(Findings *findings) {
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                examine_place(places[i], 1, findings);
}
