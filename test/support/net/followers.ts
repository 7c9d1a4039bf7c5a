/** Many who follow many logs over the WebSocket, among them one that does not read: what each was told, line by line. No vitest in here. */
import { once } from "node:events";
import { type Lab, until } from "../workspace.ts";
import { bearer, Follower, type Message, rssOf, startUp, tokenOf } from "./http.ts";

export interface Crowd {
  logs: number;
  clients: number;
  bursts: number;
  /** Lines that each agent prints at a time. */
  lines: number;
  /** Seconds between two bursts. */
  pause?: number;
}

export interface Outcome {
  /** What should not be: a line that is missing, out of order or there twice. */
  faults: string[];
  received: number;
  /** How much larger the server became, in KB. */
  grownKb: number;
}

/** Prints {"n":1}, {"n":2} ... in bursts, with a pause between. */
export function printer(bursts: number, lines: number, pause = 0.05): string {
  return `i=0; while [ $i -lt ${bursts} ]; do
    seq -f '{"n":%.0f,"pad":"${"x".repeat(100)}"}' $((i * ${lines} + 1)) $((i * ${lines} + ${lines}));
    i=$((i + 1)); sleep ${pause}; done`;
}

/** Looks at the numbers that come: each is the one behind the last. */
export class Numbers {
  last = 0;
  end = false;
  readonly faults: string[] = [];

  take({ items = [], end, error }: Message): void {
    if (error !== undefined) this.faults.push(JSON.stringify(error));
    if (end) this.end = true;
    for (const { data, seq } of items) {
      if (data?.n !== this.last + 1 || seq !== data.n)
        this.faults.push(`behind ${this.last} came ${data?.n} (seq ${seq})`);
      this.last = data?.n ?? this.last;
    }
  }
}

export async function followMany(lab: Lab, crowd: Crowd, mostMs: number): Promise<Outcome> {
  const { logs, clients, bursts, lines, pause } = crowd;
  const up = await startUp(lab, "--port", "0");
  const token = bearer(tokenOf(lab));
  const agents: string[] = [];
  for (let i = 0; i < logs; i++) agents.push((await lab.sh(`sleep 1; ${printer(bursts, lines, pause)}`)).agent);
  const numbers = Array.from({ length: clients }, () => new Numbers());
  const followers = numbers.map((one) => new Follower(up.url, token, (message) => one.take(message)));
  const before = rssOf(up.pid);
  let most = before;
  const meter = setInterval(() => {
    most = Math.max(most, rssOf(up.pid));
  }, 20);
  try {
    await Promise.all(followers.map((follower) => follower.open()));
    for (const [i, follower] of followers.entries()) follower.send({ sub: 1, stream: "log", agent: agents[i % logs] });
    const [lazy, lazyNumbers] = [followers[0] as Follower, numbers[0] as Numbers];
    lazy.socket.pause();
    await until(() => numbers.slice(1).every(({ end }) => end), mostMs, "everybody was told the end");
    const behind = lazyNumbers.last;
    lazy.socket.resume();
    // Who answers no ping for half a minute is taken for gone; it may come back with its cursor.
    const isDropped = (): boolean => lazy.socket.readyState === lazy.socket.CLOSED;
    await until(() => lazyNumbers.end || isDropped(), mostMs, "the lazy one was told the end");
    const faults = numbers.flatMap((one, i) => [
      ...one.faults.map((fault) => `client ${i}: ${fault}`),
      ...(one.last === bursts * lines || (one === lazyNumbers && !one.end)
        ? []
        : [`client ${i} has ${one.last} of ${bursts * lines}`]),
    ]);
    if (behind === bursts * lines) faults.push("the one that did not read was told everything");
    return { faults, received: numbers.reduce((sum, { last }) => sum + last, 0), grownKb: most - before };
  } finally {
    clearInterval(meter);
    for (const { socket } of followers) socket.terminate();
    const over = once(up.child, "exit");
    up.child.kill("SIGINT");
    await over;
  }
}

/** Follows one log and the journal while the connection is cut and the server is killed, again and again; goes on by its cursors. */
export async function followThroughKills(
  lab: Lab,
  { bursts, lines, kills }: { bursts: number; lines: number; kills: number },
): Promise<string[]> {
  let up = await startUp(lab, "--port", "0");
  const { port } = new URL(up.url);
  const token = bearer(tokenOf(lab));
  const { agent } = await lab.sh(printer(bursts, lines));
  const numbers = new Numbers();
  const faults: string[] = [];
  const seen = new Set<string>();
  let told = 0;
  let wrote = 0;
  let cursors: { log?: unknown; journal?: unknown } = {};
  let follower: Follower | undefined;
  const onMessage = (message: Message): void => {
    if (message.sub === 1) {
      numbers.take(message);
      if (message.cursor !== undefined) cursors = { ...cursors, log: message.cursor };
      return;
    }
    for (const { id, type, content } of message.items ?? []) {
      if (seen.has(id)) faults.push(`the event ${id} came twice`);
      seen.add(id);
      if (type === "note" && Number(content) !== ++told) faults.push(`behind event ${told - 1} came ${content}`);
    }
    cursors = { ...cursors, journal: message.cursor };
  };
  const connect = async (): Promise<void> => {
    follower = await new Follower(up.url, token, onMessage).open();
    if (!numbers.end) follower.send({ sub: 1, stream: "log", agent, cursor: cursors.log });
    follower.send({ sub: 2, stream: "journal", cursor: cursors.journal });
  };
  for (let round = 0; !numbers.end || round < 2 * kills; round++) {
    await connect();
    const from = numbers.last;
    await lab.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: String(++wrote) });
    await until(() => numbers.end || numbers.last > from, 20_000, "the log goes on");
    if (round % 2 === 0 || round >= 2 * kills) follower?.socket.terminate();
    else {
      const over = once(up.child, "exit");
      up.child.kill("SIGKILL");
      await over;
      up = await startUp(lab, "--port", port);
    }
  }
  await connect();
  await until(() => told === wrote, 15_000, "all events came");
  follower?.socket.terminate();
  if (numbers.last !== bursts * lines) faults.push(`${numbers.last} of ${bursts * lines} lines came`);
  return [...faults, ...numbers.faults];
}
