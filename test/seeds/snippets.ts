/**
 * Every command, snippet and named test of the five documents, in their order, and the test that runs it: a file of test/ and a part of its title.
 * docs/seeds.md tells how many they are; counts.test.ts compares.
 */
export interface Snippet {
  what: string;
  /** Below test/. */
  file?: string;
  title?: string;
  /** Why nothing runs it. */
  not?: string;
}

const of = (file: string, ...pairs: readonly (readonly [string, string])[]): Snippet[] =>
  pairs.map(([what, title]) => ({ what, file, title }));

const LOGGING = "seeds/000-logging.test.ts";
const MONITORING = "seeds/001-monitoring.test.ts";
const FILES = "seeds/002-files.test.ts";
const JOURNAL = "seeds/003-journal.test.ts";
const CLEANUP = "seeds/004-cleanup.test.ts";

export const snippets: Readonly<Record<string, readonly Snippet[]>> = {
  "000": [
    ...of(
      LOGGING,
      ["1.1 test scenario: kill -9 in mid-line", "a writer that %s ends leaves whole records"],
      ["1.1 read_jsonl_robust", "read_jsonl_robust"],
      ["1.1 signal handlers", "a writer that %s ends leaves whole records"],
      ["1.2 test scenario: three writers of 1,000 lines", "%i processes of %i lines each"],
    ),
    ...of("fault/disk.test.ts", ["1.3 test scenario: run until the disk is full", "held at the floor"]),
    ...of("fault/disk.test.ts", ["1.3 check before the start", "a start below disk_refuse is refused"]),
    ...of(LOGGING, ["1.4 test scenario: tail of 10 GB", "the last 100 of a log of 10 GB"]),
    ...of(LOGGING, ["1.5 test scenario: lines spoilt by hand", "lines spoilt by hand"]),
    ...of(LOGGING, ["1.6 test scenario: a folder that cannot be written", "deploying there is refused"]),
    ...of(LOGGING, ["1.7 test scenario: rotated under a writer", "renamed under a living writer"]),
    ...of("fault/read-beside-write.test.ts", [
      "1.8 test scenario: 10 writes and 100 reads a second",
      "a hundred reads a second",
    ]),
    ...of(
      LOGGING,
      ["2.1 no log yet", "one that has not printed yet"],
      ["2.3 died before it wrote", "one that died before it could"],
    ),
    ...of(LOGGING, ["2.4 a file system that is read-only", "deploying there is refused"]),
    ...of("fault/disk.test.ts", ["2.5 the folder is deleted", "deleted mid-run: remade, mirrored"]),
    ...of(LOGGING, ["2.5 the folder cannot be made again", "where its folder cannot be made again"]),
    ...of("integration/follow.test.ts", ["3.1 several readers", "any number of followers"]),
    ...of(
      LOGGING,
      ["3.3 rotated while it is read", "renamed under a living writer"],
      ["3.4 restart marker", "begins with a restart marker"],
    ),
    ...of(
      "integration/jsonl-library.test.ts",
      ["4.2 JSONLWriter.append", "5 processes with 100 records each"],
      ["4.2 its tries", "what may pass is tried three times"],
    ),
    ...of("integration/jsonl-library.test.ts", [
      "4.2 JSONLReader.tail and read_all",
      "valid, torn, valid give three records",
    ]),
    ...of(
      LOGGING,
      ["5.1 test_incomplete_json_line", "read_jsonl_robust"],
      ["5.1 test_concurrent_writers", "%i processes of %i lines each"],
    ),
    ...of("fault/jsonl-full.test.ts", ["5.1 test_disk_full", "a full disk is told, nothing torn is left"]),
    ...of(
      LOGGING,
      ["5.1 test_large_log_tail_performance", "the last 100 of a log of 10 GB"],
      ["5.1 test_read_while_writing", "test_read_while_writing"],
    ),
    ...of("fault/crash-matrix.test.ts", ["5.2 test_agent_crash.sh", "kill -9 of the agent"]),
    ...of("fault/disk.test.ts", ["5.2 test_disk_full.sh", "disk_policy stop ends the agent in order"]),
    ...of(
      LOGGING,
      ["5.2 test_large_log.sh", "the last 100 of a log of 10 GB"],
      ["5.2 test_permissions.sh", "deploying there is refused"],
    ),
    ...of("fault/many-processes.test.ts", ["5.2 test_concurrent_agents.sh", "8 processes start 12 agents each"]),
  ],
  "001": of(
    MONITORING,
    ["AgentSummary and its JSON", "AgentSummary: its fields"],
    ["MonitoringConfig and its defaults", "MonitoringConfig: its defaults"],
    ["basic usage example", "Basic Usage"],
    ["position tracking example", "Position Tracking"],
    ["log rotation example", "Log Rotation Handling"],
    ["test_models: fields", "AgentSummary: its fields"],
    ["test_models: OnTrackStatus", "test_models: the five values"],
    ["test_position_tracker: save and load", "Position Tracking"],
    ["test_position_tracker: locking", "eight processes that keep their places at once"],
    ["test_position_tracker: update and removal", "Position Tracking"],
    ["test_position_tracker: atomic write", "killed while it writes places down"],
    ["test_position_tracker: corrupted state", "a state that was spoilt"],
    ["test_position_tracker: no position, no folder", "a state that was spoilt"],
    ["test_log_reader: incremental", "Basic Usage"],
    ["test_log_reader: rotation", "Log Rotation Handling"],
    ["test_log_reader: truncation", "Log Rotation Handling"],
    ["test_log_reader: no file", "no file, an empty one"],
    ["test_log_reader: empty file", "no file, an empty one"],
    ["test_log_reader: most lines a read", "Basic Usage"],
    ["test_log_reader: last N lines", "read_last_n_lines"],
    ["test_log_reader: reset", "Log Rotation Handling"],
    ["test_log_reader: bad UTF-8", "no file, an empty one"],
    ["table of performance", "a place for each of 150 agents"],
  ),
  "002": of(
    FILES,
    ["change 1: tracked_files", "test 2: jq shows five paths"],
    ["change 2: order of a kill", "tests 1 and 3: kill_real_agent"],
    ["change 3: the answer of a kill", "tests 1 and 3: kill_real_agent"],
    ["test 1: ls of prompts", "tests 1 and 3: kill_real_agent"],
    ["test 2: jq of tracked_files", "test 2: jq shows five paths"],
    ["test 3: files_deleted and files_failed", "test 3: with `purge`"],
    ["test 4: lsof", "test 4: lsof"],
    ["success metric: find and wc", "its measures"],
    ["success metric: du", "its measures"],
    ["success metric: jq has()", "test 2: jq shows five paths"],
    ["success metric: grep", "its measures"],
  ),
  "003": [
    ...of(JOURNAL, ["0.1 git init", "the layout it asks for"]),
    { what: "0.2 gh auth login", not: "it asks a person for an account" },
    ...of("integration/sync.test.ts", ["0.2 gh repo create", "makes repository, first commit, base files"]),
    ...of(
      JOURNAL,
      ["0.3 initial commit and push", "the layout it asks for"],
      ["0.4 baseline files", "the layout it asks for"],
    ),
    ...of(JOURNAL, ["1.2 layout", "the layout it asks for"], ["1.3 chmod +x", "the layout it asks for"]),
    ...of("integration/journal.test.ts", ["1.1 tools are checked", "scripts, five interactions of two agents"]),
    ...of(
      JOURNAL,
      ["2 the helper as it is meant", "its own helper beside ours"],
      ["2 the call of the helper", "the call of its helper"],
      ["3 the generator as it is meant", "its own generator and ours"],
      ["4.1 five events and a snapshot", "1 five events by hand"],
      ["4.2 agent hook", "2 an agent that logs each turn"],
      ["4.3 watcher", "snapshot --watch"],
      ["4.3 loop of inotifywait", "3 the same by its loop of inotifywait"],
      ["4.4 Agent B", "4 Agent B joins"],
      ["6.1 heartbeats", "6.1 the heartbeats of a leader"],
      ["6.1 election", "6.1 the heartbeats of a leader"],
    ),
    ...of("fault/sync-faults.test.ts", ["6.1 retries before offline", "a server in trouble is tried six times"]),
    ...of(
      JOURNAL,
      ["6.2 lock", "6.2 a lock that somebody holds"],
      ["6.2 full disk", "6.2 a full disk"],
      ["6.3 push fails", "6.3 the remote is gone"],
      ["6.3 credentials", "6.3 wrong credentials"],
      ["6.4 malformed line", "6.4 a line that is no JSON"],
      ["6.4 the generator crashes", "6.4 a generator that dies"],
      ["6.5 restart", "6.5 one that crashed goes on"],
      ["6.5 checkpoint", "6.5 one that crashed goes on"],
      ["6.6 health", "6.6 `health` shows"],
      ["6.6 webhook", "6.6 `health` shows"],
    ),
  ],
  "004": [
    ...of("integration/kill.test.ts", ["issue 7: CLEANUP_ARCHIVE_DIR", "CLEANUP_ARCHIVE_DIR names the archive"]),
    ...of("integration/kill.test.ts", ["issue 7: CLEANUP_PS_TIMEOUT", "longer than CLEANUP_PS_TIMEOUT"]),
    ...of(
      CLEANUP,
      ["test 1: complete cleanup", "1 test_cleanup_agent_resources_success"],
      ["test 2: open handles", "2 test_cleanup_with_open_file_handles"],
      ["test 3: five at once", "3 test_concurrent_cleanup_thread_safety"],
      ["test 4: zombies", "4 test_zombie_process_cleanup"],
      ["test 5: partial failure", "5 test_cleanup_partial_failure"],
      ["test 6: completion", "6 update_agent_progress"],
      ["test 7: under load", "7 among 1,000 other processes"],
      ["recommended fix 8: sub-functions", "recommended fix 8, sub-functions"],
    ),
  ],
};
