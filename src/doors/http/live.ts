/**
 * The WebSocket: many subscriptions on one connection. At most one message is on its way to a client; the next is made when that has
 * left, so a client that does not read costs one message and no more, however busy the agents are.
 */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { MidwatchError, toMidwatchError } from "../../core/errors.ts";
import { isFields, parseJson } from "../../core/json.ts";
import type { Headers } from "./auth.ts";
import type { Door } from "./door.ts";
import { LogFeeds } from "./log-feed.ts";
import { Shares } from "./shares.ts";
import { type Fields, type Subscription, subscribe } from "./subscriptions.ts";

export interface Live {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  readonly clients: number;
  close(): void;
}

/** A page that broke a rule is told by this code, as the protocol has it. */
const POLICY = 1008;
const TRY_LATER = 1013;

export function liveDoor(door: Door): Live {
  const { limits } = door;
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: limits.messageBytes,
    perMessageDeflate: false,
    clientTracking: true,
    // Never the other word, which is the session.
    handleProtocols: (offered) => offered.has("midwatch") && "midwatch",
  });
  const feeds = new LogFeeds(limits);
  const shares = new Shares(limits.perCaller.sockets);
  const alive = new WeakSet<WebSocket>();
  const pings = setInterval(() => {
    for (const socket of server.clients) {
      if (!alive.delete(socket)) socket.terminate();
      else socket.ping();
    }
  }, limits.pingMs);
  const take = (client: WebSocket): void => {
    alive.add(client);
    client.on("pong", () => alive.add(client));
    new Client(door, feeds, client);
  };
  return {
    get clients() {
      return server.clients.size;
    },
    upgrade(request, socket, head) {
      const headers: Headers = (name) => {
        const value = request.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      const turnAway = (status: string): void => refuse(socket, status, limits.refusedMs);
      if (!door.auth.isForUs(headers)) return turnAway("403 Forbidden");
      if ((request.url ?? "").split("?")[0] !== "/live") return turnAway("404 Not Found");
      const who = door.auth.who(headers);
      if (who === undefined) return turnAway("401 Unauthorized");
      const leave = shares.take(who.agent);
      if (leave === undefined) return turnAway("503 Service Unavailable");
      socket.once("close", leave);
      if (!door.connections.own(request.socket, who.agent)) return turnAway("503 Service Unavailable");
      server.handleUpgrade(request, socket, head, take);
    },
    close() {
      clearInterval(pings);
      for (const client of server.clients) client.close(1001);
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

/** The connection goes in any case: a client that keeps its side open would keep its place among the connections too. */
function refuse(socket: Duplex, status: string, leaveMs: number): void {
  const timer = setTimeout(() => socket.destroy(), leaveMs);
  socket.once("close", () => clearTimeout(timer));
  socket.resume(); // Its end is seen only when what comes before it is read.
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

class Client {
  readonly #door: Door;
  readonly #feeds: LogFeeds;
  readonly #socket: WebSocket;
  readonly #subscriptions = new Map<number, Subscription>();
  #sending = false;
  /** Something may be new since the last look at all of them. */
  #woken = false;
  #second = 0;
  #messages = 0;

  constructor(door: Door, feeds: LogFeeds, socket: WebSocket) {
    this.#door = door;
    this.#feeds = feeds;
    this.#socket = socket;
    socket.on("message", (data, binary) => this.#onMessage(data.toString(), binary));
    socket.on("error", () => undefined); // A broken frame or connection; "close" follows.
    socket.on("close", () => {
      for (const subscription of this.#subscriptions.values()) subscription.close();
      this.#subscriptions.clear();
    });
  }

  #onMessage(text: string, binary: boolean): void {
    const second = Math.floor(performance.now() / 1000);
    this.#messages = second === this.#second ? this.#messages + 1 : 1;
    this.#second = second;
    const message = binary ? undefined : parseJson(text);
    if (this.#messages > this.#door.limits.messagesPerSecond) this.#socket.close(POLICY, "too many messages");
    else if (!isFields(message)) this.#socket.close(POLICY, "not a JSON object");
    else if (typeof message["unsub"] === "number") this.#end(message["unsub"]);
    else if (typeof message["sub"] === "number") this.#begin(message["sub"], message);
    // Anything else is of a later version of the page, or an `ack`, which we do not need: the socket tells when it has drained.
  }

  #begin(id: number, message: unknown): void {
    try {
      this.#end(id);
      if (this.#subscriptions.size >= this.#door.limits.subscriptions)
        throw new MidwatchError("REFUSED_LIMIT", "This connection follows as much as one may.", { hint: "End one." });
      this.#subscriptions.set(
        id,
        subscribe(this.#door, this.#feeds, message, () => this.#wake()),
      );
      this.#wake();
    } catch (error) {
      this.#say(id, error);
    }
  }

  #end(id: number): void {
    this.#subscriptions.get(id)?.close();
    this.#subscriptions.delete(id);
  }

  #say(id: number, error: unknown): void {
    if (this.#socket.bufferedAmount > this.#door.limits.batchBytes) this.#socket.close(TRY_LATER, "read first");
    else this.#socket.send(JSON.stringify({ sub: id, error: toMidwatchError(error) }));
  }

  #wake(): void {
    this.#woken = true;
    if (this.#sending) return;
    this.#sending = true;
    setImmediate(() => void this.#send());
  }

  /** In turns, so that a busy log does not keep the others waiting. */
  async #send(): Promise<void> {
    for (let sent = true; sent || this.#woken; ) {
      sent = false;
      this.#woken = false;
      for (const [id, subscription] of this.#subscriptions) {
        const message = this.#take(id, subscription);
        if (message === undefined) continue;
        sent = true;
        if (!(await this.#sent(id, message))) return; // It is closed, and stays so.
      }
    }
    this.#sending = false;
  }

  #take(id: number, subscription: Subscription): Fields | undefined {
    try {
      const message = subscription.take();
      if (subscription.over) this.#end(id);
      return message;
    } catch (error) {
      this.#end(id);
      return { more: `"error":${JSON.stringify(toMidwatchError(error))}` };
    }
  }

  /** When the kernel has taken all of it. A message in three parts: the middle one is everybody's. */
  #sent(id: number, { items, more }: Fields): Promise<boolean> {
    if (this.#socket.readyState !== this.#socket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (error: unknown): void => resolve(!error);
      if (items === undefined) return this.#socket.send(`{"sub":${id},${more}}`, done);
      this.#socket.send(`{"sub":${id},"items":[`, { fin: false });
      this.#socket.send(items, { fin: false });
      this.#socket.send(`],${more}}`, { fin: true }, done);
    });
  }
}
