/**
 * The WebAssembly kernel (folder kernel/): dist/kernel.wasm, loaded at the first use. Where it is missing or cannot run there
 * is none, and nobody is told: the plain way gives the same answers, more slowly.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Positions are addresses in the memory; a range is [from, to). kernel/ says what each does. */
export interface Kernel {
  countNewlines(from: number, to: number): number;
  skipLines(from: number, to: number, n: number): number;
  find(from: number, to: number, length: number, a: number, b: number): number;
  crc32c(before: number, from: number, to: number): number;
  validate(from: number, to: number): number;
  badLine(from: number, to: number): number;
  readonly BYTES: Constant;
  readonly SLACK: Constant;
  readonly NEEDLE: Constant;
  readonly NEEDLE_MAX: Constant;
}

interface Constant {
  readonly value: number;
}

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** Neither ES nor Node's types name it. */
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => Memory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: { env: { memory: Memory } }) => { readonly exports: Kernel };
};

const PAGE = 65_536;

/**
 * Memory that begins on a page: reading into an ordinary Buffer is up to 3.6 times slower (the operating system copies slowly
 * to odd addresses). An ordinary one all the same where WebAssembly is off, or addresses are short: each memory takes gigabytes
 * of them, so `ulimit -v` is soon reached.
 */
export function alignedBuffer(capacity: number): Buffer {
  try {
    return Buffer.from(new WebAssembly.Memory({ initial: Math.ceil(capacity / PAGE) }).buffer, 0, capacity);
  } catch {
    return Buffer.allocUnsafeSlow(capacity);
  }
}

let loaded: { module: object } | "none" | undefined;

/** A new instance whose memory has room for `capacity` bytes. */
export function makeKernel(capacity: number): { kernel: Kernel; memory: ArrayBuffer } | undefined {
  loaded ??= load();
  if (loaded === "none") return undefined;
  try {
    const memory = new WebAssembly.Memory({ initial: 0 });
    const { exports: kernel } = new WebAssembly.Instance(loaded.module, { env: { memory } });
    memory.grow(Math.ceil((kernel.BYTES.value + capacity + kernel.SLACK.value) / PAGE));
    return { kernel, memory: memory.buffer };
  } catch {
    return undefined;
  }
}

function load(): { module: object } | "none" {
  try {
    return { module: new WebAssembly.Module(readFileSync(join(packageRoot(), "dist", "kernel.wasm"))) };
  } catch {
    return "none"; // not built, no WebAssembly, or no SIMD
  }
}

/** The folder with package.json: above src/log, above dist/log, or above the bundle dist/midwatch.js. */
function packageRoot(): string {
  let at = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(at, "package.json")) && at !== dirname(at)) at = dirname(at);
  return at;
}
