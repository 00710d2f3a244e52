/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Where the guest image is that VMs boot: a directory with a manifest. */

/*
 * The directory `named`; where it is NULL, $VIRTBED_IMAGE, else that of the build or the
 * installation which the running program is part of. The caller frees; NULL: there is none.
 */
char *guest_image_find(const char *named);

/*
 * Why there is no guest image in directory `image` (NULL: none is named, and none was found), the
 * caller's to free; NULL: there is one. What it holds is for the local scheduler to check.
 */
char *guest_image_trouble(const char *image);
#define GUEST_IMAGE_CURE "./testbed build makes it; or name one in image:"
