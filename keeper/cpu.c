/* What this processor can do. Our own question, because `__builtin_cpu_supports` needs a piece of GCC's library that not every toolchain has. */
#include "keeper.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { PCLMUL = 1 << 1, SSE42 = 1 << 20, SAVES = 1 << 27, AVX2 = 1 << 5, YMM = 6 };

/* The registers count only when the system saves them, which is another question. */
static bool saves_ymm(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & YMM) == YMM;
}

static unsigned ask(void) {
  unsigned a, b, c, d, can = CPU_ASKED;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return can;
  if ((c & SSE42) && (c & PCLMUL)) can |= CPU_CRC32C;
  bool saved = (c & SAVES) && saves_ymm();
  if (saved && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & AVX2)) can |= CPU_AVX2;
  return can;
}
#else
static unsigned ask(void) { return CPU_ASKED; }
#endif

bool cpu_can(unsigned what) {
  static unsigned can; /* two threads may both ask: the answer is the same */
  if (!can) can = ask();
  return (can & what) == what;
}
