/** `midwatch mcp`: MCP on stdin and stdout, until stdin ends. Nothing else is ever printed on stdout. */
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { Served, type ServedAt } from "./calls.ts";
import { Changes } from "./changes.ts";
import { versions } from "./resources.ts";
import { addSubscriptions, midwatchServer } from "./server.ts";

/** Resolves when the client has gone or `signal` says so. */
export async function serveOnStdio(place: ServedAt, version: string, signal: AbortSignal): Promise<void> {
  const served = new Served(place);
  const changes = new Changes(() => versions(served.open(false)));
  const { promise: gone, resolve: end } = Promise.withResolvers<void>();
  let listens = false;
  let listen: (() => void) | undefined;
  const seen = (message: JSONRPCMessage): void => {
    if (!("method" in message) || message.method !== "subscriptions/listen") return;
    listens = true;
    listen?.();
  };
  const handle = serveStdio(
    ({ era }) => {
      const server = midwatchServer(served, version);
      const subscriptions = addSubscriptions(server, changes, era);
      // The server of a connection may be made by the very request to listen.
      listen = subscriptions.listen;
      if (listens) listen();
      server.server.onclose = subscriptions.end;
      return server;
    },
    { transport: watched(new StdioServerTransport(), seen, end) },
  );
  signal.addEventListener("abort", () => end(), { once: true });
  await gone;
  await handle.close();
}

/** The transport answers `subscriptions/listen` by itself: only who looks at what comes in knows when to look for changes. */
function watched(wire: Transport, seen: (message: JSONRPCMessage) => void, end: () => void): Transport {
  const outer: Transport = {
    start() {
      wire.onmessage = (message, extra) => {
        seen(message);
        outer.onmessage?.(message, extra);
      };
      wire.onerror = (error) => outer.onerror?.(error);
      wire.onclose = () => {
        outer.onclose?.();
        end();
      };
      return wire.start();
    },
    send: (message, options) => wire.send(message, options),
    close: () => wire.close(),
  };
  return outer;
}
