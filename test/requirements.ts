/** What must hold, by id. A test proves a requirement by beginning its title with the id: `it("R-000.9: ...")`. */
export type Requirement = {
  text: string;
  /** The capability it waits for. */
  later?: string;
  /** One sentence why it does not apply. */
  notApplicable?: string;
};

export const requirements: Record<string, Requirement> = {
  // Logs
  "R-000.1": { text: "A torn or malformed line never hides the lines behind it." },
  "R-000.2": {
    text: "A bad line is read as a parse_error record with its line number, up to 200 characters of it, and the error.",
  },
  "R-000.3": { text: "Empty lines give no record." },
  "R-000.4": { text: "Our own writers write whole records only, and complete or close a short write." },
  "R-000.5": {
    text: "A writer that is ended by SIGTERM, SIGINT or exit leaves no half record behind.",
  },
  "R-000.6": {
    text: "After kill -9 in the middle of a line the file reads fine and the next record is not glued to the torn one.",
  },
  "R-000.7": { text: "Concurrent writers to one file lose nothing and never interleave." },
  "R-000.8": { text: "Each agent has a log path of its own, also when two start in the same second." },
  "R-000.9": { text: "Logs are opened for appending and never truncated." },
  "R-000.10": { text: "An agent's files can be told apart and handled by agent." },
  "R-000.11": { text: "A start is refused with a clear error when less than 100 MB are free." },
  "R-000.12": {
    text: "A disk that fills up while an agent writes is noticed; the agent is held or stopped in order and the file stays valid.",
  },
  "R-000.13": { text: "A run's output is limited, and what is kept of earlier runs is bounded." },
  "R-000.14": {
    text: "Free space is part of progress: a warning below 500 MB, an error below 100 MB.",
  },
  "R-000.15": {
    text: "The last 100 records of 10 GB are read in under 100 ms without loading the file.",
  },
  "R-000.16": { text: "A tail of N returns exactly N records whatever the length of the lines." },
  "R-000.17": { text: "Any page of a log can be read by offset and limit." },
  "R-000.18": {
    text: "A full read is capped and says so.",
    notApplicable: "A whole read streams in bounded memory and needs no cap; what gathers records is bounded.",
  },
  "R-000.19": { text: "Reading defaults to the last 100 records, and more can be loaded." },
  "R-000.20": { text: "Logs of ended runs are compressed." },
  "R-000.21": { text: "The bytes of a log can be checked against checksums." },
  "R-000.22": {
    text: "A log is validated before it is archived, and a corrupt one is kept aside.",
  },
  "R-000.23": {
    text: "A log can be validated at any time; the answer lists bad lines with their errors.",
  },
  "R-000.24": { text: "Permissions of log folders and files are set explicitly and writability is checked." },
  "R-000.25": { text: "A run can be given another folder when the workspace is not writable, and says so." },
  "R-000.26": { text: "A permission error says what failed and what to do next." },
  "R-000.27": { text: "Archiving never takes data from under a writer or a reader." },
  "R-000.28": { text: "A reader beside a writer sees complete lines only, each exactly once." },
  "R-000.29": { text: "A record can be read as soon as it is written." },
  "R-000.30": { text: "A log that does not exist yet is an empty page with a note." },
  "R-000.31": { text: "An agent that died without output gives an empty page with a note and the tail of its stderr." },
  "R-000.32": { text: "A read-only file system is found before the start by a write test." },
  "R-000.33": { text: "A log folder deleted during a run is made again and later output lands in it." },
  "R-000.34": { text: "The keeper notices that the workspace was deleted, says so and restores it." },
  "R-000.35": { text: "An agent survives when its log folder cannot be restored." },
  "R-000.36": { text: "Any number of readers can read a log at once." },
  "R-000.37": { text: "A reader notices that its file was replaced during the read." },
  "R-000.38": { text: "A restart keeps the id, begins with an agent_restart record, and numbers the run." },
  "R-000.39": { text: "Logs lie at TASK-x/logs/<agent>_stream.jsonl in the workspace." },
  "R-000.40": { text: "Records carry a UTC timestamp, and text stays UTF-8." },
  "R-000.41": {
    text: "A writer retries transient errors, makes a missing folder again, and reports a full disk.",
  },
  "R-000.42": { text: "deploy_headless_agent makes the log and get_agent_output reads it." },
  "R-000.43": {
    text: "Crash, full disk, large log, permissions and concurrent agents each have a test against the real system.",
  },
  "R-000.44": { text: "Formats and interfaces are documented." },
  "R-000.45": {
    text: "Logs are filtered before the tail is taken, and a bad pattern is a named error.",
  },

  // Monitoring
  "R-001.1": {
    text: "A verdict is on_track, drifting, off_track, blocked or unknown, each with one meaning.",
  },
  "R-001.2": {
    text: "A log position names instance, kind, path, byte offset, line, time and checksum.",
  },
  "R-001.3": { text: "A summary has the named fields and is ready for JSON and WebSocket." },
  "R-001.4": { text: "Watching has documented defaults, among them a poll of 12 s." },
  "R-001.5": { text: "Positions survive a restart." },
  "R-001.6": { text: "Several processes can use the positions at once." },
  "R-001.7": { text: "Positions are replaced atomically, and a crash never corrupts them." },
  "R-001.8": { text: "Positions can be read, updated, removed, listed and cleared." },
  "R-001.9": { text: "Positions are loaded once and cached." },
  "R-001.10": { text: "A corrupt, missing or empty position store is handled." },
  "R-001.11": { text: "New content is read from the exact byte where the last read ended." },
  "R-001.12": { text: "Rotation and truncation are noticed and reading begins anew." },
  "R-001.13": { text: "One read is bounded." },
  "R-001.14": { text: "The last N lines can be read." },
  "R-001.15": { text: "A position can be reset." },
  "R-001.16": { text: "A missing file, bad UTF-8 or an OS error does not throw." },
  "R-001.17": { text: "Only new content is read." },
  "R-001.18": { text: "Monitoring has a small public interface." },
  "R-001.19": { text: "Models, positions and reader have isolated tests." },
  "R-001.20": {
    text: "Seek, rotation check and persistence stay within their times for 100 agents and more.",
  },
  "R-001.21": { text: "Summaries are kept as latest_summary.json and summary_history.jsonl." },
  "R-001.22": {
    text: "An LLM summary tells activity, status, confidence, reasons, tools, idle time and the recommended action.",
  },
  "R-001.23": {
    text: "A summary is made from the new lines, the role, the task, the parent and the summary before.",
  },
  "R-001.24": { text: "An LLM's structured answer is validated, with retries and backoff." },
  "R-001.25": { text: "One loop watches all agents, and an error of one does not touch the others." },
  "R-001.26": { text: "Summaries are streamed by WebSocket." },
  "R-001.27": { text: "The core of monitoring needs no outside service or package." },
  "R-001.28": { text: "An agent's position is dropped when it ends." },

  // File tracking
  "R-002.1": { text: "The registry holds the paths of prompt, log, progress, findings and deploy log of each agent." },
  "R-002.2": { text: "A stop ends the process, verifies that, and only then touches files." },
  "R-002.3": { text: "The report lists each file with what was done to it and each failure with its error." },
  "R-002.4": { text: "kill_real_agent returns success, agent, session, reason, status and cleanup." },
  "R-002.5": { text: "Each file action is recorded, and a failure does not stop the rest." },
  "R-002.6": { text: "A file that is already missing is no failure." },
  "R-002.7": { text: "An agent without tracked files can still be stopped." },
  "R-002.8": { text: "A live view and the log on disk work at the same time." },
  "R-002.9": { text: "A stop, an agent's own end and a cleanup loop use the same cleanup." },
  "R-002.10": { text: "Every running agent has tracked files." },
  "R-002.11": { text: "There are exactly as many prompt files as running agents." },
  "R-002.12": { text: "The workspace does not grow without bound." },
  "R-002.13": { text: "After a stop no process has a file of the agent open." },
  "R-002.14": { text: "File handling adds at most about half a second to a stop." },
  "R-002.15": { text: "Archives are kept for a set time and then removed." },
  "R-002.16": { text: "Cleanup happens when an agent ends by itself." },
  "R-002.17": {
    text: "Freed bytes and the success rate of cleanups are measured, and failures alert.",
  },
  "R-002.18": { text: "A stop asks first, lets the agent flush, and kills after the grace time." },
  "R-002.19": { text: "Failed deletions can be listed later." },

  // Journal
  "R-003.1": { text: "A workspace can be set up with git, a remote and the base files." },
  "R-003.2": { text: "Only standard tools are needed, and they are checked at start." },
  "R-003.3": {
    text: "An event is one JSON line with interaction, actor, type, content and UTC timestamp.",
  },
  "R-003.4": { text: "Concurrent appends never corrupt the journal." },
  "R-003.5": {
    text: "A snapshot shows the last K interactions in communication.md and the older ones in archive.md.",
  },
  "R-003.6": { text: "Event types map to headings, and the map can be changed." },
  "R-003.7": { text: "An agent can log each turn and refresh the snapshot." },
  "R-003.8": { text: "A watcher renders the snapshot again when the journal changes." },
  "R-003.9": { text: "Another agent can join, and the snapshot still shows the latest K." },
  "R-003.10": {
    text: "Heartbeats are written, and a silent coordinator is taken for down after 10 s.",
  },
  "R-003.11": {
    text: "When heartbeats stop a new leader is elected at once and goes on dispatching.",
  },
  "R-003.12": { text: "Journal and remote are retried after 1, 2 and 4 s before going offline." },
  "R-003.13": { text: "A lock that cannot be had after three tries becomes an error event." },
  "R-003.14": { text: "A write error becomes an error event and pauses until it can go on." },
  "R-003.15": {
    text: "Sync failures lead to offline mode, and what was not synced is merged when the remote is back.",
  },
  "R-003.16": {
    text: "Credentials are checked at start, with a clear message and a wait for new ones.",
  },
  "R-003.17": {
    text: "A malformed line goes to events.error.log once and becomes an error event with its line number.",
  },
  "R-003.18": { text: "A snapshot that crashes leaves the last good one." },
  "R-003.19": {
    text: "Dead agents leave no claims, and work resumes from the last handled interaction.",
  },
  "R-003.20": { text: "A checkpoint is kept per agent after each handled interaction." },
  "R-003.21": { text: "Health is shown from heartbeats, elections and errors." },
  "R-003.22": { text: "Error events alert by mail or chat webhook." },

  // Stopping and cleanup
  "R-004.1": { text: "Archiving loses nothing: writers are proven gone first." },
  "R-004.2": { text: "Ending retries, verifies each time and kills by force at the end." },
  "R-004.3": { text: "What is left is decided by the process table." },
  "R-004.4": { text: "Children that are started during a stop end too." },
  "R-004.5": {
    text: "Cleanup runs by itself when an agent completes, fails or is ended, and when it reports completed, terminated, error or failed: its processes end, its files are archived.",
  },
  "R-004.6": { text: "A stop after the end does not clean up twice." },
  "R-004.7": { text: "Registry writes are transactions, and concurrent stops do not corrupt it." },
  "R-004.8": { text: "Errors have classes, and recoverable ones do not end a cleanup." },
  "R-004.9": { text: "Finding an agent's processes stays cheap among 1,000 others." },
  "R-004.10": {
    text: "Grace time, the time of a search for what is left, the name of the archive and how many leftovers a message names are set by CLEANUP_GRACE_PERIOD, CLEANUP_PS_TIMEOUT, CLEANUP_ARCHIVE_DIR and CLEANUP_ZOMBIE_LIMIT.",
  },
  "R-004.11": { text: "The registry knows the process ids of each run." },
  "R-004.12": { text: "Only the creator or the parent may stop an agent." },
  "R-004.13": { text: "Paths stay in the workspace, and ids cannot traverse." },
  "R-004.14": { text: "Registry and logs are not readable by others." },
  "R-004.15": { text: "What a cleanup did is kept as an audit trail." },
  "R-004.16": { text: "Creation time and size of each tracked file are known." },
  "R-004.17": { text: "A stop returns a structured result for each resource." },
  "R-004.18": { text: "The steps of a stop are independent, and partial success is reported." },
  "R-004.19": { text: "Commands are argument lists, never shell strings, and ids are validated." },
  "R-004.20": { text: "Helper steps have time limits, and lists in reports are bounded." },
  "R-004.21": { text: "Ending, verifying and file handling are separate small functions." },
  "R-004.22": { text: "Success rate and duration of stops are measured, and repeats alert." },
  "R-004.23": { text: "A corrupt registry is noticed and rebuilt." },
  "R-004.24": { text: "The seven named cleanup tests exist and pass." },
  "R-004.25": {
    text: "Linux is supported fully and macOS with a weaker, stated guarantee.",
    later: "a Mac: the keeper compiles for macOS and its way of life is tried on Linux, but nobody has run it there",
  },
};
