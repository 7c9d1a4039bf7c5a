/** Scripts for agents that have a shell and nothing else. They write and read the same files as midwatch does. */

import { generateSnapshot } from "./generate-snapshot.ts";

const WORKSPACE = `workspace=\${MIDWATCH_WORKSPACE:-$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)/.agent-workspace}
[ -d "$workspace/.agent-workspace" ] && workspace=$workspace/.agent-workspace`;

const LOG_EVENT = `#!/bin/sh
# Usage: log_event.sh <interaction> <actor> <type> <content>      ("-" as content reads it from the input)
# Appends one event to events.log. Written by \`midwatch event --init-scripts\`.
set -u
die() { echo "log_event.sh: $2" >&2; exit "$1"; }

[ $# -eq 4 ] || die 2 'usage: log_event.sh <interaction> <actor> <type> <content>'
for tool in jq dd tail date; do command -v "$tool" >/dev/null || die 5 "$tool is needed and not installed"; done
case $1 in '' | *[!0-9]*) die 2 "the interaction is a whole number, not '$1'" ;; esac
[ \${#1} -le 15 ] || die 2 'the interaction is too large'
[ -n "$2" ] || die 2 'the actor is empty'
printf '%s\\n' "$3" | grep -Eqx '[a-z][a-z0-9_.-]{0,63}' || die 2 "'$3' is not an event type"
case $3 in leader_election | agent.* | verdict.* | cleanup.* | prune.* | stop.* | trust.* | http.* | fleet.*) die 4 "only midwatch writes events of the type $3" ;; esac

${WORKSPACE}
log=$workspace/events.log
[ -d "$workspace" ] || die 3 "there is no workspace at $workspace"
[ ! -L "$log" ] || die 5 "$log is a symbolic link"

# The content is data for jq: no shell ever looks at it.
program='if ($content|utf8bytelength) > 1048576 then error("an event takes at most 1 MiB of content") else . end |
  {interaction: ($i|tonumber), actor: $actor, type: $type, content: $content, timestamp: $timestamp}'
line() {
  timestamp=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  if [ "$4" = - ]; then
    jq -Rsc --arg i "$1" --arg actor "$2" --arg type "$3" --arg timestamp "$timestamp" ". as \\$content | $program"
  else
    jq -nc --arg i "$1" --arg actor "$2" --arg type "$3" --arg timestamp "$timestamp" --arg content "$4" "$program"
  fi
}

# One write for the whole line: the kernel then lets nobody in between. A line that its writer left torn is closed first.
append() {
  before=
  [ -s "$log" ] && [ -n "$(tail -c 1 "$log")" ] && before='
'
  printf '%s%s\\n' "$before" "$1" |
    dd of="$log" bs=16M iflag=fullblock oflag=append conv=notrunc,fdatasync status=none || die 5 "$log cannot be written"
}

umask 077
event=$(line "$@") || die 2 'jq cannot read the content'

# Other shell writers may need the lock; we do not, so after three tries we go on without it and say so.
locked=no
if command -v flock >/dev/null; then
  exec 9>>"$log" || die 5 "$log cannot be written"
  for try in 1 2 3; do
    if flock -w 0.5 9; then locked=yes; break; fi
  done
else
  locked=none
fi
append "$event"
if [ "$locked" = no ]; then
  append "$(line "$1" "$2" error 'Failed to acquire lock on events.log')"
fi
`;

/** Name to text. `midwatch` is the command for shells that do not find it on PATH. */
export function scripts(midwatch: string): Readonly<Record<string, string>> {
  return { "log_event.sh": LOG_EVENT, "generate_snapshot.sh": generateSnapshot(WORKSPACE, midwatch) };
}
