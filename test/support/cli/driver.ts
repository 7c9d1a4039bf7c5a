/** What the drivers' tests share: a request with everything in it, a stream read to its end, an ending. */
import type { Activity, Driver, Ending, LaunchRequest, SessionUse, StreamResult } from "../../../src/drivers/index.ts";

export const SESSION = "6d6f1f0e-2f6b-4a53-9d7e-1f0f8e8f4b11";

export function request(over: Partial<LaunchRequest> = {}): LaunchRequest {
  return {
    prompt: "Fix the build",
    model: null,
    permission: "ask",
    cwd: "/project",
    writable: [],
    mcp: [],
    resume: null,
    session: SESSION,
    interactive: false,
    budget_usd: null,
    args: [],
    env: {},
    root: false,
    folder: "/run/folder",
    ...over,
  };
}

export const REMOTE = { name: "fleet", at: { url: "http://127.0.0.1:4750/mcp", bearer: "secret-token-1" } };
export const LOCAL = { name: "demo", at: { command: "node", args: ["server.mjs"], env: { DEMO_KEY: "secret-key-2" } } };

export function readAll(
  driver: Driver,
  lines: readonly unknown[],
  before: SessionUse | null = null,
  atMs: number | null = null,
): { activities: Activity[]; result: StreamResult } {
  const reader = driver.reader(before);
  const activities = lines.flatMap((line) => reader.read(line, atMs));
  return { activities, result: reader.result() };
}

export function ending(result: StreamResult, over: Partial<Ending> = {}): Ending {
  return { exit: { code: 0, signal: null }, stopRequested: false, limit: null, result, ...over };
}

export function ofKind<K extends Activity["kind"]>(
  activities: readonly Activity[],
  kind: K,
): Extract<Activity, { kind: K }>[] {
  return activities.filter((activity): activity is Extract<Activity, { kind: K }> => activity.kind === kind);
}
