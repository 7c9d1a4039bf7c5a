/** The ledger of spend under faults: its writers are killed, its disk is full, its file is damaged. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { Ledger } from "../../src/spend/ledger.ts";
import { mayMount, tmpfs } from "../support/fault/tmpfs.ts";
import { folder } from "../support/folder.ts";
import { patient } from "../support/patience.ts";
import { supportFile } from "../support/workspace.ts";

const WORKER = supportFile("worker/ledger-worker.ts");
const RUNS = 3;
const WORDS = 100_000;

/** Killed in the middle of its words; gives the last word that it said was recorded. */
async function killed(path: string, name: string, after: number): Promise<number> {
  const child: ChildProcess = fork(WORKER, [path, name, String(RUNS), String(WORDS)]);
  let last = 0;
  const reached = new Promise<void>((resolve) => {
    child.on("message", (word) => {
      last = Number(word);
      if (last >= after) resolve();
    });
  });
  await reached;
  child.kill("SIGKILL");
  await once(child, "exit");
  return last;
}

it(
  "R-004.7: four writers that are killed with kill -9 lose nothing that they had recorded, and the sums hold together",
  async () => {
    const path = join(folder(), "spend.db");
    for (let round = 1; round <= 3; round++) {
      const last = await Promise.all([10, 17, 31, 44].map((after, n) => killed(path, `w${n}`, after * round)));
      const ledger = new Ledger(() => path);
      for (const [n, word] of last.entries()) {
        for (const { of, tokens, usd } of ledger.sums({ workspace: `w${n}` }, "agent")) {
          // A word is one transaction: it is there whole, with all words before it, or it is not.
          expect(tokens.input, of).toBeGreaterThanOrEqual(word * 10);
          expect(tokens.output * 10, of).toBe(tokens.input);
          expect(usd, of).toBeCloseTo(tokens.output / 1000, 9);
        }
        expect(ledger.sums({ workspace: `w${n}` }, "agent")).toHaveLength(RUNS);
      }
      // The run that all of them told of has come as far as the last of them.
      expect(ledger.spent({ workspace: "shared" }).tokens.output).toBeGreaterThanOrEqual(Math.max(...last));
      ledger.close();
    }
  },
  patient(60_000),
);

it.runIf(mayMount)(
  "R-004.18: on a full disk agents end and are cleaned up; what they cost is taken up when there is room",
  async () => {
    const disk = tmpfs("size=2m");
    const env = { ...process.env, XDG_STATE_HOME: disk };
    const place = folder();
    const workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, env, cwd: place });
    const line = JSON.stringify({
      type: "result",
      subtype: "success",
      result: "Done.",
      total_cost_usd: 0.5,
      modelUsage: MODEL_USAGE,
    });
    const bin = folder();
    writeFileSync(join(bin, "claude"), `#!/bin/sh\ncat > /dev/null\necho '${line}'\n`, { mode: 0o755 });
    const again = openWorkspace({
      workspace: join(place, ".agent-workspace"),
      env: { ...env, PATH: `${bin}:${process.env["PATH"]}` },
      cwd: place,
    });
    const run = async (): Promise<void> => {
      const { agent } = await again.runs.start({ driver: "claude", prompt: "Mend the parser" });
      const [shown] = await again.runs.wait([agent]);
      expect(shown).toMatchObject({ outcome: "completed", cost_usd: 0.5, cleanup_failures: [] });
    };
    await run();
    const filler = join(disk, "filler");
    fill(filler);
    for (let n = 0; n < 30; n++) await run();
    const told =
      readFileSync(join(workspace.root, "events.log"), "utf8").match(/What agents cost cannot be recorded/g) ?? [];
    expect(told.length).toBeGreaterThan(0);
    // The question is answered all the same.
    expect(again.verdicts.cost().at(-1)).toMatchObject({ runs: 31, cost_usd: 15.5 });
    rmSync(filler);
    expect(again.verdicts.cost().at(-1)).toMatchObject({ runs: 31, cost_usd: 15.5 });
    const ledger = new Ledger(() => join(disk, "midwatch", "spend.db"));
    expect(ledger.spent({})).toMatchObject({ runs: 31, usd: 15.5, estimated_usd: 0 });
    ledger.close();
    again.close();
    workspace.close();
  },
  patient(120_000),
);

it(
  "R-004.23: a file that is damaged while it is used, however large, is put aside by one of its writers and begun anew",
  async () => {
    const path = join(folder(), "spend.db");
    const aside: string[] = [];
    const open = (): Ledger =>
      new Ledger(
        () => path,
        (where) => aside.push(where),
      );
    const ledger = open();
    const workspace = { id: "w", project: "/p" };
    const word = (agent: string, n: number) => {
      const tokens = { input: n, output: 0, cache_read: 0, cache_write: 0 };
      const parts = [{ model: "m".repeat(3000), tokens, usd: n, estimated: true }];
      return { workspace, task: "T", agent, run: 1, labels: [], parts, told_usd: null, final: false };
    };
    // More than is checked whole at each opening.
    const many = Array.from({ length: 4000 }, (_, n) => ({ totals: word(`a${n}`, 1), atMs: n * 60_000 }));
    ledger.recordAll(many);
    ledger.close();
    const size = readFileSync(path).length;
    expect(size).toBeGreaterThan(16 << 20);
    const fd = openSync(path, "r+");
    for (let at = 64 << 10; at < size; at += 64 << 10) writeSync(fd, Buffer.alloc(8192, 7), 0, 8192, at);
    closeSync(fd);
    const [one, two] = [open(), open()];
    // Whoever reads all of it meets the damage.
    expect([one.spent({}).usd, two.spent({}).usd]).toEqual([0, 0]);
    expect(one.record(word("b", 1))).toBe(true);
    expect(two.record(word("c", 2))).toBe(true);
    expect(one.spent({})).toMatchObject({ runs: 2, usd: 3 });
    expect(aside).toHaveLength(1);
    one.close();
    two.close();
  },
  patient(60_000),
);

const MODEL_USAGE = { "claude-opus-4-5": { inputTokens: 100, outputTokens: 10, costUSD: 0.5 } };

function fill(path: string): void {
  const fd = openSync(path, "w");
  try {
    for (const size of [64 << 10, 4096, 1]) {
      const piece = Buffer.alloc(size, 1);
      try {
        for (;;) writeSync(fd, piece);
      } catch {
        // Full: that is what was asked for.
      }
    }
  } finally {
    closeSync(fd);
  }
}
