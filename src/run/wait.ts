/** Waiting: for the end of agents, and for what becomes of a message. Both look at the files; nobody has to tell. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentId } from "../core/ids.ts";
import { isOver } from "../core/phase.ts";
import type { Message, ShowRecord } from "../core/types.ts";
import type { RunPaths } from "../disk/layout.ts";
import { readFacts } from "../facts/facts.ts";
import { locate } from "../facts/locate.ts";
import { hasEnded } from "../facts/observe.ts";
import { closeIdle, messagesOf } from "../messages/inbox.ts";
import { Streams } from "../stream/streams.ts";
import { Apart } from "../workspace/apart.ts";
import type { Context } from "../workspace/context.ts";
import { isOurs } from "../workspace/trust.ts";
import { show } from "./list.ts";
import { startWaiting } from "./queue.ts";
import { reconcile } from "./reconcile.ts";

/** How long to wait, and for whom. */
export interface WaitOptions {
  any?: boolean | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const RECONCILE_MS = 2000;

/** Until all (or one) of the agents have ended. What has not when the time is up is returned as it is. */
export async function wait(context: Context, agents: readonly AgentId[], options: WaitOptions): Promise<ShowRecord[]> {
  const paths = agents.map((agent) => locate(context, agent).paths);
  const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  const streams = new Streams(context);
  const apart = new Apart(context);
  let reconciled = Number.NEGATIVE_INFINITY;
  let pause = 5;
  for (;;) {
    const isEnough = (ended: readonly AgentId[]): boolean =>
      options.any ? ended.length > 0 : ended.length === agents.length;
    const said = agents.filter((_, i) => hasEnded(readFacts(paths[i] as RunPaths)));
    const late = performance.now() >= deadline || options.signal?.aborted;
    if (isEnough(said) || late) {
      const observed = await reconcile(context, { of: agents });
      // Facts may say more than the kernel does.
      const live = new Set(observed.filter(({ row }) => !isOver(row)).map(({ agent }) => agent));
      const ended = said.filter((agent) => !live.has(agent));
      if (isEnough(ended) || late)
        return await Promise.all(
          (options.any && ended.length > 0 ? ended : agents).map((agent) => show(context, agent, observed)),
        );
    }
    if (performance.now() - reconciled > RECONCILE_MS) {
      const observed = await reconcile(context); // A keeper killed while we wait is taken over.
      if (isOurs(context)) {
        await startWaiting(context, observed);
        await closeIdle(context, observed, streams, apart);
      }
      for (const agent of agents) locate(context, agent); // A launch that was given up is not waited for.
      reconciled = performance.now();
    }
    await sleep(Math.min(pause, Math.max(0, deadline - performance.now())));
    pause = Math.min(pause * 1.5, 100);
  }
}

/** Until the message is consumed or has failed, no run can take it up any more, or the time is up. */
export async function delivered(
  context: Context,
  message: Message,
  options: Omit<WaitOptions, "any">,
): Promise<Message> {
  const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
  const streams = new Streams(context);
  for (let pause = 20; ; pause = Math.min(pause * 1.5, 250)) {
    const over = hasEnded(locate(context, message.agent).facts);
    const all = await messagesOf(context, message.agent, streams);
    const now = all.find(({ id }) => id === message.id) ?? message;
    const settled = now.state === "consumed" || now.state === "failed" || over;
    if (settled || performance.now() >= deadline || options.signal?.aborted) return now;
    await sleep(Math.min(pause, Math.max(0, deadline - performance.now())));
  }
}
