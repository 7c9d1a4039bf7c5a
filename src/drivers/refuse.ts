/** What a driver cannot do is refused before the start, with words, rather than left out in silence. */
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import type { LaunchRequest } from "./driver.ts";

const SERVER_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

export function unsupported(driver: string, what: string, hint: string): MidwatchError {
  return new MidwatchError("USAGE", `The driver ${driver} ${what}.`, { hint });
}

export function refuseInteractive(driver: string, request: LaunchRequest): void {
  if (request.interactive) {
    throw unsupported(
      driver,
      "takes no messages while it runs",
      "Start it without messages; `midwatch restart ID --resume` goes on with its session.",
    );
  }
}

/**
 * Server names become config keys and parts of tool names in every CLI. A session id comes from an earlier run's output, which
 * the agent can write to: one that begins with a dash would be an option, such as the one that skips all permissions.
 */
export function checkNames({ mcp, resume }: LaunchRequest): void {
  if (resume !== null && !SESSION_ID.test(resume)) {
    throw new MidwatchError("USAGE", `${quote(resume)} cannot be a session to resume.`, {
      hint: "Start a new run without it.",
    });
  }
  const seen = new Set<string>();
  for (const { name } of mcp) {
    if (!SERVER_NAME.test(name)) {
      throw new MidwatchError("USAGE", `${quote(name)} cannot be the name of an MCP server.`, {
        hint: "Use letters, digits, - and _, beginning with a letter.",
      });
    }
    if (seen.has(name)) throw new MidwatchError("USAGE", `There are two MCP servers named ${quote(name)}.`);
    seen.add(name);
  }
}
