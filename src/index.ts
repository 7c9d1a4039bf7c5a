/** The library: `import { openWorkspace } from "midwatch"`. */
export { type ErrorCode, MidwatchError } from "./core/errors.ts";
export type { TaskFact } from "./core/intent.ts";
export type {
  FileReport,
  ListRecord,
  Message,
  MessageState,
  Outcome,
  Phase,
  Report,
  ShowRecord,
  TrackedFile,
} from "./core/types.ts";
export { type FormerNames, openWorkspace } from "./fleet/former-names.ts";
export type {
  CheckpointRecord,
  HealthRecord,
  JournalEvent,
  Leadership,
  LogOptions,
  LogRecord,
  OpenOptions,
  ReapRecord,
  RunRecord,
  Stored,
  WaitOptions,
  Workspace,
} from "./fleet/workspace.ts";
// For programs of several machines: the journal on their hub, and who leads among them (docs/scale.md).
export type { Engine } from "./journal/engine.ts";
export { Leader, type LeaderOptions } from "./journal/leader.ts";
export { NatsEngine, type NatsEngineOptions } from "./nats/engine.ts";
export type { StartOptions } from "./run/launch-plan.ts";
export type { StopOptions } from "./run/stop.ts";
