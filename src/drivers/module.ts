/** A driver written as a module: a file whose default export is a Driver. It runs with midwatch's own rights, as configuration does. */
import { pathToFileURL } from "node:url";
import { MidwatchError } from "../core/errors.ts";
import type { Driver } from "./driver.ts";
import { isFields } from "./fields.ts";

const FUNCTIONS = ["launch", "reader", "judge"] as const;

/** A relative path is taken from the working directory. */
export async function moduleDriver(path: string): Promise<Driver> {
  let loaded: { default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    throw new MidwatchError("BAD_CONFIG", `The driver module ${path} cannot be loaded: ${why}`, {
      hint: "It must be an ES module that Node can run; a path that begins with ./ is relative to the working directory.",
      cause,
    });
  }
  const driver = loaded.default;
  const wrong = whatIsWrong(driver);
  if (wrong === null) return driver as Driver;
  throw new MidwatchError("BAD_CONFIG", `The driver module ${path} does not export a driver: ${wrong}.`, {
    hint: "It needs `export default { name, program, install, json, mcp, knownVersions, launch, reader, judge }`.",
  });
}

function whatIsWrong(driver: unknown): string | null {
  if (!isFields(driver)) return "its default export is no object";
  if (typeof driver["name"] !== "string" || !/^[a-z][a-z0-9_-]{0,31}$/.test(driver["name"])) {
    return "`name` must be lower case letters, digits, - and _";
  }
  for (const key of FUNCTIONS) if (typeof driver[key] !== "function") return `\`${key}\` must be a function`;
  if (driver["message"] !== undefined && typeof driver["message"] !== "function") return "`message` must be a function";
  for (const key of ["program", "install"]) {
    if (driver[key] !== null && typeof driver[key] !== "string") return `\`${key}\` must be text or null`;
  }
  for (const key of ["json", "mcp"]) {
    if (typeof driver[key] !== "boolean") return `\`${key}\` must be true or false`;
  }
  const versions = driver["knownVersions"];
  const listed = Array.isArray(versions) && versions.every((version) => typeof version === "string");
  return listed ? null : "`knownVersions` must be a list of texts";
}
