/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A disk that fails at each write, sync and change of a name of a start, one after another: the
 * n-th one and all after it. Then the machine crashes, or the processes are killed, and both
 * daemons start again on a disk that works. What the user was told holds: the task completes, and
 * once.
 *
 * Without VIRTBED_LONG every STRIDE-th n is tried, from FIRST or VIRTBED_START on.
 */
#include <errno.h>

#include "tests/long.h"
#include "tests/unit/service/start_bed.h"

#define STRIDE 97
#define FIRST 5

static guint stride(void)
{
	return tests_are_long() ? 1 : STRIDE;
}

static guint first_n(void)
{
	const char *n = g_getenv("VIRTBED_START");

	return n ? (guint)g_ascii_strtoull(n, NULL, 10) : FIRST % stride();
}

struct row {
	const char *name;
	int code;
	bool again; /* the service was there before, and has a task that did not complete */
	bool boots; /* the machine crashes; else the processes are killed */
};

/* What was not synced is lost in a crash of the machine. */
static void crash(struct start_bed *bed, const struct row *row)
{
	virtual_disk_fail(bed->disk, 0, 0);
	if (row->boots)
		virtual_disk_crash(bed->disk);
}

/* Returns how the start with the fault ended. */
static enum start_life try(const struct row *row, guint n)
{
	g_autoptr(virtual_disk_t) disk = virtual_disk_new();
	struct start_bed bed;
	bool acknowledged;
	enum start_life life;

	start_bed_begin(&bed, disk, &acknowledged);
	if (row->again) {
		g_assert_cmpint(start_bed_live(&bed, true, false), ==, START_DONE);
		crash(&bed, row);
	}
	virtual_disk_fail(disk, row->code, n);
	life = start_bed_live(&bed, row->boots, false);
	crash(&bed, row);
	if (start_bed_live(&bed, row->boots, true) != START_DONE)
		g_error("%s, n = %u: the task has not completed after the next start", row->name,
			n);
	start_bed_assert_once(&bed, row->boots);
	start_bed_finish(&bed);
	return life;
}

static void test_disk(gconstpointer data)
{
	const struct row *row = data;
	guint n = first_n();
	guint tried = 0;
	guint counts[3] = {0};

	do {
		const enum start_life life = try(row, n);

		tried++;
		counts[life]++;
		g_test_message("n = %u: %u", n, life);
		if (life == START_DONE)
			break;
		n += stride();
	} while (true);
	g_test_message("%s: %u starts, the last at n = %u; %u were refused, %u stuck", row->name,
		       tried, n, counts[START_REFUSED], counts[START_STUCK]);
}

static const struct row rows[] = {
	{"/service/start/first start, I/O errors, a crash", EIO, false, true},
	{"/service/start/first start, a full disk, killed", ENOSPC, false, false},
	{"/service/start/again, I/O errors, killed", EIO, true, false},
	{"/service/start/again, a full disk, a crash", ENOSPC, true, true},
};

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_log_set_always_fatal(G_LOG_FATAL_MASK); /* a fault may well be a warning */
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
		g_test_add_data_func(rows[i].name, &rows[i], test_disk);
	return g_test_run();
}
