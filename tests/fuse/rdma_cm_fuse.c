/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A configfs with rdma_cm in it, for hosts whose kernel has neither: the directories are handles by name,
 * the values live in the model, every access can be made to fail.
 * Usage: rdma_cm_fuse MOUNTPOINT SOCKET LOG.
 *
 *   MOUNTPOINT/config/rdma_cm/…    to be bound over /sys/kernel/config
 *   MOUNTPOINT/empty-slot          a file whose read is EINVAL, as that of an empty GID slot is
 *
 * SOCKET takes one command a packet and answers it, see control.c. LOG gets one line an access,
 * tab-separated: number, program, operation, device, port, attribute, text, result, time (CLOCK_MONOTONIC). */

#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

typedef struct Handle {
        Node *node;
        char text[256];
        int length;
        bool filled;
} Handle;

static struct fuse_session *session;

Fake fake = {
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
        .have_tos = true,
};

static Node *node_from_ino(fuse_ino_t ino) {
        return ino == FUSE_ROOT_ID ? fake.root : (Node*) (uintptr_t) ino;
}

static void reply_entry(fuse_req_t req, Node *n) {
        n->n_lookup++;
        fuse_reply_entry(req, &(struct fuse_entry_param) {
                        .ino = (uintptr_t) n,
                        .generation = n->ino,
                        .attr = node_stat(n),
                });
}

static Node *lookup_attribute(Node *parent, const char *name) {
        int a = attribute_from_name(name);
        Node *n;

        if (a < 0 || parent->dead || parent->parent->parent->emptied || (a == ATTRIBUTE_TOS && !fake.have_tos))
                return NULL;

        n = node_new(parent, KIND_ATTRIBUTE, name, parent->port);
        n->attribute = a;
        return n;
}

/* A device's directory and the ports/ in it are looked up one after the other: a test may come between. */
static Node *lookup_directory(Node *parent, const char *name, int *ret) {
        Node *n = node_child(parent, name);
        Where w = { OPERATION_LOOKUP, parent->kind == KIND_DEVICE ? parent->name : name, 0, -1 };
        Effect e;

        if (!n || (parent->kind != KIND_RDMA_CM && parent->kind != KIND_DEVICE))
                return n;

        e = fault_take(&w);
        if (e.action == ACTION_ERRNO) {
                *ret = e.number;
                return NULL;
        }
        effect_on_model(&e, w.device);
        return node_child(parent, name);
}

static void fake_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
        Node *p = node_from_ino(parent), *n;
        int r = ENOENT;

        pthread_mutex_lock(&fake.lock);
        n = p->kind == KIND_PORT ? lookup_attribute(p, name) : lookup_directory(p, name, &r);
        if (n)
                reply_entry(req, n);
        else
                fuse_reply_err(req, r);
        pthread_mutex_unlock(&fake.lock);
}

static void fake_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n_lookup) {
        Node *n = node_from_ino(ino);

        pthread_mutex_lock(&fake.lock);
        node_forget(n, n_lookup);
        pthread_mutex_unlock(&fake.lock);
        fuse_reply_none(req);
}

static void fake_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
        pthread_mutex_lock(&fake.lock);
        struct stat st = node_stat(node_from_ino(ino));
        pthread_mutex_unlock(&fake.lock);

        fuse_reply_attr(req, &st, 0);
}

static void fake_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int to_set,
                         struct fuse_file_info *fi) {
        Node *n = node_from_ino(ino);

        pthread_mutex_lock(&fake.lock);
        if (to_set & FUSE_SET_ATTR_MODE)
                n->mode = (n->mode & S_IFMT) | (st->st_mode & 07777);
        if (to_set & FUSE_SET_ATTR_UID)
                n->uid = st->st_uid;
        if (to_set & FUSE_SET_ATTR_GID)
                n->gid = st->st_gid;
        if (to_set & FUSE_SET_ATTR_ATIME)
                n->atime = st->st_atim;
        if (to_set & FUSE_SET_ATTR_MTIME)
                n->mtime = st->st_mtim;
        struct stat now = node_stat(n);
        pthread_mutex_unlock(&fake.lock);

        fuse_reply_attr(req, &now, 0);
}

static void fake_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                         struct fuse_file_info *fi) {
        Node *n = node_from_ino(ino);
        char *buffer = malloc(size);
        size_t used = 0;
        off_t i = 0;

        if (!buffer)
                abort();

        pthread_mutex_lock(&fake.lock);
        if (n->kind == KIND_PORT && !n->dead)
                for (int a = 0; a < _ATTRIBUTE_MAX; a++) {
                        size_t l;

                        if ((a == ATTRIBUTE_TOS && !fake.have_tos) || i++ < offset)
                                continue;
                        l = fuse_add_direntry(req, buffer + used, size - used, attribute_name(a),
                                              &(struct stat) { .st_mode = S_IFREG, .st_ino = n->ino }, i);
                        used += l <= size - used ? l : 0;
                }
        for (Node *c = n->children; c; c = c->sibling) {
                struct stat st = node_stat(c);
                size_t l;

                if (i++ < offset)
                        continue;
                l = fuse_add_direntry(req, buffer + used, size - used, c->name, &st, i);
                if (l > size - used)
                        break;
                used += l;
        }
        pthread_mutex_unlock(&fake.lock);

        fuse_reply_buf(req, buffer, used);
        free(buffer);
}

static void fake_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode) {
        Where w = { OPERATION_MKDIR, name, 0, -1 };
        Node *p = node_from_ino(parent), *n = NULL;
        int r = p->dead ? -ENOENT : -EPERM;

        pthread_mutex_lock(&fake.lock);
        if (p->kind == KIND_RDMA_CM && !p->dead) {
                Effect e = access_begin(fuse_req_ctx(req)->pid, &w);

                r = e.action == ACTION_ERRNO ? -e.number :
                        device_directory_make(fake.rdma_cm, model_find(&fake.model, name), &n);
        }
        log_result(fuse_req_ctx(req)->pid, &w, "", r);
        if (r < 0)
                fuse_reply_err(req, -r);
        else
                reply_entry(req, n);
        pthread_mutex_unlock(&fake.lock);
}

/* As configfs does, tell those who watch the ports of a directory that is being removed. The caller of rmdir
 * holds the directory itself, so its ports/ cannot be told. */
static void ports_notify_delete(Node *device) {
        struct {
                fuse_ino_t ports, port;
                char name[MODEL_NAME_MAX + 1];
        } seen[MODEL_PORTS_MAX];
        Node *ports = node_child(device, "ports");
        size_t n = 0;

        for (Node *p = ports->children; p && n < MODEL_PORTS_MAX; p = p->sibling)
                if (p->n_lookup > 0) {
                        seen[n].ports = (uintptr_t) ports;
                        seen[n].port = (uintptr_t) p;
                        strcpy(seen[n++].name, p->name);
                }

        /* The kernel may ask us things meanwhile. */
        pthread_mutex_unlock(&fake.lock);
        for (size_t i = 0; i < n; i++)
                (void) fuse_lowlevel_notify_delete(session, seen[i].ports, seen[i].port,
                                                   seen[i].name, strlen(seen[i].name));
        pthread_mutex_lock(&fake.lock);
}

static void fake_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name) {
        Where w = { OPERATION_RMDIR, name, 0, -1 };
        Node *p = node_from_ino(parent), *n;
        int r = p->dead ? -ENOENT : -EPERM;

        pthread_mutex_lock(&fake.lock);
        if (p->kind == KIND_RDMA_CM && !p->dead) {
                Effect e;

                n = node_child(p, name);
                if (n)
                        n->emptied = true;
                e = access_begin(fuse_req_ctx(req)->pid, &w);
                n = node_child(p, name);
                r = e.action == ACTION_ERRNO ? -e.number : n ? 0 : -ENOENT;
                if (n)
                        n->emptied = r == 0;
                if (r == 0) {
                        ports_notify_delete(n);
                        node_kill(n);
                }
        }
        log_result(fuse_req_ctx(req)->pid, &w, "", r);
        fuse_reply_err(req, -r);
        pthread_mutex_unlock(&fake.lock);
}

static void fake_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
        Node *n = node_from_ino(ino);
        int r = 0;

        pthread_mutex_lock(&fake.lock);
        if (n->kind == KIND_ATTRIBUTE) {
                Where w = { OPERATION_OPEN, node_device(n), n->port, n->attribute };
                Effect e = access_begin(fuse_req_ctx(req)->pid, &w);

                if (e.action == ACTION_ERRNO)
                        r = -e.number;
                else if (n->parent->dead)
                        r = -ENOENT;
                log_result(fuse_req_ctx(req)->pid, &w, "", r);
        }
        pthread_mutex_unlock(&fake.lock);

        if (r < 0) {
                fuse_reply_err(req, -r);
                return;
        }

        Handle *h = calloc(1, sizeof(*h));
        if (!h)
                abort();
        h->node = n;
        fi->fh = (uintptr_t) h;
        fi->direct_io = 1;
        fuse_reply_open(req, fi);
}

static int handle_fill(fuse_req_t req, Handle *h) {
        Where w = { OPERATION_READ, node_device(h->node), h->node->port, h->node->attribute };
        Effect e = access_begin(fuse_req_ctx(req)->pid, &w);
        Device *d = model_find(&fake.model, w.device);
        int r;

        if (e.action == ACTION_ERRNO)
                r = -e.number;
        else if (h->node->parent->dead)
                r = -ENOENT;
        else if (!d)
                r = -ENODEV;
        else if (e.action == ACTION_LIE)
                r = snprintf(h->text, sizeof(h->text), "%s\n", e.text);
        else
                r = device_show(d, w.port, w.attribute, h->text, sizeof(h->text));

        log_result(fuse_req_ctx(req)->pid, &w, r < 0 ? "" : h->text, r);
        return r;
}

static void fake_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi) {
        Handle *h = (Handle*) (uintptr_t) fi->fh;
        int r = 0;

        if (h->node->kind == KIND_EMPTY_SLOT) {
                fuse_reply_err(req, EINVAL);
                return;
        }

        pthread_mutex_lock(&fake.lock);
        if (!h->filled) {
                r = handle_fill(req, h);
                h->filled = r >= 0;
                h->length = r;
        }
        pthread_mutex_unlock(&fake.lock);

        if (r < 0)
                fuse_reply_err(req, -r);
        else {
                size_t left = offset < h->length ? h->length - offset : 0;

                fuse_reply_buf(req, h->text + offset, left < size ? left : size);
        }
}

static void fake_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                       struct fuse_file_info *fi) {
        Handle *h = (Handle*) (uintptr_t) fi->fh;
        Where w = { OPERATION_WRITE, node_device(h->node), h->node->port, h->node->attribute };
        char text[4096];
        int r;

        /* Like the kernel, take what is before the first NUL, and count only that. */
        snprintf(text, sizeof(text), "%.*s", (int) size, data);

        pthread_mutex_lock(&fake.lock);
        Effect e = access_begin(fuse_req_ctx(req)->pid, &w);
        Device *d = model_find(&fake.model, w.device);

        if (e.action == ACTION_ERRNO)
                r = -e.number;
        else if (h->node->parent->dead)
                r = -ENOENT;
        else if (!d)
                r = -ENODEV;
        else if (e.action == ACTION_IGNORE)
                r = size;
        else if (e.action == ACTION_SHORT)
                r = size / 2;
        else {
                r = device_store(d, w.port, w.attribute, text);
                if (r == 0)
                        r = strlen(text);
        }
        h->filled = false;
        log_result(fuse_req_ctx(req)->pid, &w, text, r);
        pthread_mutex_unlock(&fake.lock);

        if (r < 0)
                fuse_reply_err(req, -r);
        else
                fuse_reply_write(req, r);
}

static void fake_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
        Handle *h = (Handle*) (uintptr_t) fi->fh;
        int r = 0;

        pthread_mutex_lock(&fake.lock);
        if (h->node->kind == KIND_ATTRIBUTE) {
                Where w = { OPERATION_FLUSH, node_device(h->node), h->node->port, h->node->attribute };
                Effect e = fault_take(&w);

                r = e.action == ACTION_ERRNO ? e.number : 0;
                if (r != 0)
                        log_result(fuse_req_ctx(req)->pid, &w, "", -r);
        }
        pthread_mutex_unlock(&fake.lock);

        fuse_reply_err(req, r);
}

static void fake_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi) {
        free((Handle*) (uintptr_t) fi->fh);
        fuse_reply_err(req, 0);
}

static const struct fuse_lowlevel_ops fake_ops = {
        .lookup = fake_lookup,
        .forget = fake_forget,
        .getattr = fake_getattr,
        .setattr = fake_setattr,
        .readdir = fake_readdir,
        .mkdir = fake_mkdir,
        .rmdir = fake_rmdir,
        .open = fake_open,
        .read = fake_read,
        .write = fake_write,
        .flush = fake_flush,
        .release = fake_release,
};

int main(int argc, char *argv[]) {
        char options[] = "-ofsname=configfs,subtype=fake,allow_other,default_permissions";
        char *fuse_argv[] = { argv[0], options, NULL };
        struct fuse_args args = FUSE_ARGS_INIT(2, fuse_argv);
        struct fuse_loop_config *loop;
        int r;

        if (argc != 4) {
                fprintf(stderr, "Usage: %s MOUNTPOINT SOCKET LOG\n", argv[0]);
                return EXIT_FAILURE;
        }

        fake.log = fopen(argv[3], "we");
        if (!fake.log)
                return perror(argv[3]), EXIT_FAILURE;

        fake.root = node_new(NULL, KIND_ROOT, "", 0);
        fake.config = node_new(fake.root, KIND_CONFIG, "config", 0);
        node_new(fake.root, KIND_EMPTY_SLOT, "empty-slot", 0);

        session = fuse_session_new(&args, &fake_ops, sizeof(fake_ops), NULL);
        if (!session || fuse_set_signal_handlers(session) < 0 || fuse_session_mount(session, argv[1]) < 0)
                return EXIT_FAILURE;

        /* Whoever sees the socket may use the tree. */
        r = control_start(argv[2]);
        if (r < 0) {
                fprintf(stderr, "%s: %s\n", argv[2], strerror(-r));
                fuse_session_unmount(session);
                return EXIT_FAILURE;
        }

        /* As many threads as a test blocks accesses. */
        loop = fuse_loop_cfg_create();
        fuse_loop_cfg_set_max_threads(loop, 64);
        r = fuse_session_loop_mt(session, loop);

        fuse_session_unmount(session);
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
