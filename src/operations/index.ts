/** Every operation, in the order `midwatch help` lists them. A new one is a file and a line here. */

import { alert } from "./alert.ts";
import { archive, restore } from "./archive.ts";
import { attach } from "./attach.ts";
import { checkpoint } from "./checkpoint.ts";
import { completion } from "./completion.ts";
import { cost } from "./cost.ts";
import { demo } from "./demo.ts";
import { diff } from "./diff.ts";
import { doctor } from "./doctor.ts";
import { event } from "./event.ts";
import { events } from "./events.ts";
import { health } from "./health.ts";
import { drain, hosts } from "./hosts.ts";
import { jsonl } from "./jsonl.ts";
import { leader } from "./leader.ts";
import { logs } from "./logs.ts";
import { ls } from "./ls.ts";
import { mcp } from "./mcp.ts";
import { mcpInstall } from "./mcp-install.ts";
import { metrics } from "./metrics.ts";
import { natsInit } from "./nats-init.ts";
import type { Operation } from "./operation.ts";
import { page } from "./page.ts";
import { prune } from "./prune.ts";
import { reap } from "./reap.ts";
import { remotely } from "./remote.ts";
import { finding, progress } from "./report.ts";
import { restart } from "./restart.ts";
import { run } from "./run.ts";
import { search } from "./search.ts";
import { messages, send } from "./send.ts";
import { show } from "./show.ts";
import { snapshot } from "./snapshot.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { summary } from "./summary.ts";
import { sync } from "./sync.ts";
import { task } from "./task.ts";
import { tasks } from "./tasks.ts";
import { timeline } from "./timeline.ts";
import { up } from "./up.ts";
import { verify } from "./verify.ts";
import { version } from "./version.ts";
import { wait } from "./wait.ts";
import { watch } from "./watch.ts";

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
  wait,
  stop,
  restart,
  send,
  messages,
  attach,
  task,
  tasks,
  progress,
  finding,
  event,
  events,
  snapshot,
  checkpoint,
  sync,
  leader,
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
  doctor,
  demo,
  completion,
  version,
];

export const operations: readonly Operation[] = all.map(remotely);
