/* The text of routes.sh before and behind the line that its routes replace; made from it by
 * embed.py. */
#pragma once
extern const char routes_sh_head[], routes_sh_tail[];
