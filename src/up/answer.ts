/** This host answers what people of the fleet ask of it: what they signed, and nobody else. */
import { type Answering, answer, PING, type Question } from "../nats/ask.ts";
import type { FleetLink } from "../nats/link.ts";
import type { Context } from "../workspace/context.ts";
import { assertOurs, hostName, identityOf, type JoinCall, openLink, REST_MS, warn } from "./join.ts";

/** How soon a host knows that people changed whose keys count; when somebody unknown asks it looks at once, but not more often than this. */
const ROSTER_MS = 15_000;
const STRANGER_MS = 2000;
/** The same thing is told once in this time. */
const TOLD_MS = 600_000;

/** Answers what other hosts ask of this one, until the signal. The hub may be away when it begins, and later. */
export async function answerFleet(
  context: Context,
  call: JoinCall,
  handle: (question: Question) => Promise<unknown>,
): Promise<void> {
  const { signal } = call;
  const name = hostName(context);
  const identity = identityOf(context.layout.root);
  const over = ended(signal);
  while (!signal.aborted) {
    try {
      const link = await openLink(context, name);
      try {
        await assertOurs(context, name, link);
        const begun = answer(link, name, {
          ...watching(context, call, link),
          handle: async (question) => (question.operation === PING ? { identity } : await handle(question)),
        });
        await Promise.race([begun, over]);
        while (!signal.aborted) {
          await Promise.race([over, new Promise((done) => setTimeout(done, ROSTER_MS).unref())]);
          await link.refreshRoster().catch(() => undefined); // The hub is away: nobody asks either.
        }
      } finally {
        await link.close();
      }
    } catch {
      // The rounds tell what is wrong with the hub.
      await Promise.race([over, new Promise((done) => setTimeout(done, REST_MS).unref())]);
    }
  }
}

/** Who asks without the right to is told of, and may be a person with a new key. */
function watching(context: Context, call: JoinCall, link: FleetLink): Pick<Answering, "refused" | "stranger"> {
  const told = new Map<string, number>();
  let looked = Number.NEGATIVE_INFINITY;
  const isDue = (last: number | undefined, ms: number): boolean => last === undefined || performance.now() - last > ms;
  return {
    refused: ({ code, message }) => {
      const kind = `${code} ${message.replaceAll(/\d+/g, "")}`;
      if (!isDue(told.get(kind), TOLD_MS)) return;
      told.set(kind, performance.now());
      warn(context, call, `a question was refused (${code}). ${message}`);
    },
    stranger: async () => {
      if (!isDue(looked, STRANGER_MS)) return;
      looked = performance.now();
      await link.refreshRoster().catch(() => undefined);
    },
  };
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
}
