// A Node warning is a fault of ours (a leaked listener, a deprecated call): it fails the run as an unhandled error.
// Node 22 warns about node:sqlite itself; that one we know.
process.on("warning", (warning) => {
  if (warning.name === "ExperimentalWarning" && warning.message.startsWith("SQLite")) return;
  throw warning;
});
