/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Claims as volumes of a host's storage pool: taken, renewed and given up on worker threads. A
 * claim is the latest of the volumes NAME, NAME.1, NAME.2 and so on. A successor of an ended claim
 * creates the next volume; only one client can create it. The successor holds the claim if
 * afterwards its volume is the latest and the claim that it found has not changed; otherwise it
 * removes its own volume. So no process writes to or removes a volume that another may hold,
 * however long it was delayed between two calls. A process that renews a claim while it is being
 * succeeded, or that creates the first volume, sees the later volume, or its own change is seen.
 */
#include <libvirt/virterror.h>
#include <string.h>

#include "common/error_fail.h"
#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

/*
 * Every volume has this length, filled with blanks, so that a shorter text leaves nothing of a
 * longer one.
 */
#define CLAIM_BYTES 2048

enum { LOOKS = 3 }; /* tries while others take the claim at the same time */

struct order {
	char *name;
	char *text;   /* the new contents */
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

/* The volumes of a claim. */

/* The name of volume number `number`; the caller frees it. */
static char *volume_of(const char *name, uint64_t number)
{
	return number ? g_strdup_printf("%s.%" G_GUINT64_FORMAT, name, number) : g_strdup(name);
}

/*
 * The volume with the highest number. `text` is owned, without trailing blanks; NULL: there is no
 * volume.
 */
struct latest {
	uint64_t number;
	char *text;
};

/* False: there is no volume, or, with `error`, that is not known. */
static bool find_highest(virStoragePoolPtr pool, const char *name, uint64_t *ret_highest,
			 GError **error)
{
	g_auto(GStrv) volumes = storage_list(pool, error);
	bool any = false;

	for (char **volume = volumes; volume && *volume; volume++) {
		uint64_t number;

		if (!claim_volume_number(*volume, name, &number))
			continue;
		*ret_highest = any ? MAX(*ret_highest, number) : number;
		any = true;
	}
	return any;
}

/* The contents of a volume; NULL with `error`. */
static char *read_claim(virStoragePoolPtr pool, const char *name, uint64_t number, GError **error)
{
	g_autofree char *volume_name = volume_of(name, number);
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, volume_name);
	char *text;

	if (!volume) {
		virt_error_set(error, "volume '%s'", volume_name);
		return NULL;
	}
	text = storage_read(volume, CLAIM_BYTES, error);
	return text ? g_strstrip(text) : NULL;
}

/* Refreshes the pool first, because volumes that it remembers may be gone. */
static bool find_latest(virStoragePoolPtr pool, const char *name, struct latest *ret_latest,
			GError **error)
{
	for (int look = 0;; look++) {
		g_autoptr(GError) cause = NULL;

		*ret_latest = (struct latest){0};
		if (find_highest(pool, name, &ret_latest->number, &cause))
			ret_latest->text = read_claim(pool, name, ret_latest->number, &cause);
		if (!cause)
			return true;
		if (look > 0) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return false;
		}
		virStoragePoolRefresh(pool, 0);
	}
}

static void delete_below(virStoragePoolPtr pool, const char *name, uint64_t limit)
{
	g_auto(GStrv) volumes = storage_list(pool, NULL);

	for (char **volume = volumes; volume && *volume; volume++) {
		uint64_t number;

		if (claim_volume_number(*volume, name, &number) && number < limit)
			storage_delete(pool, *volume);
	}
}

/*
 * Creates the volume, which only one client can. False without `error`: another client created it.
 */
static bool make_claim(virStoragePoolPtr pool, const struct order *order, uint64_t number,
		       GError **error)
{
	g_autofree char *name = volume_of(order->name, number);
	g_autoptr(virStorageVol) volume = storage_create(pool, name, CLAIM_BYTES, 0644);

	if (volume && write_claim(volume, order->text, error))
		return true;
	if (!volume && virGetLastErrorCode() == VIR_ERR_STORAGE_VOL_EXIST)
		return false;
	if (!volume)
		virt_error_set(error, "cannot make volume '%s'", name);
	storage_blame_room(pool, "the claim on the cluster there", CLAIM_BYTES, error);
	if (volume)
		virStorageVolDelete(volume, 0);
	return false;
}

static bool renew_claim(virStoragePoolPtr pool, const struct order *order, uint64_t number,
			GError **error)
{
	g_autofree char *name = volume_of(order->name, number);
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);

	if (volume)
		return write_claim(volume, order->text, error);
	virt_error_set(error, "volume '%s'", name);
	return false;
}

/*
 * The standing of the latest volume for the process of `own`. An empty volume is being written, or
 * its writer died.
 */
static struct claim_result *look_at(const struct order *order, const struct latest *latest,
				    const struct claim *own, GError **error)
{
	g_autoptr(claim_result_t) result = g_new0(struct claim_result, 1);
	g_autoptr(GError) cause = NULL;
	g_autoptr(claim_t) found =
		latest->text && *latest->text ? claim_parse(latest->text, &cause) : NULL;

	if (cause) {
		g_autofree char *name = volume_of(order->name, latest->number);

		return error_null(error, VIRT_ERROR, VIRT_ERROR_FOREIGN,
				  "volume '%s' in the storage pool is to say which local scheduler "
				  "serves the cluster, but %s; remove it if it is of no use",
				  name, cause->message);
	}
	if (!latest->text)
		return g_steal_pointer(&result);
	result->standing = found ? claim_judge(found, own) : CLAIM_DOUBTFUL;
	if (result->standing == CLAIM_DOUBTFUL && g_strcmp0(latest->text, order->lapsed) == 0)
		result->standing = CLAIM_ENDED;
	result->seen = g_strdup(latest->text);
	result->who = found ? claim_who(found) : NULL;
	return g_steal_pointer(&result);
}

/*
 * Whether volume `own`, which was just written, holds the claim: there is no later volume, and the
 * volume that it succeeds (NULL: none) is unchanged. False with or without `error`.
 */
static bool is_held(virStoragePoolPtr pool, const struct order *order, uint64_t own,
		    const struct latest *before, GError **error)
{
	g_autofree char *text = NULL;
	uint64_t highest;

	if (!find_highest(pool, order->name, &highest, error) || highest != own)
		return false;
	if (!before)
		return true;
	text = read_claim(pool, order->name, before->number, NULL);
	return g_strcmp0(text, before->text) == 0;
}

/*
 * Creates the successor of the latest volume, which has ended or does not exist. False with or
 * without `error`: the claim is not held.
 */
static bool succeed(virStoragePoolPtr pool, const struct order *order, const struct latest *latest,
		    GError **error)
{
	const uint64_t number = latest->text ? latest->number + 1 : 0;
	g_autofree char *name = volume_of(order->name, number);

	if (!make_claim(pool, order, number, error))
		return false;
	if (is_held(pool, order, number, latest->text ? latest : NULL, error)) {
		delete_below(pool, order->name, number);
		return true;
	}
	storage_delete(pool, name);
	return false;
}

/* NULL without `error`: another client interfered, so try again. */
static struct claim_result *try_to_take(virStoragePoolPtr pool, const struct order *order,
					const struct claim *own, GError **error)
{
	g_autoptr(claim_result_t) result = NULL;
	g_autofree char *text = NULL;
	struct latest latest;
	bool held;

	if (!find_latest(pool, order->name, &latest, error))
		return NULL;
	text = latest.text;
	result = look_at(order, &latest, own, error);
	if (!result || result->standing > CLAIM_ENDED)
		return g_steal_pointer(&result);
	if (text && result->standing == CLAIM_OWN)
		held = renew_claim(pool, order, latest.number, error) &&
		       is_held(pool, order, latest.number, NULL, error);
	else
		held = succeed(pool, order, &latest, error);
	result->standing = CLAIM_OWN;
	return held ? g_steal_pointer(&result) : NULL;
}

static gpointer take_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(claim_t) own = claim_parse(order->text, error);
	g_autoptr(virStoragePool) pool = own ? storage_open(connection, false, error) : NULL;
	g_autoptr(GError) cause = NULL;

	for (int look = 0; pool && look < LOOKS; look++) {
		struct claim_result *result = try_to_take(pool, order, own, &cause);

		if (result)
			return result;
		if (cause) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return NULL;
		}
	}
	if (pool)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "others try to serve the cluster at the same time (volume '%s' in the "
			    "storage pool)",
			    order->name);
	return NULL;
}

static gpointer release_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(claim_t) own = claim_parse(order->text, error);
	g_autoptr(virStoragePool) pool = own ? storage_open(connection, false, error) : NULL;
	g_autoptr(claim_t) found = NULL;
	g_autofree char *text = NULL;
	struct latest latest;

	if (!pool || !find_latest(pool, order->name, &latest, error))
		return NULL;
	text = latest.text;
	found = text ? claim_parse(text, NULL) : NULL;
	if (found && claim_judge(found, own) == CLAIM_OWN) {
		g_autofree char *name = volume_of(order->name, latest.number);

		storage_delete(pool, name);
	}
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

	*order = (struct order){.name = g_strdup(name),
				.text = claim_text(own),
				.lapsed = g_strdup(lapsed)};
	host_call(host, HOST_LANE_CLAIM, &call);
}

void claim_take(struct host *host, const char *name, const struct claim *own, const char *lapsed,
		host_done_f done, gpointer data)
{
	submit(host, take_work, name, own, lapsed, done, data);
}

void claim_release(struct host *host, const char *name, const struct claim *own, host_done_f done,
		   gpointer data)
{
	submit(host, release_work, name, own, NULL, done, data);
}
