/**
 * The connections of the server, and whose each is. One that has not said who it is belongs to strangers, who have no place of their own: when there is
 * no room for a new connection, the stranger that asked for nothing for longest goes.
 */
import type { Socket } from "node:net";
import type { AgentId } from "../../core/ids.ts";
import type { Limits } from "./limits.ts";
import { Shares } from "./shares.ts";

interface Owner {
  agent: AgentId | undefined;
  leave(): void;
}

export class Connections {
  readonly #most: number;
  readonly #shares: Shares;
  readonly #owners = new Map<Socket, Owner>();
  /** The longest silent first. */
  readonly #strangers = new Set<Socket>();

  constructor({ connections, perCaller }: Pick<Limits, "connections" | "perCaller">) {
    this.#most = connections;
    this.#shares = new Shares(perCaller.connections);
  }

  /** A new one, whose first byte has not been read. */
  add(socket: Socket): void {
    // Node takes its own handler off a socket that is upgraded; without one a reset by the client ends the process. "close" follows.
    socket.on("error", () => undefined);
    socket.once("close", () => this.#forget(socket));
    this.#strangers.add(socket);
    if (this.#strangers.size + this.#owners.size <= this.#most) return;
    const [silent = socket] = this.#strangers;
    this.#forget(silent);
    silent.destroy();
  }

  /** A stranger asked for something. */
  heard(socket: Socket): void {
    if (this.#strangers.delete(socket)) this.#strangers.add(socket);
  }

  /** Its request told whose it is. False when the caller has as many as it may: it stays a stranger's. */
  own(socket: Socket, agent: AgentId | undefined): boolean {
    const owner = this.#owners.get(socket);
    if (owner !== undefined && owner.agent === agent) return true;
    if (owner === undefined && !this.#strangers.has(socket)) return true; // Closed meanwhile: nobody gets the answer.
    // A proxy asks for many callers on one connection: it is whose it was last.
    owner?.leave();
    this.#owners.delete(socket);
    const leave = this.#shares.take(agent);
    if (leave === undefined) this.#strangers.add(socket);
    else {
      this.#strangers.delete(socket);
      this.#owners.set(socket, { agent, leave });
    }
    return leave !== undefined;
  }

  #forget(socket: Socket): void {
    this.#strangers.delete(socket);
    this.#owners.get(socket)?.leave();
    this.#owners.delete(socket);
  }
}
