import type { Progress } from "../core/progress.ts";
import { formatSize } from "../core/size.ts";
import type { Context } from "./operation.ts";

/** Tells how far long work has come. */
export function bytesDone(context: Context): Progress {
  return (bytes, done) => context.progress(`${formatSize(bytes)} ${done}`);
}
