/* Words in braces that stand for something of the device in a text of its type. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum template_word { TEMPLATE_SERIAL, TEMPLATE_MAC, TEMPLATE_IP, TEMPLATE_NAME, TEMPLATE_NONE };
#define TEMPLATE_WORDS "{serial}, {mac}, {ip}, {name}"
/* The word that stands at s; *ret_len gets its octets, and stays for TEMPLATE_NONE. */
enum template_word template_word(const uint8_t *s, size_t left, size_t *ret_len);
