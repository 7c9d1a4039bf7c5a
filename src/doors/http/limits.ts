/** What one client can take from the server, in one place. Nothing here grows with the number of agents or the size of a log. */
import type { Share } from "./shares.ts";

export interface Limits {
  /** Of a request's body; a message to an agent or an event is at most 1 MiB. */
  bodyBytes: number;
  /** Until the head of a request is here, and until all of it is. */
  headMs: number;
  requestMs: number;
  /** A connection that asks nothing is kept for this long. Node's 5 s are too short: a client that gets no turn for so long asks on a connection that is being closed. */
  idleMs: number;
  /** How long an operation may go on before it is asked to end: what it has found by then is the answer. */
  answerMs: number;
  /** How long a write waits for a registry that another process has locked: everybody waits with it. */
  lockMs: number;
  answerItems: number;
  answerBytes: number;
  /** In all; strangers make room for others. */
  connections: number;
  /** What a caller may have at once; more is told to come again. */
  perCaller: {
    /** Operations until their answer has been taken. */
    requests: Share;
    /** Those of them that go on until something happens. */
    follows: Share;
    /** Calls and streams of MCP. */
    mcp: Share;
    sockets: Share;
    /** With those of WebSockets. */
    connections: Share;
  };
  /** A client that is refused a WebSocket has this long to take the answer and leave. */
  refusedMs: number;
  /** Of a message from a client over the WebSocket, messages in a second, and what it may follow at once. */
  messageBytes: number;
  messagesPerSecond: number;
  subscriptions: number;
  /** Of a message to a client; it gets the next when this one has left. */
  batchBytes: number;
  batchLines: number;
  pingMs: number;
  /** A code of a login link is good for this long. */
  codeMs: number;
  /** A browser stays logged in for this long. */
  sessionMs: number;
}

export const LIMITS: Readonly<Limits> = {
  bodyBytes: 2 << 20,
  headMs: 10_000,
  requestMs: 30_000,
  idleMs: 60_000,
  answerMs: 60_000,
  lockMs: 250,
  answerItems: 1000,
  answerBytes: 4 << 20,
  connections: 1536,
  perCaller: {
    requests: { each: 16, agents: 48, people: 64 },
    follows: { each: 16, agents: 64, people: 64 },
    mcp: { each: 16, agents: 512, people: 128 },
    sockets: { each: 32, agents: 512, people: 512 },
    connections: { each: 96, agents: 640, people: 640 },
  },
  refusedMs: 1000,
  messageBytes: 64 << 10,
  messagesPerSecond: 200,
  subscriptions: 64,
  batchBytes: 128 << 10,
  batchLines: 1000,
  pingMs: 20_000,
  codeMs: 15 * 60_000,
  sessionMs: 30 * 24 * 3_600_000,
};
