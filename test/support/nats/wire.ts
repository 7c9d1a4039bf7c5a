/**
 * A TCP connection that can be cut as a network is: what is sent stays away and nobody is told; mended, it arrives. For partitions without
 * rights on the machine's network.
 */
import { connect, createServer, type Server, type Socket } from "node:net";

export class Wire {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** From a port of its own to this one of the loopback. */
  static async to(target: number): Promise<Wire> {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const wire = new Wire(server, port);
    server.on("connection", (near) => wire.#join(near, connect(target, "127.0.0.1")));
    return wire;
  }

  #join(near: Socket, far: Socket): void {
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      this.#sockets.add(from);
      from.on("data", (part) => {
        if (!to.write(part)) from.pause();
      });
      to.on("drain", () => {
        if (!this.#cut) from.resume();
      });
      // While it is cut not even an end gets through.
      from.on("close", () => {
        this.#sockets.delete(from);
        if (!this.#cut) to.destroy();
      });
      from.on("error", () => undefined);
      if (this.#cut) from.pause();
      else from.resume();
    }
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  mend(): void {
    this.#cut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
