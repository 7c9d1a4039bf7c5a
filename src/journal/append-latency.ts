import { Histogram } from "./histogram.ts";

/**
 * What this process waited for the journal: for events that callers wait for until they are on stable storage, and for our own lines. `sync` is the
 * disk's part of the first: one for all that were appended meanwhile.
 */
export const appendLatency: { durable: Histogram; own: Histogram; sync: Histogram } = {
  durable: new Histogram(),
  own: new Histogram(),
  sync: new Histogram(),
};
