/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * PEM files by which TLS knows somebody, judged before a library reads them. Errors are HTTP_ERROR_TRUST; their messages
 * name the file.
 */

/* Whether a key is its owner's secret. False with `error`: others can read it, we cannot, or it is no file. */
bool tls_files_check_key(const char *key, GError **error);

/* The certificate in file `certificate`, and its key; a new object, or NULL with `error`. */
GTlsCertificate *tls_files_certificate(const char *certificate, const char *key, GError **error);

/* Whether file `ca` holds certificates, at least one. False with `error`. */
bool tls_files_check_ca(const char *ca, GError **error);
