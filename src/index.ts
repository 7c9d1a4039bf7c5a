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
export {
  type CheckpointRecord,
  type HealthRecord,
  type JournalEvent,
  type Leadership,
  type LogOptions,
  type LogRecord,
  type OpenOptions,
  openWorkspace,
  type ReapRecord,
  type RunRecord,
  type Stored,
  type WaitOptions,
  type Workspace,
} from "./fleet.ts";
// For programs of several machines: the journal on their hub, and who leads among them (docs/scale.md).
export type { Engine } from "./journal/engine.ts";
export { Leader, type LeaderOptions } from "./journal/leader.ts";
export { NatsEngine, type NatsEngineOptions } from "./nats/engine.ts";
export type { StartOptions } from "./run/start.ts";
export type { StopOptions } from "./run/stop.ts";
