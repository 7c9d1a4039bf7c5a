// docs/library.md: each TypeScript block is a whole program. All are checked by the compiler; each runs in a project of its own, with midwatch
// installed as users have it, and prints what the page says.
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf } from "../support/left.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { CLI, Lab } from "../support/workspace.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const COMPILER = {
  target: "es2024",
  module: "nodenext",
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [join(REPOSITORY, "node_modules", "@types")],
};

const blocks = readFileSync(join(REPOSITORY, "docs", "library.md"), "utf8")
  .split(/^## /m)
  .flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, source = ""], i) => ({
      name: `${section.slice(0, section.indexOf("\n")).toLowerCase().replace(/\W+/g, "-")}-${i + 1}`,
      source,
      expected: [...source.matchAll(/\/\/ → (.*)$/gm)].map(([, line = ""]) => line),
    })),
  );

/** "…" stands for what differs from run to run. */
function fits(line: string, expected = ""): boolean {
  const parts = expected.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".+")}$`).test(line);
}

describe("docs/library.md", () => {
  let folder = "";
  let compiled = "";

  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-library-")));
    mkdirSync(join(folder, "node_modules", ".bin"), { recursive: true });
    symlinkSync(REPOSITORY, join(folder, "node_modules", "midwatch"));
    symlinkSync(CLI, join(folder, "node_modules", ".bin", "midwatch"));
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER }));
    for (const { name, source } of blocks) writeFileSync(join(folder, `${name}.ts`), source);
    compiled = spawnSync(join(REPOSITORY, "node_modules", ".bin", "tsc"), ["-p", folder], { encoding: "utf8" }).stdout;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 }));

  it("has programs that the compiler takes", () => {
    expect(blocks.length).toBeGreaterThan(0);
    expect(compiled).toBe("");
  });

  for (const { name, source, expected } of blocks) {
    const needsHub = source.includes("NATS_URL");
    it.skipIf(needsHub && !hasNats("current"))(`${name} prints what the page says`, async () => {
      await using hub = needsHub ? await NatsServer.start() : undefined;
      const project = join(folder, "projects", name);
      mkdirSync(project, { recursive: true });
      const PATH = [join(folder, "node_modules", ".bin"), process.env["PATH"]].join(delimiter);
      const options = { cwd: project, env: { ...process.env, PATH, NATS_URL: hub?.url }, timeout: patient(60_000) };
      try {
        const { stdout } = await promisify(execFile)(process.execPath, [join(folder, `${name}.js`)], options);
        const lines = stdout.split("\n").slice(0, -1);
        expect(lines.map((line, i) => (fits(line, expected[i]) ? expected[i] : line))).toEqual(expected);
      } finally {
        await new Lab({}, project).end();
        for (const pid of processesOf(project)) process.kill(Number(pid), "SIGKILL"); // Of a program that was cut short.
      }
    });
  }
});
