/** An agent writes into the journal as somebody else, on another task, or as midwatch itself: through each door. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { AgentId } from "../../src/core/ids.ts";
import { serve } from "../../src/doors/http/serve.ts";
import { lab } from "../support/lab.ts";
import { ask, bearer } from "../support/net/http.ts";
import { type Puppet, Puppets } from "../support/puppet.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

interface Said {
  actor: string;
  type: string;
  content: string;
  task?: string;
}

/** The code of the refusal, or undefined. */
type Door = (said: Said) => Promise<string | undefined>;

const DOORS: Record<string, (puppets: Puppets, puppet: Puppet) => Promise<Door>> = {
  "the command line":
    async (_, puppet) =>
    async ({ actor, type, content, task }) => {
      const more = task === undefined ? [] : ["--task", task];
      const { code, stderr } = await puppet.midwatch("--json", "event", "+", actor, type, content, ...more);
      if (code === 0) return undefined;
      expect(code).toBe(4);
      return JSON.parse(stderr).error.code;
    },
  "its MCP server":
    async (_, puppet) =>
    async ({ task, ...said }) => {
      const { isError, data } = await puppet.tool("log_event", { ...said, ...(task && { task_id: task }) });
      return isError ? String(data["code"]) : undefined;
    },
  "HTTP with its capability": async (puppets, puppet) => {
    const options = { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined };
    const served = await serve(puppets.workspace, options);
    onTestFinished(() => served.close());
    return async (said) => {
      const body = JSON.stringify({ interaction: "+", ...said });
      const { status, json } = await ask(served.url, "/api/event", {
        method: "POST",
        headers: bearer(puppet.bearer),
        body,
      });
      return status === 200 ? undefined : json.error.code;
    };
  },
  "the library in its name": async (puppets, puppet) => {
    const { journal } = puppets.workspace.as({ agent: puppet.agent as AgentId });
    return async (said) => {
      const forged = { id: "1", timestamp: "2020-01-01T00:00:00Z", origin: "elsewhere", term: 9 };
      const all = { interaction: "+" as const, ...forged, ...said } as Parameters<typeof journal.append>[0];
      return await journal.append(all).then(
        () => undefined,
        (error) => error.code,
      );
    };
  },
};

const OURS = ["leader_election", "agent.ended", "verdict.changed", "cleanup.deleted", "prune.trashed", "stop.failed"];
const MORE = ["trust.changed", "http.change", "fleet.change", "error", "turn", "progress", "finding"];

describe.each(Object.entries(DOORS))("through %s", (name, open) => {
  // One that starts a process for each attempt tries the first and the last.
  const types = name.startsWith("HTTP") || name.includes("library") ? [...OURS, ...MORE] : ["stop.failed", "error"];

  it("an agent that speaks as midwatch or as another is told under its own id, and what only midwatch tells is refused", async () => {
    const at = lab();
    const puppets = new Puppets(at);
    const elsewhere = at.workspace.runs.makeTask("another task").task;
    const puppet = await puppets.start();
    const door = await open(puppets, puppet);
    const content = "all is well";
    for (const type of types) {
      const refused = await door({ actor: "midwatch", type, content });
      expect([type, refused]).toEqual([type, "REFUSED_TYPE"]);
    }
    expect(await door({ actor: "x", type: "note", content, task: elsewhere })).toBe("REFUSED_RIGHT");
    for (const actor of ["midwatch", "person", "Agent B"])
      expect(await door({ actor, type: "note", content })).toBeUndefined();
    const lines = readFileSync(join(at.root, "events.log"), "utf8").trimEnd().split("\n");
    const written = lines.map((line) => JSON.parse(line)).filter((event) => event.content === content);
    expect(written).toHaveLength(3);
    for (const event of written) {
      expect(event).toMatchObject({ actor: puppet.agent, agent: puppet.agent, task: puppet.record.task });
      expect(event).not.toHaveProperty("term");
      expect(event).not.toHaveProperty("origin");
      expect(Date.parse(event.timestamp)).toBeGreaterThan(Date.parse("2021-01-01T00:00:00Z"));
    }
  });
});

it("a person still names the actor, and may tell of an error", async () => {
  const at = lab();
  expect((await at.cli("event", "1", "Agent A", "error", "it broke")).code).toBe(0);
  expect((await at.cli("events", "--actor", "Agent A")).stdout).toContain("it broke");
});
