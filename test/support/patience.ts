/**
 * How long tests wait before they give up: one factor, measured once for a run and handed to every process of it by the environment. A
 * wait is a bound on a hang, never a promise of speed, so on a slow or busy machine it is longer and nothing else changes.
 */
import { spawnSync } from "node:child_process";

const VARIABLE = "TEST_PATIENCE";
/** Half of what the work takes on two quiet cores: the suite keeps them busy itself. */
const QUIET_MS = 130;
const MOST = 10;
/** Starting processes and computing: what nearly every test waits for. */
const WORK = "require('node:crypto').createHash('sha256').update(Buffer.alloc(16 << 20)).digest()";

const patience = Number(process.env[VARIABLE]) || measured();
process.env[VARIABLE] = String(patience);

/** This many milliseconds of a quiet machine, on this one. */
export const patient = (ms: number): number => Math.round(ms * patience);

function measured(): number {
  const begun = performance.now();
  for (let i = 0; i < 4; i++) spawnSync(process.execPath, ["-e", WORK]);
  const factor = (performance.now() - begun) / QUIET_MS;
  return Math.round(Math.min(MOST, Math.max(1, factor)) * 10) / 10;
}
