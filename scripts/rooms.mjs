// `node scripts/rooms.mjs [--write]`: what has to hold of the house. No file imports itself by way of others, types included; no room does
// either; no folder has more than 20 source files and no file more than 400 lines. The arrows between rooms in ARCHITECTURE.md are those of
// the imports: a new arrow is a line that somebody reviews. The files of its walks are there, eight a walk at the most. Whatever the library gives has a doc comment where it is declared.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const FILES_MOST = 20;
const LINES_MOST = 400;
const WALK_MOST = 8;
const PAGE = "ARCHITECTURE.md";
const BLOCK = /<!-- arrows: .*-->\n```\n[\s\S]*?```\n/;
const HEAD = "<!-- arrows: node scripts/rooms.mjs --write -->";
/** A public member of a class, as our formatter writes it. */
const MEMBER = /^ {2}(?:override |readonly |static |async |get |set |\*)*([a-z]\w*)\??[(<:;]/gm;
const IMPORT = /(?:from|import\(|import)\s*"(\.[^"]+)"/g;

const sources = readdirSync("src", { recursive: true })
  .map((name) => join("src", name))
  .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"));
const text = new Map(sources.map((path) => [path, readFileSync(path, "utf8")]));
const imports = new Map(
  sources.map((path) => [
    path,
    new Set([...text.get(path).matchAll(IMPORT)].map(([, to]) => relative(".", resolve(dirname(path), to)))),
  ]),
);

/** The folder right below src, or a file there. */
const roomOf = (path) => path.split("/")[1];
const rooms = new Map();
for (const [path, targets] of imports) {
  const room = rooms.get(roomOf(path)) ?? new Set();
  for (const to of targets) if (to.startsWith("src/") && roomOf(to) !== roomOf(path)) room.add(roomOf(to));
  rooms.set(roomOf(path), room);
}

const problems = [
  ...crowded(),
  ...sources.flatMap((path) => {
    const lines = text.get(path).split("\n").length - 1;
    return lines > LINES_MOST ? [`${path} has ${lines} lines; ${LINES_MOST} are the most`] : [];
  }),
  ...circles(imports).map((circle) => `these files import each other: ${circle.join(" → ")}`),
  ...circles(rooms).map((circle) => `these rooms import each other: ${circle.join(" → ")}`),
  ...untold(),
  ...walks(),
];
const arrows = `${HEAD}\n\`\`\`\n${inOrder().join("\n")}\n\`\`\`\n`;
const page = readFileSync(PAGE, "utf8");
if (process.argv.includes("--write")) writeFileSync(PAGE, page.replace(BLOCK, arrows));
else if (page.match(BLOCK)?.[0] !== arrows)
  problems.push(`${PAGE} does not show the arrows as they are. Next: npm run docs`);
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

/** Each begins with its name; what it goes through stands in backticks. */
function walks() {
  const told = /<!-- walks -->([\s\S]*)<!-- \/walks -->/.exec(readFileSync(PAGE, "utf8"))?.[1] ?? "";
  return told.split("\n- ").flatMap((walk) => {
    const name = walk.split(":")[0];
    const files = [...new Set([...walk.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => `src/${path}`))];
    const missing = files.filter((path) => !text.has(path)).map((path) => `${name}: there is no ${path}`);
    return files.length > WALK_MOST ? [...missing, `${name} takes ${files.length} files`] : missing;
  });
}

function crowded() {
  return [...new Set(sources.map(dirname))].flatMap((folder) => {
    const { length } = sources.filter((path) => dirname(path) === folder);
    return length > FILES_MOST ? [`${folder} has ${length} source files; ${FILES_MOST} are the most`] : [];
  });
}

/** Exports of the library, and public members of its classes and of a workspace's rooms, that no doc comment tells of. */
function untold() {
  const given = exportsOf("src/index.ts").map(({ name, path }) => ({ name, path, ...declared(name, text.get(path)) }));
  const inRooms = sources.filter((path) => path.startsWith("src/fleet/")).flatMap(roomsIn);
  const members = [...given, ...inRooms].flatMap(({ name, path, body }) =>
    [...(body ?? "").matchAll(MEMBER)]
      .filter(({ index, 1: member }) => member !== "constructor" && !isTold(body, index))
      .map(([, member]) => `${path}: ${name}.${member}`),
  );
  const silent = given.filter(({ told }) => !told).map(({ name, path }) => `${path}: ${name}`);
  return [...new Set([...silent, ...members])].map((what) => `${what} is given by the library and has no doc comment`);
}

/** The names that a file exports from others, each with the file that declares it. */
function exportsOf(path) {
  return [...text.get(path).matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)";$/gm)].flatMap(([, names, from]) => {
    const target = relative(".", resolve(dirname(path), from));
    const further = exportsOf(target);
    return [...names.replaceAll("type ", "").matchAll(/\w+/g)].map(
      ([name]) => further.find((one) => one.name === name) ?? { name, path: target },
    );
  });
}

function roomsIn(path) {
  const source = text.get(path);
  return [...source.matchAll(/^export class (\w+)/gm)].map(([, name]) => ({ name, path, ...declared(name, source) }));
}

/** Whether a declaration is told of, and what is in it if it is a class; one that implements an interface is told of there. */
function declared(name, source) {
  const at = source.search(new RegExp(`^export (?:class|const|function|interface|type) ${name}\\b`, "m"));
  const isClass = /^export class \w+\b(?! implements)/.test(source.slice(at));
  return { told: isTold(source, at), body: isClass ? source.slice(at, source.indexOf("\n}\n", at)) : undefined };
}

function isTold(source, at) {
  return source.slice(0, at).endsWith("*/\n");
}

/** One circle for each knot: found by walking until a place comes again that is still on the way. */
function circles(graph) {
  const done = new Set();
  const found = [];
  const walk = (at, way) => {
    if (way.includes(at)) return void found.push([...way.slice(way.indexOf(at)), at]);
    if (done.has(at)) return;
    for (const to of graph.get(at) ?? []) walk(to, [...way, at]);
    done.add(at);
  };
  for (const at of graph.keys()) walk(at, []);
  return found;
}

/** A room comes behind all that it imports. */
function inOrder() {
  const left = new Map([...rooms].sort(([a], [b]) => (a < b ? -1 : 1)));
  const lines = [];
  const width = Math.max(...[...rooms.keys()].map((room) => room.length));
  while (left.size > 0) {
    const ready = [...left.keys()].filter((room) => ![...left.get(room)].some((to) => left.has(to)));
    for (const room of ready.length > 0 ? ready : left.keys()) {
      lines.push(`${room.padEnd(width)}  → ${[...left.get(room)].sort().join(", ") || "nothing of ours"}`);
      left.delete(room);
    }
  }
  return lines;
}
