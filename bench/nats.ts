/** A fleet's hub: what an append costs beside the bare client, how fast a host catches up, and what sizes a hub. */
import { findNats } from "../test/support/nats/nats-program.ts";
import { appendRows } from "./nats/append.ts";
import { catchUpRows } from "./nats/catch-up.ts";
import { costRows } from "./nats/cost.ts";
import { pageRows } from "./nats/page.ts";
import type { Options, Row } from "./support/row.ts";

export async function bench(options: Options): Promise<Row[]> {
  if (findNats("current") === undefined) {
    options.say("SKIPPED, there is no nats-server. Next: node scripts/nats-server.mjs");
    return [];
  }
  const rows: Row[] = [];
  for (const part of [appendRows, pageRows, catchUpRows, costRows]) rows.push(...(await part(options)));
  return rows;
}
