/**
 * What midwatch knows of one agent CLI: how a headless run of it is started, how its lines are read, and how its end is judged.
 * A driver is data and pure functions: it starts nothing, reads no file and knows no clock.
 */
import type { LimitName, Permission } from "../core/intent.ts";
import type { DeferredCall, Outcome, Tokens } from "../core/types.ts";

export type { Permission } from "../core/intent.ts";

export interface McpServer {
  name: string;
  /** A server that the CLI starts itself, or one that is there. */
  at:
    | {
        command: string;
        args: readonly string[];
        env: Readonly<Record<string, string>>;
        /** It needs the whole environment of the run, because it starts agents; some CLIs give a server only a part of theirs. */
        inherits?: boolean;
      }
    | { url: string; bearer: string };
}

export interface LaunchRequest {
  prompt: string;
  model: string | null;
  permission: Permission;
  cwd: string;
  /** Folders outside `cwd` that it writes to when it commits; they are all there. For CLIs with a sandbox. */
  writable: readonly string[];
  mcp: readonly McpServer[];
  /** The CLI's own session: one to go on with, or null for a new one. */
  resume: string | null;
  /** A new random UUID: the id of a new session, for CLIs that let us choose it. */
  session: string;
  /** Messages can be sent while it runs: its input stays open. */
  interactive: boolean;
  /** What it may spend, for CLIs that see to that themselves; null when it is not to be ended over money. */
  budget_usd: number | null;
  /** Further arguments of the caller's, given to the CLI as they are. */
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** The agent will run as root, which some CLIs refuse. */
  root: boolean;
  /** Absolute path of a private folder of this run: `Launch.files` go there before the start. */
  folder: string;
}

/** A file that only the agent's user may read (0600), for what must not be seen in argv. */
export interface PrivateFile {
  name: string;
  content: string;
}

export interface Launch {
  argv: readonly string[];
  /** Added to the caller's environment. */
  env: Readonly<Record<string, string>>;
  /** What the CLI reads as its input: the prompt never goes through argv, where every user of the machine can read it. */
  stdin: string;
  /** Written into the request's `folder`; argv and env name them by their full path. */
  files: readonly PrivateFile[];
  /** The session id when we chose it; else the stream tells. */
  session: string | null;
}

/**
 * What a line of the stream tells, in few kinds. `id` joins a tool's use with its result. `usage` is the run's total so far,
 * not an addition to it. A trouble is `fatal` when the CLI gives up because of it.
 */
export type Activity =
  | { kind: "started"; session: string | null; model: string | null }
  | { kind: "said"; text: string }
  | { kind: "thought"; text: string }
  | { kind: "tool"; id: string | null; name: string; input: unknown; paths: readonly string[] }
  | { kind: "tool_result"; id: string | null; ok: boolean; text: string }
  | { kind: "permission"; tool: string; denied: boolean; input?: unknown }
  | { kind: "trouble"; trouble: Trouble; text: string; status: number | null; resets_at: string | null; fatal: boolean }
  /** `prompt`: what is new in it is of one request, which sent so many tokens. `models`: how the cost was made up, when the CLI tells. */
  | {
      kind: "usage";
      tokens: Tokens;
      cost_usd: number | null;
      model: string | null;
      prompt?: number;
      models?: readonly ModelCost[];
    }
  /** `limit`: the CLI itself ended over it. */
  | { kind: "finished"; ok: boolean; why: string | null; text: string | null; limit?: LimitName }
  /** `text`: of a message that it has taken up (`message_received`), what was asked. */
  | { kind: "note"; name: string; text?: string }
  | { kind: "unparsed"; text: string };

export type TroubleActivity = Extract<Activity, { kind: "trouble" }>;

export type Trouble = "api_error" | "rate_limit" | "quota" | "overloaded" | "auth" | "network";

/** Claude Code and Codex count on where a resumed session left off; a run's own figures are what is above that. */
export interface SessionUse {
  tokens: Tokens;
  cost_usd: number | null;
}

/** As the CLI itself told it. */
export interface ModelCost {
  model: string;
  tokens: Tokens;
  cost_usd: number;
}

export interface Uncosted {
  model: string | null;
  tokens: Tokens;
  /** How long the prompts of these requests were, to the next thousand tokens; missing where the CLI does not tell one request from another. */
  prompt?: number;
}

/** What the whole stream has told so far. */
export interface StreamResult {
  session: string | null;
  model: string | null;
  /** Null until the CLI has said how it ended. */
  finished: { ok: boolean; why: string | null; text: string | null; limit?: LimitName } | null;
  /** The last trouble that nothing good has followed. */
  trouble: { trouble: Trouble; text: string; resets_at: string | null } | null;
  /** This run's own. `input` is what was not read from a cache; reasoning counts as output. */
  tokens: Tokens | null;
  /** What the CLI counts for its whole session, when it counts so: the next run of the session has to know it. */
  session_use: SessionUse | null;
  /** As the CLI itself told it. */
  cost_usd: number | null;
  /** What that cost was made up of, when it was of several models. */
  costed: readonly ModelCost[];
  /** Used since it last told a cost, by model: what that costs is only in a list of prices. */
  uncosted: readonly Uncosted[];
  /** Turns of the model as far as the stream shows them; Codex shows one for a whole run. */
  turns: number;
  tools: number;
  /** Tool uses that failed, those that were refused among them. */
  failed: number;
  /** Tool uses that were refused, and the first of them. */
  denied: number;
  denial: { tool: string; input: unknown } | null;
  /** Agents that the CLI started inside its own process. */
  subagents: number;
  /** The call that the CLI ended on, for a person to decide: it has neither run it nor dropped it. */
  deferred: DeferredCall | null;
}

/** One run's stream, read in order. A line counts once: the reader remembers what it needs to. */
export interface StreamReader {
  /**
   * One line without its newline: parsed JSON, or the text when it is none. `atMs` is when it was written, when that is
   * known: "try again in 20 minutes" means a time only then.
   */
  read(line: unknown, atMs?: number | null): Activity[];
  result(): StreamResult;
}

/**
 * What a CLI writes beside its stream while it works: files, one a thread of its session, that tell sooner or better what was used. The
 * figures of its stream win where they are greater.
 */
export interface Aside {
  /** The stream counts all threads, as the files do together; else it counts the first one only. */
  readonly together: boolean;
  /** Below which folder; null where the run's environment does not tell. */
  folder(variable: (name: string) => string | undefined): string | null;
  /** Folders below it in which the files of a session may lie, and those of its threads that begin now; `cwd` is where it works. */
  places(session: string, nowMs: number, cwd: string): string[];
  /** The thread of a file, and when that began, as far as the file's name tells; null for a file of another kind. */
  threadOf(name: string): { id: string; beganMs: number | null } | null;
  /** Whether a line that begins so is worth parsing. */
  tells(head: string): boolean;
  /** Lines written before `sinceMs` are not of this run; `before` is what the thread had used by then, when that is known. */
  reader(sinceMs: number, before: SessionUse | null): AsideReader;
}

export interface AsideReader {
  read(line: unknown): void;
  /** Which thread it is of, and of which session that is a part. */
  readonly thread: { id: string | null; session: string | null } | undefined;
  /** Of the thread, all its runs together. */
  readonly total: Tokens;
  /** By this run, by model. */
  used(): Uncosted[];
}

export interface Ending {
  exit: { code: number | null; signal: string | null };
  stopRequested: boolean;
  limit: string | null;
  /** It was interrupted because it passed this limit. */
  interrupted?: string | null;
  result: StreamResult;
  /** The end of its stderr, when the caller has it: some CLIs say only there why they did not start. */
  stderr?: string;
}

export interface Judged {
  outcome: Outcome;
  /** Why it is not `completed`, in one sentence; null when it is. */
  reason: string | null;
}

export interface Driver {
  readonly name: string;
  /** The program looked for on PATH; null when the caller names it. */
  readonly program: string | null;
  /** How to get it, for the error that says it is missing. */
  readonly install: string | null;
  /** Whether each line of its output should be JSON. */
  readonly json: boolean;
  /** Whether a run can be given MCP servers. */
  readonly mcp: boolean;
  /** Versions it is known to work with: "2.1" means 2.1.x. */
  readonly knownVersions: readonly string[];
  readonly legacy?: boolean;
  launch(request: LaunchRequest): Launch;
  /** A message for a run that was started `interactive`: a whole line of its input, newline included. Absent: it takes none. */
  message?(text: string): string;
  /** Its stream repeats each message once it has taken it up: a note `message_received`. */
  readonly echoes?: boolean;
  /** `before`: the `session_use` of the run that this one resumes. */
  reader(before?: SessionUse | null): StreamReader;
  judge(ending: Ending): Judged;
  /** What it writes beside its stream. */
  readonly aside?: Aside;
  /** Troubles in whole lines of its stderr, for a CLI whose stream leaves them out. `atMs` is when the last was written. */
  stderr?(text: string, atMs: number): TroubleActivity[];
}
