/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The test's side of the fake: one command a packet, one answer a packet, "ok [TEXT]" or "error ERRNO". */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fake.h"

static int command_load(char *arguments, char *ret, size_t size) {
        if (fake.rdma_cm)
                return -EEXIST;

        model_reset(&fake.model);
        fake.rdma_cm = node_new(fake.config, KIND_RDMA_CM, "rdma_cm", 0);
        return 0;
}

static int command_unload(char *arguments, char *ret, size_t size) {
        if (!fake.rdma_cm)
                return -ENOENT;
        if (fake.rdma_cm->children)
                return -EBUSY;

        node_kill(fake.rdma_cm);
        fake.rdma_cm = NULL;
        return 0;
}

static int command_add(char *arguments, char *ret, size_t size) {
        char *name = strsep(&arguments, " ");

        return arguments ? model_add(&fake.model, name, arguments) : -EINVAL;
}

static int command_del(char *arguments, char *ret, size_t size) {
        return model_remove(&fake.model, arguments);
}

static int command_rename(char *arguments, char *ret, size_t size) {
        char *from = strsep(&arguments, " ");

        return arguments ? model_rename(&fake.model, from, arguments) : -EINVAL;
}

/* get NAME PORT ATTRIBUTE: what the kernel holds, whatever its files say. */
static int command_get(char *arguments, char *ret, size_t size) {
        char *name = strsep(&arguments, " "), *port = strsep(&arguments, " ");
        Device *d = model_find(&fake.model, name);
        int a, r;

        if (!arguments)
                return -EINVAL;
        if (!d)
                return -ENODEV;

        a = attribute_from_name(arguments);
        if (a < 0)
                return a;

        r = device_show(d, strtoul(port, NULL, 10), a, ret, size);
        return r < 0 ? r : 0;
}

static int command_directories(char *arguments, char *ret, size_t size) {
        for (Node *n = fake.rdma_cm ? fake.rdma_cm->children : NULL; n; n = n->sibling) {
                int l = snprintf(ret, size, "%s\n", n->name);

                if ((size_t) l >= size)
                        return -ENOBUFS;
                ret += l;
                size -= l;
        }

        return 0;
}

static int command_devices(char *arguments, char *ret, size_t size) {
        for (Device *d = fake.model.devices; d; d = d->next) {
                int l = snprintf(ret, size, "%s\n", d->name);

                if ((size_t) l >= size)
                        return -ENOBUFS;
                ret += l;
                size -= l;
        }

        return 0;
}

static int command_fault(char *arguments, char *ret, size_t size) {
        return fault_add(arguments);
}

static int command_release(char *arguments, char *ret, size_t size) {
        fault_clear_blocks();
        fake.n_released++;
        pthread_cond_broadcast(&fake.changed);
        return 0;
}

static int command_clear(char *arguments, char *ret, size_t size) {
        fault_clear();
        return command_release(arguments, ret, size);
}

static int command_tos(char *arguments, char *ret, size_t size) {
        fake.have_tos = strcmp(arguments, "on") == 0;
        return 0;
}

static int command_prefer(char *arguments, char *ret, size_t size) {
        fake.model.prefer_v1 = strcmp(arguments, "v1") == 0;
        return 0;
}

static int command_run(char *line, char *ret, size_t size) {
        static const struct {
                const char *name;
                int (*run)(char *arguments, char *ret, size_t size);
        } commands[] = {
                { "load",        command_load        }, /* rdma_cm; all values are the default then */
                { "unload",      command_unload      }, /* refused while there is a directory */
                { "add",         command_add         }, /* NAME v1|v2|v1v2|ib|iwarp|raw,…[,nocm] */
                { "del",         command_del         }, /* NAME */
                { "rename",      command_rename      }, /* OLD NEW */
                { "get",         command_get         }, /* NAME PORT ATTRIBUTE */
                { "devices",     command_devices     },
                { "directories", command_directories },
                { "fault",       command_fault       }, /* see fault.h */
                { "release",     command_release     }, /* lets go what is blocked */
                { "clear",       command_clear       }, /* no more faults */
                { "tos",         command_tos         }, /* on|off: whether there is a TOS file */
                { "prefer",      command_prefer      }, /* v1|v2: default of devices added from now on */
        };
        const char *name = strsep(&line, " ");

        for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
                if (strcmp(commands[i].name, name) == 0)
                        return commands[i].run(line ?: (char[]) { "" }, ret, size);

        return -EOPNOTSUPP;
}

static void connection_serve(int fd) {
        for (;;) {
                char line[1024], text[65536] = "", answer[sizeof(text) + 32];
                ssize_t l;
                int r;

                l = recv(fd, line, sizeof(line) - 1, 0);
                if (l <= 0)
                        return;
                line[l] = 0;

                pthread_mutex_lock(&fake.lock);
                r = command_run(line, text, sizeof(text));
                pthread_mutex_unlock(&fake.lock);

                if (r < 0)
                        snprintf(answer, sizeof(answer), "error %s", strerrorname_np(-r));
                else
                        snprintf(answer, sizeof(answer), "ok %s", text);
                if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
                        return;
        }
}

static void *control_thread(void *userdata) {
        int listener = (int) (intptr_t) userdata, fd;

        while ((fd = accept(listener, NULL, NULL)) >= 0) {
                connection_serve(fd);
                close(fd);
        }

        return NULL;
}

int control_start(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        pthread_t thread;
        int fd;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (bind(fd, (struct sockaddr*) &address, sizeof(address)) < 0 || listen(fd, 1) < 0)
                return -errno;

        return -pthread_create(&thread, NULL, control_thread, (void*) (intptr_t) fd);
}
