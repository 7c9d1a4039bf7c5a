/**
 * generate_snapshot.sh: `midwatch snapshot` where midwatch is there, and else the same bytes from jq and awk. What midwatch does in
 * event.ts, pieces.ts, recent-ids.ts, term.ts, project.ts and render.ts stands here once more; a test runs both on the same journals.
 */

/** From lines to texts that may be events: [offset, joined, bytes, text]. Bytes, not characters: a piece may end in the middle of one. */
const TEXTS = String.raw`
function whole(s,  n, i, inside, depth, part, left) {
  if (s !~ /^[ \t\r]*\{/ || s !~ /\}[ \t\r]*$/) return 0
  n = split(s, parts, "\"")
  for (i = 1; i <= n; i++) {
    part = parts[i]
    if (inside) {
      if (part ~ /[\001-\037]/) return 0
      left = match(part, /\\+$/) ? RLENGTH % 2 : 0
      if (i < n && !left) inside = 0
      continue
    }
    if (part ~ /\}[ \t\r]*\{/) return 0 # Two, one behind the other.
    if (i > 1 && i < n && part ~ /^[ \t\r]*$/) return 0
    gsub(/true|false|null|-?[0-9][0-9.eE+-]*/, "", part)
    if (part !~ /^[][{}:, \t\r]*$/) return 0 # It began inside of a text.
    depth += gsub(/[{[]/, "", part) - gsub(/[]}]/, "", part)
    inside = i < n
  }
  return !inside && depth == 0
}
# What is no UTF-8 is known by these; whatever else is none has another length when jq has read it.
function utf8(s) {
  return s !~ /[\300\301\365-\377]|\340[\200-\237]|\355[\240-\277]|\360[\200-\217]|\364[\220-\277]|[\360-\364][\200-\277][\200-\277]([^\200-\277]|$)/
}
# As JSON, in parts: jq breaks characters of a long line that is none, and gsub takes minutes.
function tell(at, joined, s,  n, i, m, j) {
  if (!utf8(s)) { bad++; return }
  printf "[%.0f,%d,%d,\"", at, joined, length(s)
  n = split(s, backs, "\\")
  for (i = 1; i <= n; i++) {
    if (i > 1) printf "%s", "\\\\"
    m = split(backs[i], parts, "\"")
    for (j = 1; j <= m; j++) printf "%s%s", (j > 1 ? "\\\"" : ""), parts[j]
  }
  print "\"]"
}
function last(s, what,  at, from) {
  for (from = 0; (at = index(substr(s, from + 1), what)) > 0; ) from += at
  return from
}
# The whole event at the end of a line that somebody else began; 0 when there is none.
function glued(s,  at, other) {
  at = last(s, "{\"v\":1,"); other = last(s, "{\"interaction\":")
  if (other > at) at = other
  return at > 1 && whole(substr(s, at)) ? at : 0
}
# held[k] is what stands from the k-th place on where an event may begin.
function piece(at, s,  k) {
  if (s ~ /^\{"v":1,"id":/) { bad++; return }
  if (s ~ /^[ \t]*\{[ \t]*("|$)/) held[++rows] = ""
  if (rows == 0) { if (s !~ /^[ \t\r]*$/) bad++; return }
  for (k = 1; k <= rows; k++) held[k] = held[k] s
  for (k = 1; k <= rows; k++) if (whole(held[k])) { tell(at, 1, held[k]); bad += k - 1; rows = 0 }
  if (rows > 0 && (rows > 64 || length(held[1]) > 2097152)) { for (k = 1; k < rows; k++) held[k] = held[k + 1]; rows--; bad++ }
}
{
  at = offset; offset += length($0) + 1
  if (length($0) > 16777216) { bad++; next }
  if ($0 == "") next
  if (whole($0)) { if (match($0, /^[ \t]+/) && rows > 0) for (k = 1; k <= rows; k++) held[k] = held[k] substr($0, 1, RLENGTH); tell(at, 0, $0); next }
  from = glued($0)
  if (from == 0) { piece(at, $0); next }
  front = substr($0, 1, from - 1)
  if (whole(front)) tell(at, 0, front); else piece(at, front)
  tell(at + from - 1, 0, substr($0, from))
}
END { bad += rows; if (bad) printf "generate_snapshot.sh: %d lines or pieces are no events; they are left out\n", bad > "/dev/stderr" }
`;

/** From these to both files: {communication, archive}. */
const RENDER = String.raw`
def units: if . > 65535 then 2 else 1 end;
def size: reduce explode[] as $c (0; . + ($c | units));
def space: . == 32 or (. >= 9 and . <= 13) or . == 160 or . == 5760 or (. >= 8192 and . <= 8202) or . == 8232 or . == 8233 or . == 8239 or . == 8287 or . == 12288 or . == 65279;
def unseen: . <= 8 or . == 11 or . == 12 or (. >= 14 and . <= 31) or (. >= 127 and . <= 159) or (. >= 8232 and . <= 8238) or (. >= 8294 and . <= 8297) or (. >= 55296 and . <= 57343);
def plain:
  (split("<") | .[:1] + (.[1:] | map(if test("\\A[A-Za-z/!?]") then "&lt;" + . else "<" + . end)) | join(""))
  | split("![") | join("!\\[")
  | explode | map(if unseen then 65533 else . end) | implode;
def inline: plain | explode | map(if space then 32 else . end) | implode | split(" ") | map(select(. != "")) | join(" ");
def block($indent):
  plain | split("\r\n") | join("\n") | split("\r") | join("\n") | split("\n")
  | map(if test("\\A[ \t]*(#|- \\[|(=+|-+)[ \t]*\\z)") then (capture("\\A(?<a>[ \t]*)").a) as $a | $a + "\\" + .[($a | length):] else . end)
  | join("\n" + $indent);
def days($y; $m): if $m == 2 then (if ($y % 4 == 0 and $y % 100 != 0) or $y % 400 == 0 then 29 else 28 end) elif $m == 4 or $m == 6 or $m == 9 or $m == 11 then 30 else 31 end;
def isTime:
  [capture("\\A(?<y>[0-9]{4})-(?<m>[0-9]{2})-(?<d>[0-9]{2})(?:[Tt ](?<h>[0-9]{2}):(?<n>[0-9]{2}):(?<s>[0-9]{2})(?:\\.[0-9]+)?(?:[Zz]|[+-](?<oh>[0-9]{2}):(?<on>[0-9]{2})))?\\z")]
  | length == 1 and (.[0] | map_values((. // "0") | tonumber)
    | .m >= 1 and .m <= 12 and .d >= 1 and .d <= days(.y; .m) and .h <= 23 and .n <= 59 and .s <= 59 and .oh <= 23 and .on <= 59);
def reserved: test("\\A(leader_election\\z|(agent|verdict|cleanup|prune|stop|budget|trust|http|fleet)\\.)");
def isEvent($joined):
  type == "object" and (.v == null or .v == 1)
  and (.interaction | type == "number" and . >= 0 and . <= 9007199254740991 and . == floor)
  and (.actor | type == "string" and size <= 200 and ([explode[] | select(space | not)] | length > 0))
  and (.type | type == "string" and test("\\A[a-z][a-z0-9_.-]{0,63}\\z"))
  and (.content | type == "string")
  and (.timestamp | type == "string" and isTime)
  and (.id == null or (.id | type == "string" and . != "" and size <= 128))
  and ($joined == 0 or ((.type | reserved | not) and .term == null));

def name($event; $key): if $key == "to" then [$event.to // "all"] | flatten | map(tostring) | join(", ") else $event[$key] end;
def heading($event):
  ($headings[0][$event.type] // $event.type) as $template
  | (if $headings[0] | has($event.type) then $template | split("{")
      | .[:1] + (.[1:] | map(. as $part | (["actor", "to", "type"] | map(select(. as $key | $part | startswith($key + "}"))) | .[0]) as $key
          | if $key == null then "{" + $part else name($event; $key) + $part[($key | length) + 1:] end)) | join("")
    else $template end) | inline;
def shown: "#### \(heading(.))\n - \(.content | block("   "))\n";
def archived: "- [\(.actor | inline) \(.type) \(.timestamp | inline)]\n\(.content | block(""))\n";

# What is older goes to the archive: $one has n and events.
def toArchive($one; $late):
  (if .last == null or .last.n != $one.n or ($late and (.last.late | not)) then
    .archive += [(if .last == null then "" else "\n" end) + "## Interaction #\($one.n)" + (if .marked[$one.n | tostring] then " (continued)" else "" end) + "\n"]
    | .marked[$one.n | tostring] = true | .last = {n: $one.n, late: $late}
  else . end)
  | .archive += ($one.events | map(archived));
def halve($i):
  .recent[$i] as $one
  | ({from: 0, left: ($one.events | length), size: $one.size}
    | until(.left <= 1 or (.left <= 200 and .size <= 524288); .size -= $one.events[.from].size | .from += 1 | .left -= 1)) as $cut
  | .recent[$i] = {n: $one.n, earlier: ($one.earlier + $cut.from), size: $cut.size, events: $one.events[$cut.from:]}
  | toArchive({n: $one.n, events: $one.events[:$cut.from]}; false);
def put($event):
  $event.interaction as $n
  | ([.recent | to_entries[] | select(.value.n <= $n) | .key] | max // -1) as $at
  | if $at >= 0 and .recent[$at].n == $n then .at = $at
    elif (.recent | length) >= $keep and $at < 0 then .at = null | if $event.type == "heartbeat" then . else toArchive({n: $n, events: [$event]}; true) end
    else .recent = .recent[:$at + 1] + [{n: $n, earlier: 0, size: 0, events: []}] + .recent[$at + 1:] | .at = $at + 1
      | if (.recent | length) > $keep then .recent[0] as $oldest | .recent |= .[1:] | toArchive($oldest; false) | .at -= 1 else . end
    end
  | if .at == null then .
    else .at as $at
      | .recent[$at].events[-1:][0] as $before
      | if $event.type == "heartbeat" and $before != null and $before.type == "heartbeat" and $before.actor == $event.actor then .
        else .recent[$at].events += [$event] | .recent[$at].size += $event.size
          | if (.recent[$at].events | length) > 400 or .recent[$at].size > 1048576 then halve($at) else . end
        end
    end;
def counts($event):
  ($event.role | if type == "string" then . else "leader" end) as $role
  | if $event.type == "leader_election" then
      if ($event.term | type == "number") and $event.term > (.terms[$role] // 0) and $event.id != null and $marks[0]["\($role)/\($event.term)"] == $event.id
      then .terms[$role] = $event.term | .counts = true else .counts = false end
    else .counts = ($event.type == "heartbeat" or ($event.term | type != "number") or $event.term == (.terms[$role] // null)) end;

reduce (inputs | . as [$at, $joined, $bytes, $text] | $text | select(utf8bytelength == $bytes)
    | (try fromjson catch null) | select(isEvent($joined)) | if $joined == 1 then del(.id) else . end
    | {interaction: (.interaction + 0), actor, type, content, timestamp, to, id, term, role, at: $at, size: (.content | size)}) as $event
  ({recent: [], archive: [], marked: {}, last: null, ids: {}, terms: {}};
    if $event.id != null and (.ids[$event.id] // -262145) >= $event.at - 262144 then .ids[$event.id] = $event.at
    else (if $event.id == null then . else .ids[$event.id] = $event.at end)
      | counts($event) | if .counts then put($event) else . end
    end)
| {archive: (.archive | join("")),
   communication: (.recent | map("### Interaction #\(.n)\n" + (if .earlier > 0 then "\n(\(.earlier) earlier events of it are in archive.md)\n\n" else "" end)
     + (.events | map(shown) | join("")) + "\n") | join(""))}
`;

/** Where in communication.md our part begins and ends: "marked BYTES BYTES", or "unmarked BYTES" that stand above it. */
const FRAME = String.raw`
BEGIN { begin = "<!-- BEGIN COMMUNICATION -->"; close_ = "<!-- END COMMUNICATION -->"; first = -1; head = -1; foot = -1 }
{
  at = offset; offset += length($0) + 1
  if (first < 0 && index($0, begin) > 0) first = at + index($0, begin) - 1
  if (head < 0) { if ($0 == begin || $0 == begin "\r") head = at; next }
  if (foot < 0 && ($0 == close_ || $0 == close_ "\r")) foot = offset
}
END { if (foot >= 0) print "marked", head, foot; else print "unmarked", first < 0 ? offset : first }
`;

/** `workspace` is the piece of shell that finds it; `midwatch` the command for shells that do not find it on PATH. */
export function generateSnapshot(workspace: string, midwatch: string): string {
  const elsewhere =
    midwatch === "midwatch"
      ? ""
      : `if ${midwatch} --version >/dev/null 2>&1; then exec ${midwatch} snapshot "$@"; fi\n`;
  return (
    HEAD +
    workspace +
    MIDDLE(elsewhere) +
    "\ntexts='" +
    TEXTS +
    "'\nframe='" +
    FRAME +
    "'\nrender='" +
    RENDER +
    "'\n" +
    WORK
  );
}

const HEAD = `#!/bin/sh
# Brings communication.md and archive.md up to date. Arguments go to "midwatch snapshot", for example --keep 5 or --watch.
# Where midwatch is not there, jq and awk do it, with the same result; only --keep is known then, and secrets are not masked.
# Written by "midwatch event --init-scripts".
set -eu
`;

const MIDDLE = (elsewhere: string): string =>
  `
export MIDWATCH_WORKSPACE="$workspace"
if command -v midwatch >/dev/null; then exec midwatch snapshot "$@"; fi
` +
  elsewhere +
  `
die() { echo "generate_snapshot.sh: $2" >&2; exit "$1"; }
keep=
case $# in
  0) ;;
  1) case $1 in --keep=*) keep=$(printf %s "$1" | sed 's/^--keep=//') ;; *) die 2 "$1 needs midwatch, which is not installed here" ;; esac ;;
  *) [ $# -eq 2 ] && [ "$1" = --keep ] || die 2 "$1 needs midwatch, which is not installed here"; keep=$2 ;;
esac
for tool in jq awk mktemp; do command -v "$tool" >/dev/null || die 5 "$tool is needed and not installed"; done
[ -d "$workspace" ] || die 3 "there is no workspace at $workspace"
[ ! -e "$workspace/sync/origin.json" ] || die 5 "this workspace is synced: only midwatch can put the events of all machines in order"
log=$workspace/events.log comm=$workspace/communication.md archive=$workspace/archive.md
for file in "$log" "$comm" "$comm.bak" "$archive" "$archive.bak"; do [ ! -L "$file" ] || die 5 "$file is a symbolic link"; done
config=$(dirname -- "$workspace")/midwatch.config.json
headings='{"question": "A → B", "answer": "B → A", "followup": "A Follow-Up", "heartbeat": "heartbeat"}'
if [ -f "$config" ]; then
  [ -n "$keep" ] || keep=$(jq -r '.snapshot_keep // ""' "$config")
  headings=$(jq -c --argjson ours "$headings" '$ours + (.headings // {})' "$config")
fi
[ -n "$keep" ] || keep=3
case $keep in 0* | *[!0-9]*) die 2 "--keep is a whole number from 1 up, not '$keep'" ;; esac
`;

const WORK = String.raw`
umask 077
tmp=$(mktemp -d "$workspace/.snapshot.XXXXXX")
# Whatever goes wrong, what was there stays; a communication.md that somebody cut off is taken from its last good copy.
finish() {
  code=$?
  trap - EXIT
  rm -rf "$tmp"
  if [ "$code" -ne 0 ] && [ -f "$comm.bak" ] && ! grep -qx '<!-- END COMMUNICATION -->' "$comm" 2>/dev/null; then
    cp -p "$comm.bak" "$comm.new" && mv -f "$comm.new" "$comm"
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' HUP INT TERM
# One at a time, where flock is there; without it the last one wins, and both files are whole.
if command -v flock >/dev/null; then
  exec 9>>"$workspace/snapshot.lock"
  flock -w 10 9 || die 5 "another process is rendering the snapshot and does not come to an end"
fi

[ -e "$log" ] || : >>"$log"
cat "$log" >"$tmp/log"
[ -z "$(tail -c 1 "$tmp/log" | tr -d '\000')" ] || { LC_ALL=C sed '$d' "$tmp/log" >"$tmp/whole"; mv "$tmp/whole" "$tmp/log"; }
# Which elections count is kept beside the journal.
for mark in "$workspace"/leases/*/term-*; do
  [ -f "$mark" ] || continue
  role=$(basename -- "$(dirname -- "$mark")")
  jq -c --arg key "$role/$(basename -- "$mark" | sed 's/^term-//')" '{($key): .event}' "$mark" 2>/dev/null || :
done | jq -s 'add // {}' >"$tmp/marks"
printf '%s' "$headings" >"$tmp/headings"
LC_ALL=C awk "$texts" "$tmp/log" >"$tmp/texts"
jq -n --argjson keep "$keep" --slurpfile marks "$tmp/marks" --slurpfile headings "$tmp/headings" "$render" "$tmp/texts" >"$tmp/both"
jq -j .archive "$tmp/both" >"$tmp/archive.md"

framed() {
  [ -f "$1" ] || { echo none; return; }
  LC_ALL=C awk "$frame" "$1"
}
place=$(framed "$comm") from=$comm
case $place in marked*) ;; *) aside=$(framed "$comm.bak"); case $aside in marked*) place=$aside from=$comm.bak ;; esac ;; esac
{
  set -- $place
  case $1 in
    marked) head -c "$2" "$from" ;;
    unmarked) if [ -s "$from" ]; then head -c "$2" "$from"; [ "$2" -eq 0 ] || [ -z "$(head -c "$2" "$from" | tail -c 1)" ] || echo; else echo '# Communication Snapshot'; fi ;;
    *) echo '# Communication Snapshot' ;;
  esac
  echo '<!-- BEGIN COMMUNICATION -->'
  jq -j .communication "$tmp/both"
  echo '<!-- END COMMUNICATION -->'
  if [ "$1" = marked ]; then tail -c "+$(($3 + 1))" "$from"; fi
} >"$tmp/communication.md"

# Each whole, by a rename; the archive first, so that nothing is in neither.
put() {
  if [ -f "$2" ] && cmp -s "$1" "$2"; then return; fi
  if [ -s "$2" ] && [ "$3" = yes ]; then cp -p "$2" "$tmp/aside" && mv -f "$tmp/aside" "$2.bak"; fi
  mv -f "$1" "$2"
}
changed=no
if [ -s "$archive" ] && ! head -c "$(wc -c <"$archive")" "$tmp/archive.md" | cmp -s - "$archive"; then changed=yes; fi
put "$tmp/archive.md" "$archive" "$changed"
put "$tmp/communication.md" "$comm" yes
`;
