/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims as volumes of a host's storage pool: taken, renewed and given up on worker threads. */
#include <string.h>

#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define CLAIM_BYTES 2048 /* all of them, the rest blank: a shorter text leaves nothing of a longer one */

struct order {
	char *name;
	char *text;   /* what is to be written */
	char *lapsed; /* NULL: none */
};

static void order_free(gpointer data)
{
	struct order *order = data;

	g_free(order->name);
	g_free(order->text);
	g_free(order->lapsed);
	g_free(order);
}

static bool write_claim(virStorageVolPtr volume, const char *text, GError **error)
{
	char bytes[CLAIM_BYTES];

	memset(bytes, ' ', sizeof(bytes));
	bytes[sizeof(bytes) - 1] = '\n';
	memcpy(bytes, text, MIN(strlen(text), sizeof(bytes) - 1));
	return storage_write(volume, bytes, sizeof(bytes), error);
}

/* Only one can make it. */
static bool make_claim(virStoragePoolPtr pool, const struct order *order, GError **error)
{
	g_autoptr(virStorageVol) volume = storage_create(pool, order->name, CLAIM_BYTES, 0644);

	if (!volume)
		virt_error_set(error, "cannot make volume '%s'", order->name);
	else if (write_claim(volume, order->text, error))
		return true;
	storage_blame_room(pool, "who serves the cluster there", CLAIM_BYTES, error);
	if (volume)
		virStorageVolDelete(volume, 0);
	return false;
}

/* The volume and what is in it, blanks stripped; *ret_text NULL: there is none. What the pool remembers may be gone. */
static bool find_claim(virStoragePoolPtr pool, const char *name, virStorageVolPtr *ret_volume, char **ret_text,
		       GError **error)
{
	for (int look = 0;; look++) {
		g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);
		g_autoptr(GError) cause = NULL;

		*ret_volume = NULL;
		*ret_text = volume ? storage_read(volume, CLAIM_BYTES, &cause) : NULL;
		if (*ret_text)
			g_strstrip(*ret_text);
		if (*ret_text || !volume) {
			*ret_volume = g_steal_pointer(&volume);
			return true;
		}
		if (look > 0) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return false;
		}
		virStoragePoolRefresh(pool, 0);
	}
}

/* What is there means to the one whose claim is `own`. An empty one is being written, or its writer died. */
static struct claim_result *look_at(const char *name, const char *text, const struct claim *own, GError **error)
{
	g_autoptr(claim_result_t) result = g_new0(struct claim_result, 1);
	g_autoptr(GError) cause = NULL;
	g_autoptr(claim_t) found = *text ? claim_parse(text, &cause) : NULL;

	if (*text && !found) {
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_FOREIGN,
			    "volume '%s' in the storage pool is to say which local scheduler serves the cluster, but %s; "
			    "remove it if it is of no use",
			    name, cause->message);
		return NULL;
	}
	result->standing = found ? claim_judge(found, own) : CLAIM_DOUBTFUL;
	result->seen = g_strdup(text);
	result->who = found ? claim_who(found) : NULL;
	return g_steal_pointer(&result);
}

/* On top of what is there. False with `error`. */
static bool seize(virStoragePoolPtr pool, virStorageVolPtr volume, const struct order *order,
		  enum claim_standing standing, GError **error)
{
	if (standing == CLAIM_OWN)
		return write_claim(volume, order->text, error);
	if (virStorageVolDelete(volume, 0) == 0)
		return make_claim(pool, order, error);
	virt_error_set(error, "cannot remove volume '%s'", order->name);
	return false;
}

static gpointer take_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(claim_t) own = claim_parse(order->text, error);
	g_autoptr(virStoragePool) pool = own ? storage_open(connection, false, error) : NULL;
	g_autoptr(virStorageVol) volume = NULL;
	g_autoptr(claim_result_t) result = NULL;
	g_autofree char *text = NULL;

	if (!pool || !find_claim(pool, order->name, &volume, &text, error))
		return NULL;
	if (!volume) {
		result = g_new0(struct claim_result, 1);
		return make_claim(pool, order, error) ? g_steal_pointer(&result) : NULL;
	}
	result = look_at(order->name, text, own, error);
	if (!result)
		return NULL;
	if (result->standing == CLAIM_DOUBTFUL && g_strcmp0(text, order->lapsed) == 0)
		result->standing = CLAIM_ENDED;
	if (result->standing > CLAIM_ENDED)
		return g_steal_pointer(&result);
	if (!seize(pool, volume, order, result->standing, error))
		return NULL;
	result->standing = CLAIM_OWN;
	return g_steal_pointer(&result);
}

static gpointer release_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(claim_t) own = claim_parse(order->text, error);
	g_autoptr(virStoragePool) pool = own ? storage_open(connection, false, error) : NULL;
	g_autoptr(virStorageVol) volume = NULL;
	g_autoptr(claim_t) found = NULL;
	g_autofree char *text = NULL;

	if (!pool || !find_claim(pool, order->name, &volume, &text, error))
		return NULL;
	found = text ? claim_parse(text, NULL) : NULL;
	if (found && claim_judge(found, own) == CLAIM_OWN)
		virStorageVolDelete(volume, 0);
	return HOST_DONE;
}

static void free_result(gpointer data)
{
	claim_result_free(data);
}

static void submit(struct host *host, host_work_f work, const char *name, const struct claim *own,
		   const char *lapsed, host_done_f done, gpointer data)
{
	struct order *order = g_new0(struct order, 1);
	const struct host_call call = {
		.work = work,
		.input = order,
		.input_free = order_free,
		.result_free = work == take_work ? free_result : NULL,
		.done = done,
		.data = data,
	};

	*order = (struct order){.name = g_strdup(name), .text = claim_text(own), .lapsed = g_strdup(lapsed)};
	host_call(host, HOST_LANE_CLAIM, &call);
}

void claim_take(struct host *host, const char *name, const struct claim *own, const char *lapsed,
		host_done_f done, gpointer data)
{
	submit(host, take_work, name, own, lapsed, done, data);
}

void claim_release(struct host *host, const char *name, const struct claim *own, host_done_f done, gpointer data)
{
	submit(host, release_work, name, own, NULL, done, data);
}
