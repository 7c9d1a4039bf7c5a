/** A machine that has never seen midwatch: an empty HOME, one Node with npm, the usual small programs, no compiler, and a registry of files. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";

/** What an agent and npm may call. Compilers and make are not among them. */
const PROGRAMS = [
  ...["sh", "bash", "env", "cat", "sed", "grep", "sleep", "seq", "setsid", "printf", "head", "tail", "tr", "ps", "git"],
  ...["mkdir", "ln", "rm", "cp", "readlink", "dirname", "basename", "uname", "touch", "true", "kill", "id"],
];

export interface Done {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Machine {
  home: string;
  /** The prefix of `npm install -g`. */
  prefix: string;
  env: NodeJS.ProcessEnv;
  run(command: string, args: readonly string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }): Promise<Done>;
  /** As a person would type it: by its name. */
  midwatch(cwd: string, ...args: string[]): Promise<Done>;
}

export function machine(node: string, registry: string): Machine {
  // `folder` is below the temporary folder, and an agent of one test must not find the workspace of another.
  const home = folder();
  const [bin, prefix] = [join(home, "bin"), join(home, "prefix")];
  for (const path of [bin, join(prefix, "lib")]) mkdirSync(path, { recursive: true });
  for (const program of PROGRAMS) {
    const path = ["/usr/bin", "/bin"].map((place) => join(place, program)).find((one) => existsSync(one));
    if (path !== undefined) symlinkSync(path, join(bin, program));
  }
  symlinkSync(node, join(bin, "node"));
  const npm = dirname(realpathSync(execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim()));
  for (const name of ["npm", "npx"])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec "${node}" "${join(npm, `${name}-cli.js`)}" "$@"\n`, {
      mode: 0o755,
    });
  const env: NodeJS.ProcessEnv = {
    PATH: `${join(prefix, "bin")}:${bin}`,
    HOME: home,
    LANG: "C.UTF-8",
    npm_config_registry: registry,
    npm_config_prefix: prefix,
    npm_config_ignore_scripts: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    npm_config_globalconfig: join(home, "no-npmrc"),
  };
  const run: Machine["run"] = (command, args, options = {}) => spawned(command, args, { cwd: home, env, ...options });
  return { home, prefix, env, run, midwatch: (cwd, ...args) => run("midwatch", args, { cwd }) };
}

async function spawned(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), patient(120_000));
  const all = async (stream: NodeJS.ReadableStream): Promise<string> => {
    let text = "";
    for await (const part of stream.setEncoding("utf8")) text += part;
    return text;
  };
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, all(child.stdout), all(child.stderr)]).finally(() =>
    clearTimeout(timer),
  );
  return { code, stdout, stderr };
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** `npm run pack` into a folder: with the keepers of these platforms, or of all four. */
export function pack(to: string, platforms: readonly string[] = [], version?: string): string[] {
  const flags = platforms.flatMap((platform) => ["--platform", platform]);
  if (version !== undefined) flags.push("--as", version);
  const args = [join(ROOT, "scripts/run.mjs"), "scripts/pack.mjs", "--to", to, ...flags];
  const packed = execFileSync(process.execPath, args, {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: patient(600_000),
  });
  return packed.trim().split("\n");
}

/** Packages that are installed in this tree, packed again, with those that they need: older releases of midwatch install them. */
export function packInstalled(to: string, names: readonly string[]): void {
  const packed = new Set<string>();
  const add = (name: string): void => {
    if (packed.has(name)) return;
    packed.add(name);
    const folder = join(ROOT, "node_modules", name);
    const file = join(to, `${name.replace("@", "").replace("/", "-")}.tgz`);
    execFileSync("tar", [
      "-czf",
      file,
      "--transform",
      "s,^[.],package,",
      "--exclude",
      "./node_modules",
      "-C",
      folder,
      ".",
    ]);
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
    };
    for (const below of Object.keys(dependencies)) add(below);
  };
  for (const name of names) add(name);
}
