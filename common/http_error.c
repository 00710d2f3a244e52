/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_error.h"

G_DEFINE_QUARK(virtbed_http, http_error)
