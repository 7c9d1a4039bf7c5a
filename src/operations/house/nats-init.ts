import { resolve } from "node:path";
import { natsInit as init } from "../../setup/nats-init.ts";
import { type Operation, operation, usage, z } from "../operation.ts";
import { table } from "../render.ts";

export const natsInit: Operation = operation({
  name: "nats init",
  summary: "Write the configuration of a NATS server for a fleet, with a key for each host",
  details:
    "A folder with nats-server.conf, people.nk, HOST.nk for each host, and roster.json: whose key is whose, signed by people. A host's key lets it write only under its own name; people may do everything in the fleet. Run again it keeps the keys, hosts and settings that are there. Hand each host its own HOST.nk and the printed public key (nats_people), nothing else; then `nats-server --signal reload` on the hub and `midwatch hosts`, which brings the roster there (docs/scale.md).",
  positionals: ["hosts"],
  input: z.strictObject({
    hosts: z.array(z.string()).describe("Names of the hosts").meta({ value: "HOST" }).default([]),
    dir: z.string().describe("Where to").meta({ value: "DIR" }).default("nats"),
    rotate: z
      .array(z.string())
      .describe("Make a new key for this host, or for `people`; what the old one signed until now still counts")
      .meta({ value: "NAME" })
      .default([]),
    revoke: z.array(z.string()).describe("Take this host out of the fleet").meta({ value: "HOST" }).default([]),
    fleet: z.string().describe("The name of the fleet (fleet)").optional(),
    listen: z.string().describe("The server's address (127.0.0.1:4222)").meta({ value: "ADDRESS" }).optional(),
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
    "midwatch nats init --rotate alpha",
    "midwatch nats init --revoke alpha --rotate people",
  ],
  run: async (context, { hosts, dir, fleet, listen, tls_cert, tls_key, tls_ca, rotate, revoke }) => {
    if ((tls_cert === undefined) !== (tls_key === undefined))
      throw usage("--tls-cert and --tls-key go together.", "Name both files.");
    const at = (file: string): string => resolve(context.cwd, file);
    const tls =
      tls_cert === undefined || tls_key === undefined
        ? undefined
        : { cert: at(tls_cert), key: at(tls_key), ca: tls_ca === undefined ? undefined : at(tls_ca) };
    const given = { ...(fleet && { fleet }), ...(listen && { listen }), ...(tls && { tls }) };
    return await init({ folder: at(dir), hosts, rotate, revoke, ...given });
  },
  render: ({ config, people, people_key, hosts, roster }) =>
    table([
      ["server", config],
      ["people", people],
      ["nats_people", people_key],
      ["roster", roster],
      ...hosts.map(({ host, nkey }) => [host, nkey]),
    ]),
  next: (made) => made && `nats-server -c ${made.config}`,
});
