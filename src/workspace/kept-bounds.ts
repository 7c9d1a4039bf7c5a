/**
 * The limits that a run was started with, as its keeper has them since: its intent is a file that an agent can edit, what a process was
 * started with the kernel keeps. Nothing of a keeper of an older release, and elsewhere than on Linux: then the intent has to do.
 */
import { type Bounds, stricterBounds } from "../core/config/stricter.ts";
import type { IntentFact } from "../core/intent.ts";
import { isFields, parseJson } from "../core/json.ts";
import { everyKeepers } from "../process/identity.ts";
import { RIGHTS } from "../process/keeper.ts";
import type { Context } from "./context.ts";

/** One look at all processes serves all runs, and is not taken more often. */
const AGAIN_MS = 1000;
const MOST = 10_000;

/** Null: no keeper told. They never change, so each is looked up once. */
const known = new Map<string, Bounds | null>();
let lookedMs = Number.NEGATIVE_INFINITY;

/** The intent of a run that lives, with the stricter of both limits. */
export function keptIntent({ layout }: Pick<Context, "layout">, intent: IntentFact): IntentFact {
  const key = keyOf(layout.root, `${intent.agent}.${intent.run}`);
  if (!known.has(key) && performance.now() - lookedMs >= AGAIN_MS) {
    look();
    if (!known.has(key)) known.set(key, null);
  }
  const bounds = known.get(key);
  return bounds ? { ...intent, ...stricterBounds(bounds, intent) } : intent;
}

const keyOf = (root: unknown, name: string): string => `${root} ${name}`;

function look(): void {
  lookedMs = performance.now();
  if (known.size > MOST) known.clear();
  for (const { name, value } of everyKeepers(RIGHTS)) {
    const told = parseJson(value ?? "");
    if (!isFields(told) || !isFields(told["limits"])) continue;
    const key = keyOf(told["root"], name);
    if (!known.get(key)) known.set(key, told as unknown as Bounds);
  }
}
