/**
 * MCP over streamable HTTP, for callers that the HTTP door has let in. Since 2026-07-28 each request stands for itself. Older
 * clients get a session, which only serves to tell them of changes: one that is unknown here, because the server was started
 * anew, is answered all the same.
 */

import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Changes } from "./changes.ts";
import { addSubscriptions } from "./server.ts";

const SESSIONS_MOST = 256;
const IDLE_MS = 30 * 60_000;
const BODY_BYTES = 2 << 20;

export interface McpOverHttp {
  /** `caller` is a name for who asks: a session is good for the caller that began it. */
  fetch(request: Request, caller: string): Promise<Response>;
  close(): Promise<void>;
}

interface Session {
  caller: string;
  transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
}

/** `makeServer` gives a server for a caller, without subscriptions. */
export function mcpOverHttp(makeServer: (caller: string) => McpServer, changes: Changes): McpOverHttp {
  const handler = createMcpHandler(({ authInfo }) => makeServer(authInfo?.clientId ?? ""), {
    bus: changes,
    maxRequestBodySize: BODY_BYTES,
  });
  const sessions = new Map<string, Session>();
  /** Ended by their clients: those must be told so. */
  const ended = new Set<string>();

  const begin = async (caller: string): Promise<WebStandardStreamableHTTPServerTransport> => {
    await makeRoom(sessions);
    const server = makeServer(caller);
    const subscriptions = addSubscriptions(server, changes, "legacy");
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { caller, transport, usedAt: performance.now() }),
      onsessionclosed: (id) => {
        const [oldest] = ended.add(id);
        if (ended.size > SESSIONS_MOST && oldest !== undefined) ended.delete(oldest);
      },
      maxRequestBodySize: BODY_BYTES,
    });
    server.server.onclose = () => {
      subscriptions.end();
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    await server.connect(transport);
    return transport;
  };

  return {
    async fetch(request, caller) {
      const authInfo = { token: "", clientId: caller, scopes: [] };
      if (!(await isLegacyRequest(request, undefined, { maxRequestBodySize: BODY_BYTES })))
        return await handler.fetch(request, { authInfo });
      const id = request.headers.get("mcp-session-id") ?? "";
      const known = sessions.get(id);
      if (known?.caller === caller) {
        known.usedAt = performance.now();
        return await known.transport.handleRequest(request);
      }
      if (ended.has(id)) return ENDED();
      const asks = request.method === "POST" ? await jsonOf(request.clone()) : undefined;
      if (isInitializeRequest(asks)) return await (await begin(caller)).handleRequest(request);
      return await handler.fetch(request, { authInfo });
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
      await handler.close();
    },
  };
}

/** They begin another one then. */
const ENDED = (): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }, { status: 404 });

/** Clients seldom say goodbye: what was long idle goes, and of too many the one that was idle longest. */
async function makeRoom(sessions: Map<string, Session>): Promise<void> {
  const oldest = [...sessions.values()].sort((a, b) => a.usedAt - b.usedAt);
  for (const { transport, usedAt } of oldest) {
    if (usedAt > performance.now() - IDLE_MS && sessions.size < SESSIONS_MOST) return;
    await transport.close();
  }
}

async function jsonOf(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    return undefined;
  }
}
