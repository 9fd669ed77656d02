/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The only file that knows libibverbs. An open context pins the driver's module, so it lasts no longer than
 * the look. */

#include "rocectl-verbs.h"

#include <infiniband/verbs.h>
#include <net/if.h>

#include "rocectl-sysfs.h"
#include "rocectl.h"

struct Verbs {
        struct ibv_context *context;
        struct ibv_device_attr attributes;
        bool has_attributes;
        struct ibv_gid_entry *gids;
        size_t n_gids;
        bool has_gids;
};

static struct ibv_device *list_find_device(struct ibv_device **list, const char *name) {
        for (; *list; list++)
                if (streq(ibv_get_device_name(*list), name))
                        return *list;
        return NULL;
}

/* The tables of all ports in one call, which needs to be told how many entries there can be. */
static void verbs_query_gids(Verbs *verbs) {
        size_t n_max = 0;
        ssize_t n;

        for (unsigned port = 1; port <= verbs->attributes.phys_port_cnt; port++) {
                struct ibv_port_attr attributes;

                if (ibv_query_port(verbs->context, (uint8_t) port, &attributes) != 0)
                        return;
                n_max += (size_t) MAX_OF(attributes.gid_tbl_len, 0);
        }

        verbs->gids = NEED((struct ibv_gid_entry *) calloc(MAX_OF(n_max, 1U), sizeof(struct ibv_gid_entry)));
        n = ibv_query_gid_table(verbs->context, verbs->gids, n_max, 0);
        verbs->has_gids = n >= 0;
        verbs->n_gids = n >= 0 ? (size_t) n : 0;
}

Verbs *verbs_open(const char *device, char why_not[static VERBS_TEXT_MAX]) {
        struct ibv_device **list = ibv_get_device_list(NULL), *found;
        Verbs *verbs;

        if (!list) {
                snprintf(why_not, VERBS_TEXT_MAX, "libibverbs finds no devices: %s; is ib_uverbs loaded?",
                         strerror(errno));
                return NULL;
        }

        verbs = NEED((Verbs *) calloc(1, sizeof(Verbs)));
        found = list_find_device(list, device);
        if (!found)
                snprintf(why_not, VERBS_TEXT_MAX,
                         "libibverbs does not show it; is ib_uverbs loaded and its provider installed?");
        else if (!(verbs->context = ibv_open_device(found)))
                snprintf(why_not, VERBS_TEXT_MAX, "libibverbs cannot open this device: %s", strerror(errno));
        ibv_free_device_list(list);
        if (!verbs->context) {
                free(verbs);
                return NULL;
        }

        verbs->has_attributes = ibv_query_device(verbs->context, &verbs->attributes) == 0;
        if (verbs->has_attributes)
                verbs_query_gids(verbs);
        return verbs;
}

Verbs *verbs_close(Verbs *verbs) {
        if (!verbs)
                return NULL;

        (void) ibv_close_device(verbs->context);
        free(verbs->gids);
        free(verbs);
        return NULL;
}

const char *verbs_firmware(const Verbs *verbs) {
        return verbs->has_attributes && verbs->attributes.fw_ver[0] ? verbs->attributes.fw_ver : NULL;
}

json_object *verbs_gids(const Verbs *verbs, unsigned port) {
        static const char *const types[] = { [IBV_GID_TYPE_ROCE_V1] = "v1", [IBV_GID_TYPE_ROCE_V2] = "v2" };
        json_object *list;

        if (!verbs->has_gids)
                return NULL;

        list = NEED(json_object_new_array());
        for (size_t i = 0; i < verbs->n_gids; i++) {
                const struct ibv_gid_entry *gid = verbs->gids + i;
                char netdev[IF_NAMESIZE];

                if (gid->port_num == port)
                        json_object_array_add(list, gid_entry(gid->gid_index, gid->gid.raw,
                                                              gid->gid_type < ELEMENTSOF(types)
                                                                              ? types[gid->gid_type]
                                                                              : NULL,
                                                              if_indextoname(gid->ndev_ifindex, netdev)));
        }
        return list;
}
