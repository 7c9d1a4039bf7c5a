/**
 * A sealed run: all facts of a run that has ended in one file, `runs/<agent>/<n>.json`, in the place of a folder of small ones. While
 * both are there the file counts: it is whole before the first fact of the folder goes.
 */
import { isUtf8 } from "node:buffer";
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, rmdirSync, unlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { FACT_DEPTH, isFields, parseWithin } from "../core/json.ts";
import { faultOf, type Shape } from "../core/shape/shape.ts";
import { errno } from "./fault.ts";
import { anchored } from "./inside.ts";
import type { RunPaths } from "./layout.ts";
import { type JsonRead, readJson, replace } from "./replace.ts";

/** By the names that they had in the folder: JSON as the value, any other text as a string. */
export type SealedFacts = Readonly<Record<string, unknown>>;

/** An intent holds its prompt; any other text (what a setup printed, a file that we do not know) is kept with the facts while it is small. */
const JSON_BYTES = 4 << 20;
const TEXT_BYTES = 64 << 10;
const SEALED_BYTES = 16 << 20;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** A keeper's and a launcher's notes to themselves: nothing after the end of the run asks for them. */
const USED_UP = /^(members|ran|ballast|input|adopt\.lock|hold\.json|stuck\.json|reported|\..+\.tmp)$/;
/** Appended to by many without a lock, also after the end: it stays a file of its own, so that no message is lost. */
const APPENDED = "messages.jsonl";

/** `value` is undefined when there is none, with a `reason` when there is one that cannot be used. */
export function readSealed(path: string): JsonRead<SealedFacts> {
  const { value, reason } = readJson<{ v?: unknown; facts?: unknown }>(path, {
    bytes: SEALED_BYTES,
    depth: FACT_DEPTH + 2,
  });
  if (value === undefined) return { value, reason };
  if (isFields(value) && value.v === 1 && isFields(value.facts)) return { value: value.facts, reason: undefined };
  return { value: undefined, reason: `${path}: not the facts of a run` };
}

/** Undefined when there is none. What was no JSON when it was sealed is a string, and no fact. */
export function factIn<T>(facts: SealedFacts, name: string): JsonRead<T> | undefined {
  if (!Object.hasOwn(facts, name)) return undefined;
  const value = facts[name];
  if (typeof value === "string") return { value: undefined, reason: `${name}: not JSON` };
  return { value: value as T, reason: undefined };
}

/** One fact of a run, given by its path in the run's folder. Looked for twice: it may be on its way from there into the file. */
export function readFact<T>({ sealed }: Pick<RunPaths, "sealed">, path: string, shape?: Shape): T | undefined {
  for (let look = 1; look <= 2; look++) {
    const facts = readSealed(sealed).value;
    const found = (facts && factIn<T>(facts, basename(path))?.value) ?? readJson<T>(path).value;
    if (found !== undefined) return shape === undefined || faultOf(shape, found) === undefined ? found : undefined;
  }
  return undefined;
}

/** Points of a sealing; tests kill at each of them. */
export type SealStep = "sealed" | "fact removed" | "folder removed";
type OnStep = (step: SealStep) => void;

/**
 * Puts the facts of the folder into the file, with what is `changed`, and takes the folder away as far as all of it is in the file. What
 * the file has already counts more than what a crash has left in the folder, once its claim has gone. False for what is too much for one file, or too little.
 */
export function sealRun(root: string, paths: RunPaths, changed: SealedFacts, onStep?: OnStep): boolean {
  const step: OnStep = onStep ?? (() => undefined);
  const found = readLoose(root, paths.dir);
  const before = readSealed(paths.sealed).value;
  const both = "claim" in found.facts ? { ...before, ...found.facts } : { ...found.facts, ...before };
  const facts = { ...both, ...changed };
  const text = `${JSON.stringify({ v: 1, facts })}\n`;
  const whole = "intent.json" in facts && "done.json" in facts; // Else its folder was deleted under us.
  if (!whole || Buffer.byteLength(text) > SEALED_BYTES) return false;
  anchored(root, paths.sealed, (safe) => replace(safe, text));
  step("sealed");
  removeLoose(root, paths.dir, found.names, step);
  return true;
}

interface Loose {
  facts: Record<string, unknown>;
  /** What may go once the facts are in the file. */
  names: string[];
}

function readLoose(root: string, dir: string): Loose {
  const facts: Record<string, unknown> = {};
  const names: string[] = [];
  inFolder(root, dir, (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const { name } = entry;
      const usedUp = USED_UP.test(name) && !entry.isDirectory();
      const value =
        usedUp || name === APPENDED || !entry.isFile() ? undefined : readLooseFact(join(folder, name), name);
      if (value !== undefined)
        Object.defineProperty(facts, name, { value, enumerable: true, writable: true, configurable: true });
      if (value !== undefined || usedUp) names.push(name);
    }
  });
  // A folder with a claim and without done.json is a living run's: whoever looks meanwhile must not take it for one.
  return { facts, names: names.sort((a, b) => rank(a) - rank(b)) };
}

const rank = (name: string): number => (name === "claim" ? 0 : name === "done.json" ? 2 : 1);

/** Undefined for what has to stay where it is: not text, or too long. */
function readLooseFact(path: string, name: string): unknown {
  const isJson = name === "claim" || name.endsWith(".json");
  const fd = openSync(path, READ);
  let bytes: Buffer;
  try {
    const file = fstatSync(fd);
    if (!file.isFile() || file.size > (isJson ? JSON_BYTES : TEXT_BYTES)) return undefined;
    bytes = readFileSync(fd);
  } finally {
    closeSync(fd);
  }
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  try {
    return isJson ? parseWithin(text, FACT_DEPTH) : text;
  } catch {
    return text; // Torn, or too deep: kept as it is.
  }
}

/** What cannot be removed now is by whoever looks next: the file counts. */
function removeLoose(root: string, dir: string, names: readonly string[], step: OnStep): void {
  try {
    inFolder(root, dir, (folder) => {
      for (const name of names) {
        unlinkSync(join(folder, name));
        step("fact removed");
      }
    });
    anchored(root, dir, rmdirSync);
    step("folder removed");
  } catch {
    // Not empty (ENOTEMPTY): the rest of it is not ours to take away.
  }
}

/** Gives `act` a path to the folder that cannot be led elsewhere; nothing is done when it is not there. */
function inFolder(root: string, dir: string, act: (folder: string) => void): void {
  try {
    anchored(root, join(dir, "x"), (safe) => act(dirname(safe)));
  } catch (error) {
    if (errno(error) !== "ENOENT") throw error;
  }
}
