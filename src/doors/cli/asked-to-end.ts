/** The signals that ask a command to end: Ctrl-C, a supervisor's SIGTERM, a terminal that was closed. */
import { readFileSync } from "node:fs";
import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls `act` with the exit code that the signal stands for, at each of them. */
export function onAskedToEnd(act: (code: number) => void): void {
  const ignored = ignoredSignals();
  for (const signal of SIGNALS) {
    const number = constants.signals[signal];
    if (((ignored >> BigInt(number - 1)) & 1n) === 0n) process.on(signal, () => act(128 + number));
  }
}

/** Bit n-1 for signal n. Whoever started us may have had some ignored (nohup does); a listener would end that. */
function ignoredSignals(): bigint {
  try {
    const [, bits = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1")) ?? [];
    return BigInt(`0x${bits}`);
  } catch {
    return 0n; // Not Linux.
  }
}
