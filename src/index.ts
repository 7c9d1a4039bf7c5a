/** The library, by room: `import { openWorkspace } from "midwatch"`. Each room is a file of src/fleet/; docs/library.md teaches them by examples. */
// biome-ignore-all assist/source/organizeImports: the order is that of the rooms

// A workspace, and the one class of errors.
export { type FormerNames, openWorkspace } from "./fleet/former-names.ts";
export type { OpenOptions, Workspace } from "./fleet/workspace.ts";
export type { AgentId, TaskId } from "./core/ids.ts";
export { type ErrorCode, MidwatchError } from "./core/errors.ts";

// workspace.runs: agents, from their start to the proof of their end.
export type { StartOptions } from "./run/launch-plan.ts";
export type { StopOptions } from "./run/stop.ts";
export type { ReapRecord, RunRecord, WaitOptions } from "./fleet/workspace.ts";
export type { FileReport, ListRecord, Outcome, Phase, Report, ShowRecord, TrackedFile } from "./core/types.ts";
export type { TaskFact } from "./core/intent.ts";

// workspace.logs: what they printed.
export type { LogOptions, LogRecord, Page } from "./fleet/workspace.ts";
export type { SearchHit } from "./stream/search.ts";

// Any JSONL file, without a workspace.
export { JSONLWriter } from "./log/jsonl/writer.ts";
export {
  type FollowedRecord,
  type JSONLFollowOptions,
  JSONLReader,
  type JSONLReaderOptions,
} from "./watch/jsonl-reader.ts";

// workspace.files: what those that ended leave behind.
export type { Archived, PinRecord, PruneOptions, PruneRecord } from "./fleet/workspace.ts";

// workspace.mail: messages to agents.
export type { Message, MessageState } from "./core/types.ts";

// workspace.journal: the events that agents and people share.
export type { CheckpointRecord, JournalEvent, Leadership, Stored } from "./fleet/workspace.ts";

// workspace.verdicts: what agents are doing.
export type { AgentSummary, LogPosition } from "./fleet/workspace.ts";
export type { Verdict } from "./core/types.ts";

// workspace.up: what `midwatch up` keeps going; remote: other machines, by git; alerts: people; http: a server of the workspace.
export type { HealthRecord, HouseOptions, HouseRecord, ServerFact, SyncStatus } from "./fleet/workspace.ts";
export type { RouteStatus } from "./alert/state.ts";

// For programs of several machines: the journal on their hub, and who leads among them (docs/scale.md).
export { NatsEngine, type NatsEngineOptions } from "./nats/engine.ts";
export type { Engine } from "./journal/engine.ts";
export { makeEvent } from "./journal/event.ts";
export { Leader, type LeaderOptions } from "./journal/leader.ts";
