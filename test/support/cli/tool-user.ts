/** A stand-in for Claude Code on PATH: so many tool uses, some a second, then a result. Two lines each, and some lines come in two pieces. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const TOKENS_EACH = 100;

/** Gives the folder for PATH. The prompt is the number of tool uses. */
export function placeToolUser(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const use = `{"type":"assistant","request_id":"r%s","message":{"id":"m%s","usage":{"input_tokens":${TOKENS_EACH},"output_tokens":1},"content":[{"type":"tool_use","id":"t%s","name":"Bash","input":{"command":"step %s"}}]}}`;
  const answer = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t%s","content":"done %s"}]}}`;
  writeFileSync(
    join(bin, "claude"),
    `#!/bin/sh
n=$(sed -n 's/.*USES=\\([0-9]*\\).*/\\1/p' | head -n 1)
printf '%s\\n' '{"type":"system","subtype":"init","session_id":"s","model":"scripted"}'
i=0
while [ $i -lt "$n" ]; do
  i=$((i+1))
  printf '${use}\\n{"half":' $i $i $i $i
  printf '1}\\n\\n${answer}\\n' $i $i
  [ $((i % 5)) -eq 0 ] && sleep 0.02
done
exit 0
`,
    { mode: 0o755 },
  );
  return bin;
}
