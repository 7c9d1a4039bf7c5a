/** The configuration of a server for one fleet: who may do what, by the keys of people and hosts. */
import { VARZ } from "./hub.ts";
import { fleetNames } from "./names.ts";

export interface ServerConfigOptions {
  fleet: string;
  listen: string;
  /** Public keys. */
  people: string;
  hosts: readonly { name: string; key: string }[];
  tls?: { cert: string; key: string; ca?: string | undefined } | undefined;
  storeDir: string;
}

/**
 * A host publishes what it wrote, tells of itself, claims what it is asked and answers; it reads the fleet's streams. It can neither write
 * under another name nor ask, change or empty anything. People may do everything in the fleet's account.
 */
function hostRights(fleet: string, host: string): { publish: string[]; subscribe: string[] } {
  const { events, registers, ask, objects } = fleetNames(fleet);
  const files = `OBJ_${objects(host)}`;
  const streams = [events.stream, registers.stream];
  return {
    publish: [
      events.of(host),
      registers.subject(`hosts/${host}`),
      registers.subject(`agents/${host}`),
      `${registers.subject(`asks/${host}`)}.>`,
      `$O.${objects(host)}.>`,
      ask(host, "look"),
      VARZ,
      ...[...streams, files].flatMap((stream) => [
        `$JS.API.STREAM.INFO.${stream}`,
        `$JS.API.STREAM.MSG.GET.${stream}`,
        `$JS.API.DIRECT.GET.${stream}`,
        `$JS.API.DIRECT.GET.${stream}.>`,
      ]),
      `$JS.API.STREAM.CREATE.${files}`,
      `$JS.API.STREAM.PURGE.${files}`,
    ],
    subscribe: [`_INBOX_${host}.>`, ask(host, "look"), ask(host, "do")],
  };
}

export function serverConfig({ fleet, listen, people, hosts, tls, storeDir }: ServerConfigOptions): string {
  const users = hosts.map(({ name, key }) => {
    const { publish, subscribe } = hostRights(fleet, name);
    return `      # ${name}
      { nkey: ${key}
        permissions: {
          publish: { allow: ${list(publish)} }
          subscribe: { allow: ${list(subscribe)} }
          allow_responses: { max: 1, expires: "2m" }
        } }`;
  });
  return `# A NATS server for the fleet "${fleet}" of midwatch. One server by itself; in a cluster each has its own server_name,
# and a cluster block beside this (docs/scale.md). It needs nats-server 2.12 or newer.
server_name: hub-1
listen: ${JSON.stringify(listen)}
max_payload: 8MB

jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  # On the disk before it is acknowledged. Without this line a power cut takes what the last two minutes acknowledged.
  sync_interval: always
}
${
  tls === undefined
    ? `
# Without TLS everybody on the way reads along: only for one machine or a private network.
# tls { cert_file: "hub.pem", key_file: "hub.key" }
`
    : `
tls {
  cert_file: ${JSON.stringify(tls.cert)}
  key_file: ${JSON.stringify(tls.key)}${tls.ca === undefined ? "" : `\n  ca_file: ${JSON.stringify(tls.ca)}\n  verify: true`}
}
`
}
accounts {
  SYS {
    # So that midwatch can see whether the servers sync.
    exports: [{ service: "${VARZ}", response_type: stream, accounts: [MIDWATCH] }]
  }
  MIDWATCH {
    jetstream: enabled
    imports: [{ service: { account: SYS, subject: "${VARZ}" } }]
    users: [
      # people
      { nkey: ${people} }
${users.join("\n")}
    ]
  }
}
system_account: SYS
`;
}

function list(subjects: readonly string[]): string {
  return `[\n${subjects.map((subject) => `            ${JSON.stringify(subject)}`).join("\n")}\n          ]`;
}
