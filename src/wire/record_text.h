/* What both forms of records share; only record_*.c include this. Each takes text of n bytes, and
 * returns NULL or, as a constant, what is wrong with it. */
#pragma once
#include "wire/record.h"

const char *record_oid(char *text, size_t n, struct oid *ret_oid);
/* Decimal numbers for the tag; blanks around them do not count. */
const char *record_number(const char *text, size_t n, uint8_t tag, struct ber_value *ret_value);
/* Content of an OID, over the text. */
const char *record_oid_value(char *text, size_t n, struct ber_value *ret_value);
/* Dotted, or the four octets themselves; over the text. */
const char *record_address(char *text, size_t n, struct ber_value *ret_value);
/* Pairs of hex digits; blanks, colons and line ends between them do not count. Over the text. */
const char *record_hex(char *text, size_t n, struct ber_value *ret_value);
/* A string of the tag; at most 65,535 octets. */
const char *record_string(const char *text, size_t n, uint8_t tag, struct ber_value *ret_value);
/* Without blanks at both ends. */
void record_trim(char **text, size_t *n);
