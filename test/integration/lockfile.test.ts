import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

type Package = { optional?: boolean; resolved?: string; optionalDependencies?: Record<string, string> };

const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
  packages: Record<string, Package>;
};

/** Where Node would find `name` for the package at `from`: its own node_modules, then each folder upward. */
function resolve(from: string, name: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (lock.packages[path]) return path;
    if (at === "") return undefined;
  }
}

// npm leaves a platform's package out of the lock when the registry does not have it, and then `npm ci` fails.
it("the lock has every platform's packages", () => {
  const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !resolve(path, name))
      .map((name) => `${path} needs ${name}`),
  );
  expect(missing).toEqual([]);
});

it("the lock names no registry", () => {
  expect(Object.keys(lock.packages).filter((path) => lock.packages[path]?.resolved)).toEqual([]);
});
