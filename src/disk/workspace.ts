/** Finding, making and checking a workspace: the folder `.agent-workspace` that holds everything of a project. */
import { closeSync, constants, lstatSync, openSync, readdirSync, realpathSync, unlinkSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { diskFault, errno } from "./fault.ts";
import { makeFolder } from "./inside.ts";
import { makeFolders } from "./make-folders.ts";
import { createExclusive } from "./replace.ts";

const WORKSPACE_NAME = ".agent-workspace";

export interface WorkspaceQuery {
  /** `--workspace DIR`. */
  explicit?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

/** The workspace to use: the explicit one, else MIDWATCH_WORKSPACE, else the nearest upward. Throws when there is none. */
export function findWorkspace(query: WorkspaceQuery): string {
  const named = query.explicit ?? nonEmpty(query.env["MIDWATCH_WORKSPACE"]);
  const found = named === undefined ? nearestUpward(query.cwd) : existing(resolve(query.cwd, named));
  if (found !== undefined) return found;
  const where = named === undefined ? `in ${query.cwd} or any folder above it` : `at ${resolve(query.cwd, named)}`;
  throw new MidwatchError("NOT_FOUND_WORKSPACE", `There is no workspace ${where}.`, {
    hint: 'Start an agent with `midwatch run "..."` to make one, or point to one with --workspace DIR.',
  });
}

/** As findWorkspace, but makes the workspace (below `cwd`, or at the place named) when there is none. `check` as in `makeWorkspace`. */
export function findOrMakeWorkspace(query: WorkspaceQuery, check: (root: string) => void = () => undefined): string {
  const named = query.explicit ?? nonEmpty(query.env["MIDWATCH_WORKSPACE"]);
  const wanted = named === undefined ? undefined : resolve(query.cwd, named);
  const found = wanted === undefined ? nearestUpward(query.cwd) : existing(wanted);
  return makeWorkspace(found ?? wanted ?? join(query.cwd, WORKSPACE_NAME), check);
}

/** Makes what is missing of a workspace and proves that it can be written. Returns its real path. One that is there is checked first. */
export function makeWorkspace(path: string, check: (root: string) => void = () => undefined): string {
  refuseForeignFolder(path);
  if (kind(path) === "folder") check(real(path));
  makeFolders(path);
  const root = real(path);
  makeFolder(root, "active");
  // Exclusive, so that a line someone added is kept.
  createExclusive(join(root, ".gitignore"), "*\n");
  assertWritable(root);
  return root;
}

/** Creates and removes a file: modes and mount flags do not tell the truth for root, quotas and read-only mounts. */
export function assertWritable(root: string): void {
  const probe = join(root, `.write-test.${process.pid}.${Date.now().toString(36)}`);
  try {
    closeSync(openSync(probe, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600));
    unlinkSync(probe);
  } catch (error) {
    throw diskFault(error, root);
  }
}

function nearestUpward(cwd: string): string | undefined {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const candidate = join(at, WORKSPACE_NAME);
    if (kind(candidate) !== "missing") return real(candidate);
    if (at === dirname(at)) return undefined;
  }
}

/** A project folder may be named instead of the workspace in it. */
function existing(path: string): string | undefined {
  const inner = join(path, WORKSPACE_NAME);
  if (basename(path) !== WORKSPACE_NAME && kind(inner) === "folder") return real(inner);
  return kind(path) === "missing" ? undefined : real(path);
}

/** Links above the workspace are the user's own business and resolved once; the workspace itself must be a real folder. */
function real(path: string): string {
  if (kind(path) !== "folder") {
    throw new MidwatchError("UNSAFE_PATH", `The workspace ${path} is a symbolic link or not a folder.`, {
      hint: "Use the folder itself: --workspace DIR.",
      data: { path },
    });
  }
  return join(realpathSync(dirname(path)), basename(path));
}

/** A workspace gets a .gitignore of `*`: never put that into somebody's project by a mistyped --workspace. */
function refuseForeignFolder(path: string): void {
  if (basename(path) === WORKSPACE_NAME || kind(path) !== "folder") return;
  const names = readdirSync(path);
  if (names.length === 0 || names.includes("active") || names.includes("midwatch.db")) return;
  throw new MidwatchError("BAD_PATH", `${path} has other files in it and is not a workspace.`, {
    hint: `Name a new or empty folder, for example ${join(path, WORKSPACE_NAME)}.`,
  });
}

/** The workspace in which a file of this name lies, or would. */
export function workspaceAround(path: string): string | undefined {
  let at = path;
  while (kind(at) === "missing" && at !== dirname(at)) at = dirname(at);
  for (at = realpathSync(at); at !== dirname(at); at = dirname(at))
    if (
      basename(at) === WORKSPACE_NAME ||
      (kind(join(at, "workspace.json")) !== "missing" && kind(join(at, "active")) === "folder")
    )
      return at;
  return undefined;
}

function kind(path: string): "missing" | "folder" | "other" {
  try {
    return lstatSync(path).isDirectory() ? "folder" : "other";
  } catch (error) {
    if (errno(error) === "ENOENT" || errno(error) === "ENOTDIR") return "missing";
    throw diskFault(error, path);
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
