import type { Wake } from "../core/attention-record.ts";
import type { AgentId } from "../core/ids.ts";
import type { Guarantee, Phase } from "../core/types.ts";
import { type Launched, launchFailed } from "./launch.ts";

/** What `run` and `restart` answer: a run that has just begun. */
export interface RunRecord {
  agent: AgentId;
  task: string;
  run: number;
  phase: Phase;
  log: string;
  pid: number | null;
  keeper_pid: number | null;
  guarantee: Guarantee | null;
  /** Why it waits, when it does. */
  wake?: Wake;
  /** Things a person should know, such as little disk space. */
  warning?: string;
  error?: { code: string; message: string };
}

/** As it was when the keeper answered: a short agent may have ended since, and `wait` or `show` will tell. */
export function runRecord(launched: Launched, task: string): RunRecord {
  const { agent, run, log, pid, keeper_pid, guarantee, queued, phase } = launched.row;
  const started = phase === "launch_failed" || pid === null ? "launch_failed" : "running";
  return {
    agent,
    task,
    run,
    phase: queued ? "intended" : started,
    log,
    pid,
    keeper_pid,
    guarantee,
    ...(launched.wake === undefined ? {} : { wake: launched.wake }),
    ...(launched.warning === undefined ? {} : { warning: launched.warning }),
    ...(launched.problem === undefined ? {} : { error: launchFailed(launched).toJSON() }),
  };
}
