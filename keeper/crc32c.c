#include "keeper.h"
#include <string.h>

static uint32_t table[256];

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t n) {
  if (!table[1])
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? 0x82f63b78u ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
  while (n--) crc = table[(crc ^ *p++) & 255] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_hardware(uint32_t crc, const unsigned char *p, size_t n) {
  uint64_t c = crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    c = __builtin_ia32_crc32di(c, word);
  }
  uint32_t d = (uint32_t)c;
  while (n--) d = __builtin_ia32_crc32qi(d, *p++);
  return d;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~by_hardware(~crc, bytes, n);
#endif
  return ~by_table(~crc, bytes, n);
}
