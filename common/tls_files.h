/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * PEM files of certificates and keys, checked before a library reads them. Errors are
 * HTTP_ERROR_TRUST; their messages name the file.
 */

/*
 * Whether a key file is private. False with `error`: others can read it, this process cannot, or it
 * is no file.
 */
bool tls_files_check_key(const char *key, GError **error);

/* The certificate in file `certificate`, with its key; a new object, or NULL with `error`. */
GTlsCertificate *tls_files_certificate(const char *certificate, const char *key, GError **error);

/* Whether file `ca` holds at least one certificate. False with `error`. */
bool tls_files_check_ca(const char *ca, GError **error);
