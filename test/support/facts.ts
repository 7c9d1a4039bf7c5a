/** Facts of a run that no disk has seen: only what a table of cases depends on. */
import type { Facts } from "../../src/facts/facts.ts";

const NONE: Facts = {
  intent: undefined,
  claim: undefined,
  start: undefined,
  stop: undefined,
  hold: undefined,
  exit: undefined,
  limit: undefined,
  stuck: undefined,
  done: undefined,
  cleanup: undefined,
  adopter: undefined,
  keeperLives: false,
  ending: false,
  damaged: [],
  unreadable: false,
  refuted: null,
};

export function facts(given: object): Facts {
  return { ...NONE, ...given } as Facts;
}
