#include "keeper.h"
#include <string.h>

#define POLYNOMIAL 0x82f63b78u
static uint32_t table[256];

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t n) {
  if (!table[1])
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int k = 0; k < 8; k++) c = c & 1 ? POLYNOMIAL ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
  while (n--) crc = table[(crc ^ *p++) & 255] ^ (crc >> 8);
  return crc;
}

/* Polynomials are written with x^0 in the highest bit, as the CRC itself. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
    if (a & bit) product ^= b;
    b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
  }
  return product;
}

static uint32_t power_of_x(uint64_t n) {
  uint32_t power = 1u << 31;
  for (uint32_t square = 1u << 30; n; n >>= 1, square = multiply(square, square))
    if (n & 1) power = multiply(power, square);
  return power;
}

uint32_t crc32c_of_tail(uint32_t whole, uint32_t head, uint64_t tail_bytes) {
  return whole ^ multiply(power_of_x(tail_bytes * 8), head);
}

#if defined(__x86_64__)
#include <immintrin.h>
enum { LANE = 1024 };
#ifdef __clang__
#define WITH_CRC "sse4.2,crc32,pclmul" /* a feature of its own there; older GCCs do not know the name */
#else
#define WITH_CRC "sse4.2,pclmul"
#endif

/* The instruction gives one result a cycle but takes three: three lanes side by side are three times as fast. */
__attribute__((target(WITH_CRC))) static uint32_t by_hardware(uint32_t crc, const unsigned char *p, size_t n) {
  static uint32_t over_one, over_two; /* what carries a lane's CRC over the lanes behind it, for the carry-less product */
  if (!over_two) {
    over_one = power_of_x(LANE * 8 - 33);
    over_two = power_of_x(LANE * 16 - 33);
  }
  uint64_t a = crc;
  for (; n >= 3 * LANE; n -= 3 * LANE, p += 3 * LANE) {
    uint64_t b = 0, c = 0, word[3];
    for (size_t i = 0; i < LANE; i += 8) {
      memcpy(&word[0], p + i, 8);
      memcpy(&word[1], p + i + LANE, 8);
      memcpy(&word[2], p + i + 2 * LANE, 8);
      a = _mm_crc32_u64(a, word[0]);
      b = _mm_crc32_u64(b, word[1]);
      c = _mm_crc32_u64(c, word[2]);
    }
    __m128i first = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)a), _mm_cvtsi32_si128((int)over_two), 0);
    __m128i second = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)b), _mm_cvtsi32_si128((int)over_one), 0);
    a = c ^ _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(first, second)));
  }
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    a = _mm_crc32_u64(a, word);
  }
  uint32_t d = (uint32_t)a;
  while (n--) d = _mm_crc32_u8(d, *p++);
  return d;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n) {
#if defined(__x86_64__)
  if (cpu_can(CPU_CRC32C)) return ~by_hardware(~crc, bytes, n);
#endif
  return ~by_table(~crc, bytes, n);
}
