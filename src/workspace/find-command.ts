/** Says before anything is made that a command cannot be started. The keeper's exec has the last word all the same. */
import { accessSync, constants, type Stats, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { withoutOuterRun } from "../process/environment.ts";
import { midwatchWords } from "../process/self.ts";
import type { Context } from "./context.ts";
import { quoted } from "./own-command.ts";

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
  const found = look(cwd);
  if (found?.isDirectory() !== true)
    throw new MidwatchError(
      "BAD_PATH",
      `The working folder ${quote(cwd)} ${found === undefined ? "does not exist" : "is not a folder"}.`,
      { hint: "Make it first, or name another with --cwd." },
    );
}

/** So is an input that is not there: else a slip of the pen would leave an agent that never ran. */
export function assertInput(path: string): void {
  const found = look(path);
  if (found === undefined || found.isDirectory())
    throw new MidwatchError(
      "BAD_PATH",
      `The input ${quote(path)} ${found === undefined ? "does not exist" : "is a folder"}.`,
      { hint: "Name a file or a FIFO with --stdin." },
    );
}

function look(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function isFile(path: string): boolean {
  return look(path)?.isFile() === true;
}

function mayExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** How midwatch is called from a shell, of whoever and wherever. */
export function midwatchCommand(context: Context): string {
  if (findCommand("midwatch", withoutOuterRun(context.env)["PATH"] ?? "") !== undefined) return "midwatch";
  return midwatchWords([]).map(quoted).join(" ");
}
