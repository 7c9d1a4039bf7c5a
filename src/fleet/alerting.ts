/** Messages to people, by the routes of the configuration. */
import type { RouteStatus } from "../alert/state.ts";
import { type AlertTest, alertStatus, checkAlerts, testAlert } from "../up/alerts.ts";
import { assertPerson } from "../workspace/caller.ts";
import { HoldsContext } from "./holds-context.ts";

export class Alerting extends HoldsContext {
  /** Sends one message on a route, at once. */
  test(route: string, options: Parameters<typeof testAlert>[2]): Promise<AlertTest> {
    assertPerson(this.acting, "send alerts");
    return testAlert(this.context, route, options);
  }

  /** How each route fares. */
  status(): Promise<RouteStatus[]> {
    return alertStatus(this.context);
  }

  /** Throws BAD_CONFIG when `alerts` of the configuration cannot work. */
  check(): ReturnType<typeof checkAlerts> {
    return checkAlerts(this.context);
  }
}
