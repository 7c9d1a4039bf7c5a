/** Agents and strangers who take from a server all that they are given, and ask for more. No vitest in here. */
import { readFileSync } from "node:fs";
import { type ClientRequest, request } from "node:http";
import { connect, type Socket } from "node:net";
import { type Lab, until } from "../workspace.ts";
import { ask, bearer, Follower, type Up } from "./http.ts";

const AGENTS = 16;
const FOLLOWS = 64;
const SOCKETS = 512;
const STRANGERS = 1024;
const AT_ONCE = 256;
const AGAIN_MS = 250;

export interface Flood {
  /** What is held of `/api/logs?follow`, and how many more were refused. */
  follows: { held: number; refused: number };
  sockets: { held: number; refused: number };
  /** Connections of strangers that the server has closed so far. */
  closed(): number;
  end(): void;
}

/** Returns when all have what they get. Strangers whose connection is closed come back when they are `stubborn`. */
export async function flood(lab: Lab, { url }: Pick<Up, "url">, stubborn = false): Promise<Flood> {
  const agents = await Promise.all(Array.from({ length: AGENTS }, () => lab.run("sleep", "1000")));
  const bearers = agents.map((record) => {
    const environment = readFileSync(`/proc/${lab.startFact(record).main?.pid}/environ`, "latin1");
    return bearer(`${record.agent}:${/MIDWATCH_CAPABILITY=([^\0]+)/.exec(environment)?.[1]}`);
  });
  const strangers = new Strangers(url, stubborn);
  // Fewer at a time than the kernel keeps for the server: more would be let in seconds later, one by one. An answer tells that it has taken them all.
  for (let come = 0; come < STRANGERS; come += AT_ONCE) {
    strangers.come(AT_ONCE);
    await ask(url, "/");
  }
  const requests: ClientRequest[] = [];
  const answers: (number | undefined)[] = [];
  // The first agent asks for as much as all of them may have; then each for its part.
  const asking = [
    ...Array.from({ length: FOLLOWS }, () => 0),
    ...Array.from({ length: FOLLOWS }, (_, i) => i % AGENTS),
  ];
  for (const i of asking) {
    const asked = request(`${url}/api/logs?follow=true&agent=${agents[i]?.agent}`, {
      headers: bearers[i] ?? {},
      agent: false,
    });
    asked.on("response", (answer) => answer.resume().on("close", () => answers.push(answer.statusCode)));
    asked.on("error", () => undefined);
    asked.end();
    requests.push(asked);
  }
  // Those that were refused have left: their connections are no one's any more.
  await until(() => answers.length >= asking.length - FOLLOWS, 60_000, "who was refused has left");
  const followers = [
    ...Array.from({ length: SOCKETS }, () => 0),
    ...Array.from({ length: SOCKETS }, (_, i) => i % AGENTS),
  ].map((i) => new Follower(url, bearers[i] ?? {}));
  await until(() => followers.every(({ socket, refused }) => socket.readyState === 1 || refused !== undefined), 60_000);
  const open = followers.filter(({ socket }) => socket.readyState === 1);
  for (const [i, follower] of open.entries()) {
    follower.send({ sub: 1, stream: "fleet" });
    follower.send({ sub: 2, stream: "log", agent: agents[i % AGENTS]?.agent });
  }
  return {
    follows: { held: requests.length - answers.length, refused: answers.filter((status) => status === 429).length },
    sockets: { held: open.length, refused: followers.length - open.length },
    closed: () => strangers.closed,
    end() {
      strangers.end();
      for (const asked of requests) asked.destroy();
      for (const { socket } of followers) socket.terminate();
    },
  };
}

/** Connections that never say a word. */
class Strangers {
  closed = 0;
  readonly #port: number;
  readonly #stubborn: boolean;
  readonly #sockets = new Set<Socket>();
  #over = false;

  constructor(url: string, stubborn: boolean) {
    this.#port = Number(new URL(url).port);
    this.#stubborn = stubborn;
  }

  come(count: number): void {
    for (let i = 0; i < count; i++) this.#open();
  }

  end(): void {
    this.#over = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(): void {
    if (this.#over) return;
    const socket = connect(this.#port, "127.0.0.1");
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.resume();
    socket.on("close", () => {
      this.#sockets.delete(socket);
      if (this.#over) return;
      this.closed++;
      if (this.#stubborn) setTimeout(() => this.#open(), AGAIN_MS);
    });
  }
}
