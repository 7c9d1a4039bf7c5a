/**
 * The one error class and the one table of codes.
 *
 * An error is thrown only where a promise cannot be kept; expected outcomes are values. Doors translate an error once:
 * the CLI by `exit`, HTTP by `status`, MCP by `code`. docs/errors.md is tested against this table, both ways.
 */

/**
 * What a code means to each door. `exit`: 2 usage, 3 not found, 4 refused, 5 environment, 1 other. `status`: HTTP.
 * `retryable`: the same call may succeed later without a change by the caller.
 */
export const ERRORS = {
  USAGE: { exit: 2, status: 400, retryable: false },
  BAD_ID: { exit: 2, status: 400, retryable: false },
  BAD_PATH: { exit: 2, status: 400, retryable: false },
  BAD_NUMBER: { exit: 2, status: 400, retryable: false },
  BAD_REGEX: { exit: 2, status: 400, retryable: false },
  BAD_TIME: { exit: 2, status: 400, retryable: false },
  BAD_CONFIG: { exit: 2, status: 400, retryable: false },
  TOO_LARGE: { exit: 2, status: 413, retryable: false },
  NOT_FOUND_WORKSPACE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_AGENT: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_TASK: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_RUN: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_FILE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_ROUTE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_SERVER: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_WORKTREE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_REMOTE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_ALERT_ROUTE: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_BUDGET: { exit: 3, status: 404, retryable: false },
  NOT_FOUND_HOST: { exit: 3, status: 404, retryable: false },
  AMBIGUOUS_ID: { exit: 3, status: 409, retryable: false },
  REFUSED_LIMIT: { exit: 4, status: 429, retryable: true },
  NO_TOKEN: { exit: 4, status: 401, retryable: false },
  REFUSED_ORIGIN: { exit: 4, status: 403, retryable: false },
  REFUSED_RIGHT: { exit: 4, status: 403, retryable: false },
  REFUSED_ALIVE: { exit: 4, status: 409, retryable: false },
  REFUSED_INPUT: { exit: 4, status: 409, retryable: false },
  REFUSED_FILE: { exit: 4, status: 409, retryable: false },
  REFUSED_TYPE: { exit: 4, status: 403, retryable: false },
  REFUSED_WORKSPACE: { exit: 4, status: 403, retryable: false },
  REFUSED_TRUST: { exit: 4, status: 403, retryable: false },
  REFUSED_OWNER: { exit: 4, status: 403, retryable: false },
  REFUSED_SIGNATURE: { exit: 4, status: 403, retryable: false },
  REFUSED_TIME: { exit: 4, status: 403, retryable: false },
  REFUSED_CLAIM: { exit: 4, status: 409, retryable: true },
  REFUSED_TERM: { exit: 4, status: 409, retryable: true },
  DISK_LOW: { exit: 5, status: 507, retryable: true },
  DISK_FULL: { exit: 5, status: 507, retryable: true },
  NOT_WRITABLE: { exit: 5, status: 500, retryable: false },
  UNSAFE_PATH: { exit: 5, status: 500, retryable: false },
  NO_HARD_LINKS: { exit: 5, status: 500, retryable: false },
  NO_STATE_FOLDER: { exit: 5, status: 500, retryable: false },
  NO_KEEPER: { exit: 5, status: 500, retryable: false },
  NOT_INSTALLED: { exit: 5, status: 500, retryable: false },
  PORT_IN_USE: { exit: 5, status: 503, retryable: true },
  BUSY: { exit: 5, status: 429, retryable: true },
  NO_LLM: { exit: 5, status: 500, retryable: false },
  BAD_HUB: { exit: 5, status: 500, retryable: false },
  HUB_AWAY: { exit: 5, status: 503, retryable: true },
  HOST_AWAY: { exit: 5, status: 503, retryable: true },
  NO_RESOURCES: { exit: 5, status: 503, retryable: true },
  LAUNCH_FAILED: { exit: 1, status: 500, retryable: false },
  COMMAND_NOT_FOUND: { exit: 5, status: 422, retryable: false },
  DUPLICATE_ID: { exit: 1, status: 409, retryable: true },
  REGISTRY_BUSY: { exit: 5, status: 503, retryable: true },
  REGISTRY_CORRUPT: { exit: 5, status: 500, retryable: false },
  REGISTRY_NEWER: { exit: 5, status: 500, retryable: false },
  LOCK_BUSY: { exit: 5, status: 503, retryable: true },
  SNAPSHOT_BUSY: { exit: 5, status: 503, retryable: true },
  SYNC_BUSY: { exit: 5, status: 503, retryable: true },
  CORRUPT_ARCHIVE: { exit: 1, status: 500, retryable: false },
  GIT_FAILED: { exit: 1, status: 500, retryable: false },
  OUTCOME_UNKNOWN: { exit: 1, status: 503, retryable: true },
  KEEPER_FAILED: { exit: 1, status: 500, retryable: false },
  INTERNAL: { exit: 1, status: 500, retryable: false },
} as const;

/** Every code there is; docs/errors.md says what each means. */
export type ErrorCode = keyof typeof ERRORS;

/** How an error looks in JSON at every door. */
export interface ErrorRecord {
  code: ErrorCode;
  message: string;
  hint: string | null;
  retryable: boolean;
}

export interface ErrorDetails {
  /** What the caller can do next, as a sentence. */
  hint?: string | undefined;
  retryable?: boolean;
  /** Facts for code that handles the error; people get them in the message. */
  data?: Record<string, unknown>;
  cause?: unknown;
}

/** Thrown where a promise cannot be kept; whatever can be expected is a value that is returned. */
export class MidwatchError extends Error {
  override readonly name = "MidwatchError";
  /** What went wrong, for programs: this is what a caller compares. */
  readonly code: ErrorCode;
  /** What can be done next, for people. */
  readonly hint: string | undefined;
  /** The same call may succeed later. */
  readonly retryable: boolean;
  /** Figures and names for code that handles it; each code has its own. */
  readonly data: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.retryable = details.retryable ?? ERRORS[code].retryable;
    this.data = details.data;
  }

  /** What the command line exits with. */
  get exitCode(): number {
    return ERRORS[this.code].exit;
  }

  /** What the HTTP server answers with. */
  get httpStatus(): number {
    return ERRORS[this.code].status;
  }

  /** As it looks at every door. */
  toJSON(): ErrorRecord {
    return { code: this.code, message: this.message, hint: this.hint ?? null, retryable: this.retryable };
  }
}

const EXHAUSTED: Readonly<Record<string, string>> = {
  EMFILE: "This process may open no more files",
  ENFILE: "The machine can open no more files",
  EAGAIN: "No more processes or threads can be started here",
  ENOMEM: "There is no memory left",
};

/**
 * Ends what met a limit of this process or this machine. Whoever takes a failed read for "not there" asks this first: a file
 * that cannot be opened for want of descriptors is not missing.
 */
export function throwIfExhausted(thrown: unknown): void {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const what = EXHAUSTED[code];
  if (what === undefined) return;
  throw new MidwatchError("NO_RESOURCES", `${what} (${code}).`, {
    hint: "Raise the limit (`ulimit -n`, `ulimit -u`, or that of the container) or end something, then try again.",
    cause: thrown,
    data: { errno: code },
  });
}

/** Anything thrown, as a MidwatchError; what we did not foresee is INTERNAL and keeps its cause. */
export function toMidwatchError(thrown: unknown): MidwatchError {
  if (thrown instanceof MidwatchError) return thrown;
  try {
    throwIfExhausted(thrown);
  } catch (error) {
    return error as MidwatchError;
  }
  // A program that is missing has a path too, and was not taken away.
  const gone = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT" && "path" in thrown;
  if (gone && !("spawnargs" in thrown))
    return new MidwatchError("NOT_FOUND_FILE", `${String(thrown.path)} was taken away meanwhile.`, {
      hint: "Something deletes files that midwatch works with. Try again; `midwatch doctor` looks at what is left.",
      retryable: true,
      cause: thrown,
    });
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new MidwatchError("INTERNAL", message, {
    cause: thrown,
    hint: "This is a fault in midwatch: please report it with the command you ran.",
  });
}
