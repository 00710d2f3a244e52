/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/mg_grid.h"

#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/npb_memory.h"

/* A cache line. */
#define ROW_PADDING 8

static size_t grid_bytes(const struct mg_grid *grid)
{
	size_t planes = (size_t)grid->planes + (grid->is_whole ? 0 : 2);

	return planes * grid->plane_size * sizeof(double);
}

int mg_grid_init(struct mg_grid *grid, int n, int first, int planes, bool is_whole)
{
	struct mg_grid new = {
		.n = n,
		.first = first,
		.planes = planes,
		.is_whole = is_whole,
		.row = (size_t)n + ROW_PADDING,
		.plane_size = (size_t)n * ((size_t)n + ROW_PADDING),
	};

	new.memory = npb_memory_alloc(grid_bytes(&new));
	if (!new.memory)
		return -1;
	mg_grid_clear(&new);
	*grid = new;
	return 0;
}

void mg_grid_finish(struct mg_grid *grid)
{
	free(grid->memory);
	memset(grid, 0, sizeof(*grid));
}

void mg_grid_clear(struct mg_grid *grid)
{
	memset(grid->memory, 0, grid_bytes(grid));
}
