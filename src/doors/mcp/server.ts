/** The MCP server: tools from the table, resources, subscriptions. The same for both transports and for every protocol version. */
import {
  McpServer,
  type McpServerOptions,
  type ServerEvent,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { callTool, type Served } from "./calls.ts";
import type { Changes } from "./changes.ts";
import { addResources } from "./resources.ts";
import { argumentsOf, type Tool } from "./tool.ts";
import { createTask, deployAgent, killAgent, spawnChild } from "./tools-deploy.ts";
import { agentOutput, agentSummary, listAgents, searchLogs, taskStatus } from "./tools-look.ts";
import { getCommunication, logEvent, reportFinding, sendMessage, updateProgress } from "./tools-talk.ts";
import { waitForAgents } from "./tools-wait.ts";

const INSTRUCTIONS = `midwatch runs coding agents in the background and keeps everything they print.
Start with deploy_headless_agent (create_real_task first when several agents share a goal), then do other work; wait_for_agents tells what changed, get_agent_summary whether an agent is on track, get_agent_output what it printed. kill_real_agent ends one with proof.
Answers are short: use their cursor to read on. Each answer has guidance: what to do next.
An agent that midwatch runs reports with update_agent_progress and report_agent_finding.`;

export function midwatchServer(served: Served, version: string): McpServer {
  const server = baseServer("midwatch", version, { instructions: INSTRUCTIONS });
  for (const tool of TOOLS) {
    const { name, title, about, operation, destructive, idempotent } = tool;
    server.registerTool(
      name,
      {
        title,
        description: about,
        inputSchema: shown(argumentsOf(tool), "input"),
        outputSchema: shown(tool.output, "output"),
        annotations: {
          title,
          readOnlyHint: !operation.changes,
          destructiveHint: destructive,
          idempotentHint: idempotent || !operation.changes,
          openWorldHint: false,
        },
      },
      (args: unknown, asked) => callTool(served, tool, args, asked),
    );
  }
  addResources(server, served);
  return server;
}

/** A server without anything to offer, which speaks what ours speaks. */
export function baseServer(name: string, version: string, more: McpServerOptions = {}): McpServer {
  const capabilities = { tools: {}, resources: { subscribe: true, listChanged: true }, ...more.capabilities };
  return new McpServer({ name, version }, { ...more, capabilities });
}

/**
 * Subscriptions of a connection that lasts (stdio, a session). Before 2026-07-28 a client names each resource; since then the
 * transport knows what its client listens to and passes on only that, and `listen` is called by who sees that it does.
 */
export function addSubscriptions(
  server: McpServer,
  changes: Changes,
  era: "legacy" | "modern",
): { listen(): void; end(): void } {
  const wanted = new Set<string>();
  let end: (() => void) | undefined;
  const send = (event: ServerEvent): void => {
    if (event.kind === "resources_list_changed") server.sendResourceListChanged();
    if (event.kind !== "resource_updated" || (era === "legacy" && !wanted.has(event.uri))) return;
    server.server.sendResourceUpdated({ uri: event.uri }).catch(() => undefined);
  };
  const listen = (): void => {
    end ??= changes.subscribe(send);
  };
  if (era === "legacy") {
    server.server.setRequestHandler("resources/subscribe", ({ params }) => {
      wanted.add(params.uri);
      listen();
      return {};
    });
    server.server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      wanted.delete(params.uri);
      return {};
    });
  }
  return { listen, end: () => end?.() };
}

/** Keys that fields carry for `--help`. */
const OF_THE_CLI = ["short", "value", "optionalValue"];

/** A schema as the SDK takes it: checked by us, so that refusals are ours, and shown without what only the command line needs. */
function shown(schema: z.ZodObject, io: "input" | "output"): StandardSchemaWithJSON {
  const override = ({ jsonSchema }: { jsonSchema: object }): void => {
    for (const key of OF_THE_CLI) delete (jsonSchema as Record<string, unknown>)[key];
  };
  const json = plain(z.toJSONSchema(schema, { io, unrepresentable: "any", override })) as Record<string, unknown>;
  const validate = io === "input" ? (value: unknown) => ({ value }) : schema["~standard"].validate;
  return {
    "~standard": { version: 1, vendor: "midwatch", validate, jsonSchema: { input: () => json, output: () => json } },
  } as StandardSchemaWithJSON;
}

/** Some clients know only a part of JSON Schema: one type at a place, and no schema that says nothing. */
function plain(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(plain);
  if (typeof given !== "object" || given === null) return given;
  const { additionalProperties: more, type, ...rest } = given as Record<string, unknown>;
  const saysNothing = typeof more === "object" && more !== null && Object.keys(more).length === 0;
  return {
    ...(Array.isArray(type)
      ? { anyOf: type.map((one) => ({ type: one })) }
      : type === undefined
        ? {}
        : { type: plain(type) }),
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, plain(value)])),
    ...(more === undefined || saysNothing ? {} : { additionalProperties: plain(more) }),
  };
}

/** In the order clients list them. At most 15: a model reads all of them before its first word. */
const TOOLS: readonly Tool[] = [
  createTask,
  deployAgent,
  spawnChild,
  taskStatus,
  listAgents,
  agentOutput,
  killAgent,
  updateProgress,
  reportFinding,
  agentSummary,
  waitForAgents,
  sendMessage,
  logEvent,
  getCommunication,
  searchLogs,
];
