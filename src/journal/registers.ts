/**
 * Small named values with compare-and-set, in plain files, without a lock: a process that stands still holds nobody up.
 *
 * The next value of a register is a new file with the next number, put in its place by link(2), which fails when the number is
 * taken: that failure is the comparison. The newest eight are kept. Whoever was stopped before its link may find its number free
 * again because it was collected meanwhile; so it looks again after the link.
 *
 * Two kinds of keys are simpler: `.../term-<n>` is one file that is written once and kept, and `heartbeats/...` is one file that
 * its only writer replaces, not forced to the disk.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { MidwatchError, throwIfExhausted } from "../core/errors.ts";
import { errno } from "../disk/fault.ts";
import { assertHardLinks } from "../disk/hard-links.ts";
import { makeFolder, removeFile } from "../disk/inside.ts";
import type { Layout } from "../disk/layout.ts";
import { createExclusive, readJson, replaceFast } from "../disk/replace.ts";
import type { Register, Registers } from "./engine.ts";

const KEEP = 8;
const NUMBERED = /^([1-9]\d{0,14})\.json$/;
const TEMPORARY = /^\.([1-9]\d{0,14})\.json\.[0-9a-f]+\.tmp$/;
const ONCE = /(^|\/)term-\d+$/;
const REPLACED = /^heartbeats\//;
const TRIES = 100;

/** Points of a change, in order; tests stop a process at each of them. */
export type RegisterStep = "looked" | "linked";

export class FileRegisters implements Registers {
  readonly #layout: Layout;
  readonly #onStep: ((step: RegisterStep, key: string) => void) | undefined;
  #linksWork = false;

  constructor(layout: Layout, onStep?: (step: RegisterStep, key: string) => void) {
    this.#layout = layout;
    this.#onStep = onStep;
  }

  async get<T>(key: string): Promise<Register<T> | undefined> {
    const path = this.#layout.register(key);
    if (REPLACED.test(key)) return readJson<Register<T>>(`${path}.json`).value;
    if (ONCE.test(key)) {
      const { value, reason } = readJson<T>(path);
      return value === undefined && reason === undefined ? undefined : { value: value ?? (null as T), rev: 1 };
    }
    for (let tries = 0; tries < TRIES; tries++) {
      const rev = newest(namesIn(path));
      if (rev === 0) return undefined;
      const { value, reason } = readJson<T>(join(path, `${rev}.json`));
      if (value !== undefined) return { value, rev };
      // What cannot be read is a register without a value: it can be set, and nobody is stuck with it.
      if (reason !== undefined) return { value: null as T, rev };
      // Collected between the two looks: there are newer ones.
    }
    throw unsure(key, "it changed at every look");
  }

  async set(key: string, value: unknown, rev: number): Promise<number | undefined> {
    const path = this.#layout.register(key);
    if (REPLACED.test(key)) return this.#replace(path, value, rev);
    this.#probe();
    if (ONCE.test(key)) {
      if (rev !== 0) return undefined;
      makeFolder(this.#layout.root, join(path, ".."));
      this.#onStep?.("looked", key);
      return createExclusive(path, `${JSON.stringify(value)}\n`) ? 1 : undefined;
    }
    return this.#publish(key, path, value, rev);
  }

  #publish(key: string, folder: string, value: unknown, rev: number): number | undefined {
    if (newest(namesIn(folder)) !== rev) return undefined;
    if (rev === 0) makeFolder(this.#layout.root, folder);
    this.#onStep?.("looked", key);
    const mine = rev + 1;
    const path = join(folder, `${mine}.json`);
    if (!link(path, value)) return undefined;
    this.#onStep?.("linked", key);
    const names = namesIn(folder);
    const last = newest(names);
    if (last >= mine + KEEP) {
      // Ours may have been the ninth from the end all along, or a collected number that was free again.
      removeFile(this.#layout.root, path);
      throw unsure(key, "this process stood still while it changed eight times");
    }
    for (const name of names) {
      const number = NUMBERED.exec(name)?.[1] ?? TEMPORARY.exec(name)?.[1];
      if (number !== undefined && Number(number) <= last - KEEP) removeFile(this.#layout.root, join(folder, name));
    }
    return mine;
  }

  #replace(path: string, value: unknown, rev: number): number | undefined {
    const file = `${path}.json`;
    if ((readJson<Register>(file).value?.rev ?? 0) !== rev) return undefined;
    if (value === null) {
      removeFile(this.#layout.root, file);
      return 0;
    }
    makeFolder(this.#layout.root, join(path, ".."));
    replaceFast(file, `${JSON.stringify({ rev: rev + 1, value })}\n`);
    return rev + 1;
  }

  async keys(prefix: string): Promise<string[]> {
    const tops = ["leases", "registers", "heartbeats"].filter(
      (top) => prefix.startsWith(top) || top.startsWith(prefix),
    );
    return tops.flatMap((top) => this.#below(top)).filter((key) => key.startsWith(prefix));
  }

  #below(key: string): string[] {
    const names = namesIn(join(this.#layout.root, key));
    const own = names.some((name) => NUMBERED.test(name)) ? [key] : [];
    const below = names.flatMap((name) => {
      if (name.startsWith(".") || NUMBERED.test(name)) return [];
      if (ONCE.test(name)) return [`${key}/${name}`];
      if (REPLACED.test(`${key}/`)) return name.endsWith(".json") ? [`${key}/${name.slice(0, -5)}`] : [];
      return this.#below(`${key}/${name}`);
    });
    return [...own, ...below];
  }

  /** Once a process: without hard links there is no comparison, and two leaders would find out late. */
  #probe(): void {
    if (this.#linksWork) return;
    assertHardLinks(this.#layout.root);
    this.#linksWork = true;
  }
}

/** False when the number is taken. */
function link(path: string, value: unknown): boolean {
  try {
    return createExclusive(path, `${JSON.stringify(value)}\n`);
  } catch (error) {
    // We stood still while others moved on so far that they collected our unfinished file: before its link it had no effect.
    if (errno(error) !== "ENOENT") throw error;
    return error instanceof Error && "syscall" in error && error.syscall === "unlink";
  }
}

function newest(names: readonly string[]): number {
  return names.reduce((most, name) => Math.max(most, Number(NUMBERED.exec(name)?.[1] ?? 0)), 0);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    throwIfExhausted(error);
    if (["ENOENT", "ENOTDIR"].includes(errno(error) ?? "")) return [];
    throw error;
  }
}

/** It may have been set or not: whoever needs to know reads it again. */
function unsure(key: string, why: string): MidwatchError {
  return new MidwatchError("OUTCOME_UNKNOWN", `Whether ${key} was set is not known: ${why}.`, {
    hint: "Read it again.",
  });
}
