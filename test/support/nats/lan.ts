/**
 * A network of several machines on this one: each place is a network namespace with a link to a bridge. Cut off, its link is down; split
 * off, it is on another bridge. Nothing of it touches the machine's own network: it all is inside the namespace of the process that opens
 * it (`ownNetwork`), and goes with it. Needs the rights of root. No vitest in here: the soak uses it too.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";

const MARK = "TEST_LAN";
const BRIDGES = { all: "lan", others: "lan-others" } as const;

/** What to put before a command, and into its environment, so that it has a network of its own; undefined where that is not allowed. */
export function ownNetwork(): { via: string[]; env: Record<string, string> } | undefined {
  const via = ["unshare", "--net", "--"];
  const [unshare = "", ...rest] = via;
  const tried = spawnSync(unshare, [...rest, "ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1"]);
  return tried.status === 0 ? { via, env: { [MARK]: "1" } } : undefined;
}

export class Lan {
  readonly #holders: ChildProcess[] = [];
  #places = 0;

  private constructor() {
    for (const bridge of Object.values(BRIDGES)) {
      ip("link", "add", bridge, "type", "bridge");
      ip("link", "set", bridge, "up");
    }
    ip("link", "set", "lo", "up");
    ip("address", "add", "10.77.0.1/24", "dev", BRIDGES.all);
  }

  /** Undefined in a process that was not started with a network of its own. */
  static open(): Lan | undefined {
    return process.env[MARK] === "1" ? new Lan() : undefined;
  }

  async place(): Promise<Place> {
    const number = ++this.#places;
    // It holds the namespace, and ends with us whatever happens: then its input does.
    const holder = spawn("unshare", ["--net", "cat"], { stdio: ["pipe", "ignore", "inherit"] });
    this.#holders.push(holder);
    await once(holder, "spawn");
    const space = (pid: number | "self"): string => readlinkSync(`/proc/${pid}/ns/net`);
    while (space(holder.pid as number) === space("self")) await new Promise((resolve) => setTimeout(resolve, 5));
    return new Place(number, holder.pid as number);
  }

  close(): void {
    for (const holder of this.#holders) holder.kill("SIGKILL");
  }
}

/** One machine of the network. */
export class Place {
  readonly address: string;
  /** What to put before a command so that it runs here. */
  readonly via: readonly string[];
  readonly #link: string;

  constructor(number: number, holder: number) {
    this.address = `10.77.0.${number + 1}`;
    this.via = ["nsenter", "--target", String(holder), "--net", "--"];
    this.#link = `place${number}`;
    ip("link", "add", this.#link, "type", "veth", "peer", "name", "eth0", "netns", String(holder));
    ip("link", "set", this.#link, "master", BRIDGES.all, "up");
    const [nsenter = "", ...rest] = this.via;
    for (const command of ["link set lo up", `address add ${this.address}/24 dev eth0`, "link set eth0 up"])
      execFileSync(nsenter, [...rest, "ip", ...command.split(" ")]);
  }

  cut(): void {
    ip("link", "set", this.#link, "down");
  }

  /** Away from the rest, together with the others that are split off. */
  split(): void {
    ip("link", "set", this.#link, "master", BRIDGES.others);
  }

  mend(): void {
    ip("link", "set", this.#link, "master", BRIDGES.all, "up");
  }
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "inherit"] });
}
