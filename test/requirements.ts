/**
 * What must hold, by id, in the words of the one who asked for it. A test proves a requirement by beginning its title with the id:
 * `it("R-000.9: ...")`. What a whole run of the suite proved is in docs/requirements.md.
 */
export type Requirement = {
  text: string;
  /** The test that was asked for with it. */
  accept?: string;
  /** How midwatch answers it where it does so in a way of its own; docs/seeds.md has the reasons. */
  own?: string;
  /** The capability it waits for. */
  later?: string;
  /** One sentence why it does not apply. */
  notApplicable?: string;
};

export const requirements: Record<string, Requirement> = {
  // Logs
  "R-000.1": {
    text: "Line-by-line parsing: an incomplete or malformed line never stops later lines",
    accept: "valid / torn / valid file → 3 records, middle `type=parse_error`",
  },
  "R-000.2": {
    text: 'A bad line becomes a record {type:"parse_error", line_number, raw_content ≤200, error} and a warning',
    accept: "valid / torn / valid file → 3 records, middle `type=parse_error`",
  },
  "R-000.3": { text: "Empty lines skipped" },
  "R-000.4": {
    text: "Our own writers write whole records only (line + newline, one or many), from a complete buffer; a short write is completed or closed with a newline. An agent's stdout is a file, so its own writes are the record",
    accept: "strace: no write(2) of ours ends inside a record",
    own: "Exclusion by one O_APPEND write of whole records, without a lock.",
  },
  "R-000.5": {
    text: "SIGTERM/SIGINT/exit flush the buffer; an unfinished record is written as error record",
    accept: "kill -15; reader fine",
    own: "Nothing is buffered: a record is written whole by one call, so a signal finds nothing to flush and leaves no unfinished record.",
  },
  "R-000.6": {
    text: "kill -9 mid-line: reader fine, and the next record is not glued to the torn one",
    accept: "kill -9; then append: new record parses",
  },
  "R-000.7": {
    text: "Concurrent writers to one log: exclusive lock, flush+fsync, no interleaving",
    accept: "3×1000 → 3000 lines; 5×100 → 500, all with source+line",
    own: "Exclusion by one O_APPEND write of whole records, without a lock; the fdatasync is shared by those who write at once.",
  },
  "R-000.8": {
    text: "Log path unique per agent_id, never by task_id, enforced",
    accept: "two agents, same type, same second → 2 files",
  },
  "R-000.9": { text: "Open O_APPEND only, never truncate" },
  "R-000.10": {
    text: "Optional one log directory per agent",
    own: "Every file carries the id of its agent in its name.",
  },
  "R-000.11": {
    text: "Pre-flight: refuse to deploy below 100 MB free with a clear error",
    accept: "tmpfs 50 MB → error text",
  },
  "R-000.12": {
    text: "ENOSPC while writing: notice on stderr, agent stopped in order, file stays valid; other errors raised",
    accept: "loop device 100 MB, run until full: graceful, no corruption",
    own: "The default is `disk_policy: hold`: frozen before the disk is full, it goes on when there is room, and nothing is lost. `stop` is the way of the demand.",
  },
  "R-000.13": {
    text: "Size limit 500 MB per active log, ≤2 rotations kept",
    own: "An active log is never rotated; the output limit stops the run. Earlier runs are compressed in archive/ and end with the retention of the workspace.",
  },
  "R-000.14": { text: "Free space in progress reports: warn <500 MB, error <100 MB" },
  "R-000.15": {
    text: "tail(100) on 10 GB / 1 M lines in <100 ms without loading the file",
    accept: "elapsed <0.1 s; full read fails/times out",
  },
  "R-000.16": { text: "tail(N) returns exactly N valid records whatever the line length", accept: "`len(lines)==100`" },
  "R-000.17": { text: "Pagination offset+limit over the whole log", accept: "page k of a 1 GB log <100 ms" },
  "R-000.18": {
    text: "Full read capped (10,000 lines) with a warning",
    notApplicable: "A whole read streams in bounded memory and needs no cap; what gathers records is bounded.",
  },
  "R-000.19": { text: "API default tail=100; UI loads more on demand" },
  "R-000.20": {
    text: "Rotated logs gzipped",
    own: "zstd with a seek table instead of gzip, so that a tail and a page stay fast.",
  },
  "R-000.21": {
    text: "Optional checksum per line",
    own: "The index holds a CRC32C of the bytes since its last entry; the lines stay as the agent printed them.",
  },
  "R-000.22": {
    text: "Validate before rotating: good → backup + .1, bad → .corrupted.<ts>",
    own: "Validated before it is compressed; a corrupt one is kept aside as .corrupted.<ts>.",
  },
  "R-000.23": {
    text: "validate(file) → (ok, [(line,error)]), periodic job, user told",
    accept: "corrupt by hand → recovery + notice",
  },
  "R-000.24": {
    text: "Log dir 0755 and file 0644 set explicitly, writability checked",
    own: "0700 and 0600: R-004.14 wins.",
  },
  "R-000.25": {
    text: "Fallback to /tmp/<product>/<agent>… with a warning if the workspace is not writable",
    accept: "chmod 555 → fallback works",
    own: "Refused by default with a hint; `--fallback-dir D` uses D as the workspace of this run.",
  },
  "R-000.26": {
    text: "Permission error = {success:false, error, suggestion}",
    accept: "chmod 555 → clear message",
    own: "MCP answers carry `suggestion` beside `hint`.",
  },
  "R-000.27": {
    text: "No rotation while active, or a rotation-safe writer; reader sees all data",
    accept: "rotate under a continuous writer: nothing lost",
    own: "An active log is never rotated by midwatch; readers take part in a rotation by others.",
  },
  "R-000.28": {
    text: "Reader returns only complete lines; the partial last line appears in the next read",
    accept: "writer 10/s, reader 100/s: no errors, no loss; unit 1000 writes/100 reads: 0 errors",
  },
  "R-000.29": { text: "Each record visible to readers at once (flush per line)" },
  "R-000.30": { text: "Log not there yet → {success:true, output:[], note}" },
  "R-000.31": {
    text: 'Agent died before writing → tmux capture, source "tmux_fallback", or empty + note',
    own: 'The log exists before the agent starts; an empty one gives a note and the tail of stderr, `source: "stderr"`.',
  },
  "R-000.32": { text: "Read-only file system found before deploy by a write test" },
  "R-000.33": { text: "Log dir deleted mid-run → recreated, write retried", accept: "rm -rf, next record lands" },
  "R-000.34": { text: "Workspace watcher: critical log + recreate", own: "The keeper is the watcher." },
  "R-000.35": {
    text: "If that fails: tmux-only mode, agent survives",
    own: "The agent's stdout is an open file: it survives without any name.",
  },
  "R-000.36": { text: "Any number of concurrent readers" },
  "R-000.37": { text: "Reader notices rotation during the read (inode) and re-reads" },
  "R-000.38": {
    text: "Restart with the same id appends and writes {type:lifecycle,event:agent_restart}; optional attempt number",
    own: "One file a run; its first line is the marker.",
  },
  "R-000.39": {
    text: "Layout .agent-workspace/TASK-x/logs/<agent>_stream.jsonl[.1]",
    own: "What a run wrote before lies in archive/, with the number of the run.",
  },
  "R-000.40": {
    text: "UTC ISO timestamp added when missing; UTF-8 unescaped",
    own: "The vendor's line stays as it is; the record that is read has the timestamp.",
  },
  "R-000.41": { text: "Writer: 3 tries, growing delay, ENOENT recreate, ENOSPC handler" },
  "R-000.42": { text: "deploy_headless_agent creates the log; get_agent_output reads it" },
  "R-000.43": {
    text: "Unit tests for each case + integration scripts crash, disk full, large log, permissions, concurrent agents",
    accept: "listed",
  },
  "R-000.44": { text: "API changes documented" },
  "R-000.45": {
    text: 'From the sibling api_design.md: filter before tail ("last 10 ERROR lines"), invalid regex → error_type, formats text/jsonl/parsed, metadata set',
    accept: "examples there",
  },
  "R-000.46": {
    text: "The library exports JSONLWriter and JSONLReader: durable append, tail, page, follow, verify; usable without a workspace",
  },
  "R-000.47": {
    text: "An agent may log 10 GB with the default configuration",
  },
  "R-000.48": {
    text: "Retention: ended runs go after 14 days or above 5 GB of the workspace, by themselves, never the log of a live agent; prune has a dry run",
  },
  "R-000.49": { text: "Tail and paging of a compressed log need not unpack it whole" },
  "R-000.50": { text: "The logs of a task are merged by timestamp when they are read, without a second copy" },
  "R-000.51": {
    text: "Metrics: append latency p50/p99, bytes and records a second, fsync time, torn and corrupt lines, lag of readers, free disk",
    own: "Counters and buckets from which Prometheus works out quantiles and rates; torn and corrupt lines are one count.",
  },
  "R-000.52": { text: "The restart marker names the agent" },
  "R-000.53": { text: "`midwatch` can be called inside a run, however midwatch was started" },

  // Monitoring
  "R-001.1": {
    text: "OnTrackStatus on_track/drifting/off_track/blocked/unknown with those meanings",
    accept: "enum test",
  },
  "R-001.2": { text: "LogPosition: instance, log type, path, byte offset, line number, ts, checksum" },
  "R-001.3": {
    text: "AgentSummary with the 16 named fields (text says 17), JSON- and WS-ready",
    accept: "serialisation test",
    own: "The 17th field is `evidence`, the reasons with the lines behind them.",
  },
  "R-001.4": {
    text: "Config defaults: poll 12 s (10-15), summary_dir, state_dir, model, 200 lines/read, backoff 10 s, streaming on",
    own: "Where summaries and places lie is contract, no setting.",
  },
  "R-001.5": { text: "All positions persisted; survive restart", accept: "restart test" },
  "R-001.6": {
    text: "Shared/exclusive file locks, several processes",
    accept: "simulated concurrency",
    own: "SQLite's locks.",
  },
  "R-001.7": {
    text: "Atomic replace; crash never corrupts",
    accept: "temp+rename verified",
    own: "Transactions of SQLite instead of temp file and rename.",
  },
  "R-001.8": { text: "get/update/remove/get_all/clear_all" },
  "R-001.9": { text: "In-memory cache, loaded once" },
  "R-001.10": { text: "Corrupt state file, missing dir, empty state handled", accept: "listed" },
  "R-001.11": { text: "read_new_content → (new lines, total) from the exact byte", accept: "basic incremental" },
  "R-001.12": {
    text: "Rotation by checksum of first 1 KB, truncation by offset>size, restart from 0",
    accept: "rotation + truncation tests",
    own: "A generation of inode, birth time and hash of the beginning, not the checksum alone.",
  },
  "R-001.13": {
    text: "≤200 lines per read",
    own: "The watch itself has a budget of bytes a round; `watch_lines` is the limit of lines for a file that is read by a program.",
  },
  "R-001.14": { text: "read_last_n_lines" },
  "R-001.15": { text: "reset_position" },
  "R-001.16": { text: "Missing file, bad UTF-8 (replace), OS errors: no exception", accept: "listed" },
  "R-001.17": { text: "Only new content is read" },
  "R-001.18": { text: "Clean public API of the package" },
  "R-001.19": { text: "Tests for models, tracker, reader (9 named cases) with isolated fixtures", accept: "listed" },
  "R-001.20": {
    text: "Seek ~1 ms, rotation check ~5 ms, persist <100 ms, ~1 KB/agent, 100+ agents",
    accept: "table",
    own: "`npm run bench positions` measures the times; tests count what is read and kept, which no busy machine changes.",
  },
  "R-001.21": { text: "summaries/<id>/{latest_summary.json, summary_history.jsonl}" },
  "R-001.22": {
    text: "LLM summary: activity 1-2 sentences, status, confidence 0-1, drift_reasons, alignment_keywords, recent tools, idle time, recommended action",
  },
  "R-001.23": { text: "Inputs: new lines + role + assigned task + parent (+previous summary)" },
  "R-001.24": { text: "Structured JSON answer validated; retries, rate-limit backoff" },
  "R-001.25": { text: "Background service for all agents, error isolation per agent" },
  "R-001.26": { text: "WebSocket streaming of summaries" },
  "R-001.27": { text: "Core without external dependencies" },
  "R-001.28": { text: "Position dropped when the agent ends" },
  "R-001.29": {
    text: "Each reason of a verdict has its evidence: rule, log, byte and line range, quote, value, threshold; a summary has its schema version",
  },
  "R-001.30": {
    text: "The status is worked out by rules and always there; a model is optional, adds its words, and never changes the status",
  },
  "R-001.31": { text: "A model is never told a secret and has a budget an hour" },
  "R-001.32": { text: "A position moves only after what was read is handed over: at least once" },

  // File tracking
  "R-002.1": {
    text: "Registry holds per agent prompt_file, log_file, progress_file, findings_file, deploy_log",
    accept: "jq shows 5 paths for a running agent",
  },
  "R-002.2": { text: "Order: stop process → verify → delete/archive" },
  "R-002.3": { text: "Report files_deleted[], files_failed[{path,error}]", accept: "5 deleted, 0 failed" },
  "R-002.4": { text: "kill returns {success, agent_id, tmux_session, session_killed, reason, status, cleanup}" },
  "R-002.5": { text: "Each deletion logged; a failure does not stop the rest" },
  "R-002.6": { text: "Missing files are fine" },
  "R-002.7": { text: "Agents without tracked_files can still be killed" },
  "R-002.8": { text: "Live screen and file log at once" },
  "R-002.9": { text: "Same cleanup usable by kill, by completion and by a daemon reading tracked_files" },
  "R-002.10": { text: "Every running agent has tracked_files", accept: "jq has() all true" },
  "R-002.11": { text: "Prompt files = number of running agents", accept: "find \\| wc" },
  "R-002.12": { text: "Workspace does not grow without bound", accept: "du" },
  "R-002.13": { text: "After kill no handle open", accept: "lsof empty" },
  "R-002.14": { text: "≤~0.55 s extra per kill, ~200 B per agent" },
  "R-002.15": { text: "Archive with retention (e.g. 7 days)" },
  "R-002.16": { text: "Cleanup on completion" },
  "R-002.17": { text: "Metrics: bytes freed, success rate, alert on failure" },
  "R-002.18": { text: "Graceful: signal agent, let it flush, kill after timeout" },
  "R-002.19": { text: "Failed deletions can be listed later", accept: "grep" },
  "R-002.20": {
    text: "kill_real_agent reports every tracked file: those deleted and those archived add up to all that existed",
  },
  "R-002.21": {
    text: "AGENT_REGISTRY.json has the fields that callers select by: active_count, type, depth, prompt, tmux_session, last_update, numeric progress, status",
    accept: "jq '.agents[] | select(.status==\"completed\")' finds the completed",
  },
  "R-002.22": {
    text: "Size, sha256 and creation time of each tracked file are known; what an agent made in its worktree is not touched",
  },
  "R-002.23": { text: "What is archived goes after a set time; deleting at once takes --purge" },

  // Journal
  "R-003.1": {
    text: "Init: git repo, remote (gh), first commit, baseline files events.log/communication.md/archive.md, scripts/",
  },
  "R-003.2": { text: "Only standard tools needed; checked at start" },
  "R-003.3": {
    text: "log_event <interaction> <actor> <type> <content>: JSON line {interaction:number, actor, type, content, timestamp UTC}",
    accept: "example call",
    own: "The interaction number is the caller's, or `+` for the highest + 1.",
  },
  "R-003.4": {
    text: "Append under exclusive lock",
    accept: "concurrent append of A and B: no corruption",
    own: "One O_APPEND write instead of a lock.",
  },
  "R-003.5": {
    text: "Snapshot groups by interaction; communication.md = last K (3), archive.md = older, markers BEGIN/END",
    accept: "append 4-5 events, inspect both",
  },
  "R-003.6": { text: "Type → heading map (question A→B, answer B→A, followup, heartbeat), adjustable" },
  "R-003.7": { text: "Agent hook: log each turn then snapshot" },
  "R-003.8": { text: "Watcher regenerates on change" },
  "R-003.9": { text: "Second agent joins; snapshot always shows the latest K", accept: "validate concurrency" },
  "R-003.10": { text: "Heartbeats; orchestrator assumed down after T s", own: "T is 10 s." },
  "R-003.11": {
    text: "Leader election at once when heartbeats stop; new coordinator resumes dispatch",
    own: "A lease by link(2) registers with a fencing term.",
  },
  "R-003.12": { text: "Orchestrator retries log/GitHub 1, 2, 4 s before declaring itself offline" },
  "R-003.13": { text: "Lock failure: 3 tries, then `error` event", accept: "JSON given" },
  "R-003.14": {
    text: "Write error (disk, permission): error event, pause until a human acts",
    own: "It goes on by itself when there is room; `pause: manual` is the way of the demand.",
  },
  "R-003.15": {
    text: "git push/pull in retry blocks; >5 failures → error event + offline mode with events.offline.log, merged when back",
    own: "The local journal is the offline queue; events.offline.log is a view of what has not been synced.",
  },
  "R-003.16": { text: "Credentials validated at start; halt with clear message, wait for refresh" },
  "R-003.17": { text: "Malformed line → events.error.log, skipped, error event with line number" },
  "R-003.18": { text: "Snapshot crash → last good restored from .bak" },
  "R-003.19": { text: "No claims/locks left by dead agents; resume from last processed interaction" },
  "R-003.20": { text: "agent-<id>.checkpoint after each handled interaction, read at start" },
  "R-003.21": { text: "Health dashboard from heartbeat, leader_election, error events" },
  "R-003.22": { text: "Alert (mail/chat webhook) on error events" },
  "R-003.23": {
    text: "The synced branch carries communication.md and archive.md",
    accept: "a bare repository as remote: communication.md there equals the local one",
  },
  "R-003.24": {
    text: "Each turn is an event as it ends, not when the agent has ended",
  },
  "R-003.25": {
    text: "Heartbeats of the orchestrator are events of events.log while agents live",
    accept: "an agent of shell that tails the file sees it die within T",
  },
  "R-003.26": { text: "Any eligible agent can take the lead, a shell agent too" },
  "R-003.27": { text: "A task is claimed by lease: one holder, no claim outlives it" },
  "R-003.28": {
    text: "A writer with flock and a shell's echo beside ours loses nothing, also when it needs several writes for a line",
    accept: "eight of each with 9 KB: nothing lost, nothing in quarantine",
  },
  "R-003.29": { text: "Setting up commits the scripts and the baseline files" },
  "R-003.30": {
    text: "generate_snapshot.sh works with jq alone and gives the bytes of `midwatch snapshot`",
  },

  // Stopping and cleanup
  "R-004.1": {
    text: "No data lost when archiving: writers flushed/closed first",
    accept: "test 2: open handles → archive complete, no OSError",
    own: "Closed means: the tree is proven empty, the file is synced, and no process has it open for writing.",
  },
  "R-004.2": {
    text: "Termination with retries 0.5/1/2 s, verify each time, force kill at the end",
    accept: "test 4 zombie removed, verified_no_zombies",
  },
  "R-004.3": { text: "Verification by process table, not tmux" },
  "R-004.4": { text: "Children spawned during cleanup die too" },
  "R-004.5": {
    text: "Auto cleanup on completed/terminated/error/failed",
    accept: "test 6: tmux killed, files archived",
  },
  "R-004.6": { text: "No double cleanup (kill after completion)" },
  "R-004.7": {
    text: "Registry writes locked; read-modify-write inside the lock",
    accept: "test 3: 5 concurrent kills → active_count 0, no corruption",
    own: "Transactions of SQLite; AGENT_REGISTRY.json is a view that is replaced whole.",
  },
  "R-004.8": {
    text: "Error classes (bad data, workspace, unexpected); continue after recoverable ones",
    accept: "test 5 partial failure",
  },
  "R-004.9": { text: "Process check cheap (pgrep or /proc)", accept: "test 7: 1000+ processes, cleanup <2 s" },
  "R-004.10": {
    text: "Config by env: CLEANUP_GRACE_PERIOD, CLEANUP_PS_TIMEOUT, CLEANUP_ARCHIVE_DIR, CLEANUP_ZOMBIE_LIMIT",
  },
  "R-004.11": { text: "PIDs tracked in the registry" },
  "R-004.12": { text: "Ownership check: only creator/parent may clean up" },
  "R-004.13": { text: "Archive path stays in the workspace; ids cannot traverse" },
  "R-004.14": { text: "Registry/log files not world-readable" },
  "R-004.15": { text: "Audit trail of cleanup actions" },
  "R-004.16": { text: "Creation time and size per tracked file" },
  "R-004.17": {
    text: "Structured result per resource (success, per-step flags, errors, zombies, archived)",
    accept: "test 1",
  },
  "R-004.18": { text: "Independent steps, partial success reported" },
  "R-004.19": { text: "No shell strings: argument lists, ids validated" },
  "R-004.20": { text: "Bounded helpers (5 s timeout, 3 shown)" },
  "R-004.21": { text: "Small functions (kill/verify, logs, zombies)" },
  "R-004.22": { text: "Metrics: success rate, duration, alert on repeats" },
  "R-004.23": { text: "Registry corruption detection" },
  "R-004.24": { text: "The 7 named tests exist and pass" },
  "R-004.25": {
    text: "Works on Linux and macOS (compatibility check)",
    later: "a Mac: the keeper compiles for macOS and its way of life is tried on Linux, but nobody has run it there",
  },
  "R-004.26": { text: "A kill archives the log at once and says where" },
  "R-004.27": {
    text: "An agent that reports completed is cleaned up when it has ended or after a short silence, also without `up`",
  },
  "R-004.28": { text: "A caller inside a run has that run's rights, whatever its environment says" },
};
