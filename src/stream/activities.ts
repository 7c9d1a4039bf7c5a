/** What an agent said and did, as its driver reads the lines. */
import type { AgentId } from "../core/ids.ts";
import type { Activity } from "../drivers/index.ts";
import { locate } from "../facts/locate.ts";
import type { Context } from "../workspace/context.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { logOf } from "./log-of.ts";
import type { Maskers } from "./maskers.ts";
import { type LogOptions, readLog } from "./read.ts";

export async function* activities(
  context: Context,
  agent: AgentId,
  options: LogOptions,
  hide: Maskers | undefined,
): AsyncGenerator<Activity> {
  const driver = await findDriver(context, locate(context, agent).listed.agent.driver);
  const reader = driver.reader();
  for await (const item of readLog(context, logOf(context, agent, options), options)) {
    if (item.record?.type === "lifecycle") continue;
    if (driver.json && item.record === undefined) continue;
    // Masked once: what a line leaves open counts for the next.
    const isData = driver.json && item.record?.data !== undefined;
    const data = isData ? (hide === undefined ? item.record : hide.record(item))?.data : undefined;
    yield* reader.read(isData ? data : (hide?.line(item) ?? item.raw.bytes).toString());
  }
}
