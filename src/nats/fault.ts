/** What the NATS packages throw, in our words. */
import { MidwatchError } from "../core/errors.ts";

/** Undefined when time may mend it. No message of the server is repeated: it may hold what we sent. */
export function refusal(error: unknown): MidwatchError | undefined {
  if (error instanceof MidwatchError) return error;
  const name = error instanceof Error ? error.name : "";
  if (isDenied(error))
    return new MidwatchError("BAD_HUB", `The hub does not allow this (${subjectOf(error)}).`, {
      hint: "A host may write only what is its own; `midwatch nats init` shows the rights that it needs.",
      cause: error,
    });
  if (name === "AuthorizationError" || name === "UserAuthenticationExpiredError")
    return new MidwatchError("BAD_HUB", "The hub does not know our key.", {
      hint: "Set nats_nkey or nats_creds to the file of this host, and check that the server has its public key.",
      cause: error,
    });
  return undefined;
}

function subjectOf(error: unknown): string {
  if (!(error instanceof Error)) return "permission";
  const { subject, operation } = error as { subject?: string; operation?: string };
  return subject === undefined ? subjectOf(error.cause) : `${operation ?? "use"} ${subject}`;
}

export function away(error: unknown, what: string): MidwatchError {
  const why = error instanceof Error ? error.name.replace(/Error$/, "").toLowerCase() : "";
  return new MidwatchError("HUB_AWAY", `${what}${why === "" ? "" : ` (${why})`}.`, {
    hint: "This machine works on without; what it writes goes to the hub when it is back.",
    cause: error,
  });
}

/** The server's word that no such message exists, or none behind it. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && /message not found|no messages/i.test(error.message);
}

/** Nobody listens there: the question was heard by no one. */
export function isUnheard(error: unknown): boolean {
  const cause = error instanceof MidwatchError ? error.cause : error;
  return cause instanceof Error && (cause.name === "NoRespondersError" || /no responders/i.test(cause.message));
}

export function isDenied(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === "PermissionViolationError" || /permissions violation/i.test(error.message) || isDenied(error.cause)
  );
}
