/** What a cleanup did, told to events.log: only what is new against the fact before, and a failure when it is the third of its kind. */
import { basename, relative } from "node:path";
import { formatSize } from "../core/size.ts";
import { overWords } from "../core/state-words.ts";
import type { CleanupFact, FileReport } from "../core/types.ts";
import type { Facts } from "../facts/facts.ts";
import { phaseNow } from "../facts/observe.ts";
import { passedLimit } from "../facts/passed-limit.ts";
import { outcomeOf } from "../facts/state.ts";
import { type AuditEvent, audit } from "../workspace/audit.ts";
import type { Context, RunName } from "../workspace/context.ts";

const TOLD_AT_TRY = 3;

const isSetAside = ({ path, action, error }: FileReport): boolean =>
  action === "kept" && error !== null && basename(path).includes(".corrupted.");
const runFile = ({ path }: FileReport): string => path.slice(0, path.lastIndexOf(".corrupted."));

export function auditCleanup(
  context: Context,
  { task, agent, run }: RunName,
  facts: Facts,
  before: CleanupFact | undefined,
  after: CleanupFact,
): void {
  if (!facts.intent) return; // It never came to be an agent that somebody could have seen.
  const { root } = context.layout;
  const below = (path: string): string => (path.startsWith(`${root}/`) ? relative(root, path) : path);
  const events: AuditEvent[] = [];
  if (before === undefined) {
    const now = { ...facts, cleanup: after };
    const outcome = outcomeOf(now, phaseNow(now));
    const { code = null, signal = null } = facts.exit ?? {};
    const limit = passedLimit(now);
    const over = limit && overWords(limit);
    events.push({
      type: "agent.ended",
      content: `${agent} ended: ${outcome ?? "unknown"}${over ? `.${over}` : ""}`,
      task,
      agent,
      data: {
        run,
        outcome,
        exit: { code, signal },
        verified: facts.done?.verified ?? null,
        took_ms: facts.done?.took_ms ?? null,
        freed_bytes: after.freed_bytes,
        failures: after.failures?.length ?? 0,
        ...(limit ? { limit } : {}),
      },
    });
  }
  const known = (file: FileReport): boolean =>
    before?.files.some(({ path, action }) => path === file.path && action === file.action) ?? false;
  for (const file of after.files) {
    const { path, action, bytes, sha256 } = file;
    if ((action !== "deleted" && action !== "archived") || known(file) || bytes === 0) continue;
    const shown = below(path);
    const content = `${action} ${shown} (${formatSize(bytes ?? 0)})`;
    events.push({ type: `cleanup.${action}`, content, task, agent, data: { run, path: shown, bytes, sha256 } });
  }
  for (const file of after.files) {
    // Asked for again, it gets another name; that it is damaged is no news then.
    if (!isSetAside(file) || before?.files.some((one) => isSetAside(one) && runFile(one) === runFile(file))) continue;
    const shown = below(file.path);
    const content = `the log of run ${run} of ${agent} is damaged and was kept aside as ${shown}`;
    events.push({ type: "error", content, task, agent, data: { run, path: shown, error: file.error } });
  }
  for (const { path, step, error, tries, since } of after.failures ?? []) {
    if (tries !== TOLD_AT_TRY) continue;
    const shown = below(path);
    const content = `could not ${step} ${shown} (${tries} times): ${error}`;
    const data = { run, path: shown, step, error, tries, since };
    events.push({ type: "cleanup.failed", content, task, agent, data }, { type: "error", content, task, agent, data });
  }
  audit(context, events);
}
