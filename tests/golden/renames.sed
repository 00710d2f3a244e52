# Words of results that were renamed, for those who compare results of two versions byte by byte: sed -E -f renames.sed
# on the older ones.
s/\b[Pp]aper 000\b/Machovec 2017/g
s/\b[Pp]aper 002\b/Machovec 2018/g
s/\b[Pp]aper 003\b/Stillwell 2010/g
s/\b[Pp]aper 004\b/Gentry 2019/g
s/"section": "000, /"section": "Machovec 2017, /
s/"immediate_section": "000, /"immediate_section": "Machovec 2017, /
s/"section": "002, /"section": "Machovec 2018, /
s/"section": "003, /"section": "Stillwell 2010, /
s/"section": "004, /"section": "Gentry 2019, /
s/nodes are there that could not be counted on: planned anew/nodes became free unexpectedly: planned again/
s/planned anew when nodes came that could not be counted on/planned again when nodes became free unexpectedly/
s/\ba person (cancelled it|holds it|suspended it)/a user \1/
