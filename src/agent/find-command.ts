/** Says before anything is made that a command cannot be started. The keeper's exec has the last word all the same. */
import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";

/** Where a program is: on PATH, or at the place its name tells. */
export function findCommand(program: string, path: string): string | undefined {
  const places = program.includes("/") ? [program] : path.split(":").map((part) => join(part || ".", program));
  return places.find((file) => isFile(file) && mayExecute(file));
}

export function assertCommand(command: string, cwd: string, path: string): void {
  if (command === "" || command.includes("\0")) {
    throw new MidwatchError("USAGE", `${quote(command)} is not a command.`, {
      hint: "Write it behind --: midwatch run -- make test",
    });
  }
  const places = command.includes("/")
    ? [resolve(cwd, command)]
    : path.split(":").map((part) => join(part || cwd, command));
  const files = places.filter((place) => isFile(place));
  if (files.some((file) => mayExecute(file))) return;
  const first = files[0];
  throw new MidwatchError(
    "COMMAND_NOT_FOUND",
    first
      ? `${first} cannot be executed: it has no execute permission.`
      : `The command ${quote(command)} was not found.`,
    {
      hint: first
        ? `Try chmod +x ${first}, or run it with its interpreter.`
        : "Check the spelling, or give its full path.",
    },
  );
}

/** A working folder that is not there, or not a folder, is named before anything is made. */
export function assertFolder(cwd: string): void {
  let found: boolean;
  try {
    found = statSync(cwd).isDirectory();
  } catch {
    found = false;
  }
  if (!found)
    throw new MidwatchError("BAD_PATH", `The working folder ${quote(cwd)} does not exist.`, {
      hint: "Make it first, or name another with --cwd.",
    });
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function mayExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
