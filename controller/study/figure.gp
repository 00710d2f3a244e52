# SPDX-License-Identifier: GPL-3.0-or-later
# A quantity of a study: means with their confidence intervals.
#   title, x_label, y_label    texts
#   x_scale, y_scale           from the data to the axes
#   logarithmic                1: the y axis is
#   kind                       'bars': a bar per policy; 'lines': a line per series; 'groups': a
#                              group of bars per word, a bar per series
#   series[]                   names
#   tics[]                     of bars the policies, of groups the words, at 0, 1, ...; of lines the
#                              places of the tics, or a single NaN for those of gnuplot

unset label 999
set title title font ',10'
set xlabel x_label
set ylabel y_label
set tics nomirror
set yrange [0:*]
set grid ytics lc rgb '#d0d0d0' lw 0.5
if (logarithmic) { set logscale y; set yrange [1:*] }
mean(x) = y_scale * $4
low(x) = y_scale * $5
span(x) = y_scale * ($6 - $5)

# Intervals are arrows with square heads: gnuplot's own error bars leave a gap in their middle.
drawn = ''
if (kind eq 'bars') {
	set xtics rotate by -35 () scale 0
	do for [i=1:|tics|] { set xtics add (tics[i] i - 1) }
	set xrange [-0.6:|tics| - 0.4]
	set boxwidth 0.7
	unset key
	drawn = "data using 2:(mean(1)) with boxes fs solid 1 border lc rgb '#0072b2' lc rgb '#9cc6e4' notitle, ".\
	        "data using 2:(low(1)):(0):(span(1)) with vectors heads size graph 0.006,90 lw 1.3 lc rgb '#303030' notitle, "
}
if (kind eq 'lines') {
	if (tics[1] == tics[1]) {
		set xtics ()
		do for [i=1:|tics|] { set xtics add (tics[i]) }
	}
	set key outside right top
	set offsets graph 0.02, graph 0.02, 0, 0
	of(name) = strcol(1) eq name ? x_scale * $2 : NaN
	do for [i=1:|series|] {
		drawn = drawn.sprintf("data using (of(series[%d])):(mean(1)) with linespoints lw 1.3 ps 1.2 %s title series[%d], ", i, line(i), i)
		drawn = drawn.sprintf("data using (of(series[%d])):(low(1)):(0):(span(1)) with vectors heads size graph 0.004,90 lw 1.2 lc rgb colour(%d) notitle, ", i, i)
	}
}
if (kind eq 'groups') {
	set xtics () scale 0
	do for [i=1:|tics|] { set xtics add (tics[i] i - 1) }
	set xrange [-0.5:|tics| - 0.5]
	set key outside right top
	bar_width = 0.84 / |series|
	set boxwidth bar_width * 0.9
	of(i) = strcol(1) eq series[i] ? $2 + (i - 1 - (|series| - 1) / 2.0) * bar_width : NaN
	do for [i=1:|series|] {
		drawn = drawn.sprintf("data using (of(%d)):(mean(1)) with boxes fs transparent pattern %d border lc rgb colour(%d) lc rgb colour(%d) title series[%d], ", i, pattern(i), i, i, i)
		drawn = drawn.sprintf("data using (of(%d)):(low(1)):(0):(span(1)) with vectors heads size graph 0.003,90 lw 1.1 lc rgb '#303030' notitle, ", i)
	}
}
eval 'plot '.drawn[1:strlen(drawn) - 2]
