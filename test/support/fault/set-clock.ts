// `node --import set-clock.ts ...` with CLOCK_JUMPS_MS=3600000 or =0,3600000,-86400000: a process whose wall clock was set, or is set
// all the time: each call takes the next jump. The monotonic clock and the timers stay right.
const jumps = (process.env["CLOCK_JUMPS_MS"] ?? "0").split(",").map(Number);
const now = Date.now;
let calls = 0;
Date.now = () => now() + (jumps[calls++ % jumps.length] as number);
