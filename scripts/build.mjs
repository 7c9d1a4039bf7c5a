// Builds dist/: the library with its types (tsc), the keeper (make), the kernel (asc), the page (vite), and the CLI as one file (rolldown).
// dist/midwatch.js comes last and whole, by rename: its time says when everything was built.
import { spawnSync } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
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

// Optional peers, installed by those who want them (src/opinion/model.ts).
const external = ["ai", /^@ai-sdk\//];
const bundle = await rolldown({ input: "src/doors/cli/main.ts", platform: "node", external, plugins: [quietSqlite] });
const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
const code = `#!/usr/bin/env node\n${output[0].code.replace(/^#!.*\n/, "")}`;
writeFileSync("dist/midwatch.js.new", code, { mode: 0o755 });
renameSync("dist/midwatch.js.new", "dist/midwatch.js");
