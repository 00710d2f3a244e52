/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/read_file.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "image"
#include "common/log.h"

static const char *const file_names[IMAGE_FILES] = {
	[IMAGE_KERNEL] = "vmlinuz",
	[IMAGE_INITRAMFS] = "initramfs",
	[IMAGE_ROOT] = "root.squashfs",
};

void image_free(struct image *image)
{
	if (!image)
		return;
	for (int i = 0; i < IMAGE_FILES; i++) {
		g_free(image->path[i]);
		g_free(image->sha256[i]);
	}
	g_free(image);
}

void image_paths_free(struct image_paths *paths)
{
	if (!paths)
		return;
	for (int i = 0; i < IMAGE_FILES; i++)
		g_free(paths->path[i]);
	g_free(paths);
}

/* The object of `array` whose "name" is `name`, or NULL. */
static const json_t *named(const json_t *array, const char *name)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);

		if (g_strcmp0(json_string_value(json_object_get(item, "name")), name) == 0)
			return item;
	}
	return NULL;
}

static bool is_sha256(const char *text)
{
	return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool load_file(struct image *image, int file, const char *directory, const json_t *files,
		      GError **error)
{
	const json_t *item = named(files, file_names[file]);
	const char *sha256 = json_string_value(json_object_get(item, "sha256"));
	json_int_t bytes = json_integer_value(json_object_get(item, "bytes"));
	struct stat status;

	image->path[file] = g_build_filename(directory, file_names[file], NULL);
	if (!is_sha256(sha256) || bytes <= 0) {
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_IMAGE,
			    "image '%s': manifest.json does not describe '%s'; build the image "
			    "again",
			    directory, file_names[file]);
		return false;
	}
	if (stat(image->path[file], &status) < 0 || status.st_size != bytes) {
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_IMAGE,
			    "image file '%s' is missing or not as its manifest says; build the "
			    "image again",
			    image->path[file]);
		return false;
	}
	image->sha256[file] = g_strdup(sha256);
	image->bytes[file] = (uint64_t)bytes;
	return true;
}

struct image *image_load(const char *directory, GError **error)
{
	g_autofree char *path = g_build_filename(directory, "manifest.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(GError) cause = NULL;
	g_autoptr(json_t) manifest = NULL;
	g_autoptr(image_t) image = g_new0(struct image, 1);
	gsize length;

	text = read_file(path, READ_FILE_SMALL_MAX, &length, &cause);
	if (text)
		manifest = json_parse(text, length, path, &cause);
	if (!manifest)
		return error_null(error, VIRT_ERROR, VIRT_ERROR_IMAGE,
				  "no guest image in '%s': %s; build it with vm-images/build",
				  directory, cause->message);
	for (int i = 0; i < IMAGE_FILES; i++)
		if (!load_file(image, i, directory, json_object_get(manifest, "files"), error))
			return NULL;
	return g_steal_pointer(&image);
}

/* On the hosts; worker threads. */

#define UPLOAD_STALLED_S 15
#define POLL_MS 200
#define SWAP_PAGE 4096

/*
 * A file of the image while it is read by pieces, with its checksum. It is not mapped, because
 * pages of a mapping count as this process's memory.
 */
struct file_source {
	int fd;
	uint64_t left; /* bytes to send */
	GChecksum *sum;
};

static int give_file(virStreamPtr stream, char *buffer, size_t size, void *data)
{
	struct file_source *source = data;
	ssize_t got;

	do
		got = read(source->fd, buffer, MIN(size, source->left));
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return (int)got;
	g_checksum_update(source->sum, (const guchar *)buffer, got);
	source->left -= (uint64_t)got;
	return (int)got;
}

/* Sends a file of the image, and checks it against the manifest. */
static bool send_file(virStorageVolPtr volume, const struct image *image, int file, GError **error)
{
	const char *path = image->path[file];
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
	struct file_source source = {.left = image->bytes[file], .sum = sum};
	g_autoptr(GError) cause = NULL;
	bool sent;

	source.fd = read_file_open(path, &cause);
	if (source.fd < 0)
		return error_fail(error, VIRT_ERROR, VIRT_ERROR_IMAGE, "image: %s", cause->message);
	sent = storage_upload(volume, source.left, give_file, &source, error);
	close(source.fd);
	if (!sent)
		return false;
	if (g_str_equal(g_checksum_get_string(sum), image->sha256[file]))
		return true;
	return error_fail(error, VIRT_ERROR, VIRT_ERROR_IMAGE,
			  "image file '%s' is not what its manifest says; build the image again",
			  path);
}

/*
 * Uploads into a new volume, and then creates the volume `mark`. Without that the contents count as
 * incomplete.
 */
static bool fill_volume(virStoragePoolPtr pool, virStorageVolPtr volume, const char *mark,
			const struct image *image, int file, GError **error)
{
	g_autoptr(virStorageVol) marked = NULL;

	if (!send_file(volume, image, file, error))
		return false;
	marked = storage_create(pool, mark, 1, 0644);
	if (!marked)
		virt_error_set(error, "cannot mark volume '%s' as complete", mark);
	return marked != NULL;
}

/*
 * Waits for another local scheduler that uploads the same file. False: it has stalled, and has
 * written nothing for UPLOAD_STALLED_S.
 */
static bool wait_for_mark(const struct platform *platform, virStoragePoolPtr pool, const char *name,
			  const char *mark)
{
	double written_s = -1;

	for (int still = 0; still < UPLOAD_STALLED_S * (1000 / POLL_MS); still++) {
		const double now_s = storage_written_s(pool, name);

		if (storage_exists(pool, mark))
			return true;
		if (now_s != written_s)
			still = 0;
		written_s = now_s;
		platform_pause(platform, POLL_MS);
		virStoragePoolRefresh(pool, 0);
	}
	return false;
}

/*
 * Whether a volume that is marked as complete is unchanged: it has its length, and was not written
 * to since. Its contents are not read, which would mean reading the whole image at each start.
 */
static bool is_whole(virStoragePoolPtr pool, const char *name, const char *mark, uint64_t bytes)
{
	return storage_has_size(pool, name, bytes) &&
	       storage_written_s(pool, name) <= storage_written_s(pool, mark);
}

/* Creates an empty volume for the file; NULL with `error`. */
static virStorageVolPtr make_volume(virStoragePoolPtr pool, const char *name, uint64_t bytes,
				    GError **error)
{
	g_autofree char *what = g_strdup_printf("image file '%s'", name);
	virStorageVolPtr volume = NULL;

	if (!storage_has_room(pool, what, bytes, error))
		return NULL;
	volume = storage_create(pool, name, bytes, 0644);
	if (!volume)
		virt_error_set(error, "cannot make volume '%s'", name);
	return volume;
}

/* An upload for a worker thread. */
struct upload {
	const struct platform *platform;
	const struct image *image; /* borrowed */
};

/*
 * The path of a file on the host. Uploads the file if it is missing, or has changed since its
 * upload.
 */
static char *provide(virStoragePoolPtr pool, const struct upload *upload, int file, GError **error)
{
	const struct image *image = upload->image;
	const uint64_t bytes = image->bytes[file];
	g_autofree char *name = g_strdup_printf("%.16s-%s", image->sha256[file], file_names[file]);
	g_autofree char *mark = g_strconcat(name, ".complete", NULL);
	g_autoptr(virStorageVol) volume = NULL;
	const bool marked = storage_exists(pool, mark);

	if (marked && is_whole(pool, name, mark, bytes))
		return storage_path(pool, name, error);
	if (marked && storage_exists(pool, name))
		log_warning("image file '%s' on the host is damaged; it is sent again", name);
	else if (!marked && storage_exists(pool, name) &&
		 wait_for_mark(upload->platform, pool, name, mark))
		return storage_path(pool, name, error);
	/* Left by a killed local scheduler, or damaged since its upload. */
	storage_delete(pool, mark);
	storage_delete(pool, name);
	volume = make_volume(pool, name, bytes, error);
	if (!volume)
		return NULL;
	if (!fill_volume(pool, volume, mark, image, file, error)) {
		virStorageVolDelete(volume, 0);
		storage_blame_room(pool, name, bytes, error);
		return NULL;
	}
	return storage_path(pool, name, error);
}

static gpointer upload_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct upload *upload = input;
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);
	g_autoptr(image_paths_t) paths = g_new0(struct image_paths, 1);

	if (!pool)
		return NULL;
	for (int i = 0; i < IMAGE_FILES; i++) {
		paths->path[i] = provide(pool, upload, i, error);
		if (!paths->path[i])
			return NULL;
	}
	return g_steal_pointer(&paths);
}

static void free_paths(gpointer data)
{
	image_paths_free(data);
}

void image_upload(struct host *host, const struct image *image, host_done_f done, gpointer data)
{
	struct upload *upload = g_new0(struct upload, 1);
	const struct host_call call = {
		.work = upload_work,
		.input = upload,
		.input_free = g_free,
		.result_free = free_paths,
		.done = done,
		.data = data,
	};

	*upload = (struct upload){host_platform(host), image};
	host_call(host, HOST_LANE_STORE, &call);
}

/* Swap. */

struct swap_input {
	GStrv names;
	uint64_t mib;
};

static void swap_input_free(gpointer data)
{
	struct swap_input *input = data;

	g_strfreev(input->names);
	g_free(input);
}

/* The first page of a swap area, as mkswap(8) writes it (linux/swap.h, union swap_header). */
static void swap_header(char *page, uint64_t mib)
{
	const uint32_t version = 1;
	const uint32_t last_page = (uint32_t)((mib << 20) / SWAP_PAGE - 1);

	memset(page, 0, SWAP_PAGE);
	memcpy(page + 1024, &version, sizeof(version));
	memcpy(page + 1028, &last_page, sizeof(last_page));
	memcpy(page + SWAP_PAGE - 10, "SWAPSPACE2", 10);
}

/* An existing volume may be in use by a VM that outlived its scheduler; its header stays. */
static char *provide_swap(virStoragePoolPtr pool, const char *name, uint64_t mib, GError **error)
{
	g_autofree char *what = g_strdup_printf("swap disk '%s'", name);
	g_autoptr(virStorageVol) volume = NULL;
	char page[SWAP_PAGE];

	if (storage_has_size(pool, name, mib << 20))
		return storage_path(pool, name, error);
	storage_delete(pool, name);
	volume = storage_create(pool, name, mib << 20, 0644);
	swap_header(page, mib);
	if (volume && storage_write(volume, page, sizeof(page), error))
		return storage_path(pool, name, error);
	if (volume)
		virStorageVolDelete(volume, 0); /* it has no header */
	else
		virt_error_set(error, "cannot make %s", what);
	storage_blame_room(pool, what, sizeof(page), error);
	return NULL;
}

static gpointer make_swap_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct swap_input *input = data;
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);
	g_autoptr(GStrvBuilder) paths = g_strv_builder_new();

	if (!pool)
		return NULL;
	for (char **name = input->names; *name; name++) {
		g_autofree char *path = provide_swap(pool, *name, input->mib, error);

		if (!path)
			return NULL;
		g_strv_builder_add(paths, path);
	}
	return g_strv_builder_end(paths);
}

static gpointer remove_swap_work(virConnectPtr connection, gpointer data, GError **error)
{
	struct swap_input *input = data;
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);

	if (!pool)
		return NULL;
	for (char **name = input->names; *name; name++)
		storage_delete(pool, *name);
	return HOST_DONE;
}

static void swap_call(struct host *host, host_work_f work, const char *const *names, uint64_t mib,
		      GDestroyNotify result_free, host_done_f done, gpointer data)
{
	struct swap_input *input = g_new0(struct swap_input, 1);
	const struct host_call call = {
		.work = work,
		.input = input,
		.input_free = swap_input_free,
		.result_free = result_free,
		.done = done,
		.data = data,
	};

	input->names = g_strdupv((GStrv)names);
	input->mib = mib;
	host_call(host, HOST_LANE_STORE, &call);
}

static void free_strv(gpointer data)
{
	g_strfreev(data);
}

void image_make_swap(struct host *host, const char *const *names, uint64_t mib, host_done_f done,
		     gpointer data)
{
	swap_call(host, make_swap_work, names, mib, free_strv, done, data);
}

void image_remove_swap(struct host *host, const char *const *names, host_done_f done, gpointer data)
{
	swap_call(host, remove_swap_work, names, 0, NULL, done, data);
}
