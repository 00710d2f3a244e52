# SPDX-License-Identifier: GPL-3.0-or-later
# The schedule: nodes as rows, tasks as bars coloured by type, with their outcome; crosses below.
#   clusters[], nodes[]      names and numbers of nodes; between clusters there is half a row
#   dropped, lost            rows of dropped tasks and of lost attempts; NaN: none
#   last                     the lowest row
#   types[]                  names
#   bars[]                   the number of bars of each state below
#   end_s                    of the run
#   time_scale, time_unit    unit of the time axis: its value per second, and its name

array states[4] = ['completed', 'unfinished', 'failed', 'killed']
array fills[4] = ['solid 0.75', 'solid 0.2', 'pattern 4', 'pattern 6']
array meanings[4] = ['', 'unfinished when the run ended', 'failed', 'killed']

t(name) = time_scale * column(name)
# Where a bar of a type with an outcome stands; elsewhere it is not drawn.
bar(type, state) = strcol('type') eq type && strcol('state') eq state && strcol('node') ne '' ? (t('start_s') + t('end_s')) / 2 : NaN
cross(type) = strcol('type') eq type && strcol('node') eq '' ? t('end_s') : NaN
# Bars that have room for the number of their task.
wide(x) = strcol('node') ne '' && t('end_s') - t('start_s') > time_scale * 0.009 * end_s * strlen(strcol('task'))

set title heading font ',9'
# The empty line separates the key from the label.
set xlabel 'since the start of the run, '.time_unit."\n "
set xrange [0:time_scale * 1.005 * end_s]
set yrange [last + 0.75:-0.75]
# Up to 50 rows each is labelled; with more, the first of each cluster.
set ytics () scale 0
row = 0.0
do for [i=1:|clusters|] {
	do for [node=0:(last > 50 ? 0 : nodes[i] - 1)] { set ytics add (sprintf('%s n%d', clusters[i], node) row + node) }
	# A thin line between clusters.
	y = row + nodes[i] - 0.25
	if (y < last) { set arrow from graph 0,first y to graph 1,first y nohead lc rgb '#a0a0a0' lw 0.5 back }
	row = row + nodes[i] + 0.5
}
if (dropped == dropped) { set ytics add ('dropped' dropped) }
if (lost == lost) { set ytics add ('lost' lost) }
set arrow from first time_scale * end_s,graph 0 to first time_scale * end_s,graph 1 nohead lc rgb '#606060' front
set xtics nomirror
set grid xtics lc rgb '#d0d0d0' lw 0.5
set key outside bottom center horizontal Left reverse samplen 1.5

drawn = ''
do for [i=1:|types|] {
	do for [j=1:|states|] {
		drawn = drawn.sprintf("data using (bar(types[%d], states[%d])):(column('row')):(t('start_s')):(t('end_s')):", i, j)
		drawn = drawn.sprintf("(column('row') - 0.4):(column('row') + 0.4) with boxxyerror fs %s border lc rgb colour(%d) lc rgb colour(%d) ", fills[j], i, i)
		drawn = drawn.(j == 1 ? sprintf("title types[%d], ", i) : 'notitle, ')
	}
	if (dropped == dropped || lost == lost) {
		drawn = drawn.sprintf("data using (cross(types[%d])):(column('row')) with points pt 2 ps 0.9 lw 1.6 lc rgb colour(%d) notitle, ", i, i)
	}
}
# These draw nothing but entries of the key.
do for [j=2:|states|] {
	if (bars[j] > 0) { drawn = drawn.sprintf("NaN with boxes fs %s border lc rgb '#606060' lc rgb '#606060' title meanings[%d], ", fills[j], j) }
}
plot @drawn \
  data using (wide(1) ? (t('start_s') + t('end_s')) / 2 : NaN):(column('row')):(strcol('task')) with labels font ',8' tc rgb '#000001' notitle
