# SPDX-License-Identifier: GPL-3.0-or-later
# jq, for tests. Load it with `load jq`; lab.bash and run.bash do.

# jq 1.6 finds that all is well with `-e` when it reads nothing, as from a server that is not there.
jq() {
	local said
	[ "$1" = -e ] || { command jq "$@"; return; }
	said=$(command jq "$@") && [ -n "$said" ] && printf '%s\n' "$said"
}
