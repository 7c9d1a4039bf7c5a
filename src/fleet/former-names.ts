/** The names that 0.1 gave to what a workspace does, each an alias of the one that took its place. They go with 0.3. */
import { type OpenOptions, openWorkspace as open, type Workspace } from "./workspace.ts";

export const FORMER_NAMES = {
  run: ["runs", "start"],
  restart: ["runs", "restart"],
  stop: ["runs", "stop"],
  wait: ["runs", "wait"],
  list: ["runs", "list"],
  show: ["runs", "show"],
  resolve: ["runs", "resolve"],
  ids: ["runs", "ids"],
  reap: ["runs", "reap"],
  failures: ["runs", "failures"],
  attach: ["runs", "attach"],
  folderOf: ["runs", "folderOf"],
  diff: ["runs", "diff"],
  task: ["runs", "makeTask"],
  tasks: ["runs", "tasks"],
  log: ["logs", "read"],
  logRecords: ["logs", "records"],
  activities: ["logs", "activities"],
  logBytes: ["logs", "bytes"],
  page: ["logs", "page"],
  timeline: ["logs", "timeline"],
  followed: ["logs", "followed"],
  logTask: ["logs", "ofTask"],
  maskers: ["logs", "maskers"],
  verify: ["logs", "verify"],
  search: ["logs", "search"],
  archive: ["files", "archive"],
  restore: ["files", "restore"],
  prune: ["files", "prune"],
  undoPrune: ["files", "undoPrune"],
  send: ["mail", "send"],
  delivered: ["mail", "delivered"],
  messages: ["mail", "list"],
  closeInput: ["mail", "close"],
  progress: ["mail", "progress"],
  finding: ["mail", "finding"],
  reports: ["mail", "reports"],
  event: ["journal", "append"],
  eventsFrom: ["journal", "from"],
  events: ["journal", "events"],
  snapshot: ["journal", "snapshot"],
  snapshotRounds: ["journal", "snapshotRounds"],
  watchSnapshot: ["journal", "watchSnapshot"],
  initScripts: ["journal", "initScripts"],
  checkpoint: ["journal", "checkpoint"],
  consume: ["journal", "consume"],
  leader: ["journal", "leader"],
  watchLeader: ["journal", "watchLeader"],
  resume: ["journal", "resume"],
  watcher: ["verdicts", "rounds"],
  watch: ["verdicts", "follow"],
  summary: ["verdicts", "of"],
  summaries: ["verdicts", "all"],
  storedSummary: ["verdicts", "stored"],
  readFile: ["verdicts", "readFile"],
  cost: ["verdicts", "cost"],
  attention: ["verdicts", "needs"],
  keepHouse: ["up", "keep"],
  loop: ["up", "loop"],
  metrics: ["up", "metrics"],
  hostName: ["up", "hostName"],
  answerFleet: ["up", "answerFleet"],
  health: ["up", "health"],
  sync: ["remote", "sync"],
  watchSync: ["remote", "watch"],
  syncStatus: ["remote", "status"],
  initSync: ["remote", "init"],
  testAlert: ["alerts", "test"],
  alertStatus: ["alerts", "status"],
  checkAlerts: ["alerts", "check"],
  httpToken: ["http", "token"],
  announce: ["http", "announce"],
  server: ["http", "server"],
  loginLink: ["http", "link"],
  agentOf: ["http", "agentOf"],
  auditDoor: ["http", "audit"],
} as const;

type Table = typeof FORMER_NAMES;
type Method<O, M> = O extends keyof Workspace ? (M extends keyof Workspace[O] ? Workspace[O][M] : never) : never;

/** @deprecated Use `workspace.runs`, `.logs`, `.journal` and so on: each alias names the one that took its place. */
export type FormerNames = { readonly [Name in keyof Table]: Method<Table[Name][0], Table[Name][1]> };

/** One workspace, found by its place on the disk; the library's entry. Close it, or say `using`. */
export function openWorkspace(options: OpenOptions = {}): Workspace & FormerNames {
  const workspace = open(options);
  const parts = workspace as unknown as Record<string, Record<string, (...given: unknown[]) => unknown>>;
  for (const [name, [part, method]] of Object.entries(FORMER_NAMES))
    Object.defineProperty(workspace, name, { value: (...given: unknown[]) => parts[part]?.[method]?.(...given) });
  return workspace as Workspace & FormerNames;
}
