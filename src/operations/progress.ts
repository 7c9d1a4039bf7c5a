import { setImmediate as breathe } from "node:timers/promises";
import { formatSize } from "../core/size.ts";
import type { Context } from "./operation.ts";

/** Tells how far long work has come. */
export function bytesDone(context: Context, what: string): (bytes: number) => Promise<void> {
  return async (bytes) => {
    context.progress(`${formatSize(bytes)} ${what}`);
    await breathe();
  };
}
