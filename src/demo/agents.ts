/**
 * The agents of the demo: one shell script in place of an agent CLI, speaking the stream of Claude Code, each part with one thing
 * that goes wrong in real life. The model's name chooses the part.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfCommand } from "../process/self.ts";

export interface Part {
  name: string;
  /** What a person should know of it before it happens. */
  about: string;
  prompt: string;
}

export const PARTS: readonly Part[] = [
  {
    name: "fix",
    about: "works well, and ends",
    prompt: "Fix the failing test of the parser: unclosed quotes lose the last line.",
  },
  { name: "loop", about: "runs the same failing test again and again", prompt: "Make the tests of the lexer pass." },
  { name: "hang", about: "waits for a model that never answers", prompt: "Review the error messages of the compiler." },
  { name: "crash", about: "dies in the middle of a line", prompt: "Rename the module tokens to lexemes." },
  {
    name: "fork",
    about: "starts servers that leave its session and are deaf to signals",
    prompt: "Start the development servers and watch them.",
  },
  { name: "ask", about: "asks a peer through the journal", prompt: "Write the client of the parser service." },
  { name: "answer", about: "answers questions of its peers", prompt: "Keep the parser service running, and answer." },
];

/** Thresholds of the watch for agents that live half a minute; the usual ones are for hours (docs/watch.md). */
export const SETTINGS = { watch_poll: "1s", rules: { model_silent: { watch: 2, alert: 4 } } } as const;

const SCRIPT = `#!/bin/sh
# The demo's agents. Every line is what Claude Code would print.
while [ $# -gt 0 ]; do [ "$1" = --model ] && part=$2; shift; done
n=0
call() { # tool, input, answer, error or not
  n=$((n+1))
  printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":%s,"output_tokens":24},"content":[{"type":"tool_use","id":"t%s","name":"%s","input":%s}]}}\\n' "$n" "$((900+n*40))" "$n" "$1" "$2"
  sleep 0.2
  printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t%s","content":"%s","is_error":%s}]}}\\n' "$n" "$3" "\${4:-false}"
  sleep 0.3
}
say() {
  n=$((n+1))
  printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":800,"output_tokens":40},"content":[{"type":"text","text":"%s"}]}}\\n' "$n" "$1"
}
finish() {
  printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","total_cost_usd":0.0312,"usage":{"input_tokens":9200,"output_tokens":640}}\\n' "$1"
}
printf '{"type":"system","subtype":"init","session_id":"demo","model":"%s"}\\n' "$part"
case $part in
fix)
  say "I look at the parser and at its failing test."
  call Read '{"file_path":"src/parser.ts"}' 'export function parse(text) { /* 120 lines of the parser */ }'
  call Read '{"file_path":"test/parser.test.ts"}' 'it(unclosed quotes keep the last line)'
  call Bash '{"command":"npm test parser"}' '1 failed: unclosed quotes lose the last line' true
  call Edit '{"file_path":"src/parser.ts","new_string":"if (quote) flush(rest)"}' 'The parser was changed.'
  call Bash '{"command":"npm test parser"}' '14 passed'
  call Edit '{"file_path":"test/parser.test.ts","new_string":"it(escaped quotes)"}' 'A test of the parser was added.'
  call Bash '{"command":"npm test"}' '212 passed, none failed'
  finish "The parser keeps the last line of unclosed quotes; all tests pass."
  ;;
loop)
  say "I run the tests of the lexer."
  while :; do call Bash '{"command":"npm test lexer"}' 'Error: cannot find module ./lexer.js' true; done
  ;;
hang)
  say "I read the error messages of the compiler."
  call Read '{"file_path":"src/errors.ts"}' 'export const ERRORS = 42 messages of the compiler'
  exec sleep 3600
  ;;
crash)
  call Bash '{"command":"git mv src/tokens.ts src/lexemes.ts"}' 'The module was renamed.'
  printf '{"type":"assistant","message":{"id":"m9","content":[{"type":"te'
  kill -9 $$
  ;;
fork)
  setsid sh -c 'trap : INT TERM HUP; while :; do sleep 1; done' &
  env -i setsid sleep 3600 &
  (sleep 3600 &)
  call Bash '{"command":"npm run dev &"}' 'The servers listen.'
  i=0
  while :; do i=$((i+1)); printf '{"type":"note","n":%s}\\n' "$i"; sleep 0.05; done
  ;;
ask)
  say "I need the port of the parser service."
  midwatch event 1 ask question "On which port does the parser service listen?" --to answer >/dev/null 2>&1
  until heard=$(midwatch events --interaction 1 --type answer --json 2>/dev/null | sed -n 's/.*"content":"\\([^"]*\\)".*/\\1/p') && [ -n "$heard" ]; do sleep 0.3; done
  say "My peer answers: $heard"
  call Write '{"file_path":"src/client.ts","content":"connect(4100)"}' 'The client of the parser service was written.'
  finish "The client of the parser service connects to port 4100."
  ;;
answer)
  until midwatch events --interaction 1 --type question --json 2>/dev/null | grep -q port; do sleep 0.3; done
  say "A peer asks for the port of the parser service."
  midwatch event 1 answer answer "The parser service listens on port 4100." --to ask >/dev/null 2>&1
  finish "The parser service runs, and the question is answered."
  ;;
esac
`;

/** Puts the scripts into a folder for PATH, and this program beside them under its own name. */
export function placeAgents(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const quoted = selfCommand([]).map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  for (const [name, text] of [
    ["claude", SCRIPT],
    ["midwatch", `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`],
  ] as const) {
    writeFileSync(join(bin, name), text);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}
