/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What every access goes through: the kernel's lock, the faults, the log. */

#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake.h"

void log_access(pid_t pid, const Where *w, const char *text, const char *result) {
        char path[64], program[PATH_MAX] = "-";
        struct timespec now;
        const char *slash;
        ssize_t l;

        snprintf(path, sizeof(path), "/proc/%d/exe", (int) pid);
        l = readlink(path, program, sizeof(program) - 1);
        if (l > 0)
                program[l] = 0;

        slash = strrchr(program, '/');

        fprintf(fake.log, "%lu\t%s\t%s\t%s\t%u\t%s\t",
                ++fake.n_logged, slash ? slash + 1 : program, operation_name(w->operation),
                w->device, w->port, w->attribute < 0 ? "-" : attribute_name(w->attribute));
        for (const char *c = text; *c; c++)
                if (*c >= ' ' && *c < 127 && *c != '\\')
                        fputc(*c, fake.log);
                else
                        fprintf(fake.log, "\\x%02x", (unsigned char) *c);
        clock_gettime(CLOCK_MONOTONIC, &now);
        fprintf(fake.log, "\t%s\t%lld.%09ld\n", result, (long long) now.tv_sec, now.tv_nsec);
        fflush(fake.log);
}

void log_result(pid_t pid, const Where *w, const char *text, int r) {
        char result[16];

        snprintf(result, sizeof(result), "%d", r);
        log_access(pid, w, text, r < 0 ? strerrorname_np(-r) : result);
}

void effect_on_model(const Effect *e, const char *device) {
        if (e->action == ACTION_VANISH)
                (void) model_remove(&fake.model, device);

        else if (e->action == ACTION_RMDIR) {
                Node *n = fake.rdma_cm ? node_child(fake.rdma_cm, device) : NULL;

                if (n)
                        node_kill(n);
        }
}

Effect access_begin(pid_t pid, const Where *w) {
        Effect e;

        while (fake.hung)
                pthread_cond_wait(&fake.changed, &fake.lock);

        e = fault_take(w);
        if (e.action == ACTION_BLOCK) {
                unsigned long n = fake.n_released;

                log_access(pid, w, "", "blocked");
                fake.hung = true;
                while (n == fake.n_released)
                        pthread_cond_wait(&fake.changed, &fake.lock);
                fake.hung = false;
                pthread_cond_broadcast(&fake.changed);

        } else if (e.action == ACTION_DELAY) {
                fake.hung = true;
                pthread_mutex_unlock(&fake.lock);
                usleep(e.number * 1000);
                pthread_mutex_lock(&fake.lock);
                fake.hung = false;
                pthread_cond_broadcast(&fake.changed);

        } else
                effect_on_model(&e, w->device);

        return e;
}
