/** The driver with a name: built in, or told of in midwatch.config.json. */
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
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
  if (declared === undefined) return isUntrusted(context, name) ? refuse(context, name) : driverNamed(name);
  if (typeof declared === "string") {
    const path = resolve(context.layout.root, "..", declared);
    // The configuration was trusted with the module as it was then.
    return context.trust.config.trustsModule(path) ? await moduleDriver(path) : refuse(context, name);
  }
  const { declaredDriver } = await import("../drivers/declared.ts");
  return declaredDriver({ name, ...(declared as object) });
}

/** Declared, in a file that nobody trusted. */
function isUntrusted({ trust: { config } }: Context, name: string): boolean {
  const { drivers } = (config.trusted ? {} : (config.value ?? {})) as { drivers?: Record<string, unknown> };
  return Object.hasOwn(drivers ?? {}, name);
}

function refuse({ trust }: Context, name: string): never {
  throw new MidwatchError("REFUSED_TRUST", `The driver ${quote(name)} runs code that nobody trusted as it is now.`, {
    hint: `Read ${trust.config.path} and what it names, then: midwatch trust`,
  });
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
