import { Histogram } from "./histogram.ts";

/** What this process waited for the journal: for events that callers wait for until they are on stable storage, and for our own lines. */
export const appendLatency: { durable: Histogram; own: Histogram } = { durable: new Histogram(), own: new Histogram() };
