"""embed.py routes.sh routes_sh.c: the script as C text, cut at the line where the routes go."""

import json
import sys

head, tail = open(sys.argv[1], encoding="ascii").read().split("# @ROUTES@\n")


def literal(text):
    return "\n".join("\t" + json.dumps(line) for line in text.splitlines(keepends=True))


with open(sys.argv[2], "w", encoding="ascii") as out:
    out.write('#include "api/routes_sh.h"\n\n'
              f"const char routes_sh_head[] =\n{literal(head)};\n\n"
              f"const char routes_sh_tail[] =\n{literal(tail)};\n")
