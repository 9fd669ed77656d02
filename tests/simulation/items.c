/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is going to happen, in order of time, and at one time in the order in which it was added. */

#include "world.h"

Item *item_add(ItemType type, uint64_t due_usec) {
        Item *item;

        if (world.n_items == ITEMS)
                violated("the model has more to do than it can hold");
        item = world.items + world.n_items++;
        *item = (Item){
                .type = type, .due_usec = due_usec, .serial = ++world.serial, .name = NO_NAME, .old = NO_NAME
        };
        return item;
}

static bool is_for_roced(const Item *item) {
        return item->type >= ITEM_EVENT;
}

static Item *item_first(bool for_roced) {
        Item *first = NULL;

        for (Item *item = world.items; item < world.items + world.n_items; item++)
                if (is_for_roced(item) == for_roced &&
                    (!first || item->due_usec < first->due_usec ||
                     (item->due_usec == first->due_usec && item->serial < first->serial)))
                        first = item;
        return first;
}

bool item_take(bool for_roced, uint64_t now_usec, Item *ret) {
        Item *first = item_first(for_roced);

        if (!first || first->due_usec > now_usec)
                return false;
        *ret = *first;
        *first = world.items[--world.n_items];
        return true;
}

uint64_t items_due(bool for_roced) {
        const Item *first = item_first(for_roced);

        return first ? first->due_usec : UINT64_MAX;
}

void items_drop_for_roced(void) {
        unsigned n = 0;

        for (unsigned i = 0; i < world.n_items; i++)
                if (!is_for_roced(world.items + i))
                        world.items[n++] = world.items[i];
        world.n_items = n;
}
