/**
 * An agent that wants midwatch to delete, move or overwrite files elsewhere: links, hard links, swaps while it works, paths in facts, and
 * things that make a reader wait for ever. Outside lies a copy of everything by the same names; no byte, mode, time or name of it may
 * ever change.
 */
import { once } from "node:events";
import { cpSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { MidwatchError } from "../../src/core/errors.ts";
import type { RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { pick, random } from "../support/data/random.ts";
import { snapshot } from "../support/data/snapshot.ts";
import { makeFifo } from "../support/fault/fifo.ts";
import { patient } from "../support/patience.ts";
import { Lab, supportFile, text } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

interface Scene {
  root: string;
  outside: string;
  record: RunRecord;
  /** Below the workspace and, by the same name, outside. */
  task: string;
}

type Operation = "purge" | "archive" | "restore" | "prune" | "undo" | "reap" | "list";
const OPERATIONS: readonly Operation[] = ["purge", "archive", "restore", "prune", "undo", "reap", "list"];
const SLOW_MS = patient(20_000);

/** What can be swapped, as paths below the task's folder; the last three are beside it. */
function places({ record }: Scene): string[] {
  const { agent } = record;
  return [
    ...["logs", "archive", "runs", "progress", "", `runs/${agent}`, `runs/${agent}/1`, `summaries/${agent}`],
    ...[
      `logs/${agent}_stream.jsonl`,
      `logs/${agent}_stderr.log`,
      `logs/${agent}_stream.idx`,
      `logs/deploy_${agent}.json`,
    ],
    ...[
      `agent_prompt_${agent}.txt`,
      `progress/${agent}_progress.jsonl`,
      `runs/${agent}/1/cleanup.json`,
      "AGENT_REGISTRY.json",
    ],
    ...[
      `archive/${agent}_stream.1.jsonl.zst`,
      `archive/${agent}_stream.1.jsonl.zst.part`,
      `logs/${agent}_stream.jsonl.part`,
    ],
    ...["../trash", "../events.log", "../active"],
  ];
}

export function pathAttacks(count: number, seed = 1): Promise<Report> {
  return campaign("path attacks", count, seed, async (fail, figures) => {
    const next = random(seed);
    const lab = new Lab();
    const swapper = lab.node(supportFile("fault/swapper.ts"));
    await once(swapper, "message");
    const ask = async (message: object | string): Promise<void> => {
      const answered = once(swapper, "message");
      swapper.send(message);
      await answered;
    };
    try {
      const { scene, templates } = await prepare(lab);
      const whole = snapshot(scene.outside);
      const seen: Record<string, number> = {};
      for (const round of rounds(count)) {
        const operation = pick(next, OPERATIONS);
        reset(scene, operation === "restore" ? templates.archived : templates.plain);
        using workspace = lab.open();
        workspace.rebuild();
        if (operation === "undo") await workspace.files.prune({ olderMs: 0 });
        const { name, swap } = attack(scene, next);
        if (swap !== undefined) await ask(swap);
        const begun = performance.now();
        const what = await attempt(workspace, operation, scene.record.agent);
        if (performance.now() - begun > SLOW_MS)
          fail(`round ${round} of seed ${seed}: ${operation} under ${name} took too long`);
        if (swap !== undefined) await ask("end");
        const tally = what.startsWith("fault") ? "fault" : what;
        seen[`${operation}: ${tally}`] = (seen[`${operation}: ${tally}`] ?? 0) + 1;
        if (what.startsWith("fault")) fail(`round ${round} of seed ${seed}: ${operation} under ${name}: ${what}`);
        const touched = difference(whole, snapshot(scene.outside));
        if (touched.length > 0) {
          fail(`round ${round} of seed ${seed}: ${operation} under ${name} touched ${touched.join(", ")}`);
          rebuildOutside(scene, templates.archived, templates.plain);
          Object.assign(whole, snapshot(scene.outside));
        }
      }
      Object.assign(figures, seen);
    } finally {
      rmSync(join(lab.root, "active"), { recursive: true, force: true });
      mkdirSync(join(lab.root, "active"));
      await lab.end();
    }
  });
}

/** One agent that has ended, with every file that an agent can have; copies of it are attacked. */
async function prepare(lab: Lab): Promise<{ scene: Scene; templates: { plain: string; archived: string } }> {
  const argv = ["sh", "-c", "seq 1 3000; echo oops >&2"];
  const record = await lab.workspace.runs.start({ argv, prompt: "p" });
  await lab.workspace.runs.wait([record.agent]);
  lab.workspace.mail.progress(record.agent, "completed", "done");
  const task = join(lab.root, record.task);
  mkdirSync(join(task, "summaries", record.agent), { recursive: true });
  writeFileSync(join(task, "summaries", record.agent, "latest_summary.json"), "{}\n");
  writeFileSync(join(task, `agent_prompt_${record.agent}.txt`), "as if its keeper had been killed\n");
  const templates = { plain: join(lab.folder, "plain"), archived: join(lab.folder, "archived") };
  cpSync(task, templates.plain, { recursive: true });
  await lab.workspace.files.archive(record.agent);
  cpSync(task, templates.archived, { recursive: true });
  const scene = { root: lab.root, outside: join(lab.folder, "outside"), record, task };
  rebuildOutside(scene, templates.archived, templates.plain);
  return { scene, templates };
}

/** Every name that midwatch could reach for, plain and archived. */
function rebuildOutside({ outside, record }: Scene, ...templates: string[]): void {
  rmSync(outside, { recursive: true, force: true });
  for (const template of templates) cpSync(template, outside, { recursive: true });
  for (const name of ["trash", "active"]) mkdirSync(join(outside, name));
  writeFileSync(join(outside, "events.log"), "not yours\n");
  writeFileSync(join(outside, "active", `${record.agent}.1`), "not yours\n");
  cpSync(templates[0] as string, join(outside, record.task), { recursive: true });
}

function reset({ root, task, record }: Scene, template: string): void {
  for (const name of readdirSync(root))
    if (name.startsWith(basename(task)) || /^(trash|active|events\.log)/.test(name))
      rmSync(join(root, name), { recursive: true, force: true });
  mkdirSync(join(root, "active"), { mode: 0o700 });
  writeFileSync(join(root, "active", `${record.agent}.1`), `${record.task}/runs/${record.agent}/1\n`);
  cpSync(template, task, { recursive: true });
}

interface Attack {
  name: string;
  /** Done by the other process while midwatch works. */
  swap?: { path: string; target: string };
}

function attack(scene: Scene, next: () => number): Attack {
  const { root, task, outside, record } = scene;
  const place = pick(next, places(scene));
  const path = join(task, place);
  const target = join(outside, place.replace("../", ""));
  const kind = pick(next, ["swap", "swap", "link", "hard link", "paths", "fifo", "folder"] as const);
  const name = `${kind} of ${place || "the task"}`;
  if (kind === "swap") return { name, swap: { path, target } };
  if (kind === "paths") {
    badPaths(scene, next);
    return { name: "paths in facts" };
  }
  rmSync(path, { recursive: true, force: true });
  if (!existsSync(join(path, ".."))) return { name: "nothing" };
  if (kind === "link") symlinkSync(target, path);
  else if (kind === "folder") mkdirSync(join(path, "deep", "er"), { recursive: true });
  else if (kind === "fifo") makeFifo(path);
  else if (existsSync(target) && isFile(target)) linkSync(target, path);
  else symlinkSync(join(outside, "runs", record.agent), path);
  if (!existsSync(root)) throw new Error("the workspace itself is gone");
  return { name };
}

function isFile(path: string): boolean {
  return text(path) !== "" || path.endsWith(".log");
}

/** Facts that name other places: `..`, absolute, and another agent's names. */
function badPaths({ root, task, outside, record }: Scene, next: () => number): void {
  const { agent } = record;
  const evil = pick(next, ["../../outside", outside, `../${agent}`, "..", "/", `${task}/../../outside`]);
  const run = join(task, "runs", agent, "1");
  const change = (path: string, more: object): void => {
    if (existsSync(path)) writeFileSync(path, JSON.stringify({ ...(JSON.parse(text(path)) as object), ...more }));
  };
  const victims = [`${outside}/logs/${agent}_stream.jsonl`, `${outside}/runs/${agent}/1`, outside];
  const files = victims.map((path) => ({ path, action: "kept", bytes: 1, sha256: null, error: null }));
  const failures = victims.map((path) => ({ path, step: "delete", error: "x", tries: 1, since: "", at: "" }));
  change(join(task, "task.json"), { task: evil });
  if (next() < 0.5)
    change(join(run, "intent.json"), pick(next, [{ agent: evil }, { task: evil }, { worktree: outside }, { run: 7 }]));
  change(join(run, "cleanup.json"), { files, failures });
  change(join(run, "done.json"), { removed: victims.map((path) => ({ path, bytes: 1 })) });
  writeFileSync(join(root, "active", `${agent}.1`), `${evil}/runs/${agent}/1\n`);
  for (const item of existsSync(join(root, "trash")) ? readdirSync(join(root, "trash")) : [])
    change(join(root, "trash", item, "manifest.json"), {
      task: evil,
      agent: evil,
      agents: [evil],
      task_fact: { task: evil },
    });
}

/** What came of it. Our own refusal is as good as success; anything unforeseen is a fault. */
async function attempt(workspace: Workspace, operation: Operation, agent: string): Promise<string> {
  const acts: Record<Operation, () => Promise<unknown>> = {
    purge: () => workspace.runs.stop([agent], { purge: true, graceMs: 0 }),
    archive: () => workspace.files.archive(agent),
    restore: () => workspace.files.restore(agent),
    prune: () => workspace.files.prune({ olderMs: 0 }),
    undo: () => workspace.files.undoPrune(),
    reap: () => workspace.runs.reap(),
    list: () => workspace.runs.list({ all: true }),
  };
  try {
    await acts[operation]();
    return "done";
  } catch (error) {
    if (error instanceof MidwatchError && error.code !== "INTERNAL") return error.code;
    return `fault: ${error instanceof Error ? error.stack : error}`;
  }
}

function difference(before: Record<string, string>, after: Record<string, string>): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]);
}
