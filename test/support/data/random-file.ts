/** A generator of numbers in [0, 1) that gives the same ones for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Empty, without a last newline, CRLF, NUL, broken UTF-8, only newlines, long lines, "ab" in all places. */
export function randomFile(random: () => number): Buffer {
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T;
  if (random() < 0.03) return Buffer.alloc(0);
  if (random() < 0.05) return Buffer.alloc(Math.floor(random() * 200), "\n");
  const parts: Buffer[] = [];
  const lines = Math.floor(random() * 80);
  for (let i = 0; i < lines; i++) {
    const length = random() < 0.02 ? Math.floor(random() * 400_000) : Math.floor(random() * 120);
    const kind = pick("ascii", "ascii", "json", "binary", "empty", "crlf", "ab");
    if (kind === "json") parts.push(Buffer.from(JSON.stringify({ i, text: "ä".repeat(length % 50) })));
    else if (kind === "binary")
      parts.push(
        Buffer.from(
          Array.from({ length: length % 500 }, () => Math.floor(random() * 256)).filter((byte) => byte !== 10),
        ),
      );
    else if (kind === "ab")
      parts.push(Buffer.from("b".repeat(length % 7) + "ab".repeat(1 + (length % 3)) + "a".repeat(length % 5)));
    else if (kind !== "empty") parts.push(Buffer.alloc(length, pick("x", "a", "b", "{", " ")));
    parts.push(Buffer.from(kind === "crlf" ? "\r\n" : "\n"));
  }
  const whole = Buffer.concat(parts);
  return random() < 0.5 && whole.length > 0 ? whole.subarray(0, whole.length - 1) : whole;
}
