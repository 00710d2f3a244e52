/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/tls_files.h"

#include <sys/stat.h>

#include "common/error_fail.h"
#include "common/http_error.h"
#include "common/read_file.h"

#define fail_trust(error, ...) error_fail(error, HTTP_ERROR, HTTP_ERROR_TRUST, __VA_ARGS__)

bool tls_files_check_key(const char *key, GError **error)
{
	g_autoptr(GError) reason = NULL;
	struct stat status;

	if (!read_file_check(key, READ_FILE_SMALL_MAX, &reason))
		return fail_trust(error, "the key %s", reason->message);
	if (stat(key, &status) == 0 && !(status.st_mode & 0077))
		return true;
	return fail_trust(
		error,
		"others can read the key '%s'; chmod 600 it, and replace it if they may have read "
		"it",
		key);
}

GTlsCertificate *tls_files_certificate(const char *certificate, const char *key, GError **error)
{
	g_autoptr(GError) reason = NULL;
	GTlsCertificate *read;

	if (!tls_files_check_key(key, error))
		return NULL;
	if (!read_file_check(certificate, READ_FILE_SMALL_MAX, &reason)) {
		fail_trust(error, "the certificate %s", reason->message);
		return NULL;
	}
	read = g_tls_certificate_new_from_files(certificate, key, &reason);
	if (!read)
		fail_trust(error, "the certificate '%s' with the key '%s' is of no use: %s",
			   certificate, key, reason->message);
	return read;
}

bool tls_files_check_ca(const char *ca, GError **error)
{
	g_autoptr(GError) reason = NULL;
	GList *list;

	if (!read_file_check(ca, READ_FILE_SMALL_MAX, &reason))
		return fail_trust(error, "the CA's certificates %s", reason->message);
	list = g_tls_certificate_list_new_from_file(ca, &reason);
	if (!list)
		return fail_trust(error, "the CA's certificates '%s' are of no use: %s", ca,
				  reason ? reason->message : "there are none in it");
	g_list_free_full(list, g_object_unref);
	return true;
}
