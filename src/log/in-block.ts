/** Whether a line from the middle of a log stands within an armoured key. */
import { isWithin, looksLikeBody } from "../core/mask/blocks.ts";
import type { Source } from "./source.ts";

/** More than the longest private key and what it is wrapped in. */
const LOOK_BACK = 16 << 10;

/** Only what could be part of a key is worth a look at what stands before it. */
export function isInBlock(source: Source, offset: number, bytes: Uint8Array): boolean {
  if (offset === 0 || !looksLikeBody(bytes)) return false;
  const from = Math.max(0, offset - LOOK_BACK);
  const read = source.read(before.subarray(0, offset - from), from);
  return isWithin(before.subarray(0, read));
}
/** One for all: every line of a search may ask. */
const before = Buffer.allocUnsafeSlow(LOOK_BACK);
