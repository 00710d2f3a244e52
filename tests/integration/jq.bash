# SPDX-License-Identifier: GPL-3.0-or-later
# jq, for tests. Load it with `load jq`; lab.bash and run.bash do.

# jq 1.6 finds that all is well with `-e` when it reads nothing, as from a server that is not there. What it read
# from a pipe is shown where it does not hold.
jq() {
	local said read
	[ "$1" = -e ] || { command jq "$@"; return; }
	if [ -f "${!#}" ] || [ ! -p /dev/stdin ]; then
		said=$(command jq "$@") && [ -n "$said" ] && printf '%s\n' "$said"
		return
	fi
	read=$(timeout 100 cat)
	said=$(command jq "$@" <<<"$read") && [ -n "$said" ] && printf '%s\n' "$said" && return
	printf '%s\nof: %.3000s\n' "$said" "$read" >&2
	return 1
}
