/** Which NATS servers this machine has for tests: on PATH, or in the cache that scripts/nats-server.mjs fills. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { patient } from "../patience.ts";

export const OLD_NATS = "nats-server 2.9";

export function natsFolder(version = ""): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "midwatch", "nats", version);
}

/** The program of a server that midwatch works with, or of one that it refuses. */
export function findNats(which: "current" | "old"): string | undefined {
  const cached = existsSync(natsFolder()) ? readdirSync(natsFolder()).map((name) => natsFolder(name)) : [];
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", ...cached];
  return folders
    .map((folder) => join(folder, "nats-server"))
    .find((path) => existsSync(path) && isCurrent(path) === (which === "current"));
}

function isCurrent(path: string): boolean | undefined {
  const known = versions.get(path) ?? execFileSync(path, ["--version"], { encoding: "utf8", timeout: patient(10_000) });
  versions.set(path, known);
  const [, major = "", minor = ""] = /v(\d+)\.(\d+)\./.exec(known) ?? [];
  return major === "" ? undefined : Number(major) > 2 || Number(minor) >= 12;
}
const versions = new Map<string, string>();

/** Says so loudly when it is missing: a test that was skipped proves nothing. */
export function hasNats(which: "current" | "old"): boolean {
  const has = findNats(which) !== undefined;
  if (!has) {
    const what = which === "old" ? OLD_NATS : "nats-server 2.12 or newer";
    console.warn(`SKIPPED: ${what} is not here. Next: node scripts/nats-server.mjs`);
  }
  return has;
}
