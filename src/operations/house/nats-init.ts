import { resolve } from "node:path";
import { natsInit as init } from "../../setup/nats-init.ts";
import { type Operation, operation, usage, z } from "../operation.ts";
import { table } from "../render.ts";

export const natsInit: Operation = operation({
  name: "nats init",
  summary: "Write the configuration of a NATS server for a fleet, with a key for each host",
  details:
    "A folder with nats-server.conf, people.nk and HOST.nk for each host. A host's key lets it write only under its own name; people may do everything in the fleet. Run again with more hosts it keeps the keys that are there. Hand each host its file and nothing else (docs/scale.md).",
  positionals: ["hosts"],
  input: z.strictObject({
    hosts: z.array(z.string()).describe("Names of the hosts").meta({ value: "HOST" }).default([]),
    dir: z.string().describe("Where to").meta({ value: "DIR" }).default("nats"),
    fleet: z.string().describe("The name of the fleet").default("fleet"),
    listen: z.string().describe("The server's address").meta({ value: "ADDRESS" }).default("127.0.0.1:4222"),
    tls_cert: z
      .string()
      .describe("Certificate of the server; others cannot read along then")
      .meta({ value: "FILE" })
      .optional(),
    tls_key: z.string().describe("Its key").meta({ value: "FILE" }).optional(),
    tls_ca: z.string().describe("Hosts need a certificate too, signed by this one").meta({ value: "FILE" }).optional(),
  }),
  changes: true,
  cliOnly: true,
  examples: [
    "midwatch nats init alpha beta",
    "midwatch nats init --listen 0.0.0.0:4222 --tls-cert hub.pem --tls-key hub.key alpha",
  ],
  run: async (context, { hosts, dir, fleet, listen, tls_cert, tls_key, tls_ca }) => {
    if ((tls_cert === undefined) !== (tls_key === undefined))
      throw usage("--tls-cert and --tls-key go together.", "Name both files.");
    const at = (file: string): string => resolve(context.cwd, file);
    const tls =
      tls_cert === undefined || tls_key === undefined
        ? undefined
        : { cert: at(tls_cert), key: at(tls_key), ca: tls_ca === undefined ? undefined : at(tls_ca) };
    return await init({ folder: at(dir), fleet, hosts, listen, tls });
  },
  render: ({ config, people, hosts }) =>
    table([["server", config], ["people", people], ...hosts.map(({ host, nkey }) => [host, nkey])]),
  next: (made) => made && `nats-server -c ${made.config}`,
});
