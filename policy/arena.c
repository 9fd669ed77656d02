/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An allocator that only grows. Knows nothing of what is kept in it. */

#include <stdint.h>

#include "arena.h"

#define BLOCK_SIZE_MIN 1024U
#define BLOCK_SIZE_MAX ((size_t) 64 << 10)

typedef struct Block Block;

struct Block {
        Block *next;
        size_t size;
        _Alignas(max_align_t) char bytes[];
};

struct Arena {
        Block *blocks;
        char *free;
        size_t left;
        size_t block_size; /* of the next block: small policies stay small */
};

Arena *arena_new(void) {
        Arena *arena = calloc(1, sizeof(Arena));

        if (arena)
                arena->block_size = BLOCK_SIZE_MIN;
        return arena;
}

Arena *arena_free(Arena *arena) {
        if (!arena)
                return NULL;

        while (arena->blocks) {
                Block *block = arena->blocks;

                arena->blocks = block->next;
                free(block);
        }
        free(arena);
        return NULL;
}

void arena_clear(Arena *arena) {
        Block *last = arena->blocks;

        if (!last)
                return;
        while (last->next) {
                Block *block = last->next;

                last->next = block->next;
                free(block);
        }
        memset(last->bytes, 0, last->size - arena->left);
        arena->free = last->bytes;
        arena->left = last->size;
}

void *arena_alloc(Arena *arena, size_t size) {
        char *piece;

        if (size > SIZE_MAX / 2)
                return NULL;
        size = (size + 7) & ~(size_t) 7;

        if (size > arena->left) {
                size_t block_size = MAX_OF(arena->block_size, size);
                Block *block = calloc(1, sizeof(Block) + block_size);

                if (!block)
                        return NULL;
                block->next = arena->blocks;
                block->size = block_size;
                arena->blocks = block;
                arena->free = block->bytes;
                arena->left = block_size;
                arena->block_size = MIN_OF(arena->block_size * 2, BLOCK_SIZE_MAX);
        }

        piece = arena->free;
        arena->free += size;
        arena->left -= size;
        return piece;
}

char *arena_copy(Arena *arena, const char *text, size_t size) {
        char *copy = arena_alloc(arena, size + 1);

        if (copy && size > 0)
                memcpy(copy, text, size);
        return copy;
}
