/**
 * The one WebSocket of the page. A subscription outlives the connection: after a reconnect it goes on behind the last cursor, so
 * nothing is missed and nothing comes twice.
 */
import { signal } from "@preact/signals";
import type { Failure } from "./api.ts";
import { bearer, protocols, signedOut } from "./session.ts";

export interface Message {
  sub: number;
  items?: unknown[];
  cursor?: unknown;
  whole?: boolean;
  run?: number;
  cut?: boolean;
  end?: boolean;
  error?: Failure;
}

export interface Wish {
  stream: "fleet" | "log" | "journal" | "summaries";
  cursor?: unknown;
  agent?: string;
  run?: number;
  stderr?: boolean;
}

interface Subscription {
  wish: Wish;
  hear(message: Message): void;
}

export type Connection = "connecting" | "open" | "lost";

export const connection = signal<Connection>("connecting");
/** When the next try is due. */
export const retryAt = signal(0);

const FIRST_RETRY_MS = 400;
const LAST_RETRY_MS = 8000;

const subscriptions = new Map<number, Subscription>();
let socket: WebSocket | undefined;
let next = 1;
let retryMs = FIRST_RETRY_MS;
let timer: ReturnType<typeof setTimeout> | undefined;

export function subscribe(wish: Wish, hear: (message: Message) => void): () => void {
  const sub = next++;
  subscriptions.set(sub, { wish: { ...wish }, hear });
  if (socket?.readyState === WebSocket.OPEN) send({ sub, ...wish });
  return () => {
    if (subscriptions.delete(sub)) send({ unsub: sub });
  };
}

function send(message: object): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

export function connect(): void {
  clearTimeout(timer);
  if (signedOut.peek()) return;
  const url = new URL("/live", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const opened = new WebSocket(url, protocols());
  socket = opened;
  opened.onopen = () => {
    retryMs = FIRST_RETRY_MS;
    connection.value = "open";
    for (const [sub, { wish }] of subscriptions) send({ sub, ...wish });
  };
  opened.onmessage = ({ data }) => take(JSON.parse(String(data)) as Message);
  opened.onclose = () => {
    if (socket === opened) void retry();
  };
}

function take(message: Message): void {
  const subscription = subscriptions.get(message.sub);
  if (subscription === undefined) return;
  if (message.cursor !== undefined) subscription.wish.cursor = message.cursor;
  subscription.hear(message);
}

/** A socket cannot tell why it was refused: a plain request can. */
async function retry(): Promise<void> {
  connection.value = "lost";
  retryAt.value = Date.now() + retryMs;
  timer = setTimeout(connect, retryMs);
  retryMs = Math.min(retryMs * 1.7, LAST_RETRY_MS);
  const answer = await fetch("/api/version", { headers: bearer(), credentials: "omit" }).catch(() => undefined);
  if (answer?.status === 401) signedOut.value = true;
}
