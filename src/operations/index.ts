/** Every operation, in the order `midwatch help` lists them. A new one is a file and a line here. */

import { completion } from "./completion.ts";
import { demo } from "./house/demo.ts";
import { doctor } from "./house/doctor.ts";
import { drain, hosts } from "./house/hosts.ts";
import { mcp, mcpInstall } from "./house/mcp-install.ts";
import { natsInit } from "./house/nats-init.ts";
import { pin } from "./house/pin.ts";
import { prune } from "./house/prune.ts";
import { reap } from "./house/reap.ts";
import { trust } from "./house/trust.ts";
import { uninstall } from "./house/uninstall.ts";
import { up } from "./house/up.ts";
import { alert } from "./journal/alert.ts";
import { checkpoint } from "./journal/checkpoint.ts";
import { event } from "./journal/event.ts";
import { events } from "./journal/events.ts";
import { lead } from "./journal/lead.ts";
import { leader } from "./journal/leader.ts";
import { snapshot } from "./journal/snapshot.ts";
import { sync } from "./journal/sync.ts";
import type { Operation } from "./operation.ts";
import { archive, restore } from "./read/archive.ts";
import { budget } from "./read/budget.ts";
import { cost } from "./read/cost.ts";
import { diff } from "./read/diff.ts";
import { health } from "./read/health.ts";
import { jsonl, verify } from "./read/jsonl.ts";
import { logs } from "./read/logs.ts";
import { metrics } from "./read/metrics.ts";
import { page } from "./read/page.ts";
import { search } from "./read/search.ts";
import { summary, watch } from "./read/summary.ts";
import { timeline } from "./read/timeline.ts";
import { remotely } from "./remote.ts";
import { attach } from "./run/attach.ts";
import { claim } from "./run/claim.ts";
import { ls } from "./run/ls.ts";
import { finding, progress } from "./run/report.ts";
import { restart } from "./run/restart.ts";
import { run } from "./run/run.ts";
import { messages, send } from "./run/send.ts";
import { show } from "./run/show.ts";
import { status } from "./run/status.ts";
import { stop } from "./run/stop.ts";
import { task, tasks } from "./run/task.ts";
import { wait } from "./run/wait.ts";
import { version } from "./version.ts";

const all: readonly Operation[] = [
  run,
  status,
  ls,
  show,
  logs,
  page,
  timeline,
  diff,
  watch,
  summary,
  cost,
  ...budget,
  wait,
  stop,
  restart,
  send,
  messages,
  attach,
  task,
  tasks,
  claim,
  progress,
  finding,
  event,
  events,
  snapshot,
  checkpoint,
  sync,
  leader,
  lead,
  health,
  ...alert,
  up,
  hosts,
  drain,
  natsInit,
  metrics,
  mcp,
  mcpInstall,
  search,
  verify,
  archive,
  restore,
  ...jsonl,
  reap,
  prune,
  pin,
  doctor,
  uninstall,
  trust,
  demo,
  completion,
  version,
];

export const operations: readonly Operation[] = all.map(remotely);
