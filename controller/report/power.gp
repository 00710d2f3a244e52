# SPDX-License-Identifier: GPL-3.0-or-later
# Watts over time: all hosts together above, each host below, with their idle baselines.
#   hosts[]                    names
#   step                       of so many samples one is drawn
#   end_s                      of the run
#   time_scale, time_unit      unit of the time axis: its value per second, and its name
#   power_scale, power_unit    per watt

of(host) = strcol('host') eq host ? time_scale * column('time_s') : NaN
w(name) = power_scale * column(name)
# Samples after a gap: what was before them is estimated.
gap(x) = column('gap') > 0 ? time_scale * column('time_s') : NaN

set multiplot title heading font ',9'
set lmargin at screen 0.11
set rmargin at screen 0.98
set xrange [0:time_scale * end_s]
set tics nomirror
set yrange [0:*]
set grid lc rgb '#d0d0d0' lw 0.5
unset key

set tmargin at screen below(20)
set bmargin at screen below(210)
set format x ''
set ylabel power_unit.', all hosts'
plot \
  data using (of('all hosts')):(w('watts')):(w('idle_w')) every step with filledcurves fs solid 0.25 lc rgb '#0072b2' notitle, \
  data using (of('all hosts')):(w('watts')) every step with lines lw 1.3 lc rgb '#0072b2' notitle, \
  data using (of('all hosts')):(w('idle_w')) every step with lines dt 2 lw 1.2 lc rgb '#606060' notitle
unset label 999

set tmargin at screen below(240)
set bmargin at screen below(470)
set format x '%.10g'
# The empty line separates the key from the label.
set xlabel 'since the start of the run, '.time_unit."\n "
set ylabel power_unit.', each host'
set key outside bottom center horizontal Left reverse samplen 1.5
lines = ''
do for [i=1:|hosts|] {
	lines = lines.sprintf("data using (of(hosts[%d])):(w('watts')) every step with lines lw 1.3 %s title hosts[%d], ", i, line(i), i)
	lines = lines.sprintf("data using (of(hosts[%d])):(w('idle_w')) every step with lines dt 2 lc rgb colour(%d) notitle, ", i, i)
}
# Boxes and lines of NaN draw nothing but entries of the key, for both panels.
plot @lines \
  NaN with boxes fs solid 0.25 noborder lc rgb '#0072b2' title 'above the baseline: dynamic', \
  NaN with lines dt 2 lc rgb '#606060' title 'idle baseline', \
  data using (gap(1)):(w('watts')) with points pt 2 lc rgb '#000000' notitle
unset multiplot
