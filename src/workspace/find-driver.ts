/** The driver with a name: built in, or told of in midwatch.config.json. */
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { DRIVERS, type Driver, driverNamed, moduleDriver } from "../drivers/index.ts";
import type { Context } from "./context.ts";
import { findCommand } from "./find-command.ts";

export const DRIVER_NAMES: readonly string[] = DRIVERS.map(({ name }) => name);

/** It is one of midwatch.config.json, also under the name of a built-in one. */
export function isDeclared(context: Context, name: string): boolean {
  return Object.hasOwn(declarations(context), name);
}

export async function findDriver(context: Context, name: string): Promise<Driver> {
  const declared = declarations(context)[name];
  if (declared === undefined) return driverNamed(name);
  if (typeof declared === "string") return await moduleDriver(resolve(context.layout.root, "..", declared));
  const { declaredDriver } = await import("../drivers/declared.ts");
  return declaredDriver({ name, ...(declared as object) });
}

/** `"drivers": {"mine": {...}, "other": "./driver.ts"}` */
function declarations(context: Context): Record<string, unknown> {
  const { drivers } = context;
  if (drivers === undefined) return {};
  if (typeof drivers === "object" && drivers !== null && !Array.isArray(drivers))
    return drivers as Record<string, unknown>;
  throw new MidwatchError("BAD_CONFIG", "drivers in midwatch.config.json is not an object.", {
    hint: 'Write it as {"drivers": {"mine": {"program": "my-agent"}}}.',
  });
}

/** For a prompt without a driver's name: the first CLI that is installed. */
export function presentDriver(env: Readonly<Record<string, string | undefined>>): string {
  const found = DRIVERS.find(
    ({ program, legacy }) => program !== null && !legacy && findCommand(program, env["PATH"] ?? ""),
  );
  if (found !== undefined) return found.name;
  throw new MidwatchError("COMMAND_NOT_FOUND", "A prompt needs an agent CLI, and none was found on PATH.", {
    hint: "Install one (npm install -g @anthropic-ai/claude-code), or write a command behind --.",
  });
}
