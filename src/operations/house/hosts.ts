import { formatSize } from "../../core/size.ts";
import { fleetOf } from "../fleet-of.ts";
import { type Operation, operation, z } from "../operation.ts";
import { age, paint, table } from "../render.ts";

const UP = { signed: "green", none: "green", missing: "yellow" } as const;

export const hosts: Operation = operation({
  name: "hosts",
  summary: "List the hosts of the fleet, and whether they answer",
  details:
    "A host is a workspace whose `midwatch up` joined the hub (docs/scale.md). Each is asked now; exit 1 when one does not answer.",
  input: z.strictObject({}),
  changes: false,
  examples: ["midwatch hosts", "midwatch hosts --json | jq -r 'select(.reachable).host'"],
  run: async (context) => {
    await using fleet = await fleetOf(context);
    for (const problem of (await fleet.hub.durability()).problems) context.notice(problem);
    return await fleet.hosts();
  },
  render: (all, options) =>
    all.length === 0
      ? "No host has joined. On each: midwatch up --join nats://HUB:4222"
      : table(
          [
            ["HOST", "STATE", "AGENTS", "LOAD", "MEMORY", "DISK", "LABELS"],
            ...all.map((host) => [
              host.host,
              host.reachable
                ? host.draining
                  ? paint("draining", "yellow", options)
                  : paint(host.signature === "missing" ? "up, unsigned" : "up", UP[host.signature], options)
                : paint(`unreachable, heard ${age(host.at)} ago`, "red", options),
              `${host.running} of ${host.max_running}`,
              `${host.load.toFixed(1)} of ${host.cpus}`,
              `${formatSize(host.memory_free_bytes)} free`,
              `${formatSize(host.disk_free_bytes)} free`,
              Object.entries(host.labels)
                .map(([name, value]) => (value === "" ? name : `${name}=${value}`))
                .join(","),
            ]),
          ],
          options,
        ),
  next: () => "midwatch ls --all-hosts",
  exitCode: (all) => (all.every(({ reachable }) => reachable) ? 0 : 1),
});

export const drain: Operation = operation({
  name: "drain",
  summary: "Give a host of the fleet no new agents; those that run go on",
  positionals: ["host"],
  input: z.strictObject({
    host: z.string().min(1).describe("The host, or a beginning that only it has").meta({ value: "HOST" }),
    off: z.boolean().describe("It may have new agents again").default(false),
  }),
  changes: true,
  examples: ["midwatch drain gpu-1", "midwatch drain --off gpu-1"],
  run: async (context, { host: text, off }) => {
    await using fleet = await fleetOf(context);
    const host = await fleet.find(text);
    await fleet.drain(host, !off);
    return { host, draining: !off };
  },
  render: ({ host, draining }) => `${host}  ${draining ? "gets no new agents" : "may have new agents"}`,
  next: () => "midwatch hosts",
});
