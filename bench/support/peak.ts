/** The most memory that this process had, in MB. getrusage would count that of the parent in: a child begins in its memory. */
import { readFileSync } from "node:fs";

export function peakMb(): number {
  return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1]) / 1024;
}
