/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two that take a claim at the same time, one between any two calls of the other, over a storage
 * pool in memory.
 */
#include <glib.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <string.h>
#include <unistd.h>

#include "common/lab_state.h"

#define storage_open fake_open
#define storage_list fake_list
#define storage_create fake_create
#define storage_read fake_read
#define storage_write fake_write
#define storage_delete fake_delete
#define storage_blame_room fake_blame_room
#define virStorageVolLookupByName fake_lookup
#define virStorageVolDelete fake_vol_delete
#define virStorageVolFree fake_vol_free
#define virStoragePoolFree fake_pool_free
#define virStoragePoolRefresh fake_refresh
#define virGetLastErrorCode fake_code
static virStorageVolPtr fake_lookup(virStoragePoolPtr pool, const char *name);
static int fake_vol_delete(virStorageVolPtr volume, unsigned int flags);
static int fake_vol_free(virStorageVolPtr volume);
static int fake_pool_free(virStoragePoolPtr pool);
static int fake_refresh(virStoragePoolPtr pool, unsigned int flags);
static int fake_code(void);
#include "local-sched/hypervisor/claim_take.c"

#define NAME "a-claim"
#define KEEPER "6f1d0a7e-0000-4000-8000-000000000001"

static GHashTable *volumes;     /* text by name */
static void (*meanwhile)(void); /* is called once, */
static int calls_left;          /* the number of calls before it */

static void count_call(void)
{
	void (*other)(void) = meanwhile;

	if (!other || calls_left-- > 0)
		return;
	meanwhile = NULL;
	other();
}

/* A handle is its name. */
static virStorageVolPtr handle(const char *name)
{
	return (virStorageVolPtr)g_strdup(name);
}

virStoragePoolPtr fake_open(virConnectPtr connection, bool refresh, GError **error)
{
	return (virStoragePoolPtr)&volumes;
}

char **fake_list(virStoragePoolPtr pool, GError **error)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	GHashTableIter iter;
	gpointer name;

	count_call();
	g_hash_table_iter_init(&iter, volumes);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		g_strv_builder_add(names, name);
	return g_strv_builder_end(names);
}

virStorageVolPtr fake_create(virStoragePoolPtr pool, const char *name, uint64_t bytes,
			     unsigned int mode)
{
	count_call();
	if (g_hash_table_contains(volumes, name))
		return NULL;
	g_hash_table_insert(volumes, g_strdup(name), g_strdup(""));
	return handle(name);
}

static int fake_code(void)
{
	return VIR_ERR_STORAGE_VOL_EXIST;
}

char *fake_read(virStorageVolPtr volume, size_t limit, GError **error)
{
	const char *text;

	count_call();
	text = g_hash_table_lookup(volumes, (const char *)volume);
	if (!text)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER, "gone");
	return g_strdup(text);
}

bool fake_write(virStorageVolPtr volume, const char *bytes, size_t length, GError **error)
{
	count_call();
	if (!g_hash_table_contains(volumes, (const char *)volume)) {
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER, "gone");
		return false;
	}
	g_hash_table_insert(volumes, g_strdup((const char *)volume), g_strndup(bytes, length));
	return true;
}

void fake_delete(virStoragePoolPtr pool, const char *name)
{
	count_call();
	g_hash_table_remove(volumes, name);
}

void fake_blame_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error)
{
}

static virStorageVolPtr fake_lookup(virStoragePoolPtr pool, const char *name)
{
	count_call();
	return g_hash_table_contains(volumes, name) ? handle(name) : NULL;
}

static int fake_vol_delete(virStorageVolPtr volume, unsigned int flags)
{
	fake_delete(NULL, (const char *)volume);
	return 0;
}

static int fake_vol_free(virStorageVolPtr volume)
{
	g_free(volume);
	return 0;
}

static int fake_pool_free(virStoragePoolPtr pool)
{
	return 0;
}

static int fake_refresh(virStoragePoolPtr pool, unsigned int flags)
{
	return 0;
}

/* Two living processes, and what they are told. */

static struct claim *first, *second;
static enum claim_standing first_standing;

/* A failure is no claim. */
static enum claim_standing take(struct claim *own, const char *lapsed)
{
	g_autofree char *text = NULL;
	struct order order = {NAME, NULL, (char *)lapsed};
	g_autoptr(claim_result_t) result = NULL;

	own->beat++;
	order.text = text = claim_text(own);
	result = take_work(NULL, &order, NULL);
	return result ? result->standing : CLAIM_DOUBTFUL;
}

static void take_first(void)
{
	first_standing = take(first, NULL);
}

enum before { NOBODY, ENDED, LAPSED, BEFORES };

/* What is there at first; what has lapsed for the second one, owned, or NULL. */
static char *prepare(enum before before)
{
	g_autoptr(claim_t) ended = claim_new(&platform_machine, KEEPER);
	g_autofree char *text = NULL;

	g_hash_table_remove_all(volumes);
	first = claim_new(&platform_machine, KEEPER);
	second = claim_new(&platform_machine, KEEPER);
	second->pid = getppid();
	second->start_ticks = (int64_t)lab_state_start_ticks(getppid());
	ended->start_ticks--;
	/* the first one holds it, and is not seen to live from where the second one is */
	if (before == LAPSED) {
		g_free(second->machine);
		second->machine = g_strdup("another machine");
		g_free(second->boot_id);
		second->boot_id = g_strdup("another boot");
	}
	text = claim_text(before == LAPSED ? first : ended);
	if (before != NOBODY)
		g_hash_table_insert(volumes, g_strdup(NAME), g_strdup(text));
	return before == LAPSED ? g_steal_pointer(&text) : NULL;
}

/*
 * Wherever the first one comes between: one holds it at most, and once they have looked again one
 * does.
 */
static void test_one_holds_it(gconstpointer data)
{
	const enum before before = GPOINTER_TO_INT(data);
	bool between = true;

	for (int calls = 0; between; calls++) {
		g_autofree char *lapsed = prepare(before);
		enum claim_standing standing;

		calls_left = calls;
		meanwhile = take_first;
		standing = take(second, lapsed);
		between = !meanwhile;
		meanwhile = NULL;
		if (between) {
			g_test_message("after %d calls: %d, %d", calls, standing, first_standing);
			g_assert_false(standing == CLAIM_OWN && first_standing == CLAIM_OWN);
		}
		first_standing = take(first, NULL);
		standing = take(second, NULL);
		g_assert_true((standing == CLAIM_OWN) != (first_standing == CLAIM_OWN));
		g_assert_cmpuint(g_hash_table_size(volumes), ==, 1);
		claim_free(first);
		claim_free(second);
	}
}

int main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	virInitialize(); /* before it libvirt has no last error */
	volumes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_test_add_data_func("/claim-take/nobodys-by-one-at-a-time", GINT_TO_POINTER(NOBODY),
			     test_one_holds_it);
	g_test_add_data_func("/claim-take/an-ended-ones-by-one-at-a-time", GINT_TO_POINTER(ENDED),
			     test_one_holds_it);
	g_test_add_data_func("/claim-take/not-from-one-that-renews-it", GINT_TO_POINTER(LAPSED),
			     test_one_holds_it);
	status = g_test_run();
	g_hash_table_destroy(volumes);
	return status;
}
