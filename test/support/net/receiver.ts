/** Somebody who gets alerts: a web server on loopback that answers as it is told. No vitest in here: the soak uses it too. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Null when it hangs. */
  answered: number | null;
}

/** Null hangs. */
export type Answer = { status: number; headers?: Record<string, string> } | null;

export class Receiver {
  readonly secret: string = `whsec_${randomBytes(32).toString("base64")}`;
  readonly received: Received[] = [];
  readonly #server: Server;
  readonly #verified = new WeakMap<Received, WebhookBody>();
  readonly #hanging = new Set<ServerResponse>();

  private constructor(answer: (request: Received, before: number) => Answer) {
    this.#server = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const path = request.url ?? "";
      const got: Received = {
        path,
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(parts).toString(),
        answered: null,
      };
      const before = this.at(path).length;
      this.received.push(got);
      const made = answer(got, before);
      got.answered = made?.status ?? null;
      if (made === null) this.#hanging.add(response);
      else response.writeHead(made.status, made.headers).end("{}");
    });
  }

  /** `before` counts what came on the same path. */
  static async open(
    answer: (request: Received, before: number) => Answer = () => ({ status: 200 }),
  ): Promise<Receiver> {
    const receiver = new Receiver(answer);
    receiver.#server.listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  at(path: string): Received[] {
    return this.received.filter((one) => one.path === path);
  }

  /** What a webhook said; throws when the reference library does not take the signature. Checked once: it takes none that is old. */
  verified(one: Received): WebhookBody {
    const known = this.#verified.get(one);
    if (known !== undefined) return known;
    const body = new Webhook(this.secret).verify(one.body, one.headers) as WebhookBody;
    this.#verified.set(one, body);
    return body;
  }

  async close(): Promise<void> {
    for (const response of this.#hanging) response.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export interface WebhookBody {
  type: string;
  timestamp: string;
  data: {
    severity: string;
    title: string;
    text: string;
    event: { id: string; actor: string; task: string | null; agent: string | null; data: unknown };
    more: number;
    rest: Record<string, number> | null;
  };
}

/** How many events a message stands for. */
export function eventsIn({ data: { more, rest } }: WebhookBody): number {
  return rest === null ? 1 + more : Object.values(rest).reduce((sum, count) => sum + count, 0);
}
