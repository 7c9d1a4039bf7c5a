/** The server round the door: a port, time-outs, and an orderly end. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { dirname } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { MidwatchError } from "../../core/errors.ts";
import { type AgentId, isAgentId, isTaskId } from "../../core/ids.ts";
import type { Workspace } from "../../fleet/workspace.ts";
import { type Change, type Served, type ServeOptions, usage } from "../../operations/operation.ts";
import { mcpDoor } from "../mcp/door.ts";
import { httpDoor, loginLink } from "./app.ts";
import { Auth } from "./auth.ts";
import { Connections } from "./connections.ts";
import type { Door } from "./door.ts";
import { FleetFeed } from "./fleet-feed.ts";
import { LIMITS, type Limits } from "./limits.ts";
import { liveDoor } from "./live.ts";
import { readAssets } from "./static.ts";

const PORT = 4750;
const PORTS_TRIED = 50;
const CHECK_MS = 1000;

export async function serve(
  workspace: Workspace,
  options: ServeOptions & { env?: NodeJS.ProcessEnv; limits?: Partial<Limits> },
): Promise<Served> {
  const limits = { ...LIMITS, ...options.limits };
  const remote = !isLoopback(options.host);
  if (remote && !options.allowRemote)
    throw usage(
      `${options.host} can be reached from other machines.`,
      "The connection is not encrypted, and whoever has the token can run commands here. --allow-remote says that you want it.",
    );
  const publicUrl = options.publicUrl === undefined ? undefined : publicOrigin(options.publicUrl);
  workspace.http.token(); // Before there is a port: an agent is refused here.
  const server = createServer({
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, limits.headMs),
    maxHeaderSize: 16 << 10,
  });
  const connections = new Connections(limits);
  server.on("connection", (socket) => connections.add(socket));
  const port = await listen(server, options);
  // All addresses: the link is for whoever sits here.
  const shown = ["0.0.0.0", "::"].includes(options.host) ? "127.0.0.1" : options.host;
  const url = `http://${shown.includes(":") ? `[${shown}]` : shown}:${port}`;
  const fleet = new FleetFeed(workspace, limits);
  const place = { cwd: dirname(workspace.root), env: options.env ?? process.env };
  const changed = (change: Change): void => {
    fleet.changed();
    tellJournal(workspace, change);
  };
  const door: Door = {
    ...place,
    workspace,
    auth: new Auth(workspace, { port, remote, publicUrl }, limits),
    fleet,
    limits,
    connections,
    assets: readAssets(),
    url,
    publicUrl,
    mcp: mcpDoor(workspace, { ...place, changed }),
    changed,
  };
  const live = liveDoor(door);
  server.on("request", getRequestListener(httpDoor(door).fetch));
  server.on("upgrade", (request, socket, head) => live.upgrade(request, socket, head));
  server.on("error", (error) => options.tell(`the server: ${error.message}`));
  const withdraw = workspace.http.announce(url, limits.lockMs);
  return {
    url,
    link: loginLink(door),
    close: async () => {
      withdraw();
      live.close();
      await door.mcp.close();
      fleet.close();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The port that was asked for; when none was, the usual one or the next that is free. */
async function listen(server: Server, { host, port, tell }: ServeOptions): Promise<number> {
  const first = port ?? PORT;
  for (let tried = first; ; tried++) {
    server.listen(tried, host);
    try {
      await once(server, "listening");
      if (port === undefined && tried !== first) tell(`port ${first} is in use; serving on ${tried}`);
      return (server.address() as AddressInfo).port;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (port !== undefined || code !== "EADDRINUSE" || tried >= first + PORTS_TRIED)
        throw new MidwatchError("PORT_IN_USE", `${host}:${tried} cannot be listened on (${code}).`, {
          hint: "Name another one: --port N (0 is any free one), or --no-http.",
          cause: error,
        });
    }
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function publicOrigin(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href) return url.origin;
  throw usage("--public-url is not the address of a server.", "Only scheme, name and port: https://box:8443");
}

/** An event for each change that came through the server: who, what and on what; never what was said. */
function tellJournal(workspace: Workspace, { operation, input, by, error }: Change): void {
  if (error === null && isTold(operation, by)) return;
  const { agent, agents, task, parent } = (input ?? {}) as Record<string, unknown>;
  const named = [agent, ...(Array.isArray(agents) ? agents : []), task, parent];
  const targets = named.filter((one): one is string => isAgentId(one) || isTaskId(one)).slice(0, 20);
  const who = by ?? "a person";
  workspace.http.audit({
    content: `${who} asked for ${operation}${targets.length > 0 ? ` of ${targets.join(", ")}` : ""} over HTTP${error === null ? "" : `: ${error}`}`,
    ...(isAgentId(targets[0]) ? { agent: targets[0] as AgentId } : {}),
    data: { by: who, operation, targets, error },
  });
}

/** An event, and what an agent says of itself, is in the journal already. */
function isTold(operation: string, by: AgentId | undefined): boolean {
  return operation === "event" || (by !== undefined && (operation === "progress" || operation === "finding"));
}
