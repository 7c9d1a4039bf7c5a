// Builds dist/: the library with its types (tsc), the keeper (make), the kernel (asc), the page (vite), and the CLI in pieces (rolldown).
// dist/midwatch.js comes last and whole, by rename: its time says when everything was built.
import { spawnSync } from "node:child_process";
import { readdirSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
process.env.PATH = ["node_modules/.bin", process.env.PATH].join(delimiter);

/** Node 22 warns when node:sqlite is loaded. Loads it so that only this warning is swallowed. */
const quietSqlite = {
  name: "quiet-sqlite",
  resolveId: (id) => (id === "node:sqlite" ? "\0sqlite" : null),
  load: (id) =>
    id === "\0sqlite"
      ? `const emitWarning = process.emitWarning;
         process.emitWarning = () => {};
         export const { DatabaseSync, StatementSync, backup, constants } = process.getBuiltinModule("node:sqlite");
         process.emitWarning = emitWarning;`
      : null,
};

/**
 * An import of a built-in module makes all exports of it, and with them parts of Node that nobody asked for; `getBuiltinModule` does not. Of modules
 * that take milliseconds to load, functions fetch theirs when they are called.
 */
const LATE = /^node:(child_process|crypto|net|readline|readline.promises|v8|zlib)$/;
const builtins = {
  name: "builtins",
  renderChunk: (code) =>
    code.replace(/^import \{ (.*) \} from "(node:.*)";$/gm, (_, names, id) => {
      const kept = id.replace(/\W/g, "_");
      const get = `process.getBuiltinModule("${id}")`;
      const isLate = (name) =>
        LATE.test(id) && /^[a-z]/.test(name) && typeof process.getBuiltinModule(id)[name] === "function";
      const bindings = names.split(", ").map((each) => {
        const [name, local = name] = each.split(" as ");
        return `${local} = ${isLate(name) ? `(...args) => (${kept} ??= ${get}).${name}(...args)` : `${get}.${name}`}`;
      });
      return `let ${[kept, ...bindings].join(",\n  ")};`;
    }),
};

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { stdio: "inherit" });
  if (error) console.error(`${command} cannot be run (${error.code}). Next: install ${command}.`);
  if (status !== 0) process.exit(1);
}

run("tsc", "-b", "tsconfig.src.json");
run("make", "-s", "-C", "keeper");
run("asc", "--config", "kernel/asconfig.json", "--outFile", "dist/kernel.wasm.new");
renameSync("dist/kernel.wasm.new", "dist/kernel.wasm");
run("vite", "build", "--config", "web/vite.config.mjs");

// Optional peers, installed by those who want them (src/watch/opinion/model.ts, src/nats/client.ts).
const external = ["ai", /^@ai-sdk\//, /^@nats-io\//];
// Pieces, not one file: what every command may need, and what few do (servers, schemas). Their names change with their content, so a process that
// runs keeps finding its own; those of builds of other days are taken away.
const PIECE = /^cli-.*\.js$/;
/** The companion has pieces of its own, so that it loads nothing of the command line: it stays in memory for hours. */
const apart = {
  name: "companion-apart",
  resolveId: (id) => (id.endsWith("/fleet/companion.ts") ? { id: "./companion.js", external: true } : null),
};
/** `using` is younger than Node 22. */
const common = { platform: "node", external, transform: { target: "node22" } };
const bundle = await rolldown({
  ...common,
  input: "src/doors/cli/midwatch.ts",
  plugins: [apart, quietSqlite, builtins],
  checks: { ineffectiveDynamicImport: false }, // Those are for the companion's pieces.
});
const { output } = await bundle.generate({
  format: "esm",
  codeSplitting: { groups: [{ name: "main", test: /cli.main\.ts$/ }] },
  entryFileNames: "midwatch.js",
  chunkFileNames: "cli-[name]-[hash].js",
});
const companion = await rolldown({
  ...common,
  input: "src/fleet/companion.ts",
  plugins: [quietSqlite, builtins],
});
const { output: pieces } = await companion.generate({
  format: "esm",
  entryFileNames: "companion.js",
  chunkFileNames: "cli-companion-[name]-[hash].js",
});
// For other programs, without packages of its own to install; and what the library and the command line start in threads.
const library = await rolldown({
  ...common,
  input: { library: "src/index.ts", "search-worker": "src/log/search-worker.ts" },
  plugins: [quietSqlite, builtins],
  checks: { ineffectiveDynamicImport: false },
});
const { output: rooms } = await library.generate({
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "cli-library-[name]-[hash].js",
});
const others = [...output.filter(({ isEntry }) => !isEntry), ...pieces, ...rooms];
for (const { fileName, code } of others.filter(({ isEntry }) => !isEntry)) writeFileSync(join("dist", fileName), code);
for (const { fileName, code } of others.filter(({ isEntry }) => isEntry)) {
  writeFileSync(join("dist", `${fileName}.new`), code);
  renameSync(join("dist", `${fileName}.new`), join("dist", fileName));
}
const fresh = new Set(others.map(({ fileName }) => fileName));
for (const name of readdirSync("dist").filter((one) => PIECE.test(one) && !fresh.has(one)))
  if (Date.now() - statSync(join("dist", name)).mtimeMs > 24 * 3600 * 1000) unlinkSync(join("dist", name));
const [entry] = output.filter(({ isEntry }) => isEntry);
// Node takes an --env-file anywhere among the arguments for its own, up to a bare `--`. So a shell, to which the second line is a
// command, puts one before them; to Node that line is a string and a comment. What cannot run here says so in one line, in words that old Nodes know.
const HEAD = `#!/bin/sh
":" //; exec node -- "$0" "$@"
{
  const [major, minor] = process.versions.node.split(".").map(Number);
  const old = major < 22 || (major === 22 && minor < 18);
  const why = process.platform === "win32" ? "it does not run on Windows itself. Next: use it inside WSL (wsl --install)"
    : old ? "Node " + process.versions.node + " is too old. Next: install Node 22.18 or newer" : undefined;
  if (why !== undefined) {
    console.error("midwatch: " + why);
    process.exit(5);
  }
}
`;
writeFileSync("dist/midwatch.js.new", `${HEAD}${entry.code.replace(/^#!.*\n/, "")}`, { mode: 0o755 });
renameSync("dist/midwatch.js.new", "dist/midwatch.js");
