// `respond.ts URL SUBJECT`: answers each message with a word, until it is killed. What a round trip costs that does nothing.
import { connect } from "@nats-io/transport-node";

const [url = "", subject = ""] = process.argv.slice(2);
const connection = await connect({ servers: url });
connection.subscribe(subject, { callback: (_, message) => void message.respond("ok") });
await connection.flush();
console.log("ready");
