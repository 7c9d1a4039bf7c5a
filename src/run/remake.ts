/**
 * A run's folder was deleted when its keeper was dead already, so nobody made it again. While processes of the run live, its facts
 * are made from its row: then it is seen as lost, can be adopted, and a stop ends it. What the row does not know stays unknown.
 */

import { existsSync } from "node:fs";
import type { IntentFact } from "../core/intent.ts";
import { argument, listOf, name, type Shape } from "../core/shape/shape.ts";
import { iso } from "../core/time.ts";
import type { ClaimFact, StartFact } from "../core/types.ts";
import { errno, unsafe } from "../disk/fault.ts";
import { makeFolder } from "../disk/inside.ts";
import { readJson } from "../disk/replace.ts";
import { createInside, replaceInside } from "../disk/write-inside.ts";
import { type Facts, readFacts } from "../facts/facts.ts";
import { hasKeeper, host } from "../process/identity.ts";
import { type Scanned, scanMembers } from "../process/keeper.ts";
import type { Listed } from "../registry/registry.ts";
import { type Context, withReader } from "../workspace/context.ts";
import { boundsOf } from "./launch-plan.ts";

const DEPLOY: Shape = { argv: listOf(argument), cwd: name };

/** False when nothing of it lives, or a keeper that will make the folder again does; undefined when the look itself failed. */
export function remakeFacts(context: Context, listed: Listed): boolean | undefined {
  const { agent, run: row } = listed;
  const { layout, config } = context;
  const paths = layout.run(agent.task, agent.id, row.run);
  if (hasKeeper(`${agent.id}.${row.run}`)) return false;
  const [look] = scanMembers(layout.root, [{ nonce: row.nonce, dir: paths.dir }], config.scan_timeout);
  const members = look?.members;
  if (!members) return undefined;
  const known = readFacts(paths);
  // What had a keeper that is gone can be taken over, and proven to be over, also when nothing lives.
  if (members.length === 0 && known.claim?.by !== "keeper" && known.damaged.length === 0) return false;
  try {
    return writeFacts(context, listed, known, members);
  } catch (error) {
    if (errno(error) === "ENOENT") throw unsafe(paths.dir, "is being removed while it is made");
    throw error;
  }
}

function writeFacts(context: Context, listed: Listed, known: Facts, members: readonly Scanned[]): true {
  const { agent, run: row } = listed;
  const { root } = context.layout;
  const paths = context.layout.run(agent.task, agent.id, row.run);
  makeFolder(root, paths.dir);
  // The claim first: without it whoever looks would give the run up. The intent last: with it, it is adopted.
  const claim: ClaimFact = {
    by: "keeper",
    pid: row.keeper_pid ?? 0,
    start_ticks: Math.min(Number.MAX_SAFE_INTEGER, ...members.map(({ start_ticks }) => start_ticks)), // Nothing before it is a member.
    nonce: row.nonce,
    at: iso(),
  };
  if (!known.claim && existsSync(paths.claim)) replaceInside(root, paths.claim, `${JSON.stringify(claim)}\n`);
  else if (!known.claim && !createInside(root, paths.claim, `${JSON.stringify(claim)}\n`)) return true;
  const main = members.find(({ pid }) => pid === row.pid);
  if (main && !known.start) replaceInside(root, paths.start, `${JSON.stringify(startFact(listed, main))}\n`);
  remakeTask(context, agent.task);
  replaceInside(root, paths.intent, `${JSON.stringify(intentFact(context, listed))}\n`);
  return true;
}

function remakeTask(context: Context, task: Listed["agent"]["task"]): void {
  const row = withReader(context, (registry) => registry.task(task));
  if (row) createInside(context.layout.root, context.layout.task(task).fact, `${JSON.stringify(row.data, null, 1)}\n`);
}

function startFact({ run }: Listed, { pid, start_ticks }: Scanned): StartFact {
  return {
    v: 1,
    keeper: { pid: run.keeper_pid ?? 0, start_ticks: 0 },
    main: { pid, start_ticks },
    ...host(),
    guarantee: run.guarantee ?? "scan",
    cgroup: null, // A keeper finds it by the nonce.
    tmpdir: null,
    started_at: run.started_at ?? run.created_at,
    exec_error: null,
  };
}

function intentFact({ config, layout }: Context, { agent, run }: Listed): IntentFact {
  const { id, created_at: _, ...of } = agent;
  const deploy = readJson<Pick<IntentFact, "argv" | "cwd">>(layout.agent(agent.task, id).deploy, {
    shape: DEPLOY,
  }).value;
  return {
    v: 1,
    agent: id,
    run: run.run,
    nonce: run.nonce,
    ...host(),
    created_at: run.created_at,
    created_mono_ms: run.created_mono_ms ?? 0,
    ...of,
    argv: deploy?.argv ?? [],
    cwd: deploy?.cwd ?? layout.root,
    prompt: null,
    stdin: null,
    labels: agent.labels ?? [],
    capability: agent.capability ?? "",
    permission: "ask",
    session: run.session,
    resume: false,
    interactive: false,
    args: [],
    env_file: null,
    worktree: null,
    queued: false,
    ...boundsOf(config),
  };
}
