/* A record as a line of .snmprec, with its end. */
#pragma once
#include "base/text.h"
#include "wire/record.h"

void rec_line(const struct record *rec, struct text *t);
