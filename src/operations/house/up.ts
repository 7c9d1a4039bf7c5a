import { setTimeout as sleep } from "node:timers/promises";
import { toMidwatchError } from "../../core/errors.ts";
import type { HouseOptions, HouseRecord, Workspace } from "../../fleet/workspace.ts";
import { service, writeService } from "../../setup/service.ts";
import { configFlag } from "../fields.ts";
import { type Operation, operation, workspaceOf, z } from "../operation.ts";

const AGAIN_MS = 2000;
const HOST = "127.0.0.1";

export const up: Operation = operation({
  name: "up",
  summary: "Keep house and serve the dashboard: queue, clean-up, limits, journal, alerts; HTTP and WebSocket",
  details:
    "Runs until Ctrl-C. It holds no truth: agents go on without it, and every command does what it meets. Of several, one leads and the others stand by; `midwatch leader` tells which; each of them serves. A line is printed for each thing done, and first the link to the dashboard, which is good once. After a write error it pauses and goes on when it can be written again (docs/leader.md). The server (docs/http.md) listens on this machine only; the token is in .agent-workspace/http-token.",
  input: z.strictObject({
    once: z.boolean().describe("One round, then end; none when another process leads").default(false),
    http: z.boolean().describe("Serve the dashboard, HTTP and WebSocket").default(true),
    port: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .describe("Where to serve; 0 is any free port (4750, or the next that is free)")
      .meta({ value: "N" })
      .optional(),
    host: z.string().min(1).describe("The address to listen on").meta({ value: "ADDRESS" }).default(HOST),
    allow_remote: z.boolean().describe("Let --host be an address that other machines reach").default(false),
    public_url: z
      .string()
      .min(1)
      .describe("Where a proxy with TLS in front of this is reached, say https://box:8443 (docs/http.md)")
      .meta({ value: "URL" })
      .optional(),
    link: z.boolean().describe("Only print a new link to the dashboard that runs already").default(false),
    install_service: z
      .boolean()
      .describe("Show and write a unit of systemd (macOS: of launchd) that keeps this up for you, then end")
      .default(false),
    max_running: configFlag("max_running"),
    leader_ttl: configFlag("leader_ttl"),
    pause: configFlag("pause"),
    sync_remote: configFlag("sync_remote"),
    sync_every: configFlag("sync_every"),
    join: configFlag("nats_servers"),
    name: configFlag("nats_host"),
    labels: configFlag("nats_labels"),
  }),
  changes: true,
  cliOnly: true,
  examples: [
    "midwatch up",
    "midwatch up --port 8080",
    "midwatch up --link",
    "midwatch up --install-service",
    "midwatch up --no-http",
    "midwatch up --join nats://hub:4222 --labels gpu=a100",
    "midwatch up --once",
  ],
  async *run(context, given) {
    const { once, http, port, host, allow_remote: allowRemote, public_url: publicUrl, ...others } = given;
    const { link, install_service, ...settings } = others;
    const { join, name, labels, ...rest } = settings;
    const config = { ...rest, nats_servers: join, nats_host: name, nats_labels: labels };
    using workspace = workspaceOf(context, { make: !link, config });
    if (link) {
      yield { link: await workspace.http.link() };
      return;
    }
    if (install_service) {
      const made = service(workspace.root, flagsOf(given), context.env);
      yield { unit: made.unit };
      writeService(made);
      yield { service: made.name, path: made.path, enable: made.enable };
      return;
    }
    workspace.alerts.check(); // Before anything is served: what is wrong with them is said at the start.
    const tell = (text: string): void => context.notice(text);
    const terminal = context.terminal && !context.json;
    const serves = http && !once && workspace.isPersons();
    if (http && !once && !serves) tell("an agent does not serve: keeping house only");
    const served = serves ? await context.serve?.(workspace, { port, host, allowRemote, publicUrl, tell }) : undefined;
    const answering =
      workspace.config.nats_servers !== "" && !once ? context.answerFleet?.(workspace, { tell }) : undefined;
    try {
      if (served !== undefined) yield { link: served.link };
      yield* served === undefined
        ? workspace.up.keep({ once, signal: context.signal, tell, terminal })
        : keepOn(workspace, { signal: context.signal, tell, terminal });
    } finally {
      await served?.close();
      await answering;
    }
  },
  render: (done) => {
    if ("link" in done) return `Dashboard: ${done.link}`;
    if ("unit" in done) return done.unit;
    if (!("path" in done)) return roundText(done);
    const linger = done.path.endsWith(".service") ? "; for agents that outlive your login: loginctl enable-linger" : "";
    return `written to ${done.path}${linger}`;
  },
  next: (done) => (done !== undefined && "enable" in done ? done.enable : undefined),
});

/** What the service should be started with, as it was given here. */
function flagsOf(
  given: { http: boolean; port?: number | undefined; host: string; allow_remote: boolean } & Record<string, unknown>,
): string[] {
  const valued = ["port", "public_url", "max_running", "leader_ttl", "pause", "join", "name", "labels"].filter(
    (name) => given[name] !== undefined,
  );
  return [
    ...valued.flatMap((name) => [`--${name.replaceAll("_", "-")}`, String(given[name])]),
    ...(given.host === HOST ? [] : ["--host", given.host]),
    ...(given.allow_remote ? ["--allow-remote"] : []),
    ...(given.http ? [] : ["--no-http"]),
  ];
}

/** What goes wrong with the house does not end the server: it is told, and begun again. */
async function* keepOn(workspace: Workspace, options: HouseOptions): AsyncGenerator<HouseRecord> {
  const { signal, tell } = options;
  while (!signal.aborted) {
    try {
      yield* workspace.up.keep(options);
    } catch (error) {
      tell(`keeping house failed and is begun again: ${toMidwatchError(error).message}`);
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

function roundText({ started, stopped, archived, trashed, deleted, problem, term }: HouseRecord): string {
  return [
    started + stopped.length + archived + trashed + deleted > 0 || problem !== null
      ? ""
      : term === null
        ? "stands by"
        : `leads (term ${term})`,
    started > 0 ? `started ${started} from the queue` : "",
    ...stopped.map((agent) => `stopped ${agent}`),
    archived > 0 ? `archived the logs of ${archived}` : "",
    trashed > 0 ? `took ${trashed} to the trash (midwatch prune --undo brings them back)` : "",
    deleted > 0 ? `deleted ${deleted} from the trash` : "",
    problem ?? "",
  ]
    .filter(Boolean)
    .join("\n");
}
