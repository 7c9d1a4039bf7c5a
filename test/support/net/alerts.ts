/** Alerts over a workspace without the rest of midwatch, in a hurry. No vitest in here: the soak uses it too. */
import { type AlertOptions, type AlertStep, Alerts } from "../../../src/alert/alerts.ts";
import { makeAlert } from "../../../src/alert/message.ts";
import { readSettings } from "../../../src/alert/settings.ts";
import { masker } from "../../../src/core/mask/mask.ts";
import { append } from "../../../src/disk/append.ts";
import { layout } from "../../../src/disk/layout.ts";
import { EmbeddedEngine } from "../../../src/journal/embedded-engine.ts";
import { fenced } from "../../../src/journal/term.ts";

/** As in real life, with pauses of milliseconds. */
export const FAST = { windowMs: 1000, burst: 1e6, everyMs: 1, retryMs: Array<number>(40).fill(10) };

export function fastAlerts(
  root: string,
  configured: unknown,
  onStep?: (step: AlertStep) => void,
  more: Partial<AlertOptions> & { timeoutMs?: number } = {},
): Alerts {
  const paths = layout(root);
  const registers = new EmbeddedEngine(paths);
  const { timeoutMs = 5000, ...rest } = more;
  return new Alerts({
    journal: fenced(registers),
    registers,
    settings: readSettings(configured, { env: process.env, folder: root }),
    make: (event) => makeAlert(event, [masker()]),
    bury: (letter) => append(paths.deadAlerts, [letter]),
    outside: { env: process.env, folder: root, tell: () => undefined, timeoutMs },
    bootId: "one",
    timing: FAST,
    onStep,
    ...rest,
  });
}
