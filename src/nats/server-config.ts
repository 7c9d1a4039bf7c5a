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

/** What everybody may ask: who the hub takes one for. */
export const USER_INFO = "$SYS.REQ.USER.INFO";
/** Where a host's questions to JetStream go inside its account: the names of JetStream itself are taken there. */
const API = ["$JS.API.", "midwatch.api."] as const;

interface HostRights {
  /** What the host publishes into the account of the fleet. */
  own: string[];
  /** The same, which all hosts may. */
  shared: string[];
  publish: string[];
  subscribe: string[];
}

/**
 * A host publishes what it wrote, tells of itself, claims what it is asked and answers; it reads the fleet's streams. It can neither write
 * under another name nor ask, change or empty anything. Each host has an account of its own, which reaches into that of the fleet only for
 * this: a server that is asked to answer somewhere else does so inside the account of who asked.
 */
function hostRights(fleet: string, host: string): HostRights {
  const { events, registers, ask, objects } = fleetNames(fleet);
  const files = `OBJ_${objects(host)}`;
  const read = (stream: string): string[] => [
    `$JS.API.STREAM.INFO.${stream}`,
    `$JS.API.STREAM.MSG.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.>`,
  ];
  const own = [
    events.of(host),
    registers.subject(`hosts/${host}`),
    registers.subject(`agents/${host}`),
    `${registers.subject(`asks/${host}`)}.>`,
    `$O.${objects(host)}.>`,
    ...read(files),
    `$JS.API.STREAM.CREATE.${files}`,
    `$JS.API.STREAM.PURGE.${files}`,
  ];
  const shared = [events.stream, registers.stream].flatMap(read);
  const reaching = [...own, ...shared];
  const mapped = reaching.filter((subject) => subject.startsWith(API[0])).map(inAccount);
  return {
    own,
    shared,
    publish: [...reaching, ...mapped, ask(host, "look"), VARZ, USER_INFO],
    subscribe: [`_INBOX_${host}.>`, ask(host, "look"), ask(host, "do")],
  };
}

function inAccount(subject: string): string {
  return subject.replace(...API);
}

function accountOf(host: string): string {
  return JSON.stringify(`HOST_${host}`);
}

function hostAccount(fleet: string, { name, key }: { name: string; key: string }): string {
  const { own, shared, publish, subscribe } = hostRights(fleet, name);
  const asked = fleetNames(fleet).ask(name, "do").replace(/do$/, "*");
  const imports = [...own, ...shared].map((subject) => {
    const to = subject.startsWith(API[0]) ? `, to: ${JSON.stringify(inAccount(subject))}` : "";
    return `{ service: { account: MIDWATCH, subject: ${JSON.stringify(subject)} }${to} }`;
  });
  const mappings = [...own, ...shared]
    .filter((subject) => subject.startsWith(API[0]))
    .map((subject) => `${JSON.stringify(subject)}: ${JSON.stringify(inAccount(subject))}`);
  return `  ${accountOf(name)} {
    # Only what it may ask: anything else is refused under the name by which it was asked.
    mappings: {
${mappings.map((line) => `      ${line}`).join("\n")}
    }
    exports: [{ service: ${JSON.stringify(asked)}, accounts: [MIDWATCH] }]
    imports: ${lines([...imports, IMPORT_VARZ])}
    users: [
      { nkey: ${key}
        permissions: {
          publish: { allow: ${lines(publish.map((subject) => JSON.stringify(subject)))} }
          subscribe: { allow: ${lines(subscribe.map((subject) => JSON.stringify(subject)))} }
          allow_responses: { max: 1, expires: "2m" }
        } }
    ]
  }`;
}

const IMPORT_VARZ = `{ service: { account: SYS, subject: "${VARZ}" } }`;

function service(subject: string, accounts: readonly string[]): string {
  // One question there can have many answers.
  const many = subject.includes("DIRECT.GET") ? "response_type: stream, " : "";
  return `{ service: ${JSON.stringify(subject)}, ${many}accounts: [${accounts.join(", ")}] }`;
}

export function serverConfig({ fleet, listen, people, hosts, tls, storeDir }: ServerConfigOptions): string {
  const accounts = hosts.map(({ name }) => accountOf(name));
  const shared = hosts.slice(0, 1).flatMap(({ name }) => hostRights(fleet, name).shared);
  const exports = [
    ...hosts.flatMap(({ name }) => hostRights(fleet, name).own.map((subject) => service(subject, [accountOf(name)]))),
    ...shared.map((subject) => service(subject, accounts)),
  ];
  const questions = hosts.map(({ name }) => {
    const asked = fleetNames(fleet).ask(name, "do").replace(/do$/, "*");
    return `{ service: { account: ${accountOf(name)}, subject: ${JSON.stringify(asked)} } }`;
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
    exports: [{ service: "${VARZ}", response_type: stream, accounts: [${["MIDWATCH", ...accounts].join(", ")}] }]
  }
  # People, and all that the fleet keeps.
  MIDWATCH {
    jetstream: enabled
    exports: ${lines(exports)}
    imports: ${lines([...questions, IMPORT_VARZ])}
    users: [
      { nkey: ${people}
        permissions: { publish: ">", subscribe: ">" } }
    ]
  }
${hosts.map((host) => hostAccount(fleet, host)).join("\n")}
}
system_account: SYS
`;
}

function lines(items: readonly string[]): string {
  return `[\n${items.map((item) => `      ${item}`).join("\n")}\n    ]`;
}
