# SPDX-License-Identifier: GPL-3.0-or-later
# What all charts share. Before this stand the variables of the chart, which the program sets:
#   name               of the files, without ending
#   heading, note[]    the title, or '', and the lines below the drawing, or a single ''
#   width, height      of the drawing in pixels
#   text_width         that heading and notes need
# and those that the program of its kind, which follows this, lists at its head.

if (exists("folder")) cd folder
if (!exists("format")) format = 'png'
if (!exists("image")) image = name.'.'.format
data = name.'.csv'

notes = ''
do for [i=1:|note|] { notes = notes.(i > 1 ? "\n" : '').note[i] }
# A page has a heading and notes of its own.
if (exists("bare")) {
	heading = ''
	notes = ''
}
if (!exists("bare") && width < text_width) width = text_width
# The drawing fills the space between heading and notes.
top = heading eq '' ? 0 : 17
bottom = notes eq '' ? 0 : 15 * |note| + 8
height = top + height + bottom

if (!exists("font_png")) font_png = 10
if (format eq 'png') set terminal pngcairo noenhanced size width,height font 'DejaVu Sans,'.font_png
if (format eq 'svg') set terminal svg noenhanced size width,height font 'DejaVu Sans,13'
if (format eq 'svg' && !exists("bare")) set terminal svg noenhanced size width,height font 'DejaVu Sans,13' background rgb 'white'
if (format eq 'pdf') set terminal pdfcairo noenhanced size width/40.0 cm, height/40.0 cm font 'DejaVu Sans,8'
small = format eq 'svg' ? ',11' : format eq 'pdf' ? ',7' : ',8'
set output image

# Charts of several panels unset this label after the first.
set label 999 notes at screen 12.0 / width, (bottom - 15) / (height * 1.0) left font small textcolor rgb '#505050'
set origin 0, bottom / (height * 1.0)
set size 1, 1 - bottom / (height * 1.0)
set datafile separator ','
set datafile columnheaders
set format '%.10g'
set border 3 lc rgb '#606060'

# The place of an edge of a panel: so many pixels below the heading.
below(pixels) = 1 - (top + pixels) / (height * 1.0)

# The looks of series i, from 1. The palette is that of Okabe and Ito, which people with any colour
# vision can distinguish, without black and yellow. Lines differ by colour, dashes and marks, so
# that 60 of them differ without colour, too: full shapes first, then open shapes, then shapes of
# lines. Bars differ by colour and pattern, 42 of them; pattern 3 is solid.
colour(i) = int('0x'.word('d55e00 0072b2 009e73 cc79a7 e69f00 56b4e9', 1 + (i - 1) % 6))
dash(i) = word('1 (14,4) (3,3) (14,4,3,4)', 1 + (i - 1) % 4)
mark(i) = word('5 7 9 13 11 15 4 6 8 12 10 14 2 1 3', 1 + (i - 1) % 15)
line(i) = sprintf('lc rgb colour(%d) dt %s pt %s', i, dash(i), mark(i))
pattern(i) = int(word('3 4 2 5 1 6 7', 1 + (i - 1) % 7))
# A colour mixed with white: `share` of its strength, from 0 to 1.
mixed(value, share) = int(255 - share * (255 - (value & 255)) + 0.5)
pale(i, share) = mixed(colour(i) >> 16, share) << 16 | mixed(colour(i) >> 8, share) << 8 | mixed(colour(i), share)

