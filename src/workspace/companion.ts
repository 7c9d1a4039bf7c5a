/**
 * The companion: one small process a workspace that watches what somebody has to watch while no `midwatch up` does (docs/companion.md).
 * Here is who it is, which runs need it, and how it is called; `up/companion.ts` is what it does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Watcher } from "../core/needs-watch.ts";
import { iso } from "../core/time.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import { namesIn } from "../disk/inside.ts";
import { parseActiveMark } from "../disk/layout.ts";
import { heartbeats } from "../journal/heartbeat.ts";
import { isHoused, leadership } from "../journal/leader.ts";
import { withoutOuterRun } from "../process/environment.ts";
import { keepersAbove } from "../process/identity.ts";
import { installedWords, startApart } from "../process/self.ts";
import { type CompanionRecord, readCompanion, recordCompanion } from "../trust/companion-record.ts";
import { callingAgent } from "./caller.ts";
import type { Context } from "./context.ts";

/** Whoever calls it waits so long for it. */
const COMES_MS = 5000;
const LOOK_MS = 50;

/** What is needed to know it, also before there is a context. */
interface Place {
  readonly layout: { readonly root: string };
  readonly trust: { readonly state: StateFolder };
}

/** Undefined where there never was one. */
export function companionOf({ trust, layout }: Place): CompanionRecord | undefined {
  return readCompanion(trust.state, layout.root);
}

/** Whether an agent is the companion; then nobody sees it who does not ask for all. */
export function isCompanion(context: Place, agent: AgentId): boolean {
  return companionOf(context)?.agent === agent;
}

/** Whether this very process is the companion's: right below the keeper of the run that is recorded. */
export function amCompanion(context: Place): boolean {
  const record = companionOf(context);
  const [above] = keepersAbove();
  if (record === undefined || above === undefined || above.pid !== process.ppid) return false;
  return above.nonce === record.nonce && above.name.startsWith(`${record.agent}.`);
}

/** Unless somebody watches: a process of its own starts the companion. For a run that needs it, once its intent is on the disk. */
export async function callCompanion(context: Context): Promise<void> {
  const words = starterWords(context);
  if (words === undefined) return;
  vouch(context);
  if (!isHoused(await leadership(context.engine))) startApart(words, companionEnvironment(context.env));
}

/** The same, until somebody watches: what an agent starts goes with it, should it end while the companion is on its way. */
export async function awaitWatcher(context: Context): Promise<void> {
  // An agent's own word against it counts here: it concerns nobody's end but its own.
  if (starterWords(context) === undefined || context.env["MIDWATCH_COMPANION"] === "off") return;
  await callCompanion(context);
  for (const deadline = performance.now() + COMES_MS; performance.now() < deadline; await sleep(LOOK_MS))
    if ((await leadership(context.engine)).state === "held") return;
}

/** What starts it; undefined where nobody is to be started. */
export function starterWords({ layout, config }: Context): [string, ...string[]] | undefined {
  return config.companion === "off" ? undefined : installedWords(["companion", "start", layout.root]);
}

/** What the person who starts a run trusts by MIDWATCH_TRUST counts for its companion too; an agent's word does not. */
function vouch(context: Context): void {
  const { MIDWATCH_TRUST: given = "" } = context.env;
  const record = companionOf(context);
  if (given === "" || callingAgent(context) !== undefined) return;
  const trusts = [...new Set([...(record?.trusts ?? []), ...given.toLowerCase().split(/[\s,]+/)])];
  if (record !== undefined && trusts.length === record.trusts?.length) return;
  const nobody = { agent: "" as AgentId, task: "" as TaskId, nonce: "" };
  recordCompanion(context.trust.state, { ...nobody, ...record, v: 1, path: context.layout.root, at: iso(), trusts });
}

/** Of whoever starts it, without the run that it may be part of, and without what makes Node load anything. */
export function companionEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = withoutOuterRun(env);
  return rest;
}

/** Who watches the runs of a workspace now. */
export async function watcherOf(context: Context): Promise<Watcher> {
  const { config, engine } = context;
  const leader = await leadership(engine);
  if (leader.state !== "held") return NOBODY;
  if (isHoused(leader)) return watcher(context, leader.holder ?? "", leader.pid);
  // Somebody leads who does no rounds: then it is whoever stands by.
  const by = (await heartbeats(engine, config.leader_ttl)).find(
    ({ kind, state }) => state === "alive" && (kind === "up" || kind === "companion"),
  );
  return by === undefined ? NOBODY : watcher(context, by.actor, by.pid);
}
const NOBODY: Watcher = { by: null, agent: null, pid: null };

function watcher(context: Context, name: string, pid: number | null): Watcher {
  if (!name.startsWith("companion-")) return { by: "up", agent: null, pid };
  return { by: "companion", agent: companionOf(context)?.agent ?? null, pid };
}

/** Whether there is anybody whom the companion, or another, is here for. */
export function anyAgentLives(context: Context): boolean {
  const marks = namesIn(context.layout.root, context.layout.active).flatMap((name) => parseActiveMark(name) ?? []);
  return marks.length > 0 && marks.some(({ agent }) => !isCompanion(context, agent));
}
