/** What midwatch wrote into places of the user that are not its own: services and the settings of MCP clients. doctor looks at it, uninstall takes it back. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { removeFile } from "../disk/inside.ts";
import { readText } from "../disk/replace.ts";
import { isInCache } from "../process/lasting.ts";
import { endService } from "../process/unit.ts";
import { CLIENTS, planRemoval, writeEdit } from "./mcp-clients.ts";
import { MARK, serviceFolder } from "./service.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Installed {
  what: string;
  path: string;
  /** Paths in it that lead nowhere, or into a cache. */
  stale: string[];
  /** Returns where the old file is kept, if it is. */
  remove(): string | null;
}

export function installed(env: Env): Installed[] {
  return [...services(env), ...clients(env)];
}

function services(env: Env): Installed[] {
  const folder = serviceFolder(env);
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith("midwatch-")) : [];
  return names.flatMap((name) => {
    const path = join(folder, name);
    const text = readText(path) ?? "";
    if (!text.includes(MARK)) return [];
    const command = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? /<array>(.*)<\/array>/.exec(text)?.[1] ?? "";
    // The words up to `up`, and the workspace behind it.
    const words = command.match(/"(?:[^"\\]|\\.)*"|<string>[^<]*|[^\s"<]+/g) ?? [];
    const remove = (): null => {
      endService(name);
      removeFile(folder, name);
      return null;
    };
    return [{ what: `service ${name}`, path, stale: staleIn(words.map(plain)), remove }];
  });
}

/** As systemd and launchd read it. */
function plain(word: string): string {
  const text = word.replace(/^<string>/, "").replace(/^"(.*)"$/, "$1");
  return text.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%").replaceAll("$$", "$");
}

function clients(env: Env): Installed[] {
  return CLIENTS.flatMap((name) => {
    const edit = planRemoval(name, env);
    if (edit === undefined) return [];
    // What goes with the removal is what was ours.
    const strings = (text: string): string[] => text.match(/"[^"\n]*"/g) ?? [];
    const others = new Set(strings(edit.after));
    const words = strings(edit.before).filter((word) => !others.has(word));
    const stale = staleIn(words.map((word) => word.slice(1, -1)));
    return [{ what: `MCP client ${name}`, path: edit.file, stale, remove: () => writeEdit(edit) }];
  });
}

function staleIn(words: readonly string[]): string[] {
  return words.filter((word) => isAbsolute(word) && (isInCache(word) || !exists(word)));
}

/** The workspace of a project may be gone while the project is there: `up` would make it anew. */
function exists(path: string): boolean {
  return existsSync(path) || (basename(path) === ".agent-workspace" && existsSync(dirname(path)));
}
