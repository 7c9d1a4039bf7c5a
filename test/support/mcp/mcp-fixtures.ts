/**
 * What the official conformance suite looks for, by the names that it knows, served by midwatch's own code: the HTTP door with its
 * Host check, the sessions and the protocol part of src/doors/mcp. Only the tools and resources are others, and nobody has to
 * show a token: the suite has none.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { fromJsonSchema, type McpServer, ResourceNotFoundError, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { httpDoor } from "../../../src/doors/http/app.ts";
import { Auth } from "../../../src/doors/http/auth.ts";
import { Connections } from "../../../src/doors/http/connections.ts";
import { FleetFeed } from "../../../src/doors/http/fleet-feed.ts";
import { LIMITS } from "../../../src/doors/http/limits.ts";
import { Changes } from "../../../src/doors/mcp/changes.ts";
import { mcpOverHttp } from "../../../src/doors/mcp/http.ts";
import { baseServer } from "../../../src/doors/mcp/server.ts";
import type { Lab } from "../workspace.ts";
import { addAsking, addPrompts } from "./mcp-fixtures-more.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const IMAGE = { type: "image", data: PIXEL, mimeType: "image/png" } as const;
const text = (words: string) => ({ type: "text" as const, text: words });
const embedded = (uri: string, mimeType: string, words: string) =>
  ({ type: "resource", resource: { uri, mimeType, text: words } }) as const;

const CONTENTS = {
  test_simple_text: [text("This is a simple text response for testing.")],
  test_image_content: [IMAGE],
  test_audio_content: [{ type: "audio" as const, data: SILENCE, mimeType: "audio/wav" }],
  test_embedded_resource: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  test_multiple_content_types: [
    text("Multiple content types test:"),
    IMAGE,
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ],
};

function fixtureServer(): McpServer {
  const server = baseServer("midwatch-fixtures", "1.0.0", { capabilities: { logging: {} } });
  for (const [name, content] of Object.entries(CONTENTS))
    server.registerTool(name, { description: "Gives fixed content" }, () => ({ content }));
  server.registerTool("test_error_handling", { description: "Always fails" }, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool("test_tool_with_progress", { description: "Tells of its progress" }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: progressToken ?? "", progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
      await sleep(50);
    }
    return { content: [text("done")] };
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Has a schema with words of the newer dialect", inputSchema: fromJsonSchema(SCHEMA) },
    (args) => ({ content: [text(JSON.stringify(args))] }),
  );
  addResources(server);
  addPrompts(server, IMAGE);
  addAsking(server);
  return server;
}

function addResources(server: McpServer): void {
  const plain = { description: "A fixture", mimeType: "text/plain" };
  server.registerResource("static-text", "test://static-text", plain, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: "This is the content of the static text resource." }],
  }));
  const image = { description: "A fixture", mimeType: "image/png" };
  server.registerResource("static-binary", "test://static-binary", image, ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: PIXEL }],
  }));
  server.registerResource("watched", "test://watched-resource", plain, ({ href }) => ({
    contents: [{ uri: href, ...plain, text: "watched" }],
  }));
  const json = { description: "A fixture", mimeType: "application/json" };
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, json, ({ href }, { id }) => {
    if (id === undefined) throw new ResourceNotFoundError(href);
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return { contents: [{ uri: href, mimeType: "application/json", text: JSON.stringify(data) }] };
  });
}

const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** On a free port of loopback. */
export async function serveFixtures(lab: Lab): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const auth = new Auth(lab.workspace, { port, remote: false }, LIMITS);
  auth.who = () => ({ agent: undefined, via: "bearer" });
  const fleet = new FleetFeed(lab.workspace, LIMITS);
  const mcp = mcpOverHttp(fixtureServer, new Changes(async () => new Map()));
  const url = `http://127.0.0.1:${port}`;
  const place = { cwd: lab.folder, env: process.env, limits: LIMITS, assets: new Map(), changed: () => undefined };
  const connections = new Connections(LIMITS);
  const door = { ...place, workspace: lab.workspace, auth, connections, fleet, url, mcp };
  server.on("request", getRequestListener(httpDoor(door).fetch));
  return {
    url: `${url}/mcp`,
    async close() {
      await mcp.close();
      fleet.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

// `node mcp-fixtures.ts`: the same on stdio.
if (process.argv[1] === import.meta.filename) serveStdio(fixtureServer);
