# The keeper's own tests: the release program, the one with ASan and UBSan, and one under valgrind go through every case;
# one whose wall clock jumps goes through those where time decides. Every case has a time limit (LIMIT, in seconds); one that
# passes it is named with the step it was at. `check.sh VARIANT TIER CASE` is how the cases are started.
# Needs cc and coreutils; valgrind and the rights of root are used when they are there. Run by `make -C keeper check`.
set -u
cd "$(dirname "$0")/.."
BUILD=$PWD/build
SLOTS=${SLOTS:-10}
LIMIT=${LIMIT:-300}
RELEASE=${RELEASE:-$PWD/../dist/midwatch-keeper}

# ---- helpers: every case runs in a folder of its own ($T), with a variant of the keeper and a tier ($TIER) ----
# keeper ARGS: replaces the shell it is called in, so call it in a subshell, in $() or behind a pipe
keeper() {
  case $VARIANT in
    valgrind) exec valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 --trace-children=no "--log-file=$T.log.%p" "$BUILD/debug" "$@" ;;
    asan) ASAN_OPTIONS="detect_leaks=0:log_path=$T.log" exec "$BUILD/asan" "$@" ;; # valgrind looks for leaks
    release) exec "$RELEASE" "$@" ;;
    *) exec "$BUILD/$VARIANT" "$@" ;;
  esac
}
step() { echo "$*" >"$T.step"; } # told when the case does not end in time
ok() { echo "PASS $WHO: $*" >>"$RESULTS"; step "had come to: $*"; }
bad() { echo "FAIL $WHO: $*" >>"$RESULTS"; }
is() { if [ "$2" = "$3" ]; then ok "$1"; else bad "$1: got '$2', not '$3'"; fi; }
yes() { what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
no() { what=$1; shift; if "$@"; then bad "$what"; else ok "$what"; fi; }
nonce() { od -An -tx1 -N16 /dev/urandom | tr -d ' \n'; }
# value FILE KEY: the text behind "KEY": up to the next comma or bracket
value() {
  text=$(cat "$1" 2>/dev/null)
  case $text in *"\"$2\":"*) text=${text#*"\"$2\":"}; echo "${text%%[,\}\]]*}" ;; *) echo missing ;; esac
}
alive() { # PID: not a zombie either
  read -r line 2>/dev/null <"/proc/$1/stat" || return 1
  line=${line##*) }
  [ "${line%% *}" != Z ]
}
within() { # TENTHS CONDITION...: true as soon as the condition is
  tries=$(($1 * 5)); shift
  step "waits for: $*"
  while [ "$tries" -gt 0 ]; do "$@" && return 0; tries=$((tries - 1)); sleep 0.02; done
  "$@"
}
is_file() { [ -s "$1" ]; }
gone() { [ ! -e "$1" ]; }
dead() { ! alive "$1"; }

# place NAME: a workspace, or another run in it
place() {
  N=$(nonce); NAME=$1; W=$T/.agent-workspace; D=$W/T/runs/$1/1; LOGS=$W/T/logs
  LOG=$LOGS/$1_stream.jsonl; ERR=$LOGS/$1_stderr.log; IDX=$LOGS/$1_stream.idx
  mkdir -p "$D" "$LOGS" "$W/active"
  echo "T/runs/$1/1" >"$W/active/$1.1"
  printf '%s\0' "dir=$D" "root=$W" "log=$LOG" "err=$ERR" "idx=$IDX" "tier=$TIER" "grace_ms=400" "keep=$W/active/$1.1" >"$T/orders.$1"
}
orders() { printf '%s\0' "$@" >>"$T/orders.$NAME"; }
agent() { orders "arg=sh" "arg=-c" "arg=$1"; }
# launch VERB: starts the keeper; its pid is $P and its answer $A
launch() {
  A=$T/answer.$NAME.$1
  printf 'end\0' | cat "$T/orders.$NAME" - | keeper "$1" "$NAME.1" "$N" >"$A" 2>>"$T/stderr" &
  P=$!
  echo "$P" >>"$T.keepers"
  within 300 answered
}
answered() { [ -s "$A" ] || dead "$P"; }
leave() { step "waits for the end of the keeper: $NAME, $1"; wait "$P"; } # WHAT
murder() { kill -KILL "$P"; leave "killed" 2>/dev/null; }
finish() { leave "$1"; is "$1: the keeper ends well" $? 0; }
run() { launch run; finish "$1"; }
# request DIR GRACE: stop.json, whole at once as every fact is: the keeper looks for it by itself, without a signal too
request() { printf '{"v":1,"reason":null,"grace_ms":%s}\n' "$2" >"$1/stop.new"; mv "$1/stop.new" "$1/stop.json"; }
ask() { request "$D" "$1"; kill -TERM "$P"; }
right_index() { if "$BUILD/index-check" "$LOG" "$IDX" >>"$T/stderr"; then ok "$1: index"; else bad "$1: index: $(tail -n 3 "$T/stderr")"; fi; }
verified() {
  is "$1: verified" "$(value "$D/done.json" verified)" true
  yes "$1: TMPDIR removed" gone "/tmp/mw-$N"
  leaf=$(value "$D/start.json" cgroup); leaf=${leaf#\"}; leaf=${leaf%\"}
  [ "$leaf" = null ] || yes "$1: cgroup removed" gone "$leaf"
}

# ---- cases ----
case_exit() {
  codes="0 7 139"; signals="KILL SEGV TERM"
  [ "$VARIANT" = valgrind ] && codes=139 && signals=TERM # half a second for each start
  for code in $codes; do
    place "exit$code"; agent "exit $code"; run "exit $code"
    is "exit $code" "$(value "$D/exit.json" code) $(value "$D/exit.json" signal)" "$code null"
  done
  for sig in $signals; do
    place "sig$(echo $sig | tr A-Z a-z)"; agent "ulimit -c 0; kill -$sig \$\$"; run "SIG$sig"
    is "SIG$sig" "$(value "$D/exit.json" code) $(value "$D/exit.json" signal)" "null \"SIG$sig\""
  done
  verified "SIGTERM"
}
case_exec() {
  place enoent; orders "env=PATH=/usr/bin:/bin" "arg=no-such-program-anywhere"; run "ENOENT" # EACCES where PATH names a folder that is closed to us
  is "exec ENOENT" "$(value "$D/start.json" name) $(value "$D/start.json" what)" '"ENOENT" "exec"'
  is "the answer says it too" "$(value "$A" name)" '"ENOENT"'
  yes "exec ENOENT: done" is_file "$D/done.json"
  no "exec ENOENT: no exit" is_file "$D/exit.json"
  yes "exec ENOENT: TMPDIR removed" gone "/tmp/mw-$N"
  touch "$T/plain"; place eacces; orders "arg=$T/plain"; run "EACCES"
  is "exec EACCES" "$(value "$D/start.json" name)" '"EACCES"'
  [ "$VARIANT" = valgrind ] || { place e2big; orders "arg=sh" "arg=$(head -c 200000 /dev/zero | tr '\0' x)"; run "E2BIG"
  is "exec E2BIG" "$(value "$D/start.json" name)" '"E2BIG"'; } # valgrind's own exec cannot fail
  place cwd; orders "cwd=$T/gone" "arg=true"; run "cwd"
  is "cwd gone" "$(value "$D/start.json" name) $(value "$D/start.json" what)" '"ENOENT" "cwd"'
  place in; orders "stdin=$T/gone" "arg=true"; run "stdin"
  is "stdin gone" "$(value "$D/start.json" what)" '"stdin"'
  place log; echo old >"$LOG"; orders "arg=true"; run "log there"
  is "another run's log is never used" "$(value "$D/start.json" what) $(cat "$LOG")" '"log" old'
}
case_bytes() {
  head -c 3000000 /dev/urandom >"$T/bytes"
  place bytes; agent "cat $T/bytes; cat $T/bytes >&2"; run "binary"
  yes "stdout byte for byte" cmp -s "$T/bytes" "$LOG"
  yes "stderr byte for byte" cmp -s "$T/bytes" "$ERR"
  is "log_bytes" "$(value "$D/done.json" log_bytes) $(value "$D/done.json" stderr_bytes)" "3000000 3000000"
  is "log_lines" "$(value "$D/done.json" log_lines)" "$(wc -l <"$LOG")"
  right_index "binary"
}
case_index() {
  head -c 3500000 /dev/zero | tr '\0' y >"$T/long"
  place index; orders "first_line={\"type\":\"lifecycle\"}
"
  agent "i=0; while [ \$i -lt 3000 ]; do echo line \$i; i=\$((i+1)); done; cat $T/long; echo; echo; echo; cat $T/long; echo end; sleep 0.3; echo a; sleep 0.3; printf tail"
  run "index"
  is "first_line is first" "$(head -n 1 "$LOG")" '{"type":"lifecycle"}'
  right_index "lines, long lines, slow lines"
  is "nothing but what was printed" "$(wc -c <"$LOG")" 7028924
  place empty; orders "arg=true"; run "empty"; right_index "empty log"
}
case_stop() {
  place now; agent "trap '' INT TERM HUP; while :; do sleep 0.05; done"; launch run
  begun=$(date +%s%N); ask 0; finish "grace 0"; took=$((($(date +%s%N) - begun) / 1000000))
  is "grace 0: killed" "$(value "$D/exit.json" signal) $(value "$D/exit.json" stop_requested)" '"SIGKILL" true'
  yes "grace 0: at once ($took ms)" [ "$took" -lt 3000 ]
  verified "grace 0"
  place polite; agent "trap 'exit 3' INT; echo; while :; do sleep 0.01; done"; launch run; within 300 lines 1; ask 20000; finish "polite"
  is "polite: its own exit" "$(value "$D/exit.json" code)" 3
  verified "polite"
  place stubborn; agent "trap '' INT TERM; (trap '' INT TERM; while :; do sleep 0.05; done) & echo; while :; do sleep 0.05; done"; launch run; within 300 lines 1
  begun=$(date +%s%N); ask 500; finish "stubborn"; took=$((($(date +%s%N) - begun) / 1000000))
  yes "stubborn: not before the grace is over ($took ms)" [ "$took" -ge 500 ]
  verified "stubborn"
  place shorter; agent "trap '' INT TERM; while :; do sleep 0.05; done"; launch run; ask 60000; sleep 0.2
  begun=$(date +%s%N); ask 100; finish "shorter"; took=$((($(date +%s%N) - begun) / 1000000))
  yes "a later, shorter grace counts ($took ms)" [ "$took" -lt 5000 ]
  place quiet; agent "sleep 60"; launch run; request "$D" 0; finish "unsignalled"; verified "stop.json without a signal"
}
case_leftovers() {
  place left; agent "(trap '' INT TERM HUP; setsid sh -c 'trap \"\" INT TERM; while :; do sleep 0.05; done' & echo \$! >$T/left) ; sleep 0.1; exit 5"
  run "leftovers"
  is "exit of main" "$(value "$D/exit.json" code) $(value "$D/exit.json" stop_requested)" "5 false"
  yes "leftover ended" dead "$(cat "$T/left")"
  no "leftover listed" [ "$(value "$D/done.json" processes_total)" = 0 ]
  verified "leftovers"
}
# Under valgrind a keeper has another name. Two runs could have one mark: a process that the other run's keeper has is not in doubt, one without a keeper is.
case_alike() {
  mark=$(nonce | cut -c1-8)
  place other; N=$mark${N#????????}; agent 'exec sleep 60'; launch run; other=$P
  within 50 is_file "$D/start.json"
  main=$(sed 's/.*"main":{"pid":\([0-9]*\).*/\1/' "$D/start.json")
  place own; N=$mark${N#????????}; agent true; run own
  [ "$VARIANT" = valgrind ] || is "alike: nobody is in doubt" "$(MIDWATCH_SCAN_ROOT=$W keeper scan "$N=$D")" "{\"nonce\":\"$N\",\"doubts\":[],\"members\":[]}"
  P=$other; murder
  within 50 alive "$main"
  case $(MIDWATCH_SCAN_ROOT=$W keeper scan "$N=$D") in *"\"pid\":$main,"*"its origin is unknown"*) ok "alike: without its keeper it is" ;; *) bad "alike: $(MIDWATCH_SCAN_ROOT=$W keeper scan "$N=$D")" ;; esac
  kill -KILL "$main"
}

case_scan() { # build/scan only: no subreaper and no cgroup, as on macOS
  place orphan; agent "(env -i /bin/sh -c 'trap \"\" INT TERM; echo \$\$ >$T/bare; while :; do sleep 0.05; done' &) ; while [ ! -s $T/bare ]; do sleep 0.02; done; exit 5"
  run "orphan"; BARE=$(cat "$T/bare")
  is "scan is what is claimed" "$(value "$D/start.json" guarantee) $(value "$D/start.json" cgroup) $(value "$D/done.json" guarantee)" '"scan" null "scan"'
  is "scan: the exit is known" "$(value "$D/exit.json" code)" 5
  yes "an orphan without the mark is found by its session" dead "$BARE"
  verified "orphan"
  place left; agent "trap '' INT TERM; (setsid env -i /bin/sh -c 'trap \"\" INT TERM; echo \$\$ >$T/far; while :; do sleep 0.05; done' &) ; while :; do sleep 0.05; done"
  launch run; within 50 is_file "$T/far"; FAR=$(cat "$T/far"); ask 200; finish "far"
  # Whether one that hides its mark and leaves the session is found depends on what a scan saw of it before: no more is claimed.
  is "far: no more than a scan is claimed" "$(value "$D/done.json" guarantee)" '"scan"'
  kill -KILL "$FAR" 2>/dev/null || true
}
case_refused() {
  place claimed; agent "touch $T/ran"; echo '{"by":"launcher"}' >"$D/claim"; launch run; leave "claimed"
  is "claimed: exit" $? 3
  is "claimed: answer" "$(value "$A" code)" '"CLAIMED"'
  place endless; agent "touch $T/ran"; (keeper run "$NAME.1" "$N" <"$T/orders.$NAME" >"$T/out" 2>&1); is "orders without end: exit" $? 2
  no "orders without end: no claim" is_file "$D/claim"
  place unknown; orders "nonsense=1"; agent "touch $T/ran"; launch run; leave "unknown order"; is "unknown order: exit" $? 2
  place early; agent "touch $T/ran"; request "$D" 0; run "stop before exec"
  is "stop before exec: answer" "$(value "$A" code)" '"STOPPED"'
  yes "stop before exec: done" is_file "$D/done.json"
  yes "stop before exec: no log made" gone "$LOG"
  place launcher; agent "sleep 60"; echo '{"by":"launcher","pid":1}' >"$D/claim"; launch adopt; leave "given up"; is "a run given up is not adopted" $? 3
  no "nothing of these was started" [ -e "$T/ran" ]
}
case_limit() {
  place limit; orders "output_limit=200000"; agent "trap '' INT; while :; do echo 0123456789012345678901234567890123456789; done"; run "limit"
  is "output limit" "$(value "$D/exit.json" limit) $(value "$D/exit.json" stop_requested)" '"output" false'
  verified "limit"; right_index "limit"
}
count() { i=0; while [ $i -lt $1 ]; do echo "line $i"; i=$((i + 1)); done; }
PRINT='i=0; while [ $i -lt 60 ]; do echo line $i; echo line $i >&2; i=$((i+1)); sleep 0.02; done'
case_deleted() {
  count 60 >"$T/wanted"
  place deleted; orders "remove=$W/prompt" "keep=$W/T/task.json"; echo '{"task":1}' >"$W/T/task.json"; agent "$PRINT; while [ ! -e $T/twice ]; do sleep 0.02; done; exit 4"; launch run
  sleep 0.3; rm -rf "$W"; sleep 0.5; rm -rf "$W"; touch "$T/twice"; finish "deleted"
  yes "folder deleted twice: stdout whole" cmp -s "$T/wanted" "$LOG"
  yes "folder deleted twice: stderr whole" cmp -s "$T/wanted" "$ERR"
  right_index "folder deleted twice"
  is "facts from memory" "$(value "$D/exit.json" code) $(value "$D/done.json" mirrored) $(value "$D/claim" by) $(value "$D/start.json" exec_error)" '4 true "keeper" null'
  is "kept files remade" "$(cat "$W/T/task.json") $(cat "$W/active/deleted.1")" '{"task":1} T/runs/deleted/1'
  place part; agent "sleep 1"; launch run; rm -f "$D/start.json"; finish "part"; is "one fact deleted: remade" "$(value "$D/start.json" exec_error)" null
}
case_adopt() {
  count 60 >"$T/wanted"
  place adopt; agent "$PRINT; sleep 60"; launch run; sleep 0.4; murder; sleep 0.3
  launch adopt; is "adopt: answer" "$(cat "$A")" '{"adopted":true}'
  FIRST=$P; launch adopt; leave "second adopter"; is "a second adopter is refused" $? 3; P=$FIRST
  sleep 1.3; ask 200; finish "adopt"
  yes "adopt: stdout whole" cmp -s "$T/wanted" "$LOG"
  right_index "adopt"
  is "adopt: exit unknown" "$(value "$D/exit.json" code) $(value "$D/exit.json" signal)" "null null"
  is "adopt: lines" "$(value "$D/done.json" log_lines)" 60
  verified "adopt"
  launch adopt; leave "over"; is "what is over is not adopted" $? 3
  place ends; agent "sleep 1; exit 2"; launch run; sleep 0.2; murder; launch adopt; finish "adopted run ends by itself"; verified "ends by itself"
  place midstop; agent "trap '' INT TERM; echo; while :; do sleep 0.05; done"; launch run; within 300 lines 1; ask 1500; sleep 0.1; murder; launch adopt
  finish "killed while stopping"; verified "killed while stopping"; is "still a stop" "$(value "$D/exit.json" stop_requested)" true
  place midend; orders grace_ms=1000; agent "trap '' INT TERM; (while :; do sleep 0.05; done) & exit 5"; launch run; within 50 is_file "$D/exit.json"; murder; launch adopt
  finish "killed while ending leftovers"; verified "killed while ending leftovers"; is "the exit stays known" "$(value "$D/exit.json" code)" 5
  place alive; agent "sleep 60"; launch run; FIRST=$P; launch adopt; leave "beside a living one"; is "a living keeper is not replaced" $? 3; P=$FIRST; ask 0; finish "alive"
}
case_adopt_deleted() {
  count 60 >"$T/wanted"
  place lost; agent "$PRINT; sleep 60"; launch run; sleep 0.3; rm -rf "$LOGS"; sleep 0.4; murder
  launch adopt; sleep 1.3; ask 0; finish "deleted, then killed"
  yes "deleted, then killed: stdout whole" cmp -s "$T/wanted" "$LOG"
  yes "deleted, then killed: stderr whole" cmp -s "$T/wanted" "$ERR"
  right_index "deleted, then killed"
}
case_rotated() { # by other programs, while the agent prints
  count 60 >"$T/wanted"
  rotate() { for f in "$@"; do mv "$f" "$f.$ROUND"; : >"$f"; done; }
  back() { [ "$LOG" -ef "$LOG.$ROUND" ]; }
  place rotated; orders "events=$W/events.log"; agent "$PRINT; while [ ! -e $T/over ]; do sleep 0.02; done"; launch run; within 300 lines 5
  kill -STOP "$P"; ROUND=1; rotate "$LOG" "$ERR" "$IDX"; kill -CONT "$P"; yes "rename + create: the log has its name back" within 50 back
  kill -STOP "$P"; ROUND=2; mv "$LOG" "$LOG.2"; echo somebody >"$LOG"; kill -CONT "$P"; yes "a file with something in it gives way" within 50 back
  rm -f "$LOG.1" "$LOG.2"; kill -STOP "$P"; ROUND=3; rotate "$LOG"; rm -f "$LOG.3"; kill -CONT "$P"; yes "renamed and then deleted: copied" within 50 is_file "$LOG"
  : >"$LOG"; sleep 0.3; : >"$LOG"; touch "$T/over"; finish "rotated" # a copy that is cut is made again
  yes "rotated: stdout whole" cmp -s "$T/wanted" "$LOG"; yes "rotated: stderr whole" cmp -s "$T/wanted" "$ERR"; right_index "rotated"
  is "rotated: what was somebody's is kept" "$(cat "$LOG".other.*)" somebody
  is "rotated: told once, and counted" "$(grep -c '"agent.restored"' "$W/events.log") $(value "$D/done.json" cuts) $(value "$D/done.json" mirrored)" "1 0 true"
  no "rotated: counted" [ "$(value "$D/done.json" restored)" -lt 4 ]

  place race; agent "$PRINT; while [ ! -e $T/calm ]; do sleep 0.02; done"; launch run
  ROUND=0; while [ $ROUND -lt 25 ]; do ROUND=$((ROUND + 1)); rotate "$LOG" "$ERR" 2>/dev/null; sleep 0.03; done; touch "$T/calm"; finish "race"
  yes "rotated at any moment ($ROUND times): stdout whole" cmp -s "$T/wanted" "$LOG"; yes "and stderr" cmp -s "$T/wanted" "$ERR"; right_index "race"

  place heir; agent "$PRINT; sleep 60"; launch run; within 300 lines 5; murder; ROUND=1; rotate "$LOG" "$ERR"; launch adopt; within 300 lines 60; sleep 0.2; ask 200; finish "rotated, then adopted"
  yes "rotated while nobody kept it: stdout whole" cmp -s "$T/wanted" "$LOG"; yes "and stderr" cmp -s "$T/wanted" "$ERR"; right_index "rotated, then adopted"

  place cut; orders "events=$W/cut.log"; agent "echo 1 before; while [ ! -e $T/cut ]; do sleep 0.02; done; for i in 2 3 4 5 6 7 8 9; do echo \$i behind it; done; while [ ! -e $T/cut2 ]; do sleep 0.02; done; echo end"; launch run; within 300 lines 1; sleep 0.3
  kill -STOP "$P"; : >"$LOG"; touch "$T/cut"; within 300 lines 8; kill -CONT "$P"; sleep 0.4 # longer than before when it looks again
  : >"$LOG"; sleep 0.3; touch "$T/cut2"; finish "cut"
  is "cut: what came behind is there" "$(cat "$LOG")" end; right_index "cut"
  is "cut: counted" "$(value "$D/done.json" cuts) $(value "$D/done.json" cut_bytes) $(value "$D/done.json" log_lines) $(value "$D/done.json" restored)" "2 105 1 0"
  is "cut: told once" "$(grep -c '"agent.cut"' "$W/cut.log")" 1
}
case_hold() {
  place hold; orders "disk_floor=1000000000000000000" "events=$W/events.log"; agent "while :; do echo x; sleep 0.02; done"; launch run
  yes "held" within 50 is_file "$D/hold.json"
  sleep 0.2; before=$(wc -c <"$LOG"); sleep 0.3; is "held: stands still" "$(wc -c <"$LOG")" "$before"
  murder; orders disk_floor=1; launch adopt
  yes "hold taken over and ended" within 50 gone "$D/hold.json"
  goes_on() { [ "$(wc -c <"$LOG")" -gt "$before" ]; }
  yes "goes on" within 50 goes_on
  ask 0; finish "hold"; verified "hold"
  # It may be held before it has set its trap; then SIGINT ends it.
  place stopped; orders "disk_floor=1000000000000000000"; agent "trap 'exit 3' INT; while :; do sleep 0.02; done"; launch run; within 50 is_file "$D/hold.json"; sleep 0.1
  ask 5000; finish "stop while held"; no "stop while held: it could end itself" [ "$(value "$D/exit.json" signal)" = '"SIGKILL"' ]; yes "stop while held: hold over" gone "$D/hold.json"
  place policy; orders "disk_floor=1000000000000000000" "disk_policy=stop"; agent "sleep 60"; run "disk_policy=stop"; is "disk_policy=stop" "$(value "$D/exit.json" limit)" '"disk"'
}
case_time_limits() {
  place wall; orders wall_ms=400; agent "while :; do echo x; sleep 0.02; done"; run "wall limit"; is "wall limit" "$(value "$D/exit.json" limit)" '"wall"'; verified "wall limit"
  place idle; orders idle_ms=1500; agent "for i in 1 2 3 4 5 6 7 8; do echo x; sleep 0.1; done; sleep 60"; run "idle limit"
  is "idle limit" "$(value "$D/exit.json" limit) $(wc -l <"$LOG")" '"idle" 8'
  place interrupt; orders wall_ms=1000 limit_policy=interrupt "events=$W/events.log"; agent "trap 'echo asked; exit 6' INT; while :; do sleep 0.02; done"; run "interrupted at its limit"
  is "interrupted at its limit" "$(cat "$LOG") $(value "$D/exit.json" code) $(value "$D/exit.json" limit)" "asked 6 null"
  place notify; orders wall_ms=200 limit_policy=notify "events=$W/notify.log"; agent "sleep 1; exit 7"; run "told of its limit"
  is "told of its limit" "$(value "$D/exit.json" code) $(grep -c '"agent.limit"' "$W/notify.log")" "7 1"
}
case_files() {
  echo x >"$T/f"; is "lease: free" "$(keeper lease "$T/f" "$T/none")" "free
unknown"
  exec 5>>"$T/f"; is "lease: held" "$(keeper lease "$T/f")" held
  is "a look tells it too, behind the runs" "$(keeper scan "00000000000000000000000000000000=$T" -- "$T/f" "$T/none" | sed 1d)" "held
unknown"
  exec 5>&-
  mkdir -p "$T/tree/a/b" "$T/tree/ro" "$T/victim"; echo keep >"$T/victim/file"; echo 1 >"$T/tree/a/b/c"; echo 1 >"$T/tree/ro/f"
  ln -s "$T/victim" "$T/tree/a/link"; ln -s "$T/victim/file" "$T/tree/b"; ln "$T/victim/file" "$T/tree/hard"; chmod 0500 "$T/tree/ro"; mkdir -m 0 "$T/tree/none"
  no "rmtree says what it freed" [ "$(keeper rmtree "$T/tree")" -lt 1 ]
  yes "rmtree: gone" gone "$T/tree"
  is "rmtree: links not followed" "$(cat "$T/victim/file")" keep
  place tmp; agent 'mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; chmod 500 $TMPDIR/a/b; ln -s / $TMPDIR/root; mkfifo $TMPDIR/p; echo $TMPDIR'; run "TMPDIR"
  is "TMPDIR is the run's own" "$(cat "$LOG")" "/tmp/mw-$N"; verified "TMPDIR"
}
case_inherit() {
  place fds; orders "arg=ls" "arg=/proc/self/fd"; (launch run 7</dev/null 9>"$T/nine"; leave "in a subshell"); within 50 is_file "$D/done.json" # 3 is its own, for the folder
  [ "$VARIANT" = valgrind ] || is "the agent gets three descriptors" "$(tr '\n' ' ' <"$LOG")" "0 1 2 3 "
  place env; agent 'umask; echo "$PATH" "$MIDWATCH_NONCE" "$FOO"; ulimit -c 0; trap'
  orders "env=FOO=a=b" "env=PATH=/tmp/mw-00000000000000000000000000000000:/bin:/usr/bin"
  (umask 027; trap '' USR1; launch run; leave "in a subshell"); within 50 is_file "$D/done.json"
  is "the agent gets the caller's umask, its environment and default signals" "$(cat "$LOG")" "0027
/bin:/usr/bin:/dev/null/mw-$N $N a=b"
  place chld; agent "exit 8"; (trap '' CHLD; launch run; within 50 is_file "$D/done.json"); is "a caller that ignores SIGCHLD" "$(value "$D/exit.json" code)" 8
  mkfifo "$T/fifo"; place fifo; orders "stdin=$T/fifo"; agent 'read a; read b; echo "$a-$b"'; launch run
  step "writes to a FIFO that the keeper should have open"; echo one >"$T/fifo"; sleep 0.1; echo two >"$T/fifo"; finish "FIFO"; is "a FIFO is read past its first writer" "$(cat "$LOG")" "one-two"
  place storm; agent 'trap "exit 6" INT; while :; do sleep 0.01; done'; launch run
  i=0; while [ $i -lt 300 ]; do kill -HUP "$P"; kill -USR1 "$P"; kill -USR2 "$P"; kill -ALRM "$P"; kill -PIPE "$P"; i=$((i + 1)); done
  yes "a storm of signals is survived" alive "$P"
  i=0; while [ $i -lt 300 ]; do kill -TERM "$P"; i=$((i + 1)); done 2>/dev/null
  finish "storm"; is "storm: one stop" "$(value "$D/exit.json" code)" 6
}
message() { # N TEXT: as a sender writes it; TEXT is JSON already
  printf '{"id":"%036d","at":"x","from":"person","text":"-","state":"accepted","input":"%s"}\n' "$1" "$2" >>"$D/messages.jsonl"
}
told() { [ "$(grep -c "0$1\",.*\"state\":\"$2\"" "$D/messages.jsonl")" -ge 1 ]; } # N STATE
lines() { [ "$(wc -l <"$LOG")" -ge "$1" ]; }
case_input() {
  place talk; orders "fifo=$D/input"; message 1 'first\n'; agent 'while read -r a; do echo "got $a"; done; echo end'; launch run
  is "the FIFO is ours alone" "$(stat -c %a%F "$D/input")" 600fifo
  yes "a message from before the start" within 50 lines 1; yes "told that it was read" within 50 told 1 read
  printf '{"id":"%036d","text":"torn ,\\"input\\":\\"' 7 >>"$D/messages.jsonl"; echo >>"$D/messages.jsonl"
  printf '{"id":"%036d","text":"x","input":"cut off\n' 8 >>"$D/messages.jsonl"
  printf '{"id":"%036d","text":"no input"}\n' 9 >>"$D/messages.jsonl"
  message 2 'q \" b \\\\ u \u00e9\u20AC \/\n'; message 3 'tab\tand \ud83d\n'
  yes "more of them" within 50 lines 3; sleep 0.3; lives=$(alive "$P" && echo yes); is "no end of input while nobody closes it" "$lives" yes
  message 4 'last\n'; : >"$D/input.closed"; finish "input"
  is "each message once, whole and in order, and then the end" "$(cat "$LOG")" "got first
got q \" b \\ u é€ /
got tab	and �
got last
end"
  is "each told once" "$(grep -c '"injected"' "$D/messages.jsonl") $(grep -c '"read"' "$D/messages.jsonl") $(grep -c '"state":"accepted"' "$D/messages.jsonl")" "4 4 4"
  verified "input"; yes "the FIFO is gone" gone "$D/input"

  place deaf; orders "fifo=$D/input"; agent 'read -r a; echo "$a"; exec sleep 60'; launch run # sh reads byte by byte: no more than its line
  message 1 'one\n'; within 50 told 1 read
  message 2 "$(head -c 100000 /dev/zero | tr '\0' y)\\n"; message 3 'three\n'; sleep 0.5
  yes "an agent that does not read: the keeper lives" alive "$P"; no "nothing is told that did not happen" told 2 injected
  ask 0; finish "deaf"; is "deaf" "$(cat "$LOG")" one
  is "what was not read waits for the next run" "$(grep '"accepted","end"' "$D/messages.jsonl" | cut -c 8-43)" "$(printf %036d 2)"

  place heir; orders "fifo=$D/input"; agent 'read -r a; echo "$a"; while [ ! -e go ]; do sleep 0.02; done; while read -r a; do echo "$a"; done'; orders "cwd=$T"; launch run
  message 1 'one\n'; within 50 lines 1; within 50 told 1 injected; murder; message 2 'two\n'; launch adopt; sleep 0.1; touch "$T/go"; message 3 'three\n'
  yes "an adopter goes on where the first keeper stopped" within 50 lines 3; : >"$D/input.closed"; finish "heir"
  is "heir" "$(cat "$LOG")" "one
two
three"
  place half; orders "fifo=$D/input"; agent "while [ ! -e $T/go2 ]; do sleep 0.02; done; while read -r a; do echo \${#a}; done"; launch run
  message 1 "$(head -c 100000 /dev/zero | tr '\0' y)\\n"; message 2 'two\n'; within 50 told 1 injecting; sleep 0.1; murder; launch adopt; touch "$T/go2"
  yes "half a message is told as failed" within 50 told 1 failed; yes "and is not sent again" within 50 told 2 read
  : >"$D/input.closed"; finish "half"; is "half: the next one is whole" "$(tail -n 1 "$LOG")" 3
}
case_below() { # a keeper of the same program; one of another is spared too, but is no proof
  case $VARIANT in release) SELF=$RELEASE ;; *) SELF=$BUILD/$VARIANT ;; esac
  place inner; agent "echo \$\$ >$T/inner.pid; while :; do sleep 0.05; done"; IN=$N; ID=$D; printf 'end\0' >>"$T/orders.inner"
  place outer; agent "\"$SELF\" run inner.1 $IN <$T/orders.inner >$T/inner.answer & sleep 0.1; while [ ! -s $T/inner.answer ]; do sleep 0.02; done; trap '' INT; while :; do sleep 0.05; done"
  launch run; within 100 is_file "$T/inner.answer"; within 20 is_file "$T/inner.pid"; ask 200; finish "outer"
  verified "outer"
  is "the inner keeper is spared and listed" "$(value "$D/done.json" run)" '"inner.1"'
  yes "the inner agent lives" alive "$(cat "$T/inner.pid")"
  INNER=$(value "$ID/claim" pid); request "$ID" 0; kill -TERM "$INNER"
  yes "the inner run ends on its own stop" within 100 is_file "$ID/done.json"
  yes "the inner keeper ends" within 50 dead "$INNER"

  if [ "$VARIANT" != release ]; then
    place inner3; agent "echo \$\$ >$T/inner3.pid; while :; do sleep 0.05; done"; IN=$N; ID=$D; printf 'end\0' >>"$T/orders.inner3"
    place outer3; agent "\"$RELEASE\" run inner3.1 $IN <$T/orders.inner3 >$T/inner3.answer & while :; do sleep 0.05; done"
    launch run; within 100 is_file "$T/inner3.pid"; ask 0; finish "outer of another version"
    is "another version: no proof" "$(value "$D/done.json" verified)" false
    yes "another version: it is named" grep -q 'belongs to inner3.1, it says' "$D/done.json"
    yes "another version: the inner agent lives" alive "$(cat "$T/inner3.pid")"
    INNER=$(value "$ID/claim" pid); request "$ID" 0; kill -TERM "$INNER"; yes "another version: ends on its own stop" within 100 is_file "$ID/done.json"
  fi

  place inner2; agent "setsid sh -c 'echo \$\$ >$T/kid.pid; while :; do sleep 0.05; done' & env -u MIDWATCH_NONCE -u MIDWATCH_AGENT -u TMPDIR sh -c 'echo \$\$ >$T/path.pid; while :; do sleep 0.05; done' & while :; do sleep 0.05; done"
  orders tier=subreaper; IN=$N; ID=$D; printf 'end\0' >>"$T/orders.inner2" # without a leaf of its own it must leave the outer's all the same
  place outer2; agent "\"$SELF\" run inner2.1 $IN <$T/orders.inner2 >$T/inner2.answer & while :; do sleep 0.05; done"
  launch run; within 100 is_file "$T/path.pid"; within 100 is_file "$T/kid.pid"; INNER=$(value "$ID/claim" pid); kill -KILL "$INNER"; sleep 0.1; ask 200; finish "outer of a lost run"
  yes "a lost inner run's member is spared" alive "$(cat "$T/kid.pid")"
  yes "also one that kept only PATH" alive "$(cat "$T/path.pid")"
  NAME=inner2; N=$IN; D=$ID; head -c "$(($(wc -c <"$T/orders.inner2") - 4))" "$T/orders.inner2" >"$T/o"; mv "$T/o" "$T/orders.inner2"
  launch adopt; ask 0; finish "adopter of the lost inner run"
  yes "and ended by its adopter" dead "$(cat "$T/kid.pid")"; yes "both" dead "$(cat "$T/path.pid")"
}
case_full() { # a disk of 1 MB
  [ "$(id -u)" = 0 ] && mkdir "$T/disk" && mount -t tmpfs -o size=1m none "$T/disk" || { echo "SKIPPED: full disk; mount needs root." >&2; ok skipped; return; }
  T=$T/disk; place full; agent "head -c 3000000 /dev/zero; exit 3"; launch run
  yes "full disk: the ballast makes room for the exit" within 50 is_file "$D/exit.json"; finish "full disk"; verified "full disk"
  place late; agent "while [ ! -e ${T%/disk}/go ]; do sleep 0.05; done; exit 3"; rm -f "$LOGS"/*; launch run; sleep 0.3; rm -f "$D/ballast"
  head -c 2000000 /dev/zero >"$T/filler" 2>/dev/null; touch "${T%/disk}/go"; sleep 0.6; yes "no room at all: the keeper waits" alive "$P"; no "and has written no half fact" is_file "$D/done.json"
  rm -f "$T/filler"; finish "room again"; is "the fact comes when there is room" "$(value "$D/exit.json" code)" 3
  umount -l "$T"
}
case_clock() { # build/clock only: the others' clock is right
  place jumps; agent "trap '' INT TERM; i=0; while [ \$i -lt 40 ]; do echo \$i; i=\$((i+1)); sleep 0.02; done; while :; do sleep 0.05; done"; launch run
  within 300 lines 40; begun=$(date +%s%N); ask 600; finish "clock"; took=$((($(date +%s%N) - begun) / 1000000))
  yes "clock: the grace is given ($took ms)" [ "$took" -ge 600 ]
  yes "clock: and no more than that ($took ms)" [ "$took" -lt 5000 ]
  is "clock: the exit is told" "$(value "$D/exit.json" signal) $(value "$D/exit.json" stop_requested)" '"SIGKILL" true'
  yes "clock: took_ms is by the other clock" [ "$(value "$D/done.json" took_ms)" -ge 600 -a "$(value "$D/done.json" took_ms)" -lt 5000 ]
  no "clock: it did jump" [ "$(value "$D/start.json" started_at | cut -c 1-14)" = "$(value "$D/exit.json" ended_at | cut -c 1-14)" -a "$(value "$D/exit.json" ended_at | cut -c 1-14)" = "$(value "$D/done.json" ended_at | cut -c 1-14)" ]
  verified "clock"; right_index "clock"
}
case_names() { # what others made before us under names that can be guessed
  place ghost; mkdir "/tmp/mw-$N"; printf '#!/bin/sh\necho ghost\n' >"/tmp/mw-$N/mw-ghost"; chmod 755 "/tmp/mw-$N/mw-ghost"
  agent 'mw-ghost 2>/dev/null || echo "none ${TMPDIR:-no TMPDIR}"; sleep 60'; orders "env=TMPDIR=/tmp/mw-$N"; launch run; within 50 lines 1
  is "no command and no TMPDIR from a folder that is not ours" "$(cat "$LOG") $(value "$D/start.json" tmpdir)" "none no TMPDIR null"
  [ "$(id -u)" != 0 ] || chown 54321 "/tmp/mw-$N"
  murder; launch adopt; ask 0; finish "ghost"
  [ "$(id -u)" != 0 ] || yes "another user's folder is left alone" [ -e "/tmp/mw-$N/mw-ghost" ]
  rm -rf "/tmp/mw-$N"
  place tidied; agent 'rm -rf "$TMPDIR"; mkdir "$TMPDIR"; cp /bin/echo "$TMPDIR/mw-ghost"; mw-ghost 2>/dev/null || echo none'; run "tidied"
  is "nor from ours, which may be made again by another" "$(cat "$LOG")" none
  place taken; mkdir "$D/.claim.tmp"; agent "exit 4"; run "taken"; is "another keeper's unfinished claim is no hindrance" "$(value "$D/exit.json" code)" 4
}
case_cgroups() { # an agent with cgroups of its own; only they tie this daemon to the run
  place own; agent "(setsid env -i /bin/sh -c 'trap \"echo asked >$T/asked; exit\" INT TERM; echo \$\$ >$T/far; while :; do sleep 0.05; done' &) ; sleep 60"; launch run; within 50 is_file "$T/far"
  leaf=$(value "$D/start.json" cgroup); leaf=${leaf#\"}; leaf=${leaf%\"}
  if [ "$leaf" = null ]; then echo "SKIPPED: cgroups of an agent's own; no leaf can be made here." >&2; ok skipped; ask 0; finish "own"; return; fi
  mkdir -p "$leaf/a/b"; cat "$T/far" >"$leaf/a/b/cgroup.procs"; murder; rm -f "$D/members"
  launch adopt; ask 5000; finish "own"; verified "own"
  yes "a process in a cgroup that the agent made is asked to end" is_file "$T/asked"
}
case_ran() { # the adopter's wall limit: without the time for which the run was held
  place ran; orders "disk_floor=1000000000000000000" wall_ms=3000; agent "sleep 60"; launch run; within 50 is_file "$D/hold.json"; within 50 is_file "$D/ran"
  sleep 4; murder; orders disk_floor=1; launch adopt; within 50 gone "$D/hold.json"; sleep 1
  no "time held is not time run" is_file "$D/exit.json"; finish "ran"
  is "the rest is" "$(value "$D/exit.json" limit)" '"wall"'; yes "ran: the note is gone" gone "$D/ran"
}
case_durable() {
  place default; orders "events=$W/default.log"; agent "echo x; sleep 1; echo y"; run "default sync"
  wanted=true; told=0; [ "$VARIANT" != badsync ] || { wanted=false; told=1; }
  is "default sync: durable" "$(value "$D/done.json" durable)" "$wanted"
  is "default sync: a failure is told once" "$(cat "$W/default.log" 2>/dev/null | grep -c 'stable storage: EIO')" "$told"
  place never; orders sync=none; agent "echo x"; run "sync none"; is "sync none: durable" "$(value "$D/done.json" durable)" null
}
case_calm() { # build/calm only: after 0.3 s without output it looks once a minute; all that may not wait so long must wake it
  place exits; agent "sleep 2; exit 9"; launch run; yes "calm: the exit is told" within 100 is_file "$D/exit.json"; finish "calm exit"
  place told; agent "sleep 60"; launch run; sleep 2; ask 0; yes "calm: a stop is served" within 100 is_file "$D/done.json"; finish "calm stop"
  place late; orders wall_ms=2500; agent "sleep 60"; launch run; yes "calm: the wall limit" within 200 is_file "$D/exit.json"; finish "calm wall"; is "calm: the wall limit" "$(value "$D/exit.json" limit)" '"wall"'
  place mute; orders idle_ms=2500; agent "sleep 60"; launch run; yes "calm: the idle limit" within 200 is_file "$D/exit.json"; finish "calm idle"; is "calm: the idle limit" "$(value "$D/exit.json" limit)" '"idle"'
  place talk; orders "fifo=$D/input"; agent 'while read -r a; do echo "$a"; done'; launch run; sleep 2
  message 1 'one\n'; kill -CONT "$P"; yes "calm: a message comes with SIGCONT" within 100 lines 1; yes "calm: and is told as read" within 100 told 1 read
  sleep 2; : >"$D/input.closed"; kill -CONT "$P"; yes "calm: so does the end of input" within 100 is_file "$D/done.json"; finish "calm input"
}
# holds FILE: the lock of whoever watches; its pid is $H
holds() { "$BUILD/hold-lock" "$1" >"$1.held" & H=$!; within 50 is_file "$1.held"; }
tally() { wc -l <"$T/$1" 2>/dev/null || echo 0; } # how often $1 was started
case_watch() { # somebody is started while nobody watches: no member of the run, and nobody waits for it
  starts() { orders "watch_lock=$T/$1.lock" "watch_lock=$T/$1.starting" "watch_arg=/bin/sh" "watch_arg=-c" "watch_arg=echo \$\$ >>$T/$1; env >$T/$1.env; $2"; }
  place alone; starts alone "sleep 60 & wait"; agent "while :; do sleep 0.05; done"; export NODE_OPTIONS=--x MIDWATCH_RIGHTS=x; launch run; unset NODE_OPTIONS MIDWATCH_RIGHTS
  yes "nobody watches: somebody is started" within 100 is_file "$T/alone.env"; S=$(cat "$T/alone"); sleep 3
  is "one at a time" "$(tally alone)" 1; is "out of the agent's leaf" "$(grep -c "mw-$N" "/proc/$S/cgroup")" 0
  is "without what would load more into it" "$(grep -cE '^(NODE_OPTIONS|MIDWATCH_RIGHTS|MIDWATCH_NONCE)=' "$T/alone.env")" 0
  ask 0; finish "watch"; verified "watch"; yes "ended with the run" dead "$S"
  is "in no receipt" "$(grep -c "\"pid\":$S," "$D/done.json")" 0

  place watched; starts watched "exit 1"; agent "while :; do sleep 0.05; done"; holds "$T/watched.lock"; launch run; sleep 5.5
  is "somebody watches: nobody is started" "$(tally watched)" 0
  kill -KILL "$H"; wait "$H" 2>/dev/null; yes "he was killed: another is started" within 50 is_file "$T/watched"; sleep 8
  yes "who fails is tried less and less often ($(tally watched))" [ "$(tally watched)" -ge 2 -a "$(tally watched)" -le 4 ]
  murder; launch adopt; holds "$T/watched.starting"; was=$(tally watched); sleep 4; is "an adopter waits for whoever starts one" "$(tally watched)" "$was"
  kill -KILL "$H"; wait "$H" 2>/dev/null; more() { [ "$(tally watched)" -gt "$was" ]; }; yes "and does it itself then" within 80 more; ask 0; finish "watched"

  place later; starts later "sleep 60"; orders "watch_when=$D/reported"; agent "while :; do sleep 0.05; done"; launch run; sleep 5.5
  is "nobody is needed: nobody is started" "$(tally later)" 0
  : >"$D/reported"; yes "and somebody once he is" within 120 is_file "$T/later.env"; ask 0; finish "later"
}
case_size() { # the release program only: others carry their tools with them
  place size; orders "arg=sh" "arg=-c" "arg=while :; do echo hello; sleep 0.01; done" "arg=$(head -c 100000 /dev/zero | tr '\0' x)"; launch run; sleep 0.5
  while read -r key kb _; do [ "$key" = VmRSS: ] && break; done <"/proc/$P/status"
  yes "at most 1 MB of memory ($kb kB)" [ "$kb" -le 1024 ]
  ask 0; finish "size"
}

case_init() { # the first process of a container: as a reaper of orphans here, which is the same without a namespace
  (keeper init sh -c 'exit 7'); is "init ends as its program did" $? 7
  (keeper init sh -c 'kill -9 $$'); is "init: killed by a signal" $? 137
  (keeper init no-such-program-anywhere 2>/dev/null); is "init: no such program" $? 127
  (keeper init sh -c 'trap "exit 5" TERM; kill -TERM $PPID; while :; do sleep 0.05; done'); is "init hands signals on" $? 5
  (keeper init sh -c '
    i=0; while [ $i -lt 50 ]; do i=$((i+1)); (setsid sleep 0.1 &); done
    tries=200; while [ $tries -gt 0 ]; do
      left=0; for p in $(cat /proc/$PPID/task/$PPID/children); do [ "$p" = $$ ] || left=$((left+1)); done
      [ $left = 0 ] && exit 0; tries=$((tries-1)); sleep 0.05
    done; exit 1'); is "init takes in 50 orphans" $? 0
  place below; agent "trap '' TERM INT; while :; do sleep 0.05; done"; orders end
  export A="$T/answer.init" KEEPER="$RELEASE" ORDERS="$T/orders.$NAME" N
  (keeper init sh -c '"$KEEPER" run below.1 $N <"$ORDERS" >"$A" & until [ -s "$A" ]; do sleep 0.02; done; exit 3'); is "init: its program has ended" $? 3
  verified "init: agents are ended, with proof, before it is gone"
}

# ---- one case ----
if [ $# = 3 ]; then
  VARIANT=$1; TIER=$2; WHO="$*"; T=$TOP/$1-$2-$3; RESULTS=$T.result
  mkdir "$T" && "case_$3" 2>>"$T/shell"
  exit 0
fi

# ---- run all ----
TOP=$(mktemp -d /tmp/midwatch-check-XXXXXX)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$TOP"' EXIT
trap 'exit 130' INT TERM
export TOP RELEASE
mkfifo "$TOP/slots"
exec 3<>"$TOP/slots"
i=0; while [ $i -lt "$SLOTS" ]; do echo >&3; i=$((i + 1)); done
overdue() { # its keepers end their agents; those that cannot are killed
  bad "not over after $LIMIT s; it $(cat "$T.step")"
  while read -r P; do kill -TERM "$P" 2>/dev/null; done <"$T.keepers"
  sleep 3
  while read -r P; do kill -KILL "$P" 2>/dev/null; done <"$T.keepers"
}
go() { # VARIANT TIER CASE, as soon as a slot is free; with ONLY those of that variant
  [ "${ONLY:-$1}" = "$1" ] || return 0
  read -r _ <&3
  (
    WHO="$*"; T=$TOP/$1-$2-$3; RESULTS=$T.result; began=$(date +%s)
    : >"$T.keepers"; echo "had not begun" >"$T.step"
    timeout -k 5 "$LIMIT" sh test/check.sh "$@" 3>&- || overdue
    [ -s "$RESULTS" ] || bad "no result: $(tail -n 3 "$T/shell")"
    for log in "$T".log.*; do [ ! -s "$log" ] || case $(cat "$log") in *ERROR:*|*runtime\ error*|*definitely\ lost:\ [1-9]*|*Invalid\ *|*uninitialised*) bad "$log: $(head -n 30 "$log")" ;; esac; done
    [ -z "${VERBOSE:-}" ] || echo "$WHO: $(($(date +%s) - began)) s"
    echo >&3
  ) &
}
TREE="adopt stop hold below leftovers"
REST="init watch alike input names durable ran cgroups exit exec index inherit adopt_deleted rotated files deleted bytes limit time_limits full refused"
# The slowest first.
if command -v valgrind >/dev/null; then
  for c in $TREE $REST; do [ "$c" = below ] || go valgrind subreaper "$c"; done # the program of all below valgrind is valgrind
else
  echo "SKIPPED: valgrind is not installed; leaks were not looked for." >&2
fi
for c in $TREE $REST; do go asan auto "$c"; done
for c in $TREE $REST size; do go release auto "$c"; done
for c in $TREE; do go release subreaper "$c"; done
for c in stop hold below leftovers watch scan; do go scan auto "$c"; done # how a keeper lives where the kernel gives it no orphans
go calm auto calm
go badsync auto durable
for c in clock stop adopt leftovers hold exit limit; do go clock auto "$c"; done
wait
cat "$TOP"/*.result >"$TOP/all"
passed=0; failed=0
while IFS= read -r line; do
  case $line in
    PASS*) passed=$((passed + 1)); [ -z "${VERBOSE:-}" ] || echo "$line" ;;
    FAIL*) failed=$((failed + 1)); echo "$line" ;;
    *) echo "  $line" ;;
  esac
done <"$TOP/all"
echo "keeper: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
