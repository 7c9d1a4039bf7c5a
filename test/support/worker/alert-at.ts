// `alert-at.ts WORKSPACE CONFIG`: rounds of alerts without end, and a line before each step goes on, so that it can be killed anywhere.
import { fastAlerts } from "../net/alerts.ts";

const [, , root = "", config = ""] = process.argv;
const alerts = fastAlerts(root, JSON.parse(config), (step) => void process.stdout.write(`${step}\n`));
for (;;) {
  await alerts.round();
  await new Promise((resolve) => setTimeout(resolve, 5));
}
